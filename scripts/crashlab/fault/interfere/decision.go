//go:build linux

package interfere

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/mcp"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
)

// Decision has a person decide on a call whose outcome is unknown, and kills the process that takes
// the answer at each of its points. The model asks for the same call again and again. The decision
// lasts: what happened is not executed, what is left is asked about once more at most, and what was
// run once more with success is a call like any other.
func Decision() lab.Fault {
	return kind{
		name: "decision", what: "a person decides on an unknown call, and who takes the answer is killed", short: 7,
		all: decisions, act: answer, judge: judgeDecision, control: decisionControl,
	}.fault()
}

// Ways of a decision: an answer to the open question, or one about the call while the question is
// open.
const (
	answerHappened = "happened"
	answerRun      = "run"
	answerLeave    = "leave"
	answerStop     = "stop-asking" // after leave
	callHappened   = "call:happened"
	callLeave      = "call:leave"
)

func decisionWays() []string {
	return []string{answerHappened, answerRun, answerLeave, answerStop, callHappened, callLeave}
}

// decisions lists each way with every point at which the process that takes the answer can be
// killed, and once without a kill.
func decisions() []*interference {
	var out []*interference
	tools := []string{"shell", "fetch", "shell:write", mcp.Tool("count")}
	for w, way := range decisionWays() {
		for n, own := range append([]fault.Point{""}, fault.Driving()...) {
			tool, shape := tools[(n+w)%len(tools)], story.Shapes()[n%3] // a runbook does not ask for what was not done
			if own != "" && !answersPass(tool, shape, own) {
				continue
			}
			i := newInterference(way, string(own), tool, "first", shape, string(unknownAt(tool, way != answerRun)))
			i.Change = func(s *story.Story) {
				args := s.Turns[0][0].RawArgs()
				s.Spellings, s.AskAnyway = []json.RawMessage{args, args, args}, way == answerRun
			}
			out = append(out, i)
		}
	}
	return out
}

// unknownAt is a point at which the outcome of a call becomes unknown where host and command are
// killed: it happened, or it did not.
func unknownAt(tool string, happened bool) fault.Point {
	switch runs := story.Subjects()[tool].Runs; {
	case runs && happened:
		return fault.RunnerCommand
	case runs:
		return fault.RunnerBegan
	case happened:
		return fault.AfterEffect
	}
	return fault.AfterStarted
}

// answersPass says whether a process that answers a question of the story reaches a point.
func answersPass(tool, shape string, own fault.Point) bool {
	place, _, _ := strings.Cut(string(own), ".")
	s, _ := story.New(tool, "first", shape, 0, "")
	return !(plan.Arm{Point: string(own)}).InRunner() && (s.Misses(string(own)) == "" || place == "answer" || place == "request")
}

// answer kills the command that is stopped, has the run go on until it asks about its call, and
// gives the answer.
func answer(b *interfered, s *trial.Halted) error {
	b.Leave = b.way == answerLeave || b.way == answerStop || b.way == callLeave
	if b.way == answerRun {
		b.MostTimes = 1 + mostSpellings
	}
	if err := s.Release("both"); err != nil {
		return err
	}
	if _, err := b.await(s.Command); err != nil {
		return err
	}
	b.kills++
	if err := b.World.WaitServers(); err != nil {
		return err
	}
	if b.run == "" {
		return nil
	}
	if err := b.runAlone("resume", b.run); err != nil {
		return err
	}
	q := b.openTwin()
	if q != nil && b.way == answerStop {
		if err := b.runAlone("answer", q.ID, answerLeave); err != nil {
			return err
		}
		q = b.openTwin()
	}
	if q == nil {
		b.Found.Add(judge.Differs, "nobody is asked about the call of unknown outcome although the model asks for it again")
		return trial.ErrFound
	}
	subject, word := q.ID, b.way
	if to, ok := strings.CutPrefix(b.way, "call:"); ok {
		subject, word = b.asked(q).about, to
	}
	c, err := b.startOther("answer", subject, word)
	if err != nil {
		return err
	}
	if _, err := b.awaitRepeating(c, b.await); err != nil {
		return err
	}
	if err := b.World.WaitServers(); err != nil || b.way != callHappened {
		return err
	}
	return b.isClosed(q.ID)
}

// runAlone carries out a command that nobody kills.
func (b *interfered) runAlone(args ...string) error {
	b.Commands++
	c, err := b.World.Start("", args...)
	if err != nil {
		return err
	}
	if _, err := b.await(c); err != nil {
		return err
	}
	if err := b.World.WaitServers(); err != nil {
		return err
	}
	return b.Look()
}

// openTwin is the open question whether a call may do again what an earlier one may have done; nil
// where none is open.
func (b *interfered) openTwin() *journal.Request {
	for i, q := range b.Record.Requests {
		if q.Kind == "twin" && q.Status == "open" {
			return &b.Record.Requests[i]
		}
	}
	return nil
}

// asked is what a question says.
func (b *interfered) asked(q *journal.Request) question {
	for _, x := range twinFacts(b.Record.Facts[q.Run]) {
		if x.id == q.ID && x.opened {
			return x
		}
	}
	return question{}
}

