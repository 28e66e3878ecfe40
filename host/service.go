package host

import (
	"encoding/json"

	"agent/host/drive"
	"agent/host/permission"
	"agent/host/words"
	"agent/recovery/journal"
)

// What the service takes and gives back is made where runs are driven. Front doors name it here and
// know no driver.
type (
	// Process is what the runs of one process share.
	Process = drive.Process
	// Env is what one run is driven with.
	Env = drive.Env
	// Changes is what a resume changes about a run.
	Changes = drive.Changes
	// Outcome is how far a run came while this process drove it.
	Outcome = drive.Outcome
	// NamedCall is a call as it is named to a person.
	NamedCall = drive.NamedCall
	// Plan is what a resume carries out.
	Plan = drive.Plan
	// PlanStep is the decision about one call of the turn that was under way.
	PlanStep = drive.PlanStep
	// FlowPlan is how a flow stands where it is to go on.
	FlowPlan = drive.FlowPlan
	// PanicError is a panic of this program while it held the lock of a run.
	PanicError = drive.PanicError
	// RecordLostError says that the files of a run's record are no longer those of the state
	// folder.
	RecordLostError = drive.RecordLostError
	// MovedError says that a run went to another store.
	MovedError = drive.MovedError
	// FinishedError says that a run has ended and cannot be driven.
	FinishedError = drive.FinishedError
	// RefusedChangeError says that a run cannot be resumed as it was asked for.
	RefusedChangeError = drive.RefusedChangeError
)

// Errors that front doors tell apart.
var (
	// ErrShutdown is the one cause with which a context tells the host to stop: the run stays
	// resumable.
	ErrShutdown = drive.ErrShutdown
	// ErrLeftOpen says that the person at the terminal left the question open.
	ErrLeftOpen = drive.ErrLeftOpen
	// ErrFolder says that a run's workspace cannot be used.
	ErrFolder = drive.ErrFolder
)

// NewID makes a short random id of the type: r for runs, t for threads, c for calls, p for pending
// requests.
func NewID(kind string) string { return drive.NewID(kind) }

// Words says in a few words what a call is about.
func Words(tool string, args json.RawMessage) string { return words.Call(tool, args) }

// Permit says what a mode makes of a call where no rule does. It leaves out that what the person
// who started a run wrote needs no further yes.
func Permit(m journal.Mode, e journal.Effect, outward bool) journal.Decision {
	q := permission.Request{Mode: m, Effect: e}
	if outward {
		q.Outward = "elsewhere"
	}
	return permission.Policy{}.Decide(q).Decision
}
