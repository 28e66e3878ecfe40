package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"slices"
	"strings"
)

// Judgement is a verdict with its reason and, where something was found, the result that goes with
// it.
type Judgement struct {
	Verdict journal.Verdict
	Reason  string
	Result  *journal.Result // with adopt and with skip
}

// Judge decides what to do with a call that has no result. The first row of the table that matches
// wins. A verdict is no permission to act: what runs takes the ordinary path again.
func Judge(c *Call, open *journal.Request, e Evidence) Judgement {
	switch {
	case c.Result != nil:
		return Judgement{journal.VerdictReplay, "its result is on record", c.Result}
	case open != nil && open.StandsFor(c.Place) && open.Kind != journal.RequestElicit:
		return Judgement{journal.VerdictWait, "request " + open.ID + " stands for it", nil}
	case c.Phase == journal.PhaseProposed:
		return neverStarted(c, e, "it never started")
	}
	return judgeStarted(c, e)
}

func judgeStarted(c *Call, e Evidence) Judgement {
	switch {
	case e.Process.State == ProcessNever && e.proves():
		return neverStarted(c, e, or(e.Process.Why, "its process never started"))
	case e.Process.State == ProcessRunning:
		return Judgement{journal.VerdictAttach, or(e.Process.Why, "its process is still running"), nil}
	case e.Process.State == ProcessEnded && e.Process.Result != nil:
		return adopted(c, or(e.Process.Why, "its process left a record of its end"), journal.HowAdopted, *e.Process.Result)
	case e.Inspection.Answer == InspectionHappened:
		why := or(e.Inspection.Why, "its effect is there")
		r := journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: why}
		if e.Inspection.Result != nil {
			r = *e.Inspection.Result
		}
		return adopted(c, why, journal.HowVerified, r)
	}
	if e.Restored && e.ToolKnown {
		switch {
		case c.Effect == journal.EffectRead && e.EffectNow == journal.EffectRead:
			return Judgement{journal.VerdictAgain, "it only reads", nil}
		case c.RetrySafe && e.RetryNow:
			return Judgement{journal.VerdictAgain, "running it twice does no harm", nil}
		case e.Inspection.Answer == InspectionNotHappened:
			return Judgement{journal.VerdictRun, or(e.Inspection.Why, "it did not happen"), nil}
		}
	}
	return unknown(c, e)
}

// proves says whether a process that left no record of its start never started.
func (e Evidence) proves() bool { return e.Doubt == "" || e.Process.Refused }

// neverStarted is what may be done with a call that provably did nothing: it runs, unless it
// cannot.
func neverStarted(c *Call, e Evidence, why string) Judgement {
	switch {
	case !e.ToolKnown:
		return skipped(why + ", and this binary has no tool " + c.Tool)
	case !e.Restored:
		return skipped(why + ", and its arguments cannot be restored")
	}
	return Judgement{journal.VerdictRun, why, nil}
}

// adopted marks a result with where it was found. An error that leaves open whether it happened is
// unknown.
func adopted(c *Call, why string, how journal.How, r journal.Result) Judgement {
	r.How = how
	if r.Outcome == journal.OutcomeError && doubtful(&r, c.Effect) {
		r.Outcome, r.Applied = journal.OutcomeUnknown, journal.AppliedUnknown
	}
	return Judgement{journal.VerdictAdopt, why, &r}
}

func or(why, otherwise string) string {
	if why == "" {
		return otherwise
	}
	return why
}

func skipped(reason string) Judgement {
	return Judgement{journal.VerdictSkip, reason, &journal.Result{
		Outcome: journal.OutcomeSkipped, Applied: journal.AppliedNo, How: journal.HowTold, Content: "not executed: " + reason,
	}}
}

// unknown is the last row: it may have happened, so it is never done again without a person's
// decision.
func unknown(c *Call, e Evidence) Judgement {
	reason := strings.Join(whyUnknown(c, e), "; ")
	text := fmt.Sprintf("outcome unknown: %s was started at %s and its result was lost (%s). It may or may not have happened. It was not repeated.",
		c.Tool, stamp(c.StartedAt), reason)
	if len(e.Process.Alive) > 0 {
		text += " It may still be running: " + strings.Join(e.Process.Alive, ", ") + "."
	}
	r := &journal.Result{
		Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowTold,
		Content: text + "\nasked for:\n" + brief(Describe(c.Args)), Alive: e.Process.Alive,
	}
	if len(r.Alive) > 0 {
		r.Data = e.Process.Trace
	}
	if out := e.Process.Output; out != nil {
		r.Content += "\n" + journal.PrintedMark + "\n" + out.Content
		r.Full, r.Size = out.Full, out.Size
	}
	return Judgement{journal.VerdictSkip, "outcome unknown: " + reason, r}
}

// whyUnknown says in words why nothing better can be said.
func whyUnknown(c *Call, e Evidence) []string {
	var why []string
	switch e.Process.State {
	case ProcessLost:
		why = append(why, or(e.Process.Why, "its process began and left no record of its end"))
	case ProcessNever:
		why = append(why, "no record of its start is left, which proves nothing: "+e.Doubt)
	case ProcessEnded:
		why = append(why, or(e.Process.Why, "the record of its end cannot be used"))
	default:
		why = append(why, e.Process.Why)
	}
	switch {
	case e.Inspection.Answer == InspectionUnclear:
		why = append(why, or(e.Inspection.Why, "what is there is neither as before nor as wanted"))
	case e.Inspection.Answer == InspectionNotHappened:
		why = append(why, or(e.Inspection.Why, "it did not happen"))
	default:
		why = append(why, e.Inspection.Why)
	}
	switch {
	case !e.ToolKnown:
		why = append(why, "this binary has no tool "+c.Tool)
	case !e.Restored:
		why = append(why, "its arguments cannot be restored")
	case c.Effect == journal.EffectRead && e.EffectNow != journal.EffectRead:
		why = append(why, "it only read then and may change something now")
	case c.RetrySafe && !e.RetryNow:
		why = append(why, "running it twice did no harm then and may do so now")
	}
	why = slices.DeleteFunc(why, func(w string) bool { return w == "" })
	if len(why) == 0 {
		why = append(why, "no record says whether it happened")
	}
	return why
}

// Facts are what a judgement adds to the journal. What is replayed needs no fact: its result is
// there.
func (j Judgement) Facts(c *Call) []journal.Body {
	if j.Verdict == journal.VerdictReplay {
		return nil
	}
	facts := []journal.Body{journal.CallJudged{Place: c.Place, Verdict: j.Verdict, Reason: j.Reason}}
	if j.Result != nil {
		facts = append(facts, journal.CallSettled{Place: c.Place, Fingerprint: c.Fingerprint, Result: *j.Result})
	}
	return facts
}
