//go:build linux

package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BreakVar is the variable that names what a broken binary is to break.
const BreakVar = "CRASHLAB_BREAK"

// Damage is a change to the product that breaks a promise on purpose.
type Damage struct {
	Name   string
	Word   string // by which the broken binary is asked for it
	File   string
	Text   string // of the product, once in its file
	Change string // what stands there instead; <asked> in it is whether the word is given
}

// Broken builds the binary with all damages, of which each waits to be asked for.
func Broken(ctx context.Context, dir string, all []Damage) (exe string, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "agent").Output()
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(dir, "broken-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	replace := map[string]string{}
	for i, d := range all {
		path := filepath.Join(strings.TrimSpace(string(root)), d.File)
		from := path
		if replace[path] != "" {
			from = replace[path]
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		changed, err := d.Apply(string(text))
		if err != nil {
			return "", err
		}
		replace[path] = filepath.Join(scratch, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[path], []byte(changed), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	exe = filepath.Join(dir, "agent-broken")
	c := exec.CommandContext(ctx, "go", "build", "-overlay", list, "-o", exe, "agent")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return exe, nil
}

// Apply is the text of a file with the damage in it.
func (d Damage) Apply(text string) (string, error) {
	if n := strings.Count(text, d.Text); n != 1 {
		return "", fmt.Errorf("%s: the text that the control %q changes is there %d times", d.File, d.Name, n)
	}
	asked := fmt.Sprintf("os.Getenv(%q) == %q", BreakVar, d.Word)
	text = strings.Replace(text, d.Text, strings.ReplaceAll(d.Change, "<asked>", asked), 1)
	if strings.Contains(text, "\t\"os\"\n") {
		return text, nil
	}
	return strings.Replace(text, "import (\n", "import (\n\t\"os\"\n", 1), nil
}
