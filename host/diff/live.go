package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"agent/host/drive"
	"agent/host/view"
	"agent/recovery/journal"
	"agent/tools/scan"
)

// Live shows changes of files while they happen.
type Live struct {
	*drive.Process
	sources map[string]source // by folder
}

// NewLive reads what the store of a process keeps.
func NewLive(p *drive.Process) *Live { return &Live{p, map[string]source{}} }

// Seen is what one look found of a call, as a diff. What cannot be read is left out: the fact has
// its names.
func (l *Live) Seen(run string, b journal.FilesChanged) (list []view.DiffFile) {
	ctx := context.Background()
	row, err := l.Store.Run(ctx, run)
	if err != nil {
		return nil
	}
	s, known := l.sources[row.Folder]
	if !known {
		if s, err = newSource(l.Process, row.Folder); err != nil {
			return nil
		}
		l.sources[row.Folder] = s
	}
	for _, c := range b.Changes {
		if !c.Proof.Ours() || folder(c.Before) || folder(c.After) {
			continue
		}
		if f, ok, err := s.file(ctx, c.Name(), c.Before, c.After); err == nil && ok {
			list = append(list, f)
		}
	}
	return list
}

// placeholder begins what stands for a secret.
const placeholder = "[secret:"

// maxAsked is how large a file may be whose change is shown at a question.
const maxAsked = 1 << 20

// Asked is what a call that waits for permission would make of a file, where its arguments do not
// show it as a diff themselves. ok is false where that cannot be known.
func (l *Live) Asked(run string, p journal.Proposal) (f view.DiffFile, ok bool) {
	row, err := l.Store.Run(context.Background(), run)
	if err != nil {
		return f, false
	}
	name, makes := proposed(p)
	if makes == nil || bytes.Contains(p.Args, []byte(placeholder)) {
		return f, false // a placeholder is not what it would write
	}
	if filepath.IsAbs(name) {
		if name, err = filepath.Rel(row.Folder, name); err != nil {
			return f, false
		}
	}
	name = path.Clean(filepath.ToSlash(name))
	before, content, err := onDisk(row.Folder, name)
	if err != nil || before != nil && (before.Kind != journal.FileRegular || before.Lost != "") {
		return f, false
	}
	made, can := makes(content, before != nil)
	if !can {
		return f, false
	}
	after := &journal.FileVersion{Mode: 0o644, Size: int64(len(made))}
	if before != nil {
		after.Mode = before.Mode
	}
	s := source{redact: l.Store.Redact, content: func(_ context.Context, v *journal.FileVersion) ([]byte, error) {
		if v == after {
			return made, nil
		}
		return content, nil
	}}
	f, ok, err = s.file(context.Background(), name, before, after)
	return f, ok && err == nil
}

// onDisk is what lies at a path now.
func onDisk(folder, name string) (*journal.FileVersion, []byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("look at %s: %v", folder, err)
	}
	defer root.Close() // only a handle
	v, _, content, err := scan.Version(root, name, maxAsked)
	return v, content, err
}

// proposed is the path that a call of a file tool would write, and what it would make of its
// content; nil for other calls. A patch is a diff already.
func proposed(p journal.Proposal) (name string, makes func(content []byte, there bool) ([]byte, bool)) {
	switch p.Tool {
	case "write_file":
		var a struct{ Path, Content string }
		if !decode(p.Args, &a) {
			return "", nil
		}
		return a.Path, func([]byte, bool) ([]byte, bool) { return []byte(a.Content), len(a.Content) <= maxAsked }
	case "edit_file":
		var a struct {
			Path, Old, New string
			All            bool
		}
		if !decode(p.Args, &a) || a.Old == "" {
			return "", nil
		}
		return a.Path, func(content []byte, there bool) ([]byte, bool) {
			text := string(content)
			n := strings.Count(text, a.Old)
			if !there || n == 0 || n > 1 && !a.All {
				return nil, false // the tool refuses it
			}
			return []byte(strings.ReplaceAll(text, a.Old, a.New)), true
		}
	}
	return "", nil
}

func decode(args []byte, to any) bool { return json.Unmarshal(args, to) == nil }
