package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"agent/tools/durable"
)

// add notes a folder, by the names on the way to it.
func (f *Folders) add(names []string) {
	if f.changed == nil {
		f.changed = map[string]struct{}{}
	}
	f.changed[strings.Join(names, "/")] = struct{}{}
}

// Sync makes durable what the Restores before did to names. Of a folder that is gone nothing is:
// the one that it was in says so.
func (f *Folders) Sync(root *os.Root) error {
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(f.changed)) {
		var names []string
		if path != "" {
			names = strings.Split(path, "/")
		}
		if err := syncAt(root, names); err != nil {
			errs = append(errs, about("make durable what is in", path, err))
			continue
		}
		delete(f.changed, path)
	}
	return errors.Join(errs...)
}

func syncAt(root *os.Root, names []string) error {
	var r reached
	there, err := r.way(root, names, nil)
	if there && err == nil {
		var f *os.File
		if f, err = r.dir.Open("."); err == nil {
			err = first(durable.SyncOpened(f), f.Close())
		}
	}
	return first(err, r.close())
}

// reached is an open folder, and what was allowed on the way to it.
type reached struct {
	dir    *os.Root
	opened []*os.Root
	given  []permission
}

// permission is what a folder had before it was given more for a moment.
type permission struct {
	folder *os.File
	mode   fs.FileMode
}

// way goes to the folder that the names lead to, and says whether it is there. Folders that are
// missing are made where f is given, which notes them.
func (r *reached) way(root *os.Root, names []string, f *Folders) (bool, error) {
	r.dir = root
	for i, name := range names {
		sub, err := r.enter(name)
		if err == nil && sub == nil && f != nil {
			f.add(names[:i])
			sub, err = r.makeFolder(name)
		}
		if err != nil {
			return false, err
		}
		if sub == nil {
			return false, nil
		}
		r.dir = sub
		r.opened = append(r.opened, sub)
	}
	return true, nil
}

// makeFolder makes one that is missing on the way.
func (r *reached) makeFolder(name string) (*os.Root, error) {
	err := r.allowed(func() error { return r.dir.Mkdir(name, 0o755) })
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%q is in the way: it is no folder", name)
	}
	if err != nil {
		return nil, err
	}
	sub, err := r.enter(name)
	if err == nil && sub == nil {
		err = errReplaced
	}
	return sub, err
}

// enter opens a folder below, whatever its owner may do there.
func (r *reached) enter(name string) (sub *os.Root, err error) {
	err = r.allowed(func() error { sub, err = enter(r.dir, name); return err })
	if !errors.Is(err, fs.ErrPermission) {
		return sub, err
	}
	info, lerr := r.dir.Lstat(name)
	if lerr != nil || !info.IsDir() || r.dir.Chmod(name, info.Mode()|0o700) != nil {
		return nil, err
	}
	if sub, err = enter(r.dir, name); sub == nil || err != nil {
		_ = r.dir.Chmod(name, info.Mode()) // it cannot be entered: that says more
		return nil, err
	}
	f, err := sub.Open(".")
	if err != nil {
		_ = r.dir.Chmod(name, info.Mode()) // as above
		_ = sub.Close()                    // nothing was written through it
		return nil, err
	}
	r.given = append(r.given, permission{f, info.Mode()})
	return sub, nil
}

// allowed does something in the folder, and once more with the owner's permissions if they lack.
func (r *reached) allowed(do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	f, oerr := r.dir.Open(".")
	if oerr != nil {
		return err
	}
	info, oerr := f.Stat()
	if oerr != nil || info.Mode()&0o700 == 0o700 || f.Chmod(info.Mode()|0o700) != nil {
		_ = f.Close() // nothing was written through it
		return err
	}
	r.given = append(r.given, permission{f, info.Mode()})
	return do()
}

// close gives each folder the permissions back that it had.
func (r *reached) close() error {
	var err error
	for _, p := range slices.Backward(r.given) {
		err = first(err, p.folder.Chmod(p.mode), p.folder.Close())
	}
	for _, dir := range r.opened {
		_ = dir.Close() // what is durable was synced
	}
	return err
}

// first is the error that says most: what comes after one often follows from it.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

func namesIn(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read from; nothing can be lost
	return f.Readdirnames(-1)
}
