package view

import (
	"cmp"
	"encoding/json"

	"agent/host"
	"agent/recovery"
)

// Answered is what answer prints with --json when the run is not driven here. Fields are only ever
// added.
type Answered struct {
	Version int             `json:"version"`
	Request string          `json:"request_id,omitempty"`
	Call    string          `json:"call_id,omitempty"`
	Run     string          `json:"run_id"`
	Answer  json.RawMessage `json:"answer"`
	State   string          `json:"state"` // recorded, taken (by the run's owner) or kept (the owner did not take it yet)
	Owner   string          `json:"owner,omitempty"`
	Status  recovery.Status `json:"status"`
	Next    []string        `json:"next"`
}

// Told is what tell prints with --json. Fields are only ever added.
type Told struct {
	Version int             `json:"version"`
	Run     string          `json:"run_id"`
	Message string          `json:"message"`
	Status  recovery.Status `json:"status"` // of the run, right before
	Driven  bool            `json:"driven"` // a process drives it now
	Next    []string        `json:"next"`
}

// NewTold shows a message that was left for the model of a run.
func NewTold(t host.Told, text string) Told {
	v := Told{Version: 1, Run: t.Run.ID, Message: text, Status: t.Run.Status, Driven: t.Driven, Next: []string{}}
	switch {
	case t.Run.Pending != nil:
		v.Next = append(v.Next, "agent answer "+t.Run.Pending.ID)
	case !t.Driven:
		v.Next = append(v.Next, "agent resume "+cmp.Or(t.Run.Root, t.Run.ID))
	}
	return v
}

// Cancelled is what cancel prints with --json. Fields are only ever added.
type Cancelled struct {
	Version int             `json:"version"`
	Run     string          `json:"run_id"`
	Request string          `json:"request_id,omitempty"`
	Status  recovery.Status `json:"status"` // of the run
	Already bool            `json:"already"`
	Reason  string          `json:"reason,omitempty"`
	Unknown []Unknown       `json:"unknown"` // calls on whose unknown outcome no person has decided
	Next    []string        `json:"next"`
}

// NewCancelled shows a run whose end was asked for; already says that it had ended before.
func NewCancelled(run string, out host.Outcome, already bool) Cancelled {
	v := Cancelled{
		Version: 1, Run: run, Status: out.Status, Already: already, Reason: cmp.Or(out.Text, out.Detail),
		Unknown: NewUnknowns(out.Undecided), Next: []string{},
	}
	for i := range v.Unknown {
		if out.Unread {
			v.Unknown[i].Next = []string{}
		}
	}
	v.Next = append(v.Next, DecideCommands(v.Unknown)...)
	if !v.Status.Terminal() {
		v.Next = []string{"agent cancel " + run}
	}
	return v
}
