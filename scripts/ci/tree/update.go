package tree

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// repository is the one name at the top of the folder that an update never touches.
const repository = ".git"

// Update makes the folder hold the named files of the checkout, and nothing else but its .git. A
// name that the checkout does not have (a file that was deleted and is still in the index) is
// skipped. It returns what it did.
//
// The folder is one that an earlier Update made, which a file beside it shows, or it is empty: a
// folder of somebody else's would lose what is in it.
func Update(checkout, folder string, names []string) ([]Action, error) {
	if err := claim(folder); err != nil {
		return nil, err
	}
	wanted := map[string]Entry{}
	for _, name := range names {
		if !below(checkout, name) {
			continue
		}
		entry, err := look(filepath.Join(checkout, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the checkout: %w", err)
		}
		wanted[name] = entry
	}

	present, err := scan(folder)
	if err != nil {
		return nil, fmt.Errorf("read the copy: %w", err)
	}
	actions := Plan(wanted, present)
	for _, a := range actions {
		if err := a.carryOut(checkout, folder); err != nil {
			return nil, fmt.Errorf("bring the copy up to date: %w", err)
		}
	}
	return actions, nil
}

// below reports whether a name is one that the checkout can have: neither a repository of its own,
// which git lists with a slash behind it, nor one below what is no folder any more. Through a link
// names outside of the checkout would be read, and written outside of the copy.
func below(checkout, name string) bool {
	if strings.HasSuffix(name, "/") {
		return false
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if info, err := os.Lstat(filepath.Join(checkout, filepath.FromSlash(folder))); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// claim makes the folder if it does not exist, and the file that shows whose it is.
func claim(folder string) error {
	mark := folder + ".made"
	if _, err := os.Lstat(mark); err == nil {
		return os.MkdirAll(folder, 0o755)
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the copy: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s holds files and was not made by .ci/run: set AGENT_CI_KEPT to another folder", folder)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte("The folder beside this file belongs to .ci/run, which removes what is foreign in it.\n"), 0o644)
}

// scan reads what a folder has now.
func scan(folder string) (map[string]Entry, error) {
	present := map[string]Entry{}
	err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == folder {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		if name == repository {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		present[filepath.ToSlash(name)], err = look(file)
		return err
	})
	return present, err
}

func look(file string) (Entry, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return Entry{}, err
	}
	entry := Entry{Mode: info.Mode().Type() | info.Mode().Perm()}
	switch {
	case entry.Mode.Type() == fs.ModeSymlink:
		entry.Mode = fs.ModeSymlink // its bits mean nothing
		entry.Data, err = os.Readlink(file)
	case entry.Mode.IsRegular():
		entry.Data, err = digest(file)
	}
	return entry, err
}

func digest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() // it is only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return string(h.Sum(nil)), nil
}

// carryOut is repeatable: an update that was killed between two actions, or within one, leaves what
// the next one sees as different.
func (a Action) carryOut(checkout, folder string) error {
	file := filepath.Join(folder, filepath.FromSlash(a.Name))
	mode := a.Entry.Mode.Perm()
	switch a.Do {
	case Remove:
		return os.Remove(file)
	case Mkdir:
		if err := os.Mkdir(file, mode); err != nil {
			return err
		}
		return os.Chmod(file, mode) // whatever the umask
	case Link:
		return os.Symlink(a.Entry.Data, file)
	case Chmod:
		return os.Chmod(file, mode)
	}
	return write(filepath.Join(checkout, filepath.FromSlash(a.Name)), file, mode)
}

// write changes a file in its place: its folder keeps its time, so that who lists the folder sees
// nothing new.
func write(from, to string, mode fs.FileMode) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		return err
	}
	return os.Chmod(to, mode)
}
