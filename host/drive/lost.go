package drive

import (
	"errors"
	"fmt"
	"strings"

	"agent/db"
	"agent/host/words"
	"agent/recovery/journal"
)

// RecordLostError says that a run was stopped because the files of its record are no longer those
// of the state folder. Nothing was started since that was seen, and nobody who opens the folder
// finds what Facts tells of.
type RecordLostError struct {
	Run   string
	Facts []string // what happened and is not recorded in the folder, each as a short sentence
	Err   error    // names the file; a *db.GoneError is below it
}

func (e *RecordLostError) Error() string {
	s := fmt.Sprintf("drive run %s: %v; nothing more was started", e.Run, e.Err)
	if len(e.Facts) > 0 {
		s += "; not recorded in that folder: " + strings.Join(e.Facts, "; ")
	}
	return s
}

// Unwrap is the error that names the file.
func (e *RecordLostError) Unwrap() error { return e.Err }

// present stops the run where its record is no longer in the state folder. A commit looks of
// itself.
func (rec *recorder) present() error {
	err := rec.p.Store.Present()
	if err == nil {
		return nil
	}
	rec.dead = rec.recordLost(err)
	return rec.dead
}

// recordLost completes an error about the files of the store with what of this run is not in the
// folder: the facts of the commit that went elsewhere, and the calls that are under way. Any other
// error is returned as it is.
func (rec *recorder) recordLost(err error) error {
	var gone *db.GoneError
	if !errors.As(err, &gone) {
		return err
	}
	lost := &RecordLostError{Run: rec.state.Created.Run, Err: gone}
	for _, f := range rec.facts {
		if s := rec.lostFact(f.Body); s != "" {
			lost.Facts = append(lost.Facts, s)
		}
	}
	for _, at := range rec.inFlight() {
		lost.Facts = append(lost.Facts, rec.callText(at)+" was under way, and how it ends is unknown")
	}
	return lost
}

// lostFact tells in a few words what a fact says that a person must know of; empty for those that
// only lead there.
func (rec *recorder) lostFact(b journal.Body) string {
	switch b := b.(type) {
	case journal.CallSettled:
		if b.Result.How == journal.HowTold {
			return "" // it did not run
		}
		return fmt.Sprintf("%s ran, with the outcome %s", rec.callText(b.Place), b.Result.Outcome)
	case journal.ModelAnswered:
		return fmt.Sprintf("the answer of the model in turn %d", len(rec.state.Turns))
	case journal.RequestOpened:
		return "the question " + b.Request.ID
	case journal.RequestAnswered:
		return "the answer to " + b.ID
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		return "the end of the run"
	}
	return ""
}

// callText names a call with its tool and what it is about, without secrets.
func (rec *recorder) callText(p journal.Place) string {
	c, err := rec.state.Call(p)
	if err != nil {
		return "call " + p.String()
	}
	return rec.p.Store.Redact(fmt.Sprintf("call %s (%s: %s)", c.ID, c.Tool, words.Call(c.Tool, c.Args)))
}
