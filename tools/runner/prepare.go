package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agent/tools/durable"
	"agent/tools/ofd"
)

const claimVersion = 1

// Job is a call that is prepared: its folder is durable and its lock is held by this process.
type Job struct {
	folder string
	spec   Spec
	lock   *ofd.File
}

// ErrBegan is the error of Prepare for a folder in which this very attempt began: it was started
// before.
var ErrBegan = errors.New("it holds the record of a call that began")

// Prepare makes the call's folder with its lock file, makes both durable and takes the lock.
// Nothing runs. A folder that an earlier host prepared for the same attempt and never started is
// made anew; any other folder in its place is an error (ErrBegan).
// The caller owns the job: Start or Abandon ends it.
func Prepare(folder string, s Spec) (*Job, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := supported(); err != nil {
		return nil, fmt.Errorf("prepare call %s: %w", s.Mark(), err)
	}
	if !filepath.IsAbs(folder) {
		return nil, fmt.Errorf("prepare call %s: the folder %q is not an absolute path", s.Mark(), folder)
	}
	fresh, err := makeFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("prepare call %s: %w", s.Mark(), err)
	}
	lock, err := makeLock(folder, fresh, s.Identity)
	if err != nil {
		return nil, fmt.Errorf("prepare call %s: %w", s.Mark(), err)
	}
	return &Job{folder: folder, spec: s, lock: lock}, nil
}

// makeFolder makes the folder and what is missing above it, and returns all folders whose names are
// new. Removing what an emptied run left (Discard) may race with it, so it tries a few times.
func makeFolder(folder string) (fresh []string, err error) {
	for range 5 {
		fresh = []string{folder}
		for up := filepath.Dir(folder); up != filepath.Dir(up); up = filepath.Dir(up) {
			if has, err := there(up, "."); err != nil || has {
				break // what cannot be looked at cannot be made either, which is reported below
			}
			fresh = append(fresh, up)
		}
		if err = os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
			return nil, err
		}
		err = os.Mkdir(folder, 0o700)
		if errors.Is(err, fs.ErrExist) {
			if err = clearStale(folder); err != nil {
				return nil, err
			}
			err = os.Mkdir(folder, 0o700)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fresh, err
		}
	}
	return nil, err
}

// clearStale removes a folder in which nothing ever ran: a host ended between preparing it and
// recording the start.
func clearStale(folder string) error {
	held, err := ofd.Held(filepath.Join(folder, lockName))
	if err != nil {
		return err
	}
	if held {
		return fmt.Errorf("the folder %s is in use by a running call", folder)
	}
	for _, name := range []string{beganName, exitName} {
		has, err := there(folder, name)
		if err != nil {
			return err
		}
		if has {
			return fmt.Errorf("the folder %s: %w", folder, ErrBegan)
		}
	}
	return os.RemoveAll(folder)
}

// makeLock takes the lock before it names the call, so that a file which names one was held from
// then on. Then it makes all that is new durable: the file first, since its sync mostly carries the
// folders along.
func makeLock(folder string, fresh []string, id Identity) (*ofd.File, error) {
	line, err := json.Marshal(claim{Identity: id, Version: claimVersion})
	if err != nil {
		return nil, err
	}
	lock, err := ofd.Open(filepath.Join(folder, lockName))
	if err != nil {
		return nil, err
	}
	ok, err := lock.Claim()
	if err == nil && !ok {
		return nil, errors.Join(fmt.Errorf("the lock in %s is held by another process", folder), lock.Close())
	}
	if err == nil {
		err = lock.Describe(string(line) + "\n")
	}
	if err == nil {
		err = lock.File().Sync()
	}
	if err == nil {
		err = durable.SyncDir(folder)
	}
	for _, up := range fresh {
		if err == nil {
			err = durable.SyncDir(filepath.Dir(up))
		}
	}
	if err == nil {
		return lock, nil
	}
	return nil, errors.Join(err, lock.Close(), os.RemoveAll(folder))
}

