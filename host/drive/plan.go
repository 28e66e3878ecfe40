package drive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/db"
	"agent/host/owner"
	"agent/host/words"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
)

// Plan is what a resume carries out: decisions with their reasons. A dry run prints the same value
// that a resume executes.
type Plan struct {
	Run        string
	Prompt     string // its beginning
	Checkpoint string // the settled turn that it goes on from; "" before the first
	Replayed   int    // finished calls of earlier turns, used again from the record
	Steps      []PlanStep
	Then       string   // what comes next
	Notes      []string // what changed since
	Flow       *FlowPlan
}

// FlowPlan is how a flow stands where it is to go on: what its record says, and how each artifact
// that counts compares with that.
type FlowPlan struct {
	Name      string
	Phases    []PlanPhase
	Artifacts []journal.ArtifactCheck
	Redone    []journal.Rewound // what is to be done again for that; of a dry run
}

// PlanPhase is a phase, or a branch of one.
type PlanPhase struct {
	Name   string
	Status string
	Run    string // that carries it out, of one that is under way
}

// PlanStep is the decision about one call of the turn that was under way.
type PlanStep struct {
	ID      string
	Place   journal.Place
	Tool    string
	Words   string // its arguments in a few words
	Verdict journal.Verdict
	Reason  string
	call    *recovery.Call
	found   recovery.Judgement
}

// DryRun makes the plan of a resume and changes nothing: no lock is taken, no fact recorded.
func (p *Process) DryRun(ctx context.Context, run string, t Changes) (Plan, error) {
	s, lost, err := p.unredacted(ctx, run)
	if err != nil {
		return Plan{}, err
	}
	if s.Status.Terminal() {
		return Plan{}, &FinishedError{s}
	}
	if err := moved(s); err != nil {
		return Plan{}, err
	}
	if err := t.possible(s); err != nil {
		return Plan{}, err
	}
	if err := checkFolder(s.Created.With(t.claim(s, journal.RunClaimed{}))); err != nil {
		return Plan{}, err
	}
	if holder, held, err := p.Owner(run); err != nil {
		return Plan{}, fmt.Errorf("look at the lock of run %s: %v", run, err)
	} else if held {
		return Plan{}, &owner.HeldError{Run: run, Holder: holder}
	}
	if s.Created.Flow != nil {
		return p.dryRunFlow(ctx, s, t, lost)
	}
	env, err := p.envToLook(ctx, s)
	if err != nil {
		return Plan{}, err
	}
	defer env.Release()
	j := judge{Process: p, tools: env.Tools}
	s.Acting = j.acting
	notes := slices.Concat(j.changes(s), lostNotes(lost), t.notes(s))
	if err := j.imagineClaim(ctx, s, t); err != nil {
		return Plan{}, err
	}
	plan := j.planFor(ctx, s, s.Lost(), false)
	for _, n := range notes {
		plan.Notes = append(plan.Notes, p.Store.Redact(n))
	}
	for _, step := range plan.Steps {
		if step.call.Phase == journal.PhaseStarted {
			if err := j.imagine(s, step.found.Facts(step.call)...); err != nil {
				return Plan{}, err
			}
		}
	}
	plan.Then = j.then(ctx, s)
	return plan, nil
}

// imagine folds facts that are not recorded.
func (j judge) imagine(s *recovery.State, bodies ...journal.Body) error {
	apply := s.Apply
	if j.flow != nil {
		apply = j.flow.Apply
	}
	for _, b := range bodies {
		if err := apply(journal.Event{Seq: s.Seq + 1, Turn: turnOf(s, b), Body: b}); err != nil {
			return err
		}
	}
	return nil
}

// imagineClaim folds what a claim would record, and what waits for the owner: an answer, a cancel,
// words on calls.
func (j judge) imagineClaim(ctx context.Context, s *recovery.State, t Changes) error {
	unknown, err := j.Doubts(ctx, s.Created)
	if err != nil {
		return err
	}
	claim := t.claim(s, j.claimFact(s, unknown))
	messages := t.messages(s, claim, j.Who)
	if err := j.imagine(s, append([]journal.Body{claim}, messages...)...); err != nil {
		return err
	}
	if err := j.imagineAnswer(ctx, s); err != nil {
		return err
	}
	rows, err := j.Store.Inbox(ctx, s.Created.Run)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if b, err := decodeMessage(r); r.Kind == InboxTell && err == nil && recovery.Hears(s) {
			if err := j.imagine(s, b); err != nil {
				return err
			}
		}
		if r.Kind == InboxCancel && s.Stopping == nil {
			if err := j.imagine(s, journal.RunStopping{Why: journal.StopCancelled, By: r.By, Reason: "cancelled by " + r.By}); err != nil {
				return err
			}
		}
	}
	return nil
}

