package fork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"agent/host/view"
	"agent/recovery/journal"
	"agent/tools/gitrepo/worktree"
	"agent/tools/scan"
)

// Make adds the worktree and lays the files over it. If that fails, nothing of it stays.
func (t *Tree) Make(ctx context.Context) error {
	if err := t.clear(ctx); err != nil {
		return err
	}
	if err := worktree.Add(ctx, t.repo, t.Dir, t.Commit, t.reason()); err != nil {
		return t.refused(err.Error(), t.instead())
	}
	if err := t.lay(ctx); err != nil {
		return errors.Join(fmt.Errorf("lay the files of %s over %s: %w", t.At, t.Dir, err), t.Remove(ctx))
	}
	return nil
}

// Begun says that the run which works there is recorded.
func (t *Tree) Begun(ctx context.Context) error {
	return worktree.Unlock(context.WithoutCancel(ctx), t.repo, t.Dir)
}

// Remove takes away a worktree in which no run works.
func (t *Tree) Remove(ctx context.Context) error {
	return worktree.Remove(context.WithoutCancel(ctx), t.repo, t.Dir)
}

// Abandon takes the worktree away again, unless a run is recorded that works there.
func (t *Tree) Abandon(ctx context.Context) error {
	row, err := t.process.Store.LatestRun(context.WithoutCancel(ctx), t.Folder)
	if err != nil || row != nil {
		return err
	}
	return t.Remove(ctx)
}

// clear removes what a process left that was killed, unless somebody put something else there.
func (t *Tree) clear(ctx context.Context) error {
	reason, locked, err := worktree.Locked(t.repo, t.Dir)
	if err != nil || !locked || reason != t.reason() {
		return err
	}
	err = filepath.WalkDir(t.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(t.Dir, name)
		if err != nil || rel == ".git" || scan.IsTemp(d.Name()) {
			return err
		}
		rel = filepath.ToSlash(rel)
		below, ok := t.fromFolder(rel)
		if _, committed := t.all[rel]; committed || ok && t.write[below] != nil {
			return nil
		}
		return t.refused(fmt.Sprintf("an earlier try was cut off and left %s, and %s is not of it", t.Dir, rel),
			view.Fix{Does: "remove it with all that is in it", Command: t.removal() + " --force --force"})
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.Remove(ctx)
}

// lay has the files be as they were at the position.
func (t *Tree) lay(ctx context.Context) (err error) {
	if err := os.MkdirAll(t.Folder, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(t.Folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	disk, err := t.contents.Disk(t.Folder, slices.Sorted(maps.Keys(t.write)))
	if err != nil {
		return err
	}
	maps.DeleteFunc(t.write, func(name string, v *journal.FileVersion) bool { return v.Same(disk[name]) })
	var names scan.Folders
	for _, name := range slices.Backward(t.remove) {
		if err := t.drop(&names, root, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.write)) {
		v := t.write[name]
		var content []byte
		if v.Kind == journal.FileRegular {
			if content, err = t.content(ctx, v); err != nil {
				return err
			}
		}
		if err := names.Restore(root, name, v, content); err != nil {
			return err
		}
	}
	return errors.Join(t.setModes(root), names.Sync(root))
}

// drop removes a file, and the folders above it that were not there.
func (t *Tree) drop(names *scan.Folders, root *os.Root, name string) error {
	err := names.Restore(root, name, nil, nil)
	for at := path.Dir(name); err == nil && t.whole && at != "." && !t.dirs[at]; at = path.Dir(at) {
		err = names.Restore(root, at, nil, nil)
	}
	if errors.Is(err, scan.ErrNotEmpty) {
		return nil // something else is in it
	}
	return err
}

// setModes gives the files that are as git has them the modes that they had.
func (t *Tree) setModes(root *os.Root) error {
	for name, v := range t.modes {
		info, err := root.Lstat(filepath.FromSlash(name))
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() == fs.FileMode(v.Mode&0o777) {
			continue // git made something else of it, which is the person's setting
		}
		if err := root.Chmod(filepath.FromSlash(name), fs.FileMode(v.Mode&0o777)); err != nil {
			return err
		}
	}
	return nil
}
