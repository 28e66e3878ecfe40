// Package owner says which process drives a run. The lock of a run (locks/RUN, an open file
// description lock) is the only authority: who holds it drives the run, and the kernel lets it go
// when that process ends. What stands in the lock file is for messages, for a takeover, and for the
// cause of an interruption that could not be recorded. A lock file is removed with its run alone
// (host/prune), by the process that holds it.
package owner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/tools/ofd"
	"agent/tools/process"
)

// Locks are the locks of the runs of one state folder.
type Locks struct {
	Dir  string // the folder locks
	Self process.Identity
}

// HeldError says that another process drives the run.
type HeldError struct {
	Run    string
	Holder process.Identity
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("claim run %s: %s drives it now", e.Run, e.Holder)
}

// Path is the lock file of a run.
func (l Locks) Path(run string) string { return filepath.Join(l.Dir, run) }

// Take takes a run's lock and writes into it who holds it; a *HeldError says who does.
func (l Locks) Take(run string) (*ofd.File, error) {
	path := l.Path(run)
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make lock folder for run %s: %w", run, err)
	}
	f, err := ofd.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open lock of run %s: %w", run, err)
	}
	ok, err := try(f, path)
	if err == nil && ok {
		ok, err = f.Same()
	}
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("take lock of run %s: %v", run, err), f.Close())
	case !ok:
		text, _ := read(path) // without a readable holder the message says "another process"
		return nil, errors.Join(&HeldError{Run: run, Holder: text.Identity}, f.Close())
	}
	if err := l.Describe(f, ""); err != nil {
		return nil, errors.Join(fmt.Errorf("write holder into lock of run %s: %w", run, err), f.Close())
	}
	return f, nil
}

// lastMoment is how long a process that was killed may take to let go of its lock.
const lastMoment = 500 * time.Millisecond

// try takes the lock if it is free. The lock of a process that is ending, or of a child of it that
// was on its way to another program, is free in a moment: it is waited for.
func try(f *ofd.File, path string) (bool, error) {
	late := time.NewTimer(lastMoment)
	defer late.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		ok, err := f.Claim()
		if ok || err != nil {
			return ok, err
		}
		if text, err := read(path); err != nil || !text.Ending() {
			return false, nil // it lives, or has not written its name yet
		}
		select {
		case <-again.C:
		case <-late.C:
			return false, nil
		}
	}
}

// Held says whether some process drives the run. It looks and takes nothing.
func (l Locks) Held(run string) (bool, error) {
	path := l.Path(run)
	if _, err := os.Stat(path); err != nil {
		return false, nil // no lock file, no owner
	}
	busy, err := ofd.Held(path)
	if errors.Is(err, ofd.ErrLookUnsupported) {
		return heldByTrying(path)
	}
	return busy, err
}

// heldByTrying is for systems that cannot look: the lock is taken and let go at once; claimers
// retry.
func heldByTrying(path string) (bool, error) {
	f, err := ofd.Open(path)
	if err != nil {
		return false, err
	}
	ok, err := f.TryLock()
	return !ok, errors.Join(err, f.Close())
}

// Owner is the process that drives a run now; false when there is none. It looks and takes nothing.
func (l Locks) Owner(run string) (process.Identity, bool, error) {
	busy, err := l.Held(run)
	if err != nil || !busy {
		return process.Identity{}, false, err
	}
	text, err := read(l.Path(run))
	if err != nil {
		return process.Identity{}, true, nil // it holds the lock and has not written its name yet: messages say "another process"
	}
	return text.Identity, true, nil
}

// Last is the process that held the run's lock last, with why it could not record anything any
// more; empty for what is not known.
func (l Locks) Last(run string) (who process.Identity, failed string) {
	text, err := read(l.Path(run))
	if err != nil {
		return process.Identity{}, "" // without it the cause of an interruption is what that process left: nothing
	}
	return text.Identity, text.Failed
}

// lockText is what a lock file says.
type lockText struct {
	process.Identity
	Failed string `json:"failed,omitempty"`
}

// maxFailed bounds lockText.Failed, characters.
const maxFailed = 512

// Describe writes into a lock that this process holds it, and why it can record nothing any more;
// "" where it can.
func (l Locks) Describe(f *ofd.File, failed string) error {
	failed = strings.Join(strings.Fields(failed), " ")
	if r := []rune(failed); len(r) > maxFailed {
		failed = string(r[:maxFailed-1]) + "…"
	}
	text, err := json.Marshal(lockText{l.Self, failed})
	if err != nil {
		return err
	}
	return f.Describe(string(text))
}

func read(path string) (lockText, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return lockText{}, fmt.Errorf("read lock file %s: %v", path, err)
	}
	var t lockText
	if err := json.Unmarshal(b, &t); err != nil {
		return lockText{}, errors.New("lock file " + path + " names no holder")
	}
	return t, nil
}
