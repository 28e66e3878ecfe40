package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tempPath is where the private temporary folder of a run is: outside the state folder, which no
// command sees.
func tempPath(run string) (string, error) {
	if run == "" || strings.ContainsAny(run, "/\x00") || run == "." || run == ".." {
		return "", fmt.Errorf("%q is no id of a run", run)
	}
	dir, err := filepath.EvalSymlinks(os.TempDir())
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("find the folder of temporary files: %w", err)
	}
	return filepath.Join(dir, fmt.Sprintf("agent-%d-%s", os.Geteuid(), run)), nil
}

// MakeTemp makes the private temporary folder of a run, or finds it again: for this user alone, and
// refused where somebody else put something in its place.
func MakeTemp(run string) (string, error) {
	path, err := tempPath(run)
	if err == nil {
		if err = os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) {
			err = private(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("make the private temporary folder of run %s: %w", run, err)
	}
	return path, nil
}

// private refuses what is not a folder of this user's alone.
func private(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() || !owned(info) {
		return fmt.Errorf("%s is there, and is no folder of this user's", path)
	}
	// Commands may have opened it up; it is theirs. What matters is that nobody else could.
	return os.Chmod(path, 0o700)
}

// Temps lists the runs whose private temporary folders are there.
func Temps() ([]string, error) {
	mark, err := tempPath("*")
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(mark)
	if err != nil {
		return nil, fmt.Errorf("list the private temporary folders: %w", err)
	}
	for i, path := range found {
		found[i] = strings.TrimPrefix(path, strings.TrimSuffix(mark, "*"))
	}
	return found, nil
}

// RemoveTemp removes the private temporary folder of a run that is over. That none is there is
// fine.
func RemoveTemp(run string) error {
	path, err := tempPath(run)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := private(path); err != nil {
		return fmt.Errorf("remove the private temporary folder of run %s: %w", run, err)
	}
	if err := removeAll(path); err != nil {
		return fmt.Errorf("remove the private temporary folder of run %s: %w", run, err)
	}
	return nil
}

// removeAll removes a folder that commands filled.
func removeAll(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	// A cache of modules makes its folders read-only. Links are not followed, and what cannot be
	// opened up shows below.
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) // as above
		}
		return nil
	})
	return os.RemoveAll(path)
}
