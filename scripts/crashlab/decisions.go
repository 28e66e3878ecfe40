//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agent/recovery/fault"
)

// decisionTrouble has a person decide on a call whose outcome is unknown, and kills the process that takes the answer at each of its
// points. The model asks for the same call again and again. The decision lasts: what happened is not executed, what is left is asked
// about once more at most, and what was run once more with success is a call like any other.
func decisionTrouble() trouble {
	return interferer{
		name: "decision", what: "a person decides on an unknown call, and who takes the answer is killed", short: 7,
		all: decisions, act: decided, judge: lasts, control: decisionControl,
	}.trouble()
}

// Ways of a decision: an answer to the open question, or one about the call while the question is open.
const (
	saidHappened     = "happened"
	saidRun          = "run"
	saidLeave        = "leave"
	saidStop         = "stop-asking" // after leave
	saidCallHappened = "call:happened"
	saidCallLeave    = "call:leave"
)

func decisionWays() []string {
	return []string{saidHappened, saidRun, saidLeave, saidStop, saidCallHappened, saidCallLeave}
}

// decisions lists each way with every point at which the process that takes the answer can be killed, and once without a kill.
func decisions() []*interference {
	var out []*interference
	tools := []string{"shell", "fetch", "shell:write", mcpTool("count")}
	for w, way := range decisionWays() {
		for n, own := range append([]fault.Point{""}, fault.All()...) {
			tool, shape := tools[(n+w)%len(tools)], shapes()[n%3] // a runbook does not ask for what was not done
			if own != "" && !answersPass(tool, shape, own) {
				continue
			}
			i := newInterference(way, string(own), tool, "first", shape, string(unknownAt(tool, way != saidRun)))
			i.change = func(s *story) {
				args := s.turns[0][0].rawArgs()
				s.spellings, s.anyway = []json.RawMessage{args, args, args}, way == saidRun
			}
			out = append(out, i)
		}
	}
	return out
}

// unknownAt is a point at which the outcome of a call becomes unknown where host and command are killed: it happened, or it did not.
func unknownAt(tool string, happened bool) fault.Point {
	switch runs := subjects()[tool].runs; {
	case runs && happened:
		return fault.RunnerCommand
	case runs:
		return fault.RunnerBegan
	case happened:
		return fault.AfterEffect
	}
	return fault.AfterStarted
}

// answersPass says whether a process that answers a question of the story comes by a point.
func answersPass(tool, shape string, own fault.Point) bool {
	place, _, _ := strings.Cut(string(own), ".")
	s, _ := tell(tool, "first", shape, 0, "")
	return !(arm{point: string(own)}).inRunner() && (s.passes(string(own)) == "" || place == "answer" || place == "request")
}

// decided kills the command that stands still, has the run go on until it asks about its call, and gives the answer.
func decided(b *interfered, s *standing) error {
	b.leave = b.way == saidLeave || b.way == saidStop || b.way == saidCallLeave
	if b.way == saidRun {
		b.most = 1 + mostSpellings
	}
	if err := s.goOn("both"); err != nil {
		return err
	}
	if _, err := b.await(s.command); err != nil {
		return err
	}
	b.kills++
	if err := b.world.serversGone(); err != nil {
		return err
	}
	if b.run == "" {
		return nil
	}
	if err := b.plainly("resume", b.run); err != nil {
		return err
	}
	q := b.openTwin()
	if q != nil && b.way == saidStop {
		if err := b.plainly("answer", q.id, saidLeave); err != nil {
			return err
		}
		q = b.openTwin()
	}
	if q == nil {
		b.found.add(differs, "nobody is asked about the call of unknown outcome although the model asks for it again")
		return errFound
	}
	subject, word := q.id, b.way
	if to, ok := strings.CutPrefix(b.way, "call:"); ok {
		subject, word = b.asked(q).about, to
	}
	c, err := b.other("answer", subject, word)
	if err != nil {
		return err
	}
	if _, err := b.insists(c, b.await); err != nil {
		return err
	}
	if err := b.world.serversGone(); err != nil || b.way != saidCallHappened {
		return err
	}
	return b.isClosed(q.id)
}

// plainly carries out a command that nobody kills.
func (b *interfered) plainly(args ...string) error {
	b.cmd++
	c, err := b.world.start("", args...)
	if err != nil {
		return err
	}
	if _, err := b.await(c); err != nil {
		return err
	}
	if err := b.world.serversGone(); err != nil {
		return err
	}
	return b.look()
}

// openTwin is the open question whether a call may do again what an earlier one may have done; nil where none is open.
func (b *interfered) openTwin() *requestRow {
	for i, q := range b.record.requests {
		if q.kind == "twin" && q.status == "open" {
			return &b.record.requests[i]
		}
	}
	return nil
}

// asked is what a question says.
func (b *interfered) asked(q *requestRow) question {
	for _, x := range twinFacts(b.record.facts[q.run]) {
		if x.id == q.id && x.opened {
			return x
		}
	}
	return question{}
}

