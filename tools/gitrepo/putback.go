package gitrepo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// asideMark is in the name of what was set aside.
const asideMark = ".set-aside"

// PutBack undoes changes in a workspace: a file gets the content back that it had, and what is new,
// or cannot be put back, is set aside under another name, where nobody obeys it. Nothing is
// deleted. It returns a sentence for each.
func PutBack(folder string, changes []Change) []string {
	if len(changes) == 0 {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return []string{fmt.Sprintf("what was changed could not be put back: %v", err)}
	}
	defer root.Close() // only a handle
	var notes []string
	for _, c := range changes {
		name := filepath.FromSlash(c.Path)
		var did string
		err := writable(root, filepath.Dir(name), func() (err error) {
			did, err = undo(root, name, c)
			return err
		})
		if err != nil {
			did = fmt.Sprintf("could not be put back (%v): look at it before you use git or an editor here", err)
		}
		notes = append(notes, fmt.Sprintf("%s (%s) %s", c.Path, c.Why, did))
	}
	return notes
}

// undo puts one path back.
func undo(root *os.Root, name string, c Change) (string, error) {
	aside, err := setAside(root, name)
	if err != nil {
		return "", err
	}
	was := c.Was
	switch {
	case was == nil:
		return "was set aside as " + aside, nil
	case was.Link != "":
		err = root.Symlink(was.Link, name)
	case was.Content != nil || was.Digest == digest(nil):
		err = rewrite(root, name, was)
	default:
		return fmt.Sprintf("was set aside as %s: what was there before is not kept", aside), nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("was put back as it was; what it had become is %s", aside), nil
}

// rewrite makes a file anew.
func rewrite(root *os.Root, name string, was *Item) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(was.Content)
	if err == nil {
		err = f.Chmod(fs.FileMode(was.Mode))
	}
	return errors.Join(err, f.Close())
}

// isAside says whether a path is what was set aside: its name ends as setAside makes it.
func isAside(p string) bool {
	_, rest, ok := strings.Cut(path.Base(p), asideMark)
	return ok && strings.Trim(rest, "-0123456789") == ""
}

// setAside gives a path a name that nobody obeys, beside it, and returns that.
func setAside(root *os.Root, name string) (string, error) {
	for i := range 100 {
		aside := name + asideMark
		if i > 0 {
			aside = fmt.Sprintf("%s-%d", aside, i+1)
		}
		_, err := root.Lstat(aside)
		if errors.Is(err, fs.ErrNotExist) {
			return path.Base(filepath.ToSlash(aside)), root.Rename(name, aside)
		}
		if err != nil {
			return "", err
		}
	}
	return "", errors.New("too many names are taken")
}

// writable does something in a folder, also where the permission for that was taken from its owner,
// as a command may have.
func writable(root *os.Root, dir string, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	var undo []func() error
	for i, c := range dir + "/" {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(dir[:i])
		if mode := fs.FileMode(0o700); err == nil && info.IsDir() && info.Mode()&mode != mode {
			err = root.Chmod(dir[:i], info.Mode().Perm()|mode)
			undo = append(undo, func() error { return root.Chmod(dir[:i], info.Mode().Perm()) })
		}
		if err != nil {
			break // doing it says what is wrong
		}
	}
	err = do()
	for _, f := range slices.Backward(undo) {
		err = errors.Join(err, f())
	}
	return err
}