// Folder is the call's folder.
func (j *Job) Folder() string { return j.folder }

// Close drops the lock of a job that is not to be started by this process, and leaves its folder:
// where the start was recorded already, that folder is the proof that the call never began.
func (j *Job) Close() error {
	if err := j.lock.Close(); err != nil {
		return fmt.Errorf("let go of call %s: %w", j.spec.Mark(), err)
	}
	return nil
}

// Abandon drops the lock of a job that is not to be started, and removes its folder.
func (j *Job) Abandon() error {
	// The folder goes first: an outsider who finds the lock free must not find a call that was
	// never started here.
	err := remove(j.folder)
	if cerr := j.lock.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("abandon call %s: %w", j.spec.Mark(), err)
	}
	return nil
}

// Discard removes the call's folder once its result is in the database. A running call is left
// alone with an error; an absent folder is fine.
func Discard(folder string) error {
	held, err := ofd.Held(filepath.Join(folder, lockName))
	if err != nil {
		return fmt.Errorf("discard %s: %w", folder, err)
	}
	if held {
		return fmt.Errorf("discard %s: the call is still running", folder)
	}
	if name := keeps(folder); name != "" {
		err = removeBut(folder, name)
	} else {
		err = remove(folder)
	}
	if err != nil {
		return fmt.Errorf("discard call: %w", err)
	}
	return nil
}

// removeBut removes everything in a folder but one file, the lock first as remove does.
func removeBut(folder, name string) error {
	if err := os.Remove(filepath.Join(folder, lockName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if e.Name() != name {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// remove takes the lock file away first: a folder that is half gone after a crash must prove
// nothing, least of all that the call never started.
func remove(folder string) error {
	if err := os.Remove(filepath.Join(folder, lockName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	// The run's own folder goes with its last call; while another call is there this fails, and
	// that is what is wanted.
	_ = os.Remove(filepath.Dir(folder))
	return nil
}

// Leftovers lists the folders of calls below root that are not running. For each of them either the
// result is not in the database yet, or someone forgot to discard it; the caller knows which.
func Leftovers(root string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil {
		return nil, fmt.Errorf("list leftovers: %w", err)
	}
	var left []string
	for _, folder := range found {
		held, err := ofd.Held(filepath.Join(folder, lockName))
		if err != nil && !errors.Is(err, ofd.ErrLookUnsupported) {
			return nil, fmt.Errorf("list leftovers: %w", err)
		}
		if !held {
			left = append(left, folder)
		}
	}
	return left, nil
}

// Cancel asks the runner to stop the command and everything that it started. The request is
// durable: a runner that has not started the command yet never will. Only the first reason is kept.
// Wait tells when it is done.
func Cancel(folder, reason string) error {
	if has, err := there(folder, cancelName); err != nil || has {
		if err != nil {
			return fmt.Errorf("cancel call: %w", err)
		}
		return nil
	}
	path := filepath.Join(folder, cancelName)
	b, err := json.Marshal(cancelRecord{Reason: clip(reason)})
	if err == nil {
		err = durable.Replace(path, 0o600, bytes.NewReader(b))
	}
	if err != nil {
		err = cancelByName(path)
	}
	if err != nil {
		return fmt.Errorf("cancel call: %w", err)
	}
	return nil
}

// cancelByName is for a disk that is full or fails, so that the reason is not kept: the name alone
// is the request, and the command is to end also where the request cannot be made durable.
func cancelByName(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), durable.SyncDir(filepath.Dir(path)))
}

// cancelled reports whether a stop was asked for, and why.
func cancelled(folder string) (bool, string) {
	has, err := there(folder, cancelName)
	if !has || err != nil {
		return false, ""
	}
	var c cancelRecord
	if readRecord(folder, cancelName, &c) != nil || c.Reason == "" {
		c.Reason = "cancelled"
	}
	return true, c.Reason
}
