package watch

import (
	"agent/db"
	"agent/db/family"
	"agent/recovery"
	"agent/recovery/journal"
)

// Below is a run below the one that is watched, as it stands now. Fields are only ever added.
type Below struct {
	Run     string              `json:"run_id"`
	Parent  string              `json:"parent_run_id"`
	Role    string              `json:"role"` // what it is there for
	Status  recovery.Status     `json:"status"`
	Cause   journal.Cause       `json:"cause,omitempty"`
	Turns   int                 `json:"num_turns"`
	Calls   int                 `json:"num_calls"`
	Tool    string              `json:"tool,omitempty"` // of the call at which it stands
	Request string              `json:"pending_request_id,omitempty"`
	Kind    journal.RequestKind `json:"pending_kind,omitempty"`
}

// mostBelow is how many runs below one are shown: a family has many more that have ended, and
// fewer that are driven.
const mostBelow = 256

// below lists the runs below a run that have not ended, in the order of their creation: those of
// the whole family of a root, else those that it made itself. A run that
// makes none is looked at once.
func (f *Feed) below(row db.RunRow) ([]Below, error) {
	f.mu.Lock()
	none := f.stateNo > 0 && !f.parent
	f.mu.Unlock()
	if none {
		return nil, nil
	}
	list := family.Below
	if row.Root != "" {
		list = family.Children
	}
	rows, err := list(f.ctx, f.w.o.Store, row.ID)
	if err != nil {
		return nil, err
	}
	var out []Below
	for _, r := range rows {
		if r.Status.Terminal() || len(out) == mostBelow {
			continue
		}
		b := Below{Run: r.ID, Parent: r.Parent, Role: r.Role, Status: r.Status, Cause: r.Cause, Turns: r.Turns, Calls: r.Calls}
		if r.Open != nil && r.Open.Phase == journal.PhaseStarted {
			b.Tool = r.Open.Tool
		}
		if r.Pending != nil {
			b.Request, b.Kind = r.Pending.ID, r.Pending.Kind
		}
		out = append(out, b)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parent = f.parent || len(rows) > 0
	return out, nil
}

// makes says whether a fact may have a run below this one follow it.
func makes(b journal.Body) bool {
	switch b := b.(type) {
	case journal.CallStarted:
		return b.Child != ""
	case journal.FlowPhaseStarted:
		return true
	}
	return false
}
