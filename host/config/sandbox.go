package config

import (
	"os"
	"path/filepath"
	"strings"
)

// Sandbox is what a person says about the confinement of commands.
type Sandbox struct {
	Open     bool     // full commands run in no namespace: sudo works, and the state folder can be read
	Writable []string // absolute paths that commands with access write may change beside the workspace
}

type sandboxKeys struct {
	Full     *string  `toml:"full"`
	Writable []string `toml:"writable"`
}

// sandbox reads what the person says about the confinement of commands.
func (c *checker) sandbox(k *sandboxKeys) Sandbox {
	var s Sandbox
	if k == nil {
		return s
	}
	if k.Full != nil {
		switch *k.Full {
		case "hidden":
		case "open":
			s.Open = true
		default:
			c.wrong([]string{"sandbox", "full"},
				`there is no full = %q; choose "hidden" (full commands do not see the state folder) or "open" (they may use sudo, and see it)`, *k.Full)
		}
	}
	for _, path := range k.Writable {
		at := []string{"sandbox", "writable"}
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				c.wrong(at, "writable: %q: %v", path, err)
				continue
			}
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) || filepath.Clean(path) == "/" {
			c.wrong(at, `writable: %q is no path of a folder that begins with / or ~/`, path)
			continue
		}
		s.Writable = append(s.Writable, filepath.Clean(path))
	}
	return s
}
