package view

import (
	"agent/host"
	"agent/recovery"
	"agent/recovery/journal"
)

// Exit codes.
const (
	ExitDone        = 0
	ExitFailed      = 1 // also: refused
	ExitUsage       = 2
	ExitWaiting     = 3
	ExitInterrupted = 4
	ExitUnknown     = 5 // the outcome of a call is unknown, and no person has decided on it
	ExitCancelled   = 6
)

// OutcomeCode is the exit code of an outcome.
func OutcomeCode(o host.Outcome) int { return RunCode(o.Status, o.Request, len(o.Undecided)) }

// RunCode is the exit code of a run: where it stands, what it asks, and how many of its calls have an unknown outcome on which
// no person has decided. A run with such a call is not done, and what else it asks may depend on it.
func RunCode(st recovery.Status, asked *journal.Request, undecided int) int {
	unknown := undecided > 0 || asked != nil && (asked.Kind == journal.RequestTwin || asked.About != "")
	switch st {
	case recovery.StatusCompleted, recovery.StatusWaiting:
		switch {
		case unknown:
			return ExitUnknown
		case st == recovery.StatusWaiting:
			return ExitWaiting
		}
		return ExitDone
	case recovery.StatusInterrupted, recovery.StatusRunning, recovery.StatusQueued:
		return ExitInterrupted
	case recovery.StatusCancelled:
		return ExitCancelled
	}
	return ExitFailed
}