// isClosed wants the answer about a call to have closed the question about it, at the latest when
// the run goes on.
func (b *interfered) isClosed(id string) error {
	if err := b.Look(); err != nil {
		return err
	}
	if q := b.openTwin(); q != nil && q.ID == id {
		if err := b.runAlone("resume", b.run); err != nil {
			return err
		}
	}
	if q := b.openTwin(); q != nil && q.ID == id {
		b.Found.Add(judge.Stuck, "question %s stays open although a person answered that its call happened", id)
		return trial.ErrFound
	}
	return nil
}

// question is what a fact says of a question of the twin guard.
type question struct {
	id, about string
	opened    bool
	answer    string // where it is answered
}

// twinFacts are the questions of the twin guard and their answers, in their order.
func twinFacts(facts []journal.Fact) []question {
	about := map[string]string{}
	var out []question
	for _, x := range facts {
		b, err := x.Decode()
		if err != nil {
			continue // who follows the facts has found that
		}
		switch {
		case x.Kind == journal.Opened && b.Request.Kind == "twin":
			about[b.Request.ID] = b.Request.About
			out = append(out, question{id: b.Request.ID, about: b.Request.About, opened: true})
		case x.Kind == journal.Replied && about[b.ID] != "":
			out = append(out, question{id: b.ID, about: about[b.ID], answer: strings.Trim(string(b.Answer), `"`)})
		}
	}
	return out
}

// judgeDecision judges a story in which a person decided.
func judgeDecision(b *interfered, was, is judge.End) judge.Findings {
	f := executedUnasked(b.Record, b.Histories, b.Story.Mark)
	if is.Status != "completed" {
		f.Add(judge.Differs, "it ended %s, and without a kill %s", is.Status, was.Status)
	}
	if saw := is.Saw["mark-c"]; saw != 1 {
		f.Add(judge.Lost, "what comes after the call happened %d times, and without a kill once", saw)
	}
	left, stopped := map[string]int{}, map[string]bool{}
	for _, q := range twinFacts(b.Record.Facts[b.number()]) {
		switch {
		case q.opened && stopped[q.about]:
			f.Add(judge.Differs, "question %s about call %s comes after a person said to stop asking", q.id, q.about)
		case q.opened && left[q.about] > 1:
			f.Add(judge.Differs, "question %s about call %s comes after a person left it %d times in this run", q.id, q.about, left[q.about])
		case q.answer == answerLeave:
			left[q.about]++
		case q.answer == answerStop:
			stopped[q.about] = true
		}
	}
	if b.way == answerRun {
		f = append(f, b.isOrdinary()...)
	}
	return f
}

// number is the run's, as the record has it.
func (b *interfered) number() int64 {
	i := slices.IndexFunc(b.Histories, func(h *judge.History) bool { return h.Run.ID == b.run })
	if i < 0 {
		return 0
	}
	return b.Histories[i].Run.No
}

// isOrdinary wants a call that was run once more with success to be in doubt no more: later ones
// are neither asked about nor answered from the record.
func (b *interfered) isOrdinary() judge.Findings {
	var f judge.Findings
	settledAt := int64(0)
	for _, h := range b.Histories {
		for _, c := range h.Calls {
			if !slices.Contains(c.Marks, b.Story.Mark) || len(c.Results) == 0 {
				continue
			}
			done := c.Results[0].Result.Outcome == "ok" && c.Results[0].Result.How != "told"
			switch {
			case settledAt > 0 && !done:
				f.Add(judge.Differs, "call %d.%d was run once more, and call %d.%d, the same, ends %s by %s: %s", settledAt>>8, settledAt&255,
					c.Turn, c.Index, c.Results[0].Result.Outcome, c.Results[0].Result.How, c.Results[0].Result.Content)
			case done && answerAbout(b.Record.Facts[h.Run.No], c) == answerRun:
				settledAt = c.Turn<<8 | c.Index
			}
		}
	}
	return f
}

// decisionControl changes the person's answer in the record.
func decisionControl(ctx context.Context, l *lab.Lab, k kind) error {
	for _, c := range []struct{ way, from, to, kind, name string }{
		{answerRun, `"run"`, `"happened"`, judge.Twice, "a call of which a person said that it happened is executed"},
		{answerStop, `"leave"`, `"stop-asking"`, judge.Differs, "a person who said to stop asking is asked again"},
	} {
		all := k.all()
		n := slices.IndexFunc(all, func(i *interference) bool { return i.way == c.way && i.own == "" })
		b, is, err := interfere(ctx, l, k, all[n])
		if err != nil {
			return fmt.Errorf("the control of the decisions: %w", err)
		}
		if f := append(b.Found, judgeDecision(b, b.was, is)...); len(f) > 0 {
			return fmt.Errorf("the story of the control of the decisions, %s: %v, kept in %s", all[n].key(), f, b.World.Root)
		}
		for no, facts := range b.Record.Facts {
			facts = slices.Clone(facts)
			for i := range facts {
				if facts[i].Kind == journal.Replied {
					facts[i].Body = bytes.ReplaceAll(facts[i].Body, []byte(c.from), []byte(c.to))
				}
			}
			b.Record.Facts[no] = facts
		}
		l.Control(c.name, c.kind, judgeDecision(b, b.was, is))
		if err := b.World.Close(false); err != nil {
			return err
		}
	}
	return nil
}