// imagineAnswer folds an answer that waits for its owner.
func (j judge) imagineAnswer(ctx context.Context, s *recovery.State) error {
	if s.Open == nil {
		return nil
	}
	row, err := j.Store.AnswerFor(ctx, s.Created.Run)
	if err != nil {
		return err
	}
	if row != nil {
		return j.imagine(s, answerFact(*row))
	}
	if end, ok := recovery.Orphaned(s); ok {
		return j.imagine(s, end)
	}
	if expired(s.Open, j.Now()) {
		return j.imagine(s, journal.RequestClosed{ID: s.Open.ID, Status: "expired", Reason: "nobody answered in time"})
	}
	return nil
}

// planFor judges the lost calls by what can be seen of them, and lists the rest of the turn as
// replayed. With endRest, what is left of a call whose outcome is unknown is ended first.
func (j judge) planFor(ctx context.Context, s *recovery.State, lost []*recovery.Call, endRest bool) Plan {
	p := Plan{Run: s.Created.Run, Prompt: opening(j.Store.Redact(s.Created.Prompt)), Checkpoint: s.Checkpoint}
	for i, t := range s.Turns {
		last := i == len(s.Turns)-1
		for _, c := range t.Calls {
			if !last || t.Settled {
				p.Replayed++
			} else if c.Phase == journal.PhaseSettled {
				p.Steps = append(p.Steps, j.step(c, recovery.Judge(c, s.Open, recovery.Evidence{})))
			}
		}
	}
	for _, c := range lost {
		e := j.evidence(ctx, s, c, endRest)
		p.Steps = append(p.Steps, j.step(c, recovery.Judge(c, s.Open, e)))
	}
	return p
}

// openingLimit bounds what a plan shows of a prompt, in characters.
const openingLimit = 200

// opening is the beginning of a prompt, with its lines.
func opening(prompt string) string {
	n, end := 0, 0
	for i := range prompt {
		switch n++; n {
		case openingLimit:
			end = i
		case openingLimit + 1:
			return prompt[:end] + "…"
		}
	}
	return prompt
}

func (j judge) step(c *recovery.Call, found recovery.Judgement) PlanStep {
	return PlanStep{
		ID: c.ID, Place: c.Place, Tool: c.Tool, Words: j.words(c),
		Verdict: found.Verdict, Reason: j.Store.Redact(found.Reason), call: c, found: found,
	}
}

// words are a call's arguments in a few words, as others may see them.
func (j judge) words(c *recovery.Call) string {
	return words.Call(c.Tool, db.RedactValue(j.Store, c.Args))
}

// evidence looks at the world for one call that has no result.
func (j judge) evidence(ctx context.Context, s *recovery.State, c *recovery.Call, endRest bool) recovery.Evidence {
	e := recovery.Evidence{}
	fp, err := j.Store.Fingerprint(s.Created.Thread, c.Tool, c.Args)
	e.Restored = err == nil && (fp == c.Fingerprint || j.rekeyed(ctx, s.Created.Thread) && !strings.Contains(string(c.Args), db.Placeholder))
	t, err := j.tools.Get(c.Tool)
	if err != nil {
		return e
	}
	is := t.Describe(s.Created.Folder, c.Args)
	e.ToolKnown, e.EffectNow, e.RetryNow = true, is.Effect, is.RetrySafe || s.Created.Repeat
	tc := callFor(s, c)
	if a, ok := t.(tools.Process); ok {
		e.Process = a.Find(ctx, tc)
		if e.Process.State == recovery.ProcessLost && endRest && c.Copied() == "" && j.Store.Behind() == nil { // else they are the original's
			e.Process = j.buried(ctx, a, tc, e.Process)
		}
	}
	if i, ok := t.(tools.Inspector); ok {
		e.Inspection = i.Inspect(ctx, tc)
	}
	if e.Process.State == recovery.ProcessNever && !e.Process.Refused && c.Child == "" {
		e.Doubt = c.Doubt(j.disk(), j.Self.Boot)
	}
	if why := c.Copied(); why != "" {
		e.Doubt = why
	}
	return e
}

