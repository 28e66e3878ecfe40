package mark

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agent/db/sqlitefile"
	"agent/tools/durable"
)

// Folder holds the mark of a state folder. It is a folder of its own since every write to a file
// wakes those who watch its folder for changes of the database.
const Folder = "marks"

// Path is where the mark of the state folder dir lies.
func Path(dir string) string { return filepath.Join(dir, Folder, "last") }

// File is a mark, which the first write opens. One goroutine at a time uses it.
type File struct {
	Path string // in a folder that is made where it is missing

	file    *os.File
	decided time.Time
}

// Leave writes the mark after a commit. What a person decided stays in it, and it is not synced.
func (f *File) Leave(m Mark) error {
	if err := f.open(); err != nil {
		return err
	}
	m.Decided = f.decided
	return Write(f.file, m)
}

// Decide writes a mark that a person decided on, durably.
func (f *File) Decide(m Mark) error {
	if err := f.open(); err != nil {
		return err
	}
	f.decided = m.Decided
	if err := Write(f.file, m); err != nil {
		return err
	}
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("make the mark durable: %w", err)
	}
	dir := filepath.Dir(f.Path)
	return errors.Join(durable.SyncDir(dir), durable.SyncDir(filepath.Dir(dir)))
}

func (f *File) open() error {
	if f.file != nil {
		return nil
	}
	if err := sqlitefile.MakeDir(filepath.Dir(f.Path)); err != nil {
		return err
	}
	if info, err := os.Lstat(f.Path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", f.Path) // opening it could wait for ever
	}
	file, err := os.OpenFile(f.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Chmod(0o600); err != nil && sqlitefile.KeepsModes { // whatever the umask
		return errors.Join(err, file.Close())
	}
	before, err := ReadFrom(file)
	if err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrDamaged) {
		return errors.Join(err, file.Close())
	}
	f.file, f.decided = file, before.Decided
	return nil
}

// Close lets go of the file. Closing one that is closed, or was never opened, does nothing.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	if err := f.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("close the mark: %w", err)
	}
	return nil
}
