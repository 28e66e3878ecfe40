package recovery

import (
	"fmt"
	"strings"
)

// Judgement is a verdict with its reason and, where something was found, the result that goes with it.
type Judgement struct {
	Verdict Verdict
	Reason  string
	Result  *Result // with adopt and with skip
}

// Judge decides what to do with a call that has no result. The first row of the table that matches wins. A verdict is no
// permission to act: what runs takes the ordinary path again.
func Judge(c *Call, open *Request, e Evidence) Judgement {
	switch {
	case c.Result != nil:
		return Judgement{VerdictReplay, "its result is on record", c.Result}
	case open != nil && open.Call != nil && open.Call.Turn == c.Turn && open.Call.Index == c.Index:
		return Judgement{VerdictWait, "request " + open.ID + " stands for it", nil}
	case c.Phase == PhaseProposed && !e.Restored:
		return skipped("it never started, and its arguments cannot be restored")
	case c.Phase == PhaseProposed:
		return Judgement{VerdictRun, "it never started", nil}
	}
	return judgeStarted(c, e)
}

func judgeStarted(c *Call, e Evidence) Judgement {
	switch e.Process.State {
	case ProcessNever:
		if !e.Restored {
			return skipped(e.Process.Why + ", and its arguments cannot be restored")
		}
		return Judgement{VerdictRun, e.Process.Why, nil}
	case ProcessRunning:
		return Judgement{VerdictAttach, e.Process.Why, nil}
	case ProcessEnded:
		return Judgement{VerdictAdopt, e.Process.Why, e.Process.Result}
	}
	if e.Looked.Answer == InspectionHappened {
		return Judgement{VerdictAdopt, e.Looked.Why, e.Looked.Result}
	}
	if e.Restored && e.ToolKnown {
		switch {
		case c.Effect == EffectRead && e.EffectNow == EffectRead:
			return Judgement{VerdictAgain, "it only reads", nil}
		case c.RetrySafe && e.RetryNow:
			return Judgement{VerdictAgain, "running it twice does no harm", nil}
		case e.Looked.Answer == InspectionNotHappened:
			return Judgement{VerdictRun, e.Looked.Why, nil}
		}
	}
	return unknown(c, e)
}

func skipped(reason string) Judgement {
	return Judgement{VerdictSkip, reason, &Result{
		Outcome: OutcomeSkipped, Applied: AppliedNo, How: HowTold, Content: "not executed: " + reason,
	}}
}

// unknown is the last row: it may have happened, so it is never done again without a person's word.
func unknown(c *Call, e Evidence) Judgement {
	reasons := []string{}
	for _, why := range []string{e.Process.Why, e.Looked.Why} {
		if why != "" {
			reasons = append(reasons, why)
		}
	}
	if !e.ToolKnown {
		reasons = append(reasons, "this binary has no tool "+c.Tool)
	}
	if len(reasons) == 0 {
		reasons = append(reasons, "no record says whether it happened")
	}
	reason := strings.Join(reasons, "; ")
	text := fmt.Sprintf("outcome unknown: %s was started at %s and its result was lost (%s). It may or may not have happened. It was not repeated.",
		c.Tool, stamp(c.StartedAt), reason)
	if len(e.Process.Alive) > 0 {
		text += " It may still be running: " + strings.Join(e.Process.Alive, ", ") + "."
	}
	return Judgement{VerdictSkip, "outcome unknown: " + reason, &Result{
		Outcome: OutcomeUnknown, Applied: AppliedUnknown, How: HowTold,
		Content: text + "\nasked for:\n" + Describe(c.Args), Alive: e.Process.Alive,
	}}
}

// Facts are what a judgement adds to the journal.
func (j Judgement) Facts(c *Call) []Body {
	facts := []Body{CallJudged{Place: c.at(), Verdict: j.Verdict, Reason: j.Reason}}
	if j.Result != nil && j.Verdict != VerdictReplay {
		facts = append(facts, CallSettled{Place: c.at(), Fingerprint: c.Fingerprint, Result: *j.Result})
	}
	return facts
}
