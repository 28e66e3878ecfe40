package sqlitefile

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that a caller may branch on. The types below carry what a message needs.
var (
	// ErrBusy says that other processes kept the database locked for longer than Options.BusyWait.
	ErrBusy = errors.New("the database is kept locked by other processes")

	// ErrReadOnly says that the state folder cannot be written.
	ErrReadOnly = errors.New("the state folder cannot be written")

	// ErrNoFiles says that the state folder may be written, and yet no file can be opened or made
	// in it.
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

// ForeignError says that a file is not a database of agent, or of a build that was never released.
// It was not touched.
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

// CorruptError says that what is stored does not match itself. Run is empty when the file as a
// whole is meant.
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

// CommitError says that a commit returned an error, so nobody knows whether it is on disk. The
// store refuses everything after it; the truth is read by the next process.
type CommitError struct{ Err error }

func (e *CommitError) Error() string {
	return "commit: " + e.Err.Error() + "; whether it was kept is unknown until the database is opened anew"
}

func (e *CommitError) Unwrap() error { return e.Err }
