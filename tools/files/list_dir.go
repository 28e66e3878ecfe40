package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
)

// maxEntries bounds a listing.
const maxEntries = 1000

// listDir shows what is in a folder.
type listDir struct{ limits }

type listArgs struct {
	Path string `json:"path"`
}

// Spec describes the tool.
func (listDir) Spec() tools.Spec {
	return tools.Spec{
		Name: "list_dir",
		Description: "List a folder of the workspace, hidden files included: folders end in /, symlinks show where they lead, " +
			"files show their size in bytes.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "relative to the workspace; the workspace itself if left out"}
			},
			"additionalProperties": false
		}`),
	}
}

// Describe says that it only reads.
func (listDir) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: journal.EffectRead}
}

// Call lists the folder.
func (t listDir) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[listArgs](c.Args)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	w, dir, err := t.folder(c, a.Path)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer w.Close()
	defer dir.close()
	entries, err := dir.entries(ctx)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	var b strings.Builder
	for i, e := range entries {
		if i == maxEntries || b.Len() > excerpt.MaxContent-2*maxPath {
			fmt.Fprintf(&b, "[%d more are not shown; find_files finds by name]\n", len(entries)-i)
			break
		}
		b.WriteString(dir.describe(e))
	}
	if len(entries) == 0 {
		b.WriteString("[the folder is empty]\n")
	}
	return tools.Done(journal.AppliedNo, b.String()), nil
}

// opened is an opened folder of a workspace.
type opened struct {
	w    *Workspace
	root *os.Root
	rel  string // in the workspace, with slashes
}

// folder walks to a folder and opens it; an empty path is the workspace.
func (l limits) folder(c tools.Call, asked string) (*Workspace, *opened, error) {
	if asked == "" {
		asked = "."
	}
	w, err := l.openToWalk(c, asked)
	if err != nil {
		return nil, nil, err
	}
	dir, err := w.openFolder(asked)
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, dir, nil
}

func (w *Workspace) openFolder(asked string) (*opened, error) {
	s, err := w.Find(asked)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	switch {
	case s.Info == nil:
		return nil, fmt.Errorf("%s does not exist", asked)
	case !s.Info.IsDir():
		return nil, fmt.Errorf("%s is not a folder", asked)
	}
	sub, err := Enter(s.Dir, s.Name, s.Info)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", asked, reason(err))
	}
	return &opened{w: w, root: sub, rel: s.Rel}, nil
}

func (o *opened) close() {
	_ = o.root.Close() // it was only read from; nothing can be lost
}

// entries lists the folder by name, without what the tools hide: unfinished copies, and the state
// folder.
func (o *opened) entries(ctx context.Context) ([]fs.DirEntry, error) {
	f, err := o.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", o.rel, reason(err))
	}
	defer f.Close() // it was only read from; nothing can be lost
	var all []fs.DirEntry
	for {
		some, err := f.ReadDir(1024)
		for _, e := range some {
			if !isTemp(e.Name()) && !o.hides(e) {
				all = append(all, e)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", o.rel, reason(err))
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

func (o *opened) hides(e fs.DirEntry) bool {
	if !e.IsDir() {
		return false
	}
	info, err := o.root.Lstat(e.Name())
	// What cannot be looked at now is looked at again before it is entered.
	return err == nil && o.w.Denies(filepath.Join(o.w.Real, filepath.FromSlash(o.rel), e.Name()), info)
}

// describe is one line of a listing.
func (o *opened) describe(e fs.DirEntry) string {
	name := excerpt.Name(e.Name())
	switch {
	case e.IsDir():
		return name + "/\n"
	case e.Type()&fs.ModeSymlink != 0:
		target, err := o.root.Readlink(e.Name())
		if err != nil {
			return name + " (symlink)\n"
		}
		return name + " -> " + excerpt.Name(target) + "\n"
	case !e.Type().IsRegular():
		return name + " (" + kindOf(e.Type()) + ")\n"
	}
	info, err := o.root.Lstat(e.Name())
	if err != nil {
		return name + "\n"
	}
	return fmt.Sprintf("%s  %d\n", name, info.Size())
}
