// Package tools holds the contract of a tool and the registry of a run's tools. The built-in tools lie in the packages below it.
package tools

import (
	"context"
	"encoding/json"

	"agent/recovery"
)

// Spec describes a tool to a model and to a person.
type Spec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments
}

// Tool is what every tool is. A tool is exactly one of Caller and Asker.
type Tool interface {
	Spec() Spec
	// Effect is decided from the arguments; the most dangerous when in doubt.
	Effect(args json.RawMessage) recovery.Effect
}

// Placed is a tool whose effect depends on the workspace too.
type Placed interface {
	EffectIn(folder string, args json.RawMessage) recovery.Effect
}

// EffectOf is the effect of a call in a workspace.
func EffectOf(t Tool, folder string, args json.RawMessage) recovery.Effect {
	if p, ok := t.(Placed); ok {
		return p.EffectIn(folder, args)
	}
	return t.Effect(args)
}

// Caller is a tool that the host carries out.
type Caller interface {
	Tool
	// Call acts. An error means that the call ended badly; Result.Applied says whether a side effect took place, and
	// an error with an empty Applied counts as unknown for everything but a read.
	Call(ctx context.Context, c Call) (recovery.Result, error)
}

// Asker is a tool that a person answers. It runs nothing: its call is a pending request.
type Asker interface {
	Tool
	// Question reads the question out of the arguments, or says why they make none.
	Question(args json.RawMessage) (recovery.Question, error)
}

// Call is one call as a tool sees it.
type Call struct {
	recovery.Place
	Run         string
	ID          string
	Args        json.RawMessage
	Fingerprint string
	Folder      string          // the run's workspace, absolute
	Yes         bool            // a person said yes to this very call, wrote it, or lets everything run
	Before      json.RawMessage // what Prepare recorded
	Handle      any             // what Prepare made; nil when the call is looked at by recovery
	Show        func(p []byte)  // live output; never nil, never blocks

	// Ask puts a question to a person while the call is under way and returns the answer. It ends with ctx, and with an error
	// when the question was closed without one. Nil when the call is looked at by recovery.
	Ask func(ctx context.Context, q recovery.Question) (json.RawMessage, error)
}

// Preparer is a tool that must look or lay something ready before its start is recorded. Nothing may happen yet that a
// repeated Prepare would not undo. An error settles the call as failed, not started.
type Preparer interface {
	Prepare(ctx context.Context, c Call) (before json.RawMessage, handle any, err error)
}

// Checker is a tool that can refuse arguments that its schema cannot describe.
type Checker interface {
	Check(args json.RawMessage) error
}

// Outward is a tool whose calls carry what their arguments hold out of this machine, even where their effect is a read. Such
// a call needs a yes in every mode but yolo.
type Outward interface {
	// Outward names where the call goes to, such as a host and its port; "" when it stays here.
	Outward(args json.RawMessage) string
}

// Confined is a tool whose calls the operating system confines.
type Confined interface {
	// Confinement words what holds for the call on this machine, now; "" for nothing. A yes is bound to it.
	Confinement(args json.RawMessage) string
}

// Foreign is a tool whose schema was written elsewhere. One that cannot be resolved here is passed on to the model all the same.
type Foreign interface {
	// Unchecked says that the arguments are not checked against the schema, because it cannot be resolved here.
	Unchecked() bool
}

// RetrySafe is a tool whose call may be run twice without harm.
type RetrySafe interface {
	RetrySafe(args json.RawMessage) bool
}

// Bounded is a tool some of whose arguments bound a call and are no part of what it does: how long it may take, how much of its
// answer is shown. Two calls that differ in them alone act alike.
type Bounded interface {
	Bounds() []string
}

// Spelled is a tool whose arguments can say the same in several ways.
type Spelled interface {
	// OneSpelling gives arguments the form that all have which say the same. What it cannot read it returns as it is.
	OneSpelling(args json.RawMessage) json.RawMessage
}

// Inspector is a tool that can look whether an unsettled call happened. It changes nothing.
type Inspector interface {
	Inspect(ctx context.Context, c Call) recovery.Inspection
}

// Attacher is a tool whose calls outlive the host.
type Attacher interface {
	// Find looks for the call's process and its records. It takes no lock and changes nothing.
	Find(ctx context.Context, c Call) recovery.Sighting
	// Attach waits for a running call and returns its result; it shows the output from the beginning.
	Attach(ctx context.Context, c Call) (recovery.Result, error)
	// Bury ends what is left of a call whose outcome is unknown, and returns what cannot be shown dead.
	Bury(ctx context.Context, c Call) ([]string, error)
	// Living looks again, by the trace of an earlier sighting, for what could not be shown dead then. It changes nothing; an
	// error means that it could not be told.
	Living(trace json.RawMessage) ([]string, error)
	// Stop asks a running call to end, durably. The result comes from Call or Attach.
	Stop(c Call, reason string) error
	// Forget removes the call's files once its result is durable.
	Forget(c Call) error
}

// Tidier is a tool that keeps something for a run until that is over.
type Tidier interface {
	// Tidy removes it. It is called once the end of the run is durable; a second time does no harm.
	Tidy(run string) error
}
