package fork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/host/drive"
	"agent/host/undo"
	"agent/host/view"
	"agent/host/workspace"
	"agent/recovery/journal"
	"agent/tools/gitrepo/history"
	"agent/tools/gitrepo/objects"
	"agent/tools/gitrepo/worktree"
)

// Tree is a worktree for a fork.
type Tree struct {
	At     journal.Position
	Dir    string // of the worktree, absolute and without links
	Folder string // where the run works in it
	Commit string

	process  *drive.Process
	source   string // the folder that the position is of
	repo     objects.Repository
	contents *workspace.Contents
	blobs    *history.Reader // reads what no pin has; nil until it is needed
	blobsDir string

	all    map[string]objects.Tracked // what the commit has, seen from the top
	write  map[string]*journal.FileVersion
	modes  map[string]*journal.FileVersion // what is as the commit has it, but perhaps for its mode
	remove []string                        // what the commit has and was not there
	whole  bool                            // all that was in the folder is known
	dirs   map[string]bool                 // folders that were there
	left   []journal.LeftOut
	lost   []journal.LeftOut
	notes  []string
}

// Plan finds out what a worktree for a position is to hold. It changes nothing.
func Plan(ctx context.Context, p *drive.Process, at journal.Position, dir string) (*Tree, error) {
	h, err := undo.Around(ctx, p, at)
	if err != nil {
		return nil, err
	}
	t := &Tree{At: at, process: p, source: h.Folder, write: map[string]*journal.FileVersion{}, modes: map[string]*journal.FileVersion{}, dirs: map[string]bool{}}
	if err := t.repository(); err != nil {
		return nil, err
	}
	if err := t.place(ctx, dir); err != nil {
		return nil, err
	}
	if err := t.stood(h); err != nil {
		return nil, err
	}
	top, ok, err := objects.Find(t.repo.Top)
	if err == nil && ok {
		t.all, err = committed(ctx, top, t.Commit)
	}
	if err != nil || !ok {
		return nil, t.refused(fmt.Sprintf("commit %.12s, where git stood, is not in %s any more, or cannot be read", t.Commit, t.repo.Common),
			view.Fix{Does: "bring it back", Command: "git -C " + view.ShellWord(t.repo.Top) + " fetch --all"}, t.instead())
	}
	if t.contents, err = workspace.NewContents(p, h.Folder); err != nil {
		return nil, err
	}
	err = t.files(ctx, h)
	if err == nil {
		err = t.readable(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Close lets go of what was opened to read contents.
func (t *Tree) Close() error {
	err := t.contents.Close()
	if t.blobs != nil {
		err = errors.Join(err, t.blobs.Close(), os.RemoveAll(t.blobsDir))
		t.blobs = nil
	}
	return err
}

func (t *Tree) refused(why string, next ...view.Fix) error {
	return undo.NewForkError(t.At, "a worktree cannot be made: "+why, next...)
}

// instead is what there always is to do.
func (t *Tree) instead() view.Fix {
	return view.Fix{Does: "in the same folder", Command: fmt.Sprintf(`agent fork %s "..."`, t.At)}
}

func (t *Tree) repository() error {
	repo, ok, err := objects.Find(t.source)
	if err != nil || !ok {
		return t.refused(fmt.Sprintf("%s belongs to no repository of git", t.source), t.instead())
	}
	t.repo = repo
	return nil
}

// place checks where the worktree is to be. What an earlier try left there is removed by Make.
func (t *Tree) place(ctx context.Context, dir string) error {
	choose := view.Fix{Does: "choose another", Command: fmt.Sprintf(`agent fork %s "..." --worktree %s`, t.At, view.ShellWord(filepath.Clean(t.repo.Top)+"-fork"))}
	t.Dir = dir
	if real, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		t.Dir = filepath.Join(real, filepath.Base(dir))
	}
	t.Folder = filepath.Join(t.Dir, filepath.FromSlash(t.repo.Prefix))
	for what, taken := range map[string]string{"the repository": t.repo.Top, "the repository of git": t.repo.Common, "the state folder": t.process.Home} {
		if rel, err := filepath.Rel(taken, t.Dir); err == nil && filepath.IsLocal(rel) {
			return t.refused(fmt.Sprintf("%s lies in %s %s", t.Dir, what, taken), choose)
		}
	}
	list, err := os.ReadDir(t.Dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0 {
		return nil
	}
	if reason, locked, _ := worktree.Locked(t.repo, t.Dir); locked && reason == t.reason() {
		row, err := t.process.Store.LatestRun(ctx, t.Folder)
		if err != nil || row == nil {
			return err
		}
		return t.refused(fmt.Sprintf("run %s works in %s", row.ID, t.Dir), view.Fix{Does: "go on with it", Command: "agent resume " + row.ID}, choose)
	}
	return t.refused(t.Dir+" is there, and is not an empty folder", choose)
}

// reason is why the worktree is locked until it is finished.
func (t *Tree) reason() string { return fmt.Sprintf("agent fork %s: not finished", t.At) }

// stood finds out where HEAD was at the position.
func (t *Tree) stood(h *undo.History) error {
	for _, k := range h.Known {
		commit := t.commitOf(k.Fact)
		if k.Later && t.Commit != "" {
			break
		}
		if commit != "" {
			t.Commit = commit
		}
	}
	if t.Commit != "" {
		return nil
	}
	head, err := t.repo.Head()
	if err != nil || head.Commit == "" {
		return t.refused(fmt.Sprintf("the repository of %s has no commit", t.source), view.Fix{Does: "make one", Command: "git commit"}, t.instead())
	}
	t.Commit = head.Commit
	t.note("where git stood at %s is not recorded, since no command ran that may write: the worktree is where git stands now", t.At)
	return nil
}

// commitOf is where a fact says that HEAD was; "" where it does not.
func (t *Tree) commitOf(fact journal.Body) string {
	switch b := fact.(type) {
	case journal.FilesBase:
		if b.Head != nil {
			return b.Head.Commit
		}
	case journal.FilesChanged:
		return b.Head.To.Commit
	case journal.CommitSeen:
		if b.Repo == t.repo.Common && b.Relation != journal.CommitSame {
			return b.Commit
		}
	case journal.CallStarted:
		var marks history.Marks
		if json.Unmarshal(b.Marks, &marks) != nil {
			return ""
		}
		name := ""
		if t.repo.Git != t.repo.Common {
			name = filepath.Base(t.repo.Git)
		}
		for _, w := range marks.Worktrees {
			if w.Name == name {
				return w.Commit
			}
		}
	}
	return ""
}

// committed is what a commit has.
func committed(ctx context.Context, r objects.Repository, commit string) (map[string]objects.Tracked, error) {
	moved, err := r.Moved(ctx, "", commit)
	if err != nil {
		return nil, err
	}
	all := make(map[string]objects.Tracked, len(moved))
	for name, m := range moved {
		all[name] = m.To
	}
	return all, nil
}

// files works out what is to be written over what the commit has.
func (t *Tree) files(ctx context.Context, h *undo.History) error {
	m, err := t.manifest(ctx, h)
	if err != nil {
		return err
	}
	all, changed := m.Versions(), h.Versions()
	maps.Copy(all, changed)
	index, err := t.repo.Index()
	if err != nil {
		index = objects.Index{} // then nothing is known to be as git has it but what was recorded so
	}
	at := index.Finder()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := all[name]
		has, tracked := t.all[t.fromTop(name)]
		staged, _ := at(name)
		_, moved := changed[name]
		switch {
		case v == nil && tracked:
			t.remove = append(t.remove, name)
		case v == nil:
		case v.Kind == journal.FileFolder:
			t.dirs[name], t.write[name] = true, v
		case tracked && isBlob(v, has), tracked && !moved && staged.Blob == has.Blob && m.Is(name, staged):
			t.modes[name] = v
		case v.Restorable():
			t.write[name] = v
		case moved:
			t.lost = append(t.lost, journal.LeftOut{Path: name, Reason: reasonOf(v), Size: v.Size})
		default:
			t.left = append(t.left, journal.LeftOut{Path: name, Reason: reasonOf(v), Size: v.Size})
		}
	}
	for name := range t.all {
		below, ok := t.fromFolder(name)
		if _, was := all[below]; ok && t.whole && !was && t.all[name].Mode != objects.ModeSubmodule && m.LeftOut(below) == "" {
			t.remove = append(t.remove, below)
		}
	}
	slices.Sort(t.remove)
	return nil
}

// manifest is all that was in the folder at the look that is next to the position.
func (t *Tree) manifest(ctx context.Context, h *undo.History) (m workspace.Manifest, err error) {
	var base *journal.FilesBase
	for _, k := range h.Known {
		if b, ok := k.Fact.(journal.FilesBase); ok && b.Mode == journal.KeepAll && (base == nil || !k.Later) {
			base = &b
		}
	}
	if base == nil {
		t.notes = append(t.notes, h.Runs[0].Notes()...)
		t.note("what was not committed then is not known, but for what calls wrote: the worktree lacks it")
		return m, nil
	}
	t.whole = true
	if m, err = t.contents.Manifest(ctx, base.Manifest); err != nil {
		return m, t.refused(err.Error(), t.instead())
	}
	for _, l := range base.LeftOut {
		if l.Reason == journal.LeftIgnoredFolder || l.Reason == journal.LeftNested {
			t.left = append(t.left, l)
		}
	}
	return m, nil
}

// isBlob says whether a version is what a commit has at its path, its mode aside.
func isBlob(v *journal.FileVersion, has objects.Tracked) bool {
	return v.Kind == journal.FileRegular && v.Git != "" && v.Git == has.Blob && (has.Mode == objects.ModeFile || has.Mode == objects.ModeExecutable)
}

func reasonOf(v *journal.FileVersion) journal.LeftReason {
	if v.Lost != "" {
		return v.Lost
	}
	return journal.LeftSpecial
}

// fromTop is a path of the folder, seen from the top of the repository.
func (t *Tree) fromTop(name string) string {
	if t.repo.Prefix == "" {
		return name
	}
	return t.repo.Prefix + "/" + name
}

func (t *Tree) fromFolder(name string) (string, bool) {
	if t.repo.Prefix == "" {
		return name, true
	}
	return strings.CutPrefix(name, t.repo.Prefix+"/")
}

func (t *Tree) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}
