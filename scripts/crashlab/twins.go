//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/host/model/modeltest"
	"agent/recovery/fault"
)

// twinTrouble kills host and command at fault points, and has the model ask for what it does not know to be done in other spellings:
// in the same run or, after a cancel, in another one of the thread. None of them is executed unless a person says so.
func twinTrouble() trouble {
	return interferer{
		name: "twin", what: "host and command are killed, and the model asks for the same in other spellings", short: 8,
		all: twins, act: killedAndAskedAgain, judge: neverUnasked, control: twinControl,
	}.trouble()
}

// inAnotherRun ends the ways in which another run of the thread asks.
const inAnotherRun = "+run"

// twins lists each spelling with every point at which the outcome can be unknown, and with the points that are left in turn.
func twins() []*interference {
	var out []*interference
	for r, x := range respellings() {
		names := slices.Sorted(maps.Keys(x.spellings))
		add := func(n int, point fault.Point, way string) {
			i := newInterference(way, "", x.tool, "first", shapes()[n%3], string(point)) // a runbook does not ask for what was not done
			i.change = x.change(names[n%len(names)])
			out = append(out, i)
		}
		for p, point := range x.points {
			for n, name := range names {
				way := x.name + ":" + name
				if (n+p)%3 == 1 {
					way += inAnotherRun
				}
				add(n, point, way)
			}
		}
		for n, point := range fault.All() {
			if n%len(respellings()) != r && x.name != "command" || slices.Contains(x.points, point) {
				continue
			}
			if s, _ := tell(x.tool, "first", shapes()[n%3], 0, ""); s.passes(string(point)) == "" && !s.read.elicits {
				add(n, point, x.name+":"+names[n%len(names)])
			}
		}
	}
	return out
}

// killedAndAskedAgain kills the command that stands still, with what it started.
func killedAndAskedAgain(b *interfered, s *standing) error {
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
	if at := fault.Point(s.arm.point); b.story.read.moves && (at == fault.WriteRenamed || at == fault.AfterEffect) {
		if err := b.byHand(); err != nil {
			return err
		}
	}
	if b.run == "" || !strings.HasSuffix(b.way, inAnotherRun) {
		return nil
	}
	c, err := b.other("cancel", b.run)
	if err != nil {
		return err
	}
	if _, err := b.await(c); err != nil {
		return err
	}
	return b.askInAnotherRun()
}

// byHand changes the files that the story's call is about, so that nobody can tell any more what the call did.
func (b *interfered) byHand() error {
	files, err := filepath.Glob(filepath.Join(b.world.dir, "*"+b.story.mark+"*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, append(text, "by hand, one\n"...), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askInAnotherRun begins another run of the thread, in which the model asks for the call at once.
func (b *interfered) askInAnotherRun() error {
	spellings := b.story.spellings
	words := fmt.Sprintf("more-%d.", b.world.number)
	turns := []modeltest.Turn{
		{Text: "I ask for that in this run.", Calls: []modeltest.Call{{Tool: b.story.turns[0][0].tool, Args: spellings[0]}}},
		{Text: "And for what comes after it.", Calls: []modeltest.Call{{Tool: "shell", Args: shellStep(markIn(b.world.number, "c")).rawArgs()}}},
		{Text: "The story is told."},
	}
	b.world.server.tell(words, turns)
	b.world.server.insist(b.story.mark, spellings[1:], false)
	b.cmd++
	c, err := b.world.start("", append(b.story.runArgs("Please tell "+words, b.world.url()), "-c")...)
	if err != nil {
		return err
	}
	if _, err := b.await(c); err != nil {
		return err
	}
	return b.look()
}

// neverUnasked judges a story in which the model asked again. Effects that happened twice were found on the way.
func neverUnasked(b *interfered, was, is end) findings {
	f := executedUnasked(b.record, b.last, b.story.mark)
	if is.status != "completed" {
		f.add(differs, "it ended %s, and without a kill %s", is.status, was.status)
	}
	for _, letter := range []string{"a", "c"} {
		mark := markIn(b.world.number, letter)
		saw := is.saw["mark-"+letter]
		if letter == "a" && (b.unknown > 0 && b.leave || was.saw["mark-a"] == 0) {
			continue // a person left it, or it is not counted
		}
		if saw != 1 {
			f.add(lost, "the effect %s happened %d times, and without a kill once", mark, saw)
		}
	}
	return f
}

// executedUnasked looks for calls with a mark that were started although the outcome of one before them was unknown, and nobody had
// said to run them.
func executedUnasked(r *record, all []*history, mark string) findings {
	var f findings
	var doubt *call
	for _, h := range all {
		for _, c := range h.calls {
			if !slices.Contains(c.marks, mark) {
				continue
			}
			if c.starts > 0 && doubt != nil && answerAbout(r.facts[h.run.no], c) != "run" {
				f.add(twice, "call %d.%d of run %s (%s) is started unasked, and the outcome of call %d.%d of run %s is unknown: %s",
					c.turn, c.index, h.run.id, c.args, doubt.turn, doubt.index, doubt.runID, doubt.args)
			}
			if len(c.results) == 0 {
				continue
			}
			switch result := c.results[0].Result; {
			case result.Outcome == "unknown":
				doubt = c
			case result.Outcome == "ok" && result.How != "told":
				doubt = nil // a person said to run it, and it did what the first may have done
			}
		}
	}
	return f
}

// answerAbout is the answer to the question whether a call may do again what an earlier one may have done; "" without one.
func answerAbout(facts []fact, c *call) string {
	asked := map[string]bool{}
	answer := ""
	for _, x := range facts {
		b, err := x.read()
		if err != nil {
			continue // who follows the facts has found that
		}
		q := b.Request
		if x.kind == opened && q.Kind == "twin" && q.Call != nil && q.Call.Turn == c.turn && q.Call.Index == c.index {
			asked[q.ID] = true
		}
		if x.kind == replied && asked[b.ID] && json.Unmarshal(b.Answer, &answer) != nil {
			answer = string(b.Answer)
		}
	}
	return answer
}

// twinControl executes a call in another spelling by hand, and takes the person's answer out of the record.
func twinControl(ctx context.Context, l *lab, k interferer) error {
	i, err := k.find("command:timeout", "", fault.RunnerBegan)
	if err != nil {
		return err
	}
	run := *i
	run.leave = false
	b, is, err := interfere(ctx, l, k, &run)
	if err != nil {
		return fmt.Errorf("the control of the twins: %w", err)
	}
	if f := append(b.found, neverUnasked(b, b.was, is)...); len(f) > 0 || b.unknown == 0 {
		return fmt.Errorf("the story of the control of the twins has %d calls whose outcome is unknown: %v, kept in %s", b.unknown, f, b.world.root)
	}
	for no, facts := range b.record.facts {
		b.record.facts[no] = slices.DeleteFunc(slices.Clone(facts), func(x fact) bool { return x.kind == replied })
	}
	l.control("a call in another spelling is executed unasked", twice, neverUnasked(b, b.was, is))
	effects, err := os.OpenFile(filepath.Join(b.world.dir, "effects"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = effects.WriteString(b.story.mark + "\n")
	if err := errors.Join(err, effects.Close()); err != nil {
		return err
	}
	saw, err := b.world.witness.counts()
	if err != nil {
		return err
	}
	l.control("a call in another spelling does it twice", twice, compareEffects(b.last, saw))
	return b.world.close(false)
}
