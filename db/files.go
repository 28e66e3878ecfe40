package db

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"agent/durable"
)

const (
	ballastSize = 16 << 20
	ballastTemp = ".ballast-*"    // name of one that is being written
	ballastRoom = 2 * ballastSize // free space without which no ballast is made
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
func (s *Store) makeFolder() error {
	if !s.o.AllowUnsafeFS {
		if err := checkFileSystem(s.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return &FolderError{Dir: s.dir, What: "it cannot be created: " + err.Error(), Remedy: "choose another one with AGENT_HOME"}
	}
	info, err := os.Stat(s.dir)
	if err != nil {
		return fmt.Errorf("look at state folder: %w", err)
	}
	if err := checkOwner(s.dir, info); err != nil {
		return err
	}
	if !writable(s.dir) {
		return fmt.Errorf("open state folder %s: %w: make it writable, or choose another one with AGENT_HOME", s.dir, ErrReadOnly)
	}
	return s.tighten(info)
}

// syncAbove makes the names of a folder, and of the folders above it, durable. They may be as new as what is put there, and
// then a power cut would take all of it.
func syncAbove(dir string) error {
	dir = resolved(dir)
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		err := durable.SyncDir(parent)
		// There is no other way where a folder is closed to those who read, or a file system knows of no such thing; on one
		// that cannot be written nothing is new.
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	return nil
}

// makeDir makes a folder that only its owner can enter, whatever the umask.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// ownNames are what agent makes in its state folder, as patterns. The host's folders are among them: some are made before
// the store is opened for the first time.
func ownNames() []string {
	return []string{
		fileName, fileName + "-wal", fileName + "-shm", keyName, markName, ballastName, blobsName, "locks", "calls", "live", "log",
		".agent-*.db*", ".agent-try-*", ".key-*", ballastTemp,
	}
}

// IsOwnName says whether agent makes files of this name in its state folder.
func IsOwnName(name string) bool {
	return slices.ContainsFunc(ownNames(), func(pattern string) bool {
		ok, err := filepath.Match(pattern, name)
		return ok && err == nil // the patterns are constants that can be read
	})
}

// tighten closes a folder of ours to others. A folder that holds something else keeps its mode; our files are 0600.
func (s *Store) tighten(info fs.FileInfo) error {
	if info.Mode().Perm() == 0o700 || !keepsModes {
		return nil
	}
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("look into state folder: %w", err)
	}
	if slices.ContainsFunc(names, func(e fs.DirEntry) bool { return !IsOwnName(e.Name()) }) {
		s.notice("the state folder %s holds other files and can be listed by others; what agent writes there cannot be read by them", s.dir)
		return nil
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return fmt.Errorf("close state folder to others: %w", err)
	}
	return nil
}

// ownerOnly takes away a file's modes for others.
func ownerOnly(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if !keepsModes || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("close %s to others: %w", path, err)
	}
	return nil
}

// makeBallast writes the file that is freed when the disk is full. It is filled with noise, so that no file system
// can store it in less.
func (s *Store) makeBallast() {
	path := filepath.Join(s.dir, ballastName)
	if info, err := os.Stat(path); err == nil && info.Size() >= ballastSize {
		return
	}
	if free, err := freeBytes(s.dir); err == nil && free < ballastRoom {
		s.notice("the disk of %s has %d MiB left, too little for the ballast of %d MiB: a full disk would stop agent at once", s.dir, free>>20, ballastSize>>20)
		return
	}
	temp, err := durable.Temp(s.dir, ballastTemp, 0o600, io.LimitReader(mathrand.NewChaCha8([32]byte{}), ballastSize))
	if err == nil {
		err = durable.Rename(temp, path)
	}
	if err != nil {
		s.notice("the ballast %s could not be written (%v): a full disk would stop agent at once", path, err)
	}
}

// dropHalfBallasts removes what was written of a ballast when its process ended. Each would keep the room of a whole one.
func (s *Store) dropHalfBallasts() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.notice("a ballast that was not finished could not be looked for: %v", err)
	}
	for _, e := range entries {
		if ok, err := filepath.Match(ballastTemp, e.Name()); err != nil || !ok {
			continue // the pattern is a constant that can be read
		}
		if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
			s.notice("a ballast that was not finished could not be removed: %v", err)
		}
	}
}

// giveUpBallast frees the room that was kept for records, and says whether there was any.
func (s *Store) giveUpBallast() bool {
	s.full.Store(true)
	if s.o.ReadOnly {
		return false
	}
	err := os.Remove(filepath.Join(s.dir, ballastName))
	if err != nil {
		return false // there is none, so nothing is gained; the caller reports the full disk
	}
	s.notice("the disk of %s is full: the ballast was freed, so that what runs can be recorded; free some space before anything new is started", s.dir)
	return true
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
