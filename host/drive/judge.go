package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/db"
	"agent/db/family"
	"agent/host/drive/brief"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// judge looks at a run and its calls with the run's tools, and says what is known and what follows.
type judge struct {
	*Process
	tools *tools.Registry
	flow  Flow // that is imagined to go on; nil for any other run
}

// judge looks with the tools that every run has.
func (p *Process) judge() judge { return judge{Process: p, tools: p.Env.Tools} }

// judge looks with the tools of the driver's run.
func (rec *recorder) judge() judge { return judge{Process: rec.p, tools: rec.env.Tools} }

// callFor is a call as its tool sees it where nothing of it is under way in this process.
func callFor(s *recovery.State, c *recovery.Call) tools.Call {
	return tools.Call{
		Place: c.Place, Run: s.Created.Run, ID: c.ID, Args: c.Args, Fingerprint: c.Fingerprint,
		Folder: s.Created.Folder, Dirs: s.Created.Dirs, Before: c.Before,
		Yes: c.Access == "" && (c.Approved != "" || s.Created.Authored || s.Mode == journal.ModeYolo), Access: c.Access, Why: c.Why, Child: c.Child, Parent: parentOf(s, 1),
	}
}

// parentOf is a run as a tool sees it that has others carry calls out, so many of them at once.
func parentOf(s *recovery.State, shares int) tools.Parent {
	left, ok := recovery.Left(s, shares)
	left.MaxTurns = s.Limits.MaxTurns
	return tools.Parent{Created: s.Created, Mode: s.Mode, Limits: left, Spent: !ok, Guarded: s.Restored}
}

// outcome is what others may see of how far the run came.
func (j judge) outcome(s *recovery.State) Outcome {
	o := Outcome{
		Run: s.Created.Run, Thread: s.Created.Thread, Status: s.Status, Cause: s.Cause, Detail: j.Store.Redact(s.Detail),
		Text: j.Store.Redact(s.Final), Request: db.RedactValue(j.Store, s.Open), Turns: len(s.Turns), Flow: s.Created.Flow != nil, Usage: s.Usage, Estimated: s.Estimated, Took: s.Active,
	}
	o.Plan = s.Mode == journal.ModePlan && s.Created.Setup.Provider != "" && s.Created.Root == "" && s.Status == recovery.StatusCompleted
	o.Cost, o.Priced = s.Cost()
	if s.Below.Estimated {
		o.Estimated.Add(s.Below.Usage)
	} else {
		o.Usage.Add(s.Below.Usage)
	}
	for _, t := range s.Turns {
		o.Calls += len(t.Calls)
		for _, c := range t.Calls {
			if c.Result != nil && c.Result.Outcome == journal.OutcomeDenied {
				n := j.named(c)
				n.Why = j.Store.Redact(strings.TrimPrefix(c.Result.Content, "not executed: "))
				o.Denied = append(o.Denied, n)
			}
		}
	}
	for _, c := range s.Undecided() {
		o.Undecided = append(o.Undecided, j.named(c))
	}
	j.seeBelow(s, &o)
	o.AboutUndecided = recovery.AsksUndecided(s) && !j.decided(s.Open.About)
	for _, c := range s.Turns.Unsettled() {
		if c.Phase == journal.PhaseStarted && j.goesOn(s, c) {
			o.Running = append(o.Running, c.ID)
		}
	}
	return o
}

// seeBelow adds what runs below did, and what they left to people: calls whose outcome is unknown,
// and, of a run that waits for nothing else, their questions. What cannot be read is no part of it:
// whoever looks at such a run gets the reason.
func (j judge) seeBelow(s *recovery.State, o *Outcome) {
	run := s.Created.Run
	if s.Created.Flow == nil && !slices.ContainsFunc(s.Turns, func(t *recovery.Turn) bool {
		return slices.ContainsFunc(t.Calls, func(c *recovery.Call) bool { return c.Child != "" })
	}) {
		return
	}
	unknown, err := family.Undecided(context.Background(), j.Store, run)
	for _, c := range unknown {
		if c.Run != run && err == nil {
			o.Undecided = append(o.Undecided, NamedCall{ID: c.ID, Tool: c.Tool, Words: "of run " + c.Run, Started: c.Started})
		}
	}
	denied, err := family.Denied(context.Background(), j.Store, run)
	for _, c := range denied {
		if err == nil {
			o.Denied = append(o.Denied, NamedCall{ID: c.ID, Tool: c.Tool, Why: "of run " + c.Run})
		}
	}
	asked := s.Status == recovery.StatusWaiting && s.Open == nil
	below, err := family.Below(context.Background(), j.Store, run)
	for _, row := range below {
		if err != nil {
			continue
		}
		o.Below = Below{o.Below.Runs + 1, o.Below.Turns + row.Turns, o.Below.Calls + row.Calls}
		if row.Pending == nil || !asked {
			continue
		}
		if o.Questions++; o.Request == nil {
			o.Request = db.RedactValue(j.Store, &row.Pending.Request)
		}
	}
}

