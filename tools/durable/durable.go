// Package durable writes files that are there after a power cut: as they were, or as they were to
// be, never half.
//
// The order is always the same. The content goes to a temporary file in the same folder, which is
// synced; then it gets its name; then the folder is synced, since a name is kept there. Who must do
// something between two of these steps calls them one by one; everybody else calls Replace.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace gives path a new content in one step. On an error the old file may be in place or the new
// one, whole in both cases.
func Replace(path string, perm fs.FileMode, content io.Reader) error {
	temp, err := Temp(filepath.Dir(path), "."+filepath.Base(path)+"-*", perm, content)
	if err != nil {
		return err
	}
	return Rename(temp, path)
}

// Temp writes a synced file under a name of its own (see os.CreateTemp), and removes it where that
// fails.
func Temp(dir, pattern string, perm fs.FileMode, content io.Reader) (path string, err error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	err = f.Chmod(perm)
	if err == nil {
		_, err = io.Copy(f, content)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// Rename gives a synced file its name for good, and removes it where it does not get it.
func Rename(temp, path string) error {
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return SyncDir(filepath.Dir(path))
}

// Free says whether a new file can have a path: fs.ErrExist where something is there.
func Free(path string) error {
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		return &fs.PathError{Op: "name", Path: path, Err: fs.ErrExist}
	}
	return err
}

// Link gives a synced file its name for good and replaces nothing: fs.ErrExist says that something
// is there. It is a link, where the file system has any. The temporary file is removed where it
// does not get its name.
func Link(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil {
		return errors.Join(os.Remove(temp), SyncDir(filepath.Dir(path)))
	}
	if err := Free(path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return Rename(temp, path)
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("make folder %s durable: %w", dir, err)
	}
	if err := errors.Join(SyncOpened(f), f.Close()); err != nil {
		return fmt.Errorf("make folder %s durable: %w", dir, err)
	}
	return nil
}

// SyncOpened is SyncDir for a folder that is open. Windows syncs no folder; its file system keeps
// names in a log of its own.
func SyncOpened(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}
