// Package ofd holds advisory locks that belong to an open file, not to a process.
//
// The kernel drops such a lock when the last descriptor of the open file is closed, so it ends with
// the process that holds it, however that process ends. A descriptor that is handed to a child on
// purpose carries the lock along, without a gap. Opening and closing the same file elsewhere in the
// process does not touch the lock, which classic POSIX locks cannot say.
//
// Lock files are never removed or replaced while their store exists: two processes could otherwise
// each hold a lock on a file of the same name. Same tells a caller that this rule was broken.
package ofd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrLookUnsupported is returned by Held where the operating system cannot tell whether a lock is
// held without taking it.
var ErrLookUnsupported = errors.New("this system cannot look at a lock without taking it")

// claimTime bounds how long Claim tries again. A look takes some microseconds; whoever looks may be
// held up by a busy machine.
const claimTime = 500 * time.Millisecond

// retryEvery is the time between two tries of Acquire. A kernel wait could not be ended with a
// context.
const retryEvery = 20 * time.Millisecond

// File is an open lock file. It is closed on exec unless it is inherited on purpose.
type File struct {
	f    *os.File
	path string
}

// Open opens the lock file at path, and creates it with mode 0600 if it is absent. It takes no lock
// and never truncates.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	return &File{f: f, path: path}, nil
}

// Inherit makes a File of descriptor fd, which a parent handed over on purpose; path is where its
// file should be. It says nothing about whether the lock is held.
func Inherit(fd uintptr, path string) *File {
	return &File{f: os.NewFile(fd, path), path: path}
}

// TryLock takes the lock exclusively and reports whether it got it. It does not wait.
// Taking a lock that this open file holds already succeeds.
func (f *File) TryLock() (bool, error) {
	return f.try(true)
}

// TryLockShared takes the lock together with other shared holders and reports whether it got it. It
// does not wait.
func (f *File) TryLockShared() (bool, error) {
	return f.try(false)
}

// Claim is TryLock for a file that others look at by Held: where a look takes the lock for a
// moment, that is waited out. A lock that somebody holds exclusively is not waited for.
func (f *File) Claim() (bool, error) {
	var late <-chan time.Time
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		ok, err := f.TryLock()
		if ok || err != nil {
			return ok, err
		}
		if busy, err := Held(f.path); err != nil || busy {
			return false, nil // or nobody can look without taking it: then it is held
		}
		if late == nil {
			late = time.After(claimTime)
		}
		select {
		case <-late:
			return false, nil
		case <-time.After(pause):
		}
	}
}

func (f *File) try(exclusive bool) (bool, error) {
	ok, err := tryLock(f.f, exclusive)
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.path, err)
	}
	return ok, nil
}

// Same reports whether the open file is still the one found at its path. A caller that holds a lock
// on a file which is not there any more holds nothing.
func (f *File) Same() (bool, error) {
	mine, err := f.f.Stat()
	if err != nil {
		return false, fmt.Errorf("look at open lock file %s: %w", f.path, err)
	}
	there, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at lock file: %w", err)
	}
	return os.SameFile(mine, there), nil
}

// Describe replaces the file's text, which is for people: who holds it. The lock is the authority,
// so the text is not synced.
func (f *File) Describe(text string) error {
	if err := f.f.Truncate(0); err != nil {
		return fmt.Errorf("describe lock %s: %w", f.path, err)
	}
	if _, err := f.f.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("describe lock %s: %w", f.path, err)
	}
	return nil
}

// File is the open file itself, for a caller that hands the lock to a child. It stays owned by f.
func (f *File) File() *os.File { return f.f }

// Close closes this descriptor. The lock is dropped with the last descriptor of the open file: an
// inherited copy keeps it.
func (f *File) Close() error {
	if err := f.f.Close(); err != nil {
		return fmt.Errorf("close lock %s: %w", f.path, err)
	}
	return nil
}

// Held reports whether any process, this one included, holds the lock at path exclusively; on Linux
// one that is held shared shows too. It takes nothing that keeps out others who look, and needs
// only read access. An absent file is not held. ErrLookUnsupported is returned where looking would
// mean taking it from others.
func Held(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at lock: %w", err)
	}
	held, err := held(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return false, fmt.Errorf("look at lock %s: %w", path, err)
	}
	return held, nil
}

// Acquire opens the lock file at path and takes the lock exclusively. It tries again until ctx
// ends, then returns an error that wraps the context's. A file that was replaced meanwhile is
// opened afresh.
func Acquire(ctx context.Context, path string) (*File, error) {
	var tick *time.Ticker
	for {
		f, err := attempt(path)
		if f != nil || err != nil {
			return f, err
		}
		if tick == nil {
			tick = time.NewTicker(retryEvery)
			defer tick.Stop()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// attempt is one try of Acquire; nil, nil means that someone else holds the lock.
func attempt(path string) (*File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	ok, err := f.TryLock()
	if err == nil && ok {
		ok, err = f.Same()
	}
	if err == nil && ok {
		return f, nil
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return nil, err
}
