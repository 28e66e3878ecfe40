package recovery

import (
	"agent/recovery/journal"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checker reads a journal with eyes of its own: it knows nothing of State, and says when a journal
// holds what no run may do.
type checker struct {
	calls    map[journal.Place]*watched
	request  *journal.Request
	stopping bool
	mode     journal.Mode
	authored bool
	others   map[string]journal.Unknown
	word     journal.Word // what was said from here of the other run's call
	over     bool
	restored bool // since then every call that acts needs a yes
	old      bool // the open question was asked before that
}

type watched struct {
	journal.Proposal
	mode      journal.Mode
	started   bool
	settled   bool
	attempts  int
	doubt     bool // its outcome is unknown, or was until a person said that it happened
	unknown   bool // its outcome is unknown: the rest of its answer waits
	ok        bool
	verdict   journal.Verdict // since the last start
	yes       bool            // to the permission, or to run it once more
	refused   bool            // a person said that it happened after a copy was made, or to leave it
	runAnyway bool            // a person saw the twin and said to run
}

func newChecker() *checker {
	return &checker{calls: map[journal.Place]*watched{}, others: map[string]journal.Unknown{}}
}

func (k *checker) call(p journal.Place) *watched {
	return k.calls[journal.Place{Turn: p.Turn, Index: p.Index}]
}

// see reads one fact and says what is wrong with it; "" when nothing is.
func (k *checker) see(e journal.Event) string {
	after := e.Body.Kind() == journal.KindCallResolved || e.Body.Kind() == journal.KindCommitSeen
	if k.over && !after {
		return fmt.Sprintf("%s after the end", e.Body.Kind())
	}
	switch b := e.Body.(type) {
	case journal.RunCreated:
		k.mode, k.authored, k.restored = b.Mode, b.Authored, b.Guarded
	case journal.RunClaimed:
		if b.Mode != "" {
			k.mode = b.Mode
		}
		k.others = map[string]journal.Unknown{}
		for _, u := range b.Unknown {
			if k.word != journal.WordRun { // the other run may not have heard of it yet, or the model knows of it
				k.others[u.ID] = u
			}
		}
	case journal.RunRestored:
		if b.Nothing {
			break
		}
		k.restored, k.old = true, k.request != nil
		for _, c := range k.calls {
			c.yes = false
		}
	case journal.RunStopping:
		k.stopping = true
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		k.over = true
		return k.ended()
	case journal.ModelAnswered:
		for i, p := range b.Calls {
			k.calls[journal.Place{Turn: e.Turn, Index: i}] = &watched{Proposal: p, mode: k.mode}
		}
	case journal.RequestOpened:
		if k.request != nil {
			return "a second open request"
		}
		k.request, k.old = &b.Request, false
		if b.Request.Kind == journal.RequestElicit {
			return k.asksItself(*b.Request.Call)
		}
		return k.nothingFlies("a question")
	case journal.RequestAnswered:
		k.reply(b)
	case journal.RequestClosed:
		k.request = nil
	default:
		return k.seeCall(e)
	}
	return ""
}

func (k *checker) seeCall(e journal.Event) string {
	switch b := e.Body.(type) {
	case journal.CallJudged:
		k.call(b.Place).verdict = b.Verdict
	case journal.CallStarted:
		return k.starts(k.call(b.Place), b)
	case journal.CallSettled:
		c := k.call(b.Place)
		if c.settled {
			return fmt.Sprintf("call %s has two results", b.Place)
		}
		if c.started && c.verdict == journal.VerdictAgain && c.Effect != journal.EffectRead && b.Result.Applied == journal.AppliedNo {
			return fmt.Sprintf("call %s may have happened and is told as not executed", b.Place)
		}
		c.settled, c.doubt, c.ok = true, b.Result.Outcome == journal.OutcomeUnknown, b.Result.Outcome == journal.OutcomeOK
		c.unknown = c.doubt
	case journal.CallResolved:
		return k.rules(b)
	case journal.FilesChanged:
		if b.During == nil {
			break
		}
		if c := k.call(*b.During); c == nil || !c.started {
			return fmt.Sprintf("files changed while call %s was under way, which never started", b.During)
		}
	case journal.CommitSeen:
		if b.During == nil {
			break
		}
		if c := k.call(*b.During); c == nil || !c.started {
			return fmt.Sprintf("a commit was made while call %s was under way, which never started", b.During)
		}
	case journal.ApprovalVoided:
		c := k.call(b.Place)
		c.yes, c.runAnyway = false, false
	}
	return ""
}

// rules takes a decision on a call. That a call was run once more is true only where a person
// decided that for a call that does the same, and that one succeeded.
func (k *checker) rules(b journal.CallResolved) string {
	if b.Run == "" && b.Word != journal.WordLeave {
		k.call(b.Place).unknown = false
	}
	if b.Word != journal.WordRun {
		if b.Run != "" {
			k.word = b.Word
		}
		return ""
	}
	first := journal.Proposal{Tool: "post", Args: json.RawMessage(`{"what":"a"}`)}
	if b.Run == "" {
		first = k.call(b.Place).Proposal
	}
	for _, c := range k.calls {
		if c.runAnyway && c.ok && repeats(c.Proposal, first) {
			if b.Run == "" {
				k.call(b.Place).doubt = false
			} else {
				k.word = journal.WordRun
				delete(k.others, "c-old")
			}
			return ""
		}
	}
	return fmt.Sprintf("call %s is said to have been run once more, and was not", b.Place)
}

// repeats says whether one call does again what another may have done. "say" changes nothing,
// "limit" is no part of it.
func repeats(c, first journal.Proposal) bool {
	does := func(p journal.Proposal) []string {
		var a struct{ What string }
		if err := json.Unmarshal(p.Args, &a); err != nil {
			return nil
		}
		return strings.Fields(strings.ReplaceAll(strings.ReplaceAll(a.What, "limit", ""), "say", ""))
	}
	if c.Tool != first.Tool {
		return false
	}
	if c.Tool != "shell" {
		return slices.Equal(does(c), does(first))
	}
	if slices.Contains(does(c), "opaque") {
		return true // it may do anything
	}
	for _, w := range does(first) {
		if !slices.Contains(does(c), w) {
			return false
		}
	}
	return true
}

func (k *checker) starts(c *watched, b journal.CallStarted) string {
	at := b.Place
	switch {
	case k.stopping:
		return fmt.Sprintf("call %s starts in a run that is to end", at)
	case k.request != nil:
		return fmt.Sprintf("call %s starts while a question is open", at)
	case c.settled:
		return fmt.Sprintf("call %s starts after its result", at)
	case c.refused:
		return fmt.Sprintf("call %s starts although it may have happened after the copy was made", at)
	case c.Invalid != "" || c.Question != nil || c.Decision == journal.DecisionDeny:
		return fmt.Sprintf("call %s must not run and starts", at)
	case (c.Decision == journal.DecisionAsk || k.restored && c.Effect != journal.EffectRead) && !c.yes:
		return fmt.Sprintf("call %s starts without its yes", at)
	case !k.permits(c):
		return fmt.Sprintf("call %s starts in mode %s without a yes", at, k.mode)
	case b.Attempt != c.attempts+1:
		return fmt.Sprintf("call %s: attempt %d after %d", at, b.Attempt, c.attempts)
	case c.attempts > 0 && c.verdict != journal.VerdictRun && (c.verdict != journal.VerdictAgain || c.Effect != journal.EffectRead && !c.RetrySafe):
		return fmt.Sprintf("call %s starts again without a verdict that allows it (%s)", at, c.verdict)
	case k.behindUnknown(at):
		return fmt.Sprintf("call %s starts before the model has seen that the outcome of one before it is unknown", at)
	case k.hasTwin(c) && !c.runAnyway:
		return fmt.Sprintf("call %s starts although it may have happened, and nobody said so for this start", at)
	}
	if c.Effect != journal.EffectRead {
		if wrong := k.nothingFlies("call " + at.String()); wrong != "" {
			return wrong
		}
	}
	for p, d := range k.calls {
		if d != c && d.started && !d.settled && d.verdict == "" && d.Effect != journal.EffectRead {
			return fmt.Sprintf("call %s starts beside call %s", at, p)
		}
		if p.Turn == at.Turn && p.Index < at.Index && !d.settled && (d.Effect != journal.EffectRead || c.Effect != journal.EffectRead) {
			return fmt.Sprintf("call %s starts before call %s", at, p)
		}
	}
	c.started, c.attempts, c.verdict = true, b.Attempt, ""
	return ""
}

// behindUnknown says whether a call before it in the same answer has an unknown outcome.
func (k *checker) behindUnknown(at journal.Place) bool {
	for p, d := range k.calls {
		if p.Turn == at.Turn && p.Index < at.Index && d.unknown {
			return true
		}
	}
	return false
}

// permits says whether a mode that was tightened since still lets the call run.
func (k *checker) permits(c *watched) bool {
	if c.Effect == journal.EffectRead || k.mode == c.mode {
		return true
	}
	if k.mode == journal.ModePlan {
		return false
	}
	return c.yes || k.authored || k.mode == journal.ModeYolo || k.mode == journal.ModeAuto && c.Effect == journal.EffectWriteLocal
}

func (k *checker) hasTwin(c *watched) bool {
	for _, d := range k.calls {
		if d != c && d.doubt && repeats(c.Proposal, d.Proposal) {
			return true
		}
	}
	for _, u := range k.others {
		if repeats(c.Proposal, journal.Proposal{Tool: u.Tool, Args: u.Args}) {
			return true
		}
	}
	return false
}

// asksItself says what is wrong with a question of a call that is under way: it must be, and alone.
func (k *checker) asksItself(at journal.Place) string {
	c := k.call(at)
	if !c.started || c.settled {
		return fmt.Sprintf("call %s asks and is not under way", at)
	}
	c.started = false
	defer func() { c.started = true }()
	return k.nothingFlies("a question of call " + at.String())
}

// nothingFlies says what is under way while something else is to begin that must be alone.
func (k *checker) nothingFlies(what string) string {
	for p, d := range k.calls {
		if d.started && !d.settled && d.verdict != journal.VerdictRun && d.verdict != journal.VerdictAgain {
			return fmt.Sprintf("%s while call %s is under way", what, p)
		}
	}
	return ""
}

func (k *checker) reply(b journal.RequestAnswered) {
	r := k.request
	k.request = nil
	if r.Call == nil {
		return
	}
	c, text := k.call(*r.Call), string(b.Answer)
	switch r.Kind {
	case journal.RequestPermission:
		c.yes = text == "true" && !k.old
	case journal.RequestCopy:
		switch text {
		case `"run"`:
			c.yes = !k.old
		case `"clear"`:
			c.yes, k.restored = !k.old, false
		default:
			c.refused = true
		}
	case journal.RequestTwin:
		c.runAnyway = text == `"run"`
		c.yes = c.runAnyway && !k.old
		if c.runAnyway && r.About == "c-old" && k.others[r.About].Done {
			k.word = journal.WordRun
			delete(k.others, r.About)
		}
	}
}

func (k *checker) ended() string {
	for p, c := range k.calls {
		if !c.settled {
			return fmt.Sprintf("the run ends and call %s has no result", p)
		}
	}
	if k.request != nil {
		return "the run ends and a question is open"
	}
	return ""
}
