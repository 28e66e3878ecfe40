package runbook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agent/recovery/journal"
)

// end says how a step stands.
type end int

const (
	endOpen       end = iota // it was not asked for, or has no result
	endDone                  // it did what it says
	endPassed                // its outcome is unknown and a person said to go on
	endUnknown               // its outcome is unknown and nobody was asked about it
	endFailed                // it was carried out and failed
	endDenied                // a person or a rule refused it
	endSkipped               // it was not carried out
	endNo                    // its question was answered no
	endUnknownNo             // its outcome is unknown and a person said to stop
	endUnanswered            // its outcome is unknown and the question about it got no answer
)

// over says whether the next step may be carried out.
func (e end) over() bool { return e == endDone || e == endPassed }

// mark is what the transcript says about one step.
type mark struct {
	asked   bool // there is a call for it
	run     int  // the run that asked for it: place of its prompt among the thread's
	id      string
	result  *journal.ResultBlock
	before  bool                 // an earlier run's call for the same step is known by now to have happened
	about   string               // id of the question whether to go on after its unknown outcome
	confirm *journal.ResultBlock // the answer to it
}

// judge says how the step stands.
func (m mark) judge(s step) end {
	if m.result == nil {
		return endOpen
	}
	if m.about != "" {
		return m.judgeConfirm()
	}
	switch m.result.Outcome {
	case journal.OutcomeOK:
		if s.tool == toolConfirm && !yes(m.result.Text) {
			return endNo
		}
		return endDone
	case journal.OutcomeUnknown:
		return endUnknown
	case journal.OutcomeDenied:
		return endDenied
	case journal.OutcomeSkipped:
		if m.before {
			return endDone
		}
		return endSkipped
	default:
		return endFailed
	}
}

// judgeConfirm says how a step stands whose outcome was unknown when a person was asked whether to
// go on. An answer stays what it was, also after the outcome became known.
func (m mark) judgeConfirm() end {
	happened := m.result.Outcome == journal.OutcomeOK
	switch {
	case happened && (m.confirm == nil || m.confirm.Outcome != journal.OutcomeOK):
		return endDone
	case m.confirm == nil:
		return endOpen
	case m.confirm.Outcome != journal.OutcomeOK:
		return endUnanswered
	case !yes(m.confirm.Text):
		return endUnknownNo
	case happened:
		return endDone
	default:
		return endPassed
	}
}

// done says whether the step is known to have happened: also where a person stopped the run before
// that was known.
func (m mark) done(s step) bool {
	e := m.judge(s)
	return e == endDone || e == endUnknownNo && m.result.Outcome == journal.OutcomeOK
}

// told says whether a person said that the step happened, after its outcome had been unknown.
func (m mark) told() bool {
	return m.result != nil && m.result.Outcome == journal.OutcomeOK && strings.HasSuffix(m.result.Text, "\nA person says that it happened.")
}

// left says whether the step is carried out once more by continue.
func (m mark) left(s step) bool { return !m.done(s) && m.judge(s) != endPassed }

// yes reads the answer to a confirm_action.
func yes(answer string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(answer), `"`)) {
	case "yes", "y", "true":
		return true
	}
	return false
}

// progress is a runbook with what became of its steps.
type progress struct {
	*book
	marks []mark // one for each step
	run   int    // the run that it was replayed up to
	start int    // the run's first step
	at    int    // the step last asked for; start-1 before the first
}

// errForeign says that a run's calls are not those of its runbook.
var errForeign = errors.New("the recorded calls are not those of the runbook")

// next makes the progress that of a following run, which begins with what the one before left
// undone.
func (p *progress) next(run int) {
	p.run = run
	p.start = max(p.at, 0)
	if p.at >= 0 && !p.marks[p.at].left(p.steps[p.at]) {
		p.start = p.at + 1
	}
	p.at = p.start - 1
}

// follow reads a run's messages.
func (p *progress) follow(messages []journal.Message) error {
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == journal.BlockCall && b.Call != nil:
				if err := p.called(*b.Call); err != nil {
					return err
				}
			case b.Kind == journal.BlockResult && b.Result != nil:
				p.settled(b.Result)
			}
		}
	}
	return nil
}

func (p *progress) called(c journal.CallBlock) error {
	if about(c) != "" && p.at >= p.start {
		p.marks[p.at].about = c.ID
		return nil
	}
	index, err := p.index(c)
	if err != nil {
		return err
	}
	if p.at < p.start { // what was left may have become less since the run began: its first call knows
		p.start = index
	}
	if index >= len(p.steps) || p.steps[index].tool != c.Tool {
		return fmt.Errorf("%w: call %s of %s", errForeign, c.ID, c.Tool)
	}
	old := p.marks[index]
	p.marks[index] = mark{
		asked: true, run: p.run, id: c.ID,
		before: old.before || old.result != nil && old.result.Outcome == journal.OutcomeOK && p.steps[index].tool != toolConfirm,
	}
	p.at = index
	return nil
}

// index is the place of the step that a recorded call answers.
func (p *progress) index(c journal.CallBlock) (int, error) {
	expected := p.at + 1
	if c.Provider == "" {
		return expected, nil
	}
	number, ok := strings.CutPrefix(c.Provider, "step-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || p.at >= p.start && n-1 != expected {
		return 0, fmt.Errorf("%w: call %s is named %q", errForeign, c.ID, c.Provider)
	}
	return n - 1, nil
}

func (p *progress) settled(r *journal.ResultBlock) {
	if p.at < p.start {
		return
	}
	switch m := &p.marks[p.at]; r.ID {
	case m.id:
		m.result = r
	case m.about:
		m.confirm = r
	}
}

// about is the call whose unknown outcome a recorded call asks about. Steps of a runbook never ask
// about a call.
func about(c journal.CallBlock) string {
	if c.Tool != toolConfirm {
		return ""
	}
	var args struct {
		About string `json:"about"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return "" // arguments that are no object ask about nothing
	}
	return args.About
}
