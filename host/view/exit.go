package view

import (
	"agent/host"
	"agent/recovery"
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
func OutcomeCode(o host.Outcome) int {
	return RunCode(o.Status, len(o.Undecided) > 0 || o.AboutUndecided)
}

// RunCode is the exit code of a run: where it stands, and whether the outcome of one of its calls,
// or of the call that its question is about, is unknown without a person's decision. A run with
// such a call is not done, and what else it asks may depend on it.
func RunCode(st recovery.Status, undecided bool) int {
	switch st {
	case recovery.StatusCompleted, recovery.StatusWaiting:
		switch {
		case undecided:
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