// rekeyed says that fingerprints of older calls of a thread cannot be compared: their arguments are
// whole where no secret is missing from them.
func (j judge) rekeyed(ctx context.Context, thread string) bool {
	is, err := j.Store.Rekeyed(ctx)
	c, custodyErr := db.CustodyOf(ctx, j.Store, thread)
	return err == nil && is || custodyErr == nil && c.Rekeyed
}

// buried ends what is left of a lost call, so that "unknown" never means "still at it"; what cannot
// be ended is named.
func (j judge) buried(ctx context.Context, a tools.Process, tc tools.Call, s recovery.ProcessEvidence) recovery.ProcessEvidence {
	left, err := a.Kill(ctx, tc)
	if err != nil {
		left = append(left, err.Error())
	}
	s.Alive = left
	now := a.Find(ctx, tc) // all of it, now that nothing prints any more
	s.Output, s.PutBack = now.Output, now.PutBack
	for _, note := range s.PutBack {
		j.Note(tc.Run, "put back: %s", note)
	}
	return s
}

// recover decides about the calls that an earlier owner left, records the decisions, and shows
// them. Step 2.
func (cl *caller) recover(ctx context.Context, lost []*recovery.Call) error {
	p := cl.judge().planFor(ctx, cl.state, lost, true)
	fault.Hit(fault.InRecovery)
	for _, step := range p.Steps {
		c := step.call
		if c.Phase != journal.PhaseStarted {
			continue
		}
		cl.recordAll(step.found.Facts(c))
		cl.afterVerdict(ctx, step)
	}
	return nil
}

func (cl *caller) afterVerdict(ctx context.Context, step PlanStep) {
	t, err := cl.env.Tools.Get(step.call.Tool)
	if err != nil {
		return
	}
	a, ok := t.(tools.Process)
	if !ok {
		return
	}
	switch step.Verdict {
	case journal.VerdictAttach:
		cl.attach(ctx, step.call, a)
	case journal.VerdictAdopt, journal.VerdictSkip, journal.VerdictRun, journal.VerdictAgain:
		cl.done = append(cl.done, cl.toolCall(step.call))
	}
}

// then says in words what follows.
func (j judge) then(ctx context.Context, s *recovery.State) string {
	for range 8 {
		switch a := recovery.Next(s).(type) {
		case recovery.Record:
			if s.Stopping != nil {
				return "end the run: " + j.Store.Redact(s.Stopping.Reason)
			}
			a.Facts = j.instead(ctx, s, a.Facts)
			for _, f := range a.Facts {
				if o, ok := f.(journal.RequestOpened); ok {
					return "ask: " + words.Brief(j.Store.Redact(o.Request.Message), 200)
				}
			}
			if err := j.imagine(s, a.Facts...); err != nil {
				return err.Error()
			}
		case recovery.Start:
			c := a.Calls[0]
			return fmt.Sprintf("run call %s (%s: %s)", c.Place, c.Tool, j.words(c))
		case recovery.Await:
			return j.awaits(ctx, s, a.Calls)
		case recovery.AskPerson:
			return fmt.Sprintf("wait for an answer to %s: %s", a.Request.ID, words.Brief(j.Store.Redact(a.Request.Message), 200))
		case recovery.CallModel:
			return fmt.Sprintf("ask the model for turn %d", a.Turn)
		case recovery.Compact:
			return fmt.Sprintf("have the model summarise older messages, and ask it for turn %d", len(s.Turns)+1)
		case recovery.StopCalls:
			return "stop what is running: " + a.Reason
		case recovery.Done:
			return fmt.Sprintf("nothing: the run is %s", s.Status)
		default:
			return fmt.Sprintf("%T", a)
		}
	}
	return "go on"
}

// awaits says what is waited for while calls are under way: one that runs, or people alone.
func (j judge) awaits(ctx context.Context, s *recovery.State, calls []*recovery.Call) string {
	var asked []string
	for _, c := range calls {
		e := j.evidence(ctx, s, c, false)
		if len(e.Process.Asked) == 0 {
			return fmt.Sprintf("wait for call %s (%s: %s), which is still running", c.Place, c.Tool, j.words(c))
		}
		asked = append(asked, e.Process.Asked...)
	}
	return "wait for people: agent answer " + strings.Join(asked, ", agent answer ")
}
