// Package files holds the tools that read, search and write the files of a workspace.
//
// Workspace is the only way to a path: it walks folder by folder, so that no spelling, symlink or
// mount leads outside or to a denied folder. What writes records evidence of what was there before
// it acts (write_inspect.go, apply_patch_inspect.go), so that a look after a crash tells whether
// the write happened.
package files

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"agent/tools"
)

// Tools makes the tools that work on the files of a workspace. No path leads them to a denied
// folder, and they write nothing of what the policy names. A search passes over what the person
// ignores everywhere too, in the file that ignores finds; nil is none.
func Tools(denied []string, policy func() []string, ignores func() string) []tools.Tool {
	l := limits{denied: denied, policy: policy, ignores: ignores}
	return []tools.Tool{applyPatch{l}, editFile{l}, findFiles{l}, listDir{l}, readFile{l}, search{l}, writeFile{l}}
}

// limits are what the file tools share.
type limits struct {
	denied  []string        // folders that no path leads to
	policy  func() []string // the person's policy: folders and files that are read and never written; nil is none
	ignores func() string   // finds the file of what the person ignores everywhere; nil is none
}

// open opens the workspace of a call, or the folder beside it in which a path lies.
func (l limits) open(c tools.Call, asked string) (*Workspace, error) {
	d, ok := tools.Reached(c.Folder, c.Dirs, asked)
	if !ok || d.Path == c.Folder {
		return OpenWorkspace(c.Folder, l.denied)
	}
	w, err := OpenWorkspace(d.Path, l.denied)
	if err != nil {
		return nil, err
	}
	if w.Real != d.Path {
		w.Close()
		return nil, fmt.Errorf("%s is not the folder that the run was given: it leads to %s now", d.Path, w.Real)
	}
	w.from, w.readOnly = c.Folder, !d.Write
	return w, nil
}

// openToWrite opens a workspace for what writes at a path.
func (l limits) openToWrite(c tools.Call, asked string) (*Workspace, error) {
	w, err := l.open(c, asked)
	if err == nil && w.readOnly {
		w.Close()
		return nil, tools.ReadOnly(asked, w.folder)
	}
	if err == nil && l.policy != nil {
		for _, path := range l.policy() {
			w.policy = append(w.policy, guardedOf(path))
		}
	}
	return w, err
}

// openToWalk opens a workspace for what goes through the folders at a path.
func (l limits) openToWalk(c tools.Call, asked string) (*Workspace, error) {
	w, err := l.open(c, asked)
	if err == nil {
		w.ignores = l.ignores
	}
	return w, err
}

// absolute is a path as it was asked for; in a folder beside the workspace it is absolute.
func (w *Workspace) absolute(asked string) string {
	if w.from == "" || filepath.IsAbs(asked) {
		return asked
	}
	return filepath.Join(w.from, asked)
}

// shown is a path in it as a model has to write it.
func (w *Workspace) shown(rel string) string {
	if w.from != "" {
		return path.Join(filepath.ToSlash(w.Real), rel)
	}
	return rel
}

func guardedOf(folder string) guarded {
	b := guarded{path: filepath.Clean(folder)}
	// A folder that cannot be looked at has no identity; its path still counts.
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		b.path = real
	}
	if info, err := os.Stat(b.path); err == nil {
		b.info = info
	}
	return b
}
