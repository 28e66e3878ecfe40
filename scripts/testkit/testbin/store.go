//go:build unix

package testbin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// store is BASE: a folder for each state of the sources.
type store struct {
	base string
	user int // who uses it
}

// maker builds programs in a folder, under the lock.
type maker func(folder string, lock *os.File) error

// open returns the folder of a digest, with these files in it, and with a shared lock that keeps it
// from being removed. What is not there is made; who finds it there needs no right to write.
func (s store) open(digest string, files []string, build maker) (*os.File, error) {
	for {
		held, err := s.existing(digest, files)
		if !errors.Is(err, fs.ErrNotExist) {
			return held, err
		}
		if err := s.add(digest, build); err != nil {
			return nil, err
		}
	}
}

// existing opens the folder of a digest and checks it. The error is fs.ErrNotExist where there is
// none.
func (s store) existing(digest string, files []string) (held *os.File, err error) {
	if err := s.trust(s.base); err != nil {
		return nil, err
	}
	folder := filepath.Join(s.base, digest)
	held, err = os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			held.Close() // it was only read
		}
	}()
	if err := flock(held, syscall.LOCK_SH); err != nil {
		return nil, err
	}

	// Whoever removes a folder renames it first, and may have done so before the lock was taken.
	now, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	if locked, err := held.Stat(); err != nil || !os.SameFile(now, locked) {
		return nil, errors.Join(err, fs.ErrNotExist)
	}

	if err := s.trust(folder); err != nil {
		return nil, err
	}
	for _, name := range files {
		if err := s.check(folder, name, digest); err != nil {
			return nil, err
		}
	}
	// In somebody else's folder the time is not ours to set; it is not we who remove it, either.
	_ = os.Chtimes(folder, time.Time{}, time.Now())
	return held, nil
}

// check looks at one program: who may have written it, and of which sources it was made.
func (s store) check(folder, name, digest string) error {
	path := filepath.Join(folder, name)
	if err := s.trust(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: remove %s", path, folder)
	} else if err != nil {
		return err
	}

	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it is only read
	ours, err := contains(f, mark(digest))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if !ours {
		return fmt.Errorf("%s was made from other sources: remove %s", path, folder)
	}
	return nil
}

// trust refuses what others may have written.
func (s store) trust(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the system does not report who owns it", path)
	}
	return distrust(path, info.Mode(), int(status.Uid), s.user)
}

// add builds the folder of a digest, or waits for who is at it. It is there complete or not at all.
func (s store) add(digest string, build maker) error {
	if err := os.MkdirAll(s.base, 0o755); err != nil {
		return err
	}
	if err := s.trust(s.base); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.base, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("%w: set AGENT_TESTBIN to a folder of yours", err)
	}
	defer lock.Close() // nothing is written to it
	if err := flock(lock, syscall.LOCK_EX); err != nil {
		return err
	}
	// Closing is not enough: a process that go has left behind would go on holding the lock.
	defer func() { _ = flock(lock, syscall.LOCK_UN) }()

	folder := filepath.Join(s.base, digest)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fresh := filepath.Join(s.base, ".new")
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(s.old()), os.Mkdir(fresh, 0o755)); err != nil {
		return err
	}
	if err := errors.Join(build(fresh, lock), settle(fresh)); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}

	if err := errors.Join(os.Rename(fresh, folder), syncFile(s.base)); err != nil {
		return err
	}
	return s.prune(digest)
}

// old is what a folder that is being removed is called.
func (s store) old() string { return filepath.Join(s.base, ".old") }

// settle gives the files of a folder the rights that every user's umask allows, and syncs them.
func settle(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if err := errors.Join(os.Chmod(path, 0o755), syncFile(path)); err != nil {
			return err
		}
	}
	return errors.Join(os.Chmod(folder, 0o755), syncFile(folder))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// prune removes the states that were used longest ago, and that nobody uses.
func (s store) prune(digest string) error {
	entries, err := os.ReadDir(s.base)
	if err != nil {
		return err
	}
	var all []state
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !isDigest(e.Name()) {
			continue // what cannot be looked at takes room, and does no other harm
		}
		if status, ok := info.Sys().(*syscall.Stat_t); ok && (int(status.Uid) == s.user || s.user == 0) {
			all = append(all, state{e.Name(), info.ModTime()})
		}
	}

	for _, name := range outdated(all, digest) {
		if err := s.remove(filepath.Join(s.base, name)); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a folder that nobody holds.
func (s store) remove(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close() // it is only locked
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	} else if err != nil {
		return err
	}
	return errors.Join(os.Rename(folder, s.old()), os.RemoveAll(s.old()))
}

// flock locks a file or a folder. A signal is no reason not to.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}
