// Package tools holds the contract of a tool and the registry of a run's tools. The built-in tools
// lie in the packages below it.
package tools

import (
	"context"
	"encoding/json"

	"agent/recovery"
	"agent/recovery/journal"
)

// Spec describes a tool to a model and to a person.
type Spec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments
	Asks        bool            `json:"-"`      // a person answers its calls; it runs nothing
}

// Tool is what every tool is. It acts, and is a Caller, or it asks, and its calls are pending
// requests that a person answers.
type Tool interface {
	Spec() Spec
	// Describe says what a call would be in that workspace; "" is no workspace, and then what lies
	// in one does not count. It changes nothing, and is asked for arguments that nobody has
	// checked, too.
	Describe(folder string, args json.RawMessage) Traits
}

// Traits are what is decided about a call before it may run.
type Traits struct {
	Effect    journal.Effect // the most dangerous when in doubt
	RetrySafe bool           // it may be run twice without harm

	// Outward names where the call carries what its arguments hold out of this machine, such as a
	// host and its port; "" when it stays here. Such a call needs a yes in every mode but yolo,
	// even where its effect is a read.
	Outward string

	// Inner says that a run of its own carries the call out, where each call is decided by itself:
	// this one needs no yes in any mode.
	Inner bool

	// Confinement words what the operating system keeps the call to on this machine, now; "" for
	// nothing. A yes is bound to it.
	Confinement string

	// Lower is the same call with less access than it requests: a command with access write. Nil
	// where it requests no more, or where nothing would confine it to that.
	Lower *Traits

	// Paths are the files and folders that it works on; nil where that is the argument path.
	Paths []string

	// Touches says which files of the workspace it may change, where its effect is no read.
	Touches Touches

	// Question is what a tool that asks would ask; nil where its arguments make no question.
	Question *journal.Question
}

// Touches says which files of its workspace a call may change.
type Touches int

// What a call may change.
const (
	TouchesAll   Touches = iota // whatever it likes, or nobody knows
	TouchesPaths                // what lies at its paths
	TouchesNone                 // nothing
)

// Caller is a tool that the host carries out.
type Caller interface {
	Tool
	// Call acts. An error means that the call ended badly; Result.Applied says whether a side
	// effect took place, and an error with an empty Applied counts as unknown for everything but a
	// read.
	Call(ctx context.Context, c Call) (journal.Result, error)
}

// Call is one call as a tool sees it.
type Call struct {
	journal.Place
	Run         string
	ID          string
	Args        json.RawMessage
	Fingerprint string
	Folder      string          // the run's workspace, absolute
	Dirs        []journal.Dir   // that it reaches beside it
	Yes         bool            // a person said yes to this very call, wrote it, or lets everything run
	Before      json.RawMessage // what Prepare recorded
	Handle      any             // what Prepare made; nil when the call is looked at by recovery
	Access      string          // of a command that requested more; "" for what it requested
	Why         string          // why it gets no more
	Child       string          // the run that carries the call out, as its start was recorded; "" for none
	Parent      Parent          // the call's own run
	Show        func(p []byte)  // live output; never nil, never blocks

	// Ask puts a question to a person while the call is under way and returns the answer. It ends
	// with ctx, and with an error when the question was closed without one. Nil when the call is
	// looked at by recovery.
	Ask func(ctx context.Context, q journal.Question) (json.RawMessage, error)

	// Waits says whether the call waits for people alone, who were asked in a run below. Where all
	// calls that are under way do, their run needs no process any more. Nil as Ask is.
	Waits func(waits bool)
}

// Parent is the run of a call, for a tool that has a run of its own carry the call out.
type Parent struct {
	Created journal.RunCreated
	Mode    journal.Mode   // that holds now
	Limits  journal.Limits // likewise; on tokens and cost, the share that this call may use of what is left
	Tools   []string       // names of all that it has; nil when the call is looked at by recovery
	Spent   bool           // nothing of a limit is left, or nobody knows how much
	Guarded bool           // the run may have gone further than its journal says, and what is below it too
}

// Delegated is what Prepare makes for a call that a run of its own carries out.
type Delegated interface {
	// Child is the id of that run. It is on record before the run is.
	Child() string
}

// SuspendedError is what a call returns whose run goes no further in this process, and can go on
// later. The call has no result yet.
type SuspendedError struct {
	Waits  bool // for people alone
	Cause  journal.Cause
	Detail string
}

func (e *SuspendedError) Error() string { return e.Detail }

// Preparer is a tool that must look or lay something ready before its start is recorded. Nothing
// may happen yet that a repeated Prepare would not undo. An error settles the call as failed, not
// started.
type Preparer interface {
	Prepare(ctx context.Context, c Call) (before json.RawMessage, handle any, err error)
}

// Checker is a tool that can refuse arguments that its schema cannot describe.
type Checker interface {
	Check(args json.RawMessage) error
}

// Foreign is a tool whose schema was written elsewhere. One that cannot be resolved here is passed
// on to the model all the same.
type Foreign interface {
	// Unchecked says that the arguments are not checked against the schema, because it cannot be
	// resolved here.
	Unchecked() bool
}

// Bounded is a tool some of whose arguments bound a call and are no part of what it does: how long
// it may take, how much of its answer is shown. Two calls that differ in them alone act alike.
type Bounded interface {
	Bounds() []string
}

// Spelled is a tool whose arguments can say the same in several ways.
type Spelled interface {
	// OneSpelling gives arguments the form that all have which say the same. What it cannot read it
	// returns as it is.
	OneSpelling(args json.RawMessage) json.RawMessage
}

// Inspector is a tool that can look whether an unsettled call happened. It changes nothing.
type Inspector interface {
	Inspect(ctx context.Context, c Call) recovery.Inspection
}

// Process is a tool whose calls outlive the host.
type Process interface {
	// Find looks for the call's process and its records. It takes no lock and changes nothing.
	Find(ctx context.Context, c Call) recovery.ProcessEvidence
	// Attach waits for a running call and returns its result; it shows the output from the
	// beginning.
	Attach(ctx context.Context, c Call) (journal.Result, error)
	// Kill ends what is left of a call whose outcome is unknown, and returns what cannot be shown
	// dead.
	Kill(ctx context.Context, c Call) ([]string, error)
	// Survivors looks again, by the trace of earlier evidence, for what could not be shown dead
	// then. It changes nothing; an error means that it could not be determined.
	Survivors(trace json.RawMessage) ([]string, error)
	// Stop asks a running call to end, durably. The result comes from Call or Attach.
	Stop(c Call, reason string) error
	// Discard removes the call's files once its result is durable.
	Discard(c Call) error
}

// Tidier is a tool that keeps something for a run until that is over.
type Tidier interface {
	// Tidy removes it. It is called once the end of the run is durable; a second time does no harm.
	Tidy(run string) error
}

// Clearer is a tool whose call may be cut short and leave something that the same call, carried out
// again, would take away first.
type Clearer interface {
	// Clear takes it away where the call is not carried out again. A second time does no harm.
	Clear(c Call) error
}
