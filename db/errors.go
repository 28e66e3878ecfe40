package db

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"agent/db/sqlitefile"
	"agent/recovery"
	"agent/recovery/journal"
)

// Errors that a caller may branch on. The types below carry what a message needs.
var (
	// ErrLostRace says that another process wrote first: status, epoch or last sequence number are
	// no longer what the caller saw. Nothing of the batch was written.
	ErrLostRace = errors.New("another process has written to this run meanwhile")

	// ErrMessageWaits says that a run was to complete while somebody had a message for its model.
	// Nothing of the batch was written.
	ErrMessageWaits = errors.New("a message for the model of this run was not taken yet")

	// ErrIDTaken says that an id made at random exists already. The caller makes another one.
	ErrIDTaken = errors.New("this id is taken")

	ErrBusy     = sqlitefile.ErrBusy
	ErrReadOnly = sqlitefile.ErrReadOnly
	ErrNoFiles  = sqlitefile.ErrNoFiles
	ErrDiskFull = sqlitefile.ErrDiskFull
	ErrIO       = sqlitefile.ErrIO
	ErrClosed   = sqlitefile.ErrClosed
	ErrNoState  = sqlitefile.ErrNoState
)

// Errors of the file, which it describes.
type (
	CommitError  = sqlitefile.CommitError
	CorruptError = sqlitefile.CorruptError
	FolderError  = sqlitefile.FolderError
	ForeignError = sqlitefile.ForeignError
	GoneError    = sqlitefile.GoneError
	NewerError   = sqlitefile.NewerError
)

// Disk is what lies under a state folder.
type Disk = sqlitefile.Disk

// RoomNeeded is what must be free of a disk for a ballast to be made there, bytes.
const RoomNeeded = sqlitefile.BallastRoom

// DiskOf looks at the file system of a folder, or of the parent that it will get.
func DiskOf(dir string) (Disk, error) { return sqlitefile.DiskOf(dir) }

// ThreadBusyError says that the thread's latest run has not ended.
type ThreadBusyError struct {
	Thread  string
	Run     string
	Status  recovery.Status
	Pending string // id of the open request; empty without one
}

func (e *ThreadBusyError) Error() string {
	s := fmt.Sprintf("start a run in thread %s: its run %s is %s", e.Thread, e.Run, e.Status)
	if e.Pending != "" {
		s += " (request " + e.Pending + ")"
	}
	return s
}

// EndedError says that a run has ended, so that nobody takes a message for its model.
type EndedError struct {
	Run    string
	Status recovery.Status
}

func (e *EndedError) Error() string { return fmt.Sprintf("run %s is %s", e.Run, e.Status) }

// StartKeyError says that a run has the start key of a new one, which was not recorded.
type StartKeyError struct{ Run string }

func (e *StartKeyError) Error() string { return "its start key is that of run " + e.Run }

// PrunedError says that a run is not there any more: it was removed.
type PrunedError struct {
	Run string
	Key string // its start key, where that led to it
	At  time.Time
}

func (e *PrunedError) Error() string {
	at := e.At.Local().Format(time.DateTime)
	if e.Key != "" {
		return fmt.Sprintf("start a run with key %s: run %s had that key and was pruned on %s, so nothing is started; another request takes another key", e.Key, e.Run, at)
	}
	return fmt.Sprintf("run %s was pruned on %s", e.Run, at)
}

// ErrSecretKey says that a start key looks like a secret: it would be kept in the clear.
var ErrSecretKey = errors.New("the start key looks like a secret, and it is kept in the clear")

// ConflictError says that a request has its end already.
type ConflictError struct {
	First PendingRow
	Doing string // what was attempted; "answer" when empty
}

func (e *ConflictError) Error() string {
	p, doing := e.First, doing(e.Doing)
	by := p.By
	if by == "" {
		by = "someone"
	}
	at := p.Closed.Local().Format(time.DateTime)
	if p.Status == RequestResolved {
		return fmt.Sprintf("%s %s: %s answered it on %s with %s", doing, p.ID, by, at, journal.Text(p.Answer))
	}
	return fmt.Sprintf("%s %s: it was %s on %s", doing, p.ID, p.Status, at)
}

// ExpiredError says that a request was open for too long.
type ExpiredError struct {
	Request PendingRow
	Doing   string // what was attempted; "answer" when empty
}

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("%s %s: it expired on %s", doing(e.Doing), e.Request.ID, e.Request.Expires.Local().Format(time.DateTime))
}

func doing(what string) string {
	if what == "" {
		return "answer"
	}
	return what
}

// UnknownIDError says that nothing of the kind has this id. Near lists what the person may have
// meant.
type UnknownIDError struct {
	Kind byte // 'r', 'p', 'c', 't', or 0 for any
	Is   byte // the kind of what has the id; 0 when nothing has
	Text string
	Near []string
}

func (e *UnknownIDError) Error() string {
	s := fmt.Sprintf("no %s is called %q; there is", noun(e.Kind), e.Text)
	switch {
	case e.Is != 0:
		s = fmt.Sprintf("%s is a %s; name a %s", e.Text, noun(e.Is), noun(e.Kind))
	case len(e.Near) == 0:
		return strings.TrimSuffix(s, "; there is")
	}
	return s + ":\n  " + strings.Join(e.Near, "\n  ")
}

// AmbiguousError says that a prefix fits several ids.
type AmbiguousError struct {
	Text       string
	Candidates []string // id and a few words
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q fits several:\n  %s", e.Text, strings.Join(e.Candidates, "\n  "))
}

func noun(kind byte) string {
	switch kind {
	case 'r':
		return "run"
	case 'p':
		return "pending request"
	case 'c':
		return "call"
	case 't':
		return "thread"
	}
	return "run, request, call or thread"
}
