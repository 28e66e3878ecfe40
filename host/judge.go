package host

import (
	"context"
	"strings"

	"agent/db"
	"agent/recovery"
	"agent/tools"
)

// judge looks at a run and its calls with the run's tools, and says what is known and what follows.
type judge struct {
	*Host
	tools *tools.Registry
}

// judge looks with the tools that every run has.
func (h *Host) judge() judge { return judge{h, h.Env.Tools} }

// judge looks with the tools of the driver's run.
func (d *driver) judge() judge { return judge{d.h, d.env.Tools} }

// callFor is a call as its tool sees it where nothing of it is under way in this process.
func callFor(s *recovery.State, c *recovery.Call) tools.Call {
	return tools.Call{
		Place: c.Place, Run: s.Created.Run, ID: c.ID, Args: c.Args, Fingerprint: c.Fingerprint,
		Folder: s.Created.Folder, Before: c.Before,
		Yes: c.Approved != "" || s.Created.Authored || s.Mode == recovery.ModeYolo,
	}
}

// outcome is what others may see of how far the run came.
func (j judge) outcome(s *recovery.State) Outcome {
	o := Outcome{
		Run: s.Created.Run, Thread: s.Created.Thread, Status: s.Status, Cause: s.Cause, Detail: j.Store.Clean(s.Detail),
		Text: j.Store.Clean(s.Final), Request: db.Cleaned(j.Store, s.Open), Turns: len(s.Turns), Usage: s.Usage, Estimated: s.Estimated, Took: s.Active,
	}
	o.Cost, o.Priced = s.Cost()
	for _, t := range s.Turns {
		o.Calls += len(t.Calls)
		for _, c := range t.Calls {
			if c.Result != nil && c.Result.Outcome == recovery.OutcomeDenied {
				n := j.named(c)
				n.Why = j.Store.Clean(strings.TrimPrefix(c.Result.Content, "not executed: "))
				o.Denied = append(o.Denied, n)
			}
		}
	}
	for _, c := range s.Undecided() {
		o.Undecided = append(o.Undecided, j.named(c))
	}
	for _, c := range s.Unsettled() {
		if c.Phase == recovery.PhaseStarted && j.goesOn(s, c) {
			o.Running = append(o.Running, c.ID)
		}
	}
	return o
}

// goesOn says whether a call that was started runs outside this process.
func (j judge) goesOn(s *recovery.State, c *recovery.Call) bool {
	t, err := j.tools.Get(c.Tool)
	if err != nil {
		return false
	}
	a, ok := t.(tools.Attacher)
	return ok && a.Find(context.Background(), callFor(s, c)).State == recovery.ProcessRunning
}