// isClosed wants the answer about a call to have closed the question about it, at the latest when the run goes on.
func (b *interfered) isClosed(id string) error {
	if err := b.look(); err != nil {
		return err
	}
	if q := b.openTwin(); q != nil && q.id == id {
		if err := b.plainly("resume", b.run); err != nil {
			return err
		}
	}
	if q := b.openTwin(); q != nil && q.id == id {
		b.found.add(stuck, "question %s stays open although a person said of its call that it happened", id)
		return errFound
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
func twinFacts(facts []fact) []question {
	about := map[string]string{}
	var out []question
	for _, x := range facts {
		b, err := x.read()
		if err != nil {
			continue // who follows the facts has found that
		}
		switch {
		case x.kind == opened && b.Request.Kind == "twin":
			about[b.Request.ID] = b.Request.About
			out = append(out, question{id: b.Request.ID, about: b.Request.About, opened: true})
		case x.kind == replied && about[b.ID] != "":
			out = append(out, question{id: b.ID, about: about[b.ID], answer: strings.Trim(string(b.Answer), `"`)})
		}
	}
	return out
}

// lasts judges a story in which a person decided.
func lasts(b *interfered, was, is end) findings {
	f := executedUnasked(b.record, b.last, b.story.mark)
	if is.status != "completed" {
		f.add(differs, "it ended %s, and without a kill %s", is.status, was.status)
	}
	if saw := is.saw["mark-c"]; saw != 1 {
		f.add(lost, "what comes after the call happened %d times, and without a kill once", saw)
	}
	left, stopped := map[string]int{}, map[string]bool{}
	for _, q := range twinFacts(b.record.facts[b.number()]) {
		switch {
		case q.opened && stopped[q.about]:
			f.add(differs, "question %s about call %s comes after a person said to stop asking", q.id, q.about)
		case q.opened && left[q.about] > 1:
			f.add(differs, "question %s about call %s comes after a person left it %d times in this run", q.id, q.about, left[q.about])
		case q.answer == saidLeave:
			left[q.about]++
		case q.answer == saidStop:
			stopped[q.about] = true
		}
	}
	if b.way == saidRun {
		f = append(f, b.isOrdinary()...)
	}
	return f
}

// number is the run's, as the record has it.
func (b *interfered) number() int64 {
	i := slices.IndexFunc(b.last, func(h *history) bool { return h.run.id == b.run })
	if i < 0 {
		return 0
	}
	return b.last[i].run.no
}

// isOrdinary wants a call that was run once more with success to be in doubt no more: later ones are neither asked about nor answered
// from the record.
func (b *interfered) isOrdinary() findings {
	var f findings
	settledAt := int64(0)
	for _, h := range b.last {
		for _, c := range h.calls {
			if !slices.Contains(c.marks, b.story.mark) || len(c.results) == 0 {
				continue
			}
			done := c.results[0].Result.Outcome == "ok" && c.results[0].Result.How != "told"
			switch {
			case settledAt > 0 && !done:
				f.add(differs, "call %d.%d was run once more, and call %d.%d, the same, ends %s by %s: %s", settledAt>>8, settledAt&255,
					c.turn, c.index, c.results[0].Result.Outcome, c.results[0].Result.How, c.results[0].Result.Content)
			case done && answerAbout(b.record.facts[h.run.no], c) == saidRun:
				settledAt = c.turn<<8 | c.index
			}
		}
	}
	return f
}

// decisionControl changes what the person said in the record.
func decisionControl(ctx context.Context, l *lab, k interferer) error {
	for _, c := range []struct{ way, from, to, kind, name string }{
		{saidRun, `"run"`, `"happened"`, twice, "a call of which a person said that it happened is executed"},
		{saidStop, `"leave"`, `"stop-asking"`, differs, "a person who said to stop asking is asked again"},
	} {
		all := k.all()
		n := slices.IndexFunc(all, func(i *interference) bool { return i.way == c.way && i.own == "" })
		b, is, err := interfere(ctx, l, k, all[n])
		if err != nil {
			return fmt.Errorf("the control of the decisions: %w", err)
		}
		if f := append(b.found, lasts(b, b.was, is)...); len(f) > 0 {
			return fmt.Errorf("the story of the control of the decisions, %s: %v, kept in %s", all[n].key(), f, b.world.root)
		}
		for no, facts := range b.record.facts {
			facts = slices.Clone(facts)
			for i := range facts {
				if facts[i].kind == replied {
					facts[i].body = bytes.ReplaceAll(facts[i].body, []byte(c.from), []byte(c.to))
				}
			}
			b.record.facts[no] = facts
		}
		l.control(c.name, c.kind, lasts(b, b.was, is))
		if err := b.world.close(false); err != nil {
			return err
		}
	}
	return nil
}