// decided says whether a person decided on a call. The run that the call belongs to has that at
// once, and the one that asks about it only when it is claimed again.
func (j judge) decided(call string) bool {
	c, err := j.Store.Call(context.Background(), call)
	return err == nil && c.Resolved != "" // without the row the run's own facts hold
}

// goesOn says whether a call that was started runs outside this process.
func (j judge) goesOn(s *recovery.State, c *recovery.Call) bool {
	t, err := j.tools.Get(c.Tool)
	if err != nil {
		return false
	}
	a, ok := t.(tools.Process)
	return ok && c.Child == "" && a.Find(context.Background(), callFor(s, c)).State == recovery.ProcessRunning
}

// instead is what follows from the journal, or what is to be recorded first: what was seen just
// now, or that an answer is not the one that was asked for.
func (j judge) instead(ctx context.Context, s *recovery.State, facts []journal.Body) []journal.Body {
	if gone := j.noneAlive(ctx, s, facts); gone != nil {
		return []journal.Body{gone}
	}
	return brief.Fitted(s, facts)
}

// noneAlive looks again for the call that a question calls possibly running, at the moment when it
// is to be asked. It returns the fact that nothing of it runs any more; nil when that is not so, or
// is not known.
func (j judge) noneAlive(ctx context.Context, s *recovery.State, facts []journal.Body) journal.Body {
	o, ok := facts[len(facts)-1].(journal.RequestOpened)
	if !ok {
		return nil
	}
	u, ok := s.MayLive(o.Request.Question)
	if !ok {
		return nil
	}
	t, err := j.tools.Get(u.Tool)
	a, ok := t.(tools.Process)
	if err != nil || !ok {
		return nil
	}
	trace, err := j.trace(ctx, s, u)
	if err != nil || len(trace) == 0 {
		return nil
	}
	if left, err := a.Survivors(trace); err != nil || len(left) > 0 {
		return nil // the question says what is known: it may still be running
	}
	return journal.RunNoted{Text: fmt.Sprintf("nothing of call %s runs any more; its outcome stays unknown", u.ID), Gone: u.ID}
}

// trace is what was kept of an unknown call to look for it again.
func (j judge) trace(ctx context.Context, s *recovery.State, u journal.Unknown) (json.RawMessage, error) {
	if u.Run == s.Created.Run { // its result may not be durable yet
		c, err := s.Call(u.Place)
		if err != nil {
			return nil, err
		}
		return c.Result.Data, nil
	}
	return j.Store.Trace(context.WithoutCancel(ctx), u.ID)
}

func (j judge) named(c *recovery.Call) NamedCall {
	return NamedCall{ID: c.ID, Tool: c.Tool, Words: j.words(c), Started: c.StartedAt}
}

// StopRunning asks whatever carries out the calls of a run, outside of any process that drives it,
// to end them. What they did until then stays, and whoever resumes the run finds that out. That
// their outcome is unknown then is decided by this: nobody is asked about it.
func StopRunning(ctx context.Context, p *Process, run, by string) error {
	s, _, err := p.unredacted(ctx, run)
	if err != nil {
		return err
	}
	env, err := p.envToLook(ctx, s)
	if err != nil {
		return err
	}
	defer env.Release()
	j := judge{Process: p, tools: env.Tools}
	var failed error
	for _, c := range s.Turns.Unsettled() {
		if c.Phase != journal.PhaseStarted || !j.goesOn(s, c) {
			continue
		}
		if t, err := j.tools.Get(c.Tool); err == nil {
			if a, ok := t.(tools.Process); ok {
				failed = errors.Join(failed, p.leaveStopped(ctx, run, c, by), a.Stop(callFor(s, c), "stopped by "+by))
			}
		}
	}
	return failed
}

// leaveStopped leaves the decision on a call before it is stopped. One that ends well nevertheless
// needs none.
func (p *Process) leaveStopped(ctx context.Context, run string, c *recovery.Call, by string) error {
	if c.Effect == journal.EffectRead {
		return nil
	}
	_, err := PutOwnResolution(ctx, p, run, journal.CallResolved{Place: c.Place, Word: journal.WordLeave, By: by})
	return err
}
