package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"agent/tools/ofd"
)

// Inspect reads what a call's folder proves about the attempt id. It takes no lock and changes
// nothing. An error means that it could not look, which proves nothing.
func Inspect(folder string, id Identity) (Evidence, error) {
	why, err := names(folder, id)
	if err != nil {
		return Evidence{}, fmt.Errorf("look at call %s: %w", id.Mark(), err)
	}
	if why != "" {
		return Evidence{State: NoEvidence, Why: why}, nil
	}
	held, err := ofd.Held(filepath.Join(folder, lockName))
	if err != nil {
		return Evidence{}, fmt.Errorf("look at call %s: %w", id.Mark(), err)
	}
	if held {
		return running(folder, id)
	}
	// From here on nothing changes any more: only Prepare and the runner ever hold this lock, and
	// both are gone.
	s, err := settled(folder, id)
	if err != nil {
		return Evidence{}, fmt.Errorf("look at call %s: %w", id.Mark(), err)
	}
	return s, nil
}

// names says why the folder is no evidence for id; empty if it is.
func names(folder string, id Identity) (string, error) {
	c, _, err := readClaim(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no lock file of this call", nil
	case errors.Is(err, errTorn):
		return "the lock file of this call cannot be read", nil
	case err != nil:
		return "", err
	case c.Identity != id:
		return fmt.Sprintf("the folder belongs to call %s, fingerprint %.12s", c.Mark(), c.Fingerprint), nil
	}
	return "", nil
}

// readClaim reads the lock file: whose call it is and, if a runner refused to start, why.
func readClaim(folder string) (claim, refusal, error) {
	var c claim
	b, err := readBounded(filepath.Join(folder, lockName))
	if err != nil {
		return c, refusal{}, err
	}
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	if err := json.Unmarshal(first, &c); err != nil {
		return c, refusal{}, fmt.Errorf("read lock file: %w: %v", errTorn, err)
	}
	var r refusal
	if json.Unmarshal(rest, &r) != nil {
		r = refusal{} // a refusal is a courtesy: one that cannot be read is as good as none
	}
	return c, r, nil
}

func running(folder string, id Identity) (Evidence, error) {
	s := Evidence{State: Running, Why: "its lock is held", folder: folder}
	var b Began
	// Not there yet, half written, or of another call: the lock says all that matters here.
	if readRecord(folder, beganName, &b) == nil && b.Identity == id {
		s.Began = &b
		s.Why = fmt.Sprintf("its lock is held; runner is process %d", b.Runner.Pid)
	}
	return s, nil
}

// settled judges a folder whose lock is free.
func settled(folder string, id Identity) (Evidence, error) {
	var e Exit
	err := readRecord(folder, exitName, &e)
	switch {
	case err == nil && e.Identity == id:
		return Evidence{State: Ended, Exit: &e, Why: "it left an exit record"}, nil
	case err == nil:
		return Evidence{State: NoEvidence, Why: "the exit record names call " + e.Mark()}, nil
	case errors.Is(err, errTorn):
		return unknown(folder, id, "its exit record cannot be read")
	case !errors.Is(err, fs.ErrNotExist):
		return Evidence{}, err
	}
	has, err := there(folder, beganName)
	if err != nil {
		return Evidence{}, err
	}
	if has {
		return unknown(folder, id, "it began, and no record says how it ended")
	}
	_, refused, err := readClaim(folder)
	if err != nil {
		return Evidence{}, err
	}
	s := Evidence{State: NeverStarted, Refused: refused.Refused != "", Why: refused.Refused}
	if refused.Disk != 0 {
		s.Disk = syscall.Errno(refused.Disk)
	}
	if s.Why == "" {
		s.Why = "its runner was gone before the command could start"
	}
	return s, nil
}

func unknown(folder string, id Identity, why string) (Evidence, error) {
	var b Began
	err := readRecord(folder, beganName, &b)
	switch {
	case errors.Is(err, errTorn) || errors.Is(err, fs.ErrNotExist):
		b = Began{Identity: id}
		why += "; its record of the start cannot be read"
	case err != nil:
		return Evidence{}, err
	case b.Identity != id:
		return Evidence{State: NoEvidence, Why: "the record of the start names call " + b.Mark()}, nil
	}
	s := Evidence{State: Unknown, Began: &b, Why: why, folder: folder}
	left, err := survivors(folder, b)
	if err != nil {
		s.Why += "; it may still be running: " + err.Error()
		return s, nil
	}
	s.Survivors = left
	return s, nil
}

// BeganAt is when the record of a call's start was made, by the clock of the file system: whatever
// the command did to a file of this machine has a time that is not before it.
func BeganAt(folder string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(folder, beganName))
	if err != nil {
		return time.Time{}, fmt.Errorf("look when the command began: %w", err)
	}
	return info.ModTime(), nil
}
