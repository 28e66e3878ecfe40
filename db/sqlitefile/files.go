package sqlitefile

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"agent/tools/durable"
)

// onlyTemporary keeps tests away from a person's real state.
func onlyTemporary(dir string) error {
	if flag.Lookup("test.v") == nil {
		return nil
	}
	temp := resolved(os.TempDir())
	if filepath.Base(temp) == ".tmp" {
		temp = filepath.Dir(temp) // a script under test has its temporary folder inside its work folder
	}
	rel, err := filepath.Rel(temp, resolved(dir))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return &FolderError{Dir: dir, What: "a test runs, and this is outside " + temp, Remedy: "use a folder of the test"}
	}
	return nil
}

// resolved follows the symlinks of the part of a path that exists.
func resolved(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	parent := filepath.Dir(p)
	if parent == p {
		return p
	}
	return filepath.Join(resolved(parent), filepath.Base(p))
}

// makeFolder creates the state folder, or checks that nobody else can write in it.
func (f *File) makeFolder() error {
	if !f.o.AllowUnsafeFS {
		if err := checkFileSystem(f.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return &FolderError{Dir: f.dir, What: "it cannot be created: " + err.Error(), Remedy: "choose another one with AGENT_HOME"}
	}
	info, err := os.Stat(f.dir)
	if err != nil {
		return fmt.Errorf("look at state folder: %w", err)
	}
	if err := checkOwner(f.dir, info); err != nil {
		return err
	}
	if !writable(f.dir) {
		return fmt.Errorf("open state folder %s: %w: make it writable, or choose another one with AGENT_HOME", f.dir, ErrReadOnly)
	}
	return f.tighten(info)
}

// syncAbove makes the names of a folder, and of the folders above it, durable. They may be as new
// as what is put there, and then a power cut would take all of it.
func syncAbove(dir string) error {
	dir = resolved(dir)
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		err := durable.SyncDir(parent)
		// There is no other way where a folder is closed to those who read, or a file system knows
		// of no such thing; on one that cannot be written nothing is new.
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	return nil
}

// MakeDir makes a folder that only its owner can enter, whatever the umask.
func MakeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// Owns says whether the program makes files of this name in the folder. Some are made before the
// database.
func (o Format) Owns(name string) bool {
	own := []string{o.Name, o.Name + "-wal", o.Name + "-shm", ballastName, ".agent-*.db*", ".agent-try-*", ballastTemp}
	return slices.ContainsFunc(append(own, o.Beside...), func(pattern string) bool {
		ok, err := filepath.Match(pattern, name)
		return ok && err == nil // the patterns are constants that can be read
	})
}

// tighten closes a folder of ours to others. A folder that holds something else keeps its mode; our
// files are 0600.
func (f *File) tighten(info fs.FileInfo) error {
	if info.Mode().Perm() == 0o700 || !KeepsModes {
		return nil
	}
	names, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("look into state folder: %w", err)
	}
	if slices.ContainsFunc(names, func(e fs.DirEntry) bool { return !f.Format.Owns(e.Name()) }) {
		f.Notice("the state folder %s holds other files and can be listed by others; what agent writes there cannot be read by them", f.dir)
		return nil
	}
	if err := os.Chmod(f.dir, 0o700); err != nil {
		return fmt.Errorf("close state folder to others: %w", err)
	}
	return nil
}

// OwnerOnly takes away a file's modes for others.
func OwnerOnly(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if !KeepsModes || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("close %s to others: %w", path, err)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("make %s durable: %w", path, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("make %s durable: %w", path, err)
	}
	return nil
}
