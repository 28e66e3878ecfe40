package workspace

import (
	"context"
	"fmt"
	"strings"

	"agent/recovery/journal"
	"agent/tools/gitrepo/objects"
)

// Manifest is what a workspace held at a look, as far as that is in scope.
type Manifest struct {
	seen map[string]seen
	left map[string]journal.LeftReason
}

// Manifest reads the list that files.base names.
func (c *Contents) Manifest(ctx context.Context, name string) (Manifest, error) {
	content, err := c.kept.Get(ctx, name)
	if err != nil {
		return Manifest{}, fmt.Errorf("read the list of files that was made before the first command: %w", err)
	}
	var m Manifest
	m.seen, m.left, _, err = decode(content)
	return m, err
}

// Versions is what was at each path.
func (m Manifest) Versions() map[string]*journal.FileVersion {
	all := make(map[string]*journal.FileVersion, len(m.seen))
	for name, s := range m.seen {
		if s.v != nil {
			all[name] = s.v
		}
	}
	return all
}

// LeftOut says why nothing is known of a path that Versions lacks; "" where nothing was there.
func (m Manifest) LeftOut(name string) journal.LeftReason {
	for at := name; ; {
		if why := m.left[at]; why != "" {
			return why
		}
		cut := strings.LastIndexByte(at, '/')
		if cut < 0 {
			return ""
		}
		at = at[:cut]
	}
}

// Is says whether what was at a path was the blob that an index has there: git saw the file as it
// was then, and took it for the blob.
func (m Manifest) Is(name string, i objects.Indexed) bool {
	s, there := m.seen[name]
	return there && isClean(i, s.stat)
}
