package db

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"agent/recovery"
	"agent/recovery/journal"
)

// Errors that a caller may branch on. The types below carry what a message needs.
var (
	// ErrLostRace says that another process wrote first: status, epoch or last sequence number are no longer what the
	// caller saw. Nothing of the batch was written.
	ErrLostRace = errors.New("another process has written to this run meanwhile")

	// ErrIDTaken says that an id made at random exists already. The caller makes another one.
	ErrIDTaken = errors.New("this id is taken")

	// ErrBusy says that other processes kept the database locked for longer than Options.BusyWait.
	ErrBusy = errors.New("the database is kept locked by other processes")

	// ErrReadOnly says that the state folder cannot be written.
	ErrReadOnly = errors.New("the state folder cannot be written")

	// ErrNoFiles says that the state folder may be written, and yet no file can be opened or made in it.
	ErrNoFiles = errors.New("no file can be opened or made in the state folder")

	// ErrDiskFull says that there is no room for the record, not even with the ballast freed.
	ErrDiskFull = errors.New("the disk is full")

	// ErrIO says that the disk did not carry out what was asked of it.
	ErrIO = errors.New("the disk fails")

	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the store is closed")

	// ErrNoState says that there is no state yet: nothing was ever run with this folder.
	ErrNoState = errors.New("there is no state yet")
)

// FolderError says why a state folder cannot be used.
type FolderError struct {
	Dir    string
	What   string
	Remedy string
}

func (e *FolderError) Error() string {
	return fmt.Sprintf("use state folder %s: %s; %s", e.Dir, e.What, e.Remedy)
}

// ForeignError says that a file is not a database of agent, or of a build that was never released. It was not touched.
type ForeignError struct {
	Path string
	What string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("open %s: %s; the file was left as it is: move it away, or choose another state folder with AGENT_HOME", e.Path, e.What)
}

// NewerError says that a database was written by a newer version of agent. It was not touched.
type NewerError struct {
	Path       string
	Have, Know int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("open %s: it was written by a newer agent (format %d, this one knows %d); the file was left as it is: use the newer agent, or another state folder with AGENT_HOME",
		e.Path, e.Have, e.Know)
}

// CorruptError says that what is stored does not match itself. Run is empty when the file as a whole is meant.
type CorruptError struct {
	Path string
	Run  string
	Seq  int64 // the first fact that differs; 0 when it is not about one
	What string
	Err  error

	Remedy string // what to do; to restore or to salvage when it is empty
}

func (e *CorruptError) Error() string {
	var b strings.Builder
	b.WriteString("read " + e.Path)
	if e.Run != "" {
		b.WriteString(": run " + e.Run)
	}
	if e.Seq > 0 {
		fmt.Fprintf(&b, ", fact %d", e.Seq)
	}
	b.WriteString(": " + e.What)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	remedy := e.Remedy
	if remedy == "" {
		remedy = "restore a backup, or save what is left with `agent doctor --salvage`"
	}
	b.WriteString("; nothing was changed: " + remedy)
	return b.String()
}

func (e *CorruptError) Unwrap() error { return e.Err }

// CommitError says that a commit returned an error, so nobody knows whether it is on disk. The store refuses everything
// after it; the truth is read by the next process.
type CommitError struct{ Err error }

func (e *CommitError) Error() string {
	return "commit: " + e.Err.Error() + "; whether it was kept is unknown until the database is opened anew"
}

func (e *CommitError) Unwrap() error { return e.Err }

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

// UnknownIDError says that nothing of the kind has this id. Near lists what the person may have meant.
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
