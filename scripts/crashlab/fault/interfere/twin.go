//go:build linux

package interfere

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
	"agent/scripts/crashlab/journal"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
)

// Twin kills host and command at fault points, and has the model ask for what it does not know to
// be done in other spellings: in the same run or, after a cancel, in another one of the thread.
// None of them is executed unless a person decides that.
func Twin() lab.Fault {
	return kind{
		name: "twin", what: "host and command are killed, and the model asks for the same in other spellings", short: 8,
		all: twins, act: killedAndAskedAgain, judge: judgeTwin, control: twinControl,
	}.fault()
}

// inAnotherRun ends the ways in which another run of the thread asks.
const inAnotherRun = "+run"

// twins lists each spelling with every point at which the outcome can be unknown, and with the
// points that are left in turn.
func twins() []*interference {
	var out []*interference
	for r, x := range respellings() {
		names := slices.Sorted(maps.Keys(x.spellings))
		add := func(n int, point fault.Point, way string) {
			i := newInterference(way, "", x.tool, "first", story.Shapes()[n%3], string(point)) // a runbook does not ask for what was not done
			i.Change = x.change(names[n%len(names)])
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
		for n, point := range fault.Driving() {
			if n%len(respellings()) != r && x.name != "command" || slices.Contains(x.points, point) {
				continue
			}
			if s, _ := story.New(x.tool, "first", story.Shapes()[n%3], 0, ""); s.Misses(string(point)) == "" && !s.Subject.Elicits {
				add(n, point, x.name+":"+names[n%len(names)])
			}
		}
	}
	return out
}

// killedAndAskedAgain kills the command that is stopped, with what it started.
func killedAndAskedAgain(b *interfered, s *trial.Halted) error {
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
	if at := fault.Point(s.Arm.Point); b.Story.Subject.Moves && (at == fault.WriteRenamed || at == fault.AfterEffect) {
		if err := b.byHand(); err != nil {
			return err
		}
	}
	if b.run == "" || !strings.HasSuffix(b.way, inAnotherRun) {
		return nil
	}
	c, err := b.startOther("cancel", b.run)
	if err != nil {
		return err
	}
	if _, err := b.await(c); err != nil {
		return err
	}
	return b.askInAnotherRun()
}

// byHand changes the files that the story's call is about, so that nobody can find out any more
// what the call did.
func (b *interfered) byHand() error {
	files, err := filepath.Glob(filepath.Join(b.World.Dir, "*"+b.Story.Mark+"*"))
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
	spellings := b.Story.Spellings
	words := fmt.Sprintf("more-%d.", b.World.Number)
	turns := []modeltest.Turn{
		{Text: "I ask for that in this run.", Calls: []modeltest.Call{{Tool: b.Story.Turns[0][0].Tool, Args: spellings[0]}}},
		{Text: "And for what comes after it.", Calls: []modeltest.Call{{Tool: "shell", Args: story.ShellStep(marks.In(b.World.Number, "c")).RawArgs()}}},
		{Text: "The story is over."},
	}
	b.World.Model.Add(words, turns)
	b.World.Model.Respell(b.Story.Mark, spellings[1:], false)
	b.Commands++
	c, err := b.World.Start("", append(b.Story.RunArgs("Please tell "+words, b.World.URL()), "-c")...)
	if err != nil {
		return err
	}
	if _, err := b.await(c); err != nil {
		return err
	}
	return b.Look()
}

// judgeTwin judges a story in which the model asked again. Effects that happened twice were found
// on the way.
func judgeTwin(b *interfered, was, is judge.End) judge.Findings {
	f := executedUnasked(b.Record, b.Histories, b.Story.Mark)
	if is.Status != "completed" {
		f.Add(judge.Differs, "it ended %s, and without a kill %s", is.Status, was.Status)
	}
	for _, letter := range []string{"a", "c"} {
		mark := marks.In(b.World.Number, letter)
		saw := is.Saw["mark-"+letter]
		if letter == "a" && (b.Unknown > 0 && b.Leave || was.Saw["mark-a"] == 0) {
			continue // a person left it, or it is not counted
		}
		if saw != 1 {
			f.Add(judge.Lost, "the effect %s happened %d times, and without a kill once", mark, saw)
		}
	}
	return f
}

// executedUnasked looks for calls with a mark that were started although the outcome of one before
// them was unknown, and nobody had decided to run them.
func executedUnasked(r *journal.Record, all []*judge.History, mark string) judge.Findings {
	var f judge.Findings
	var doubt *judge.Call
	for _, h := range all {
		for _, c := range h.Calls {
			if !slices.Contains(c.Marks, mark) {
				continue
			}
			if c.Starts > 0 && doubt != nil && answerAbout(r.Facts[h.Run.No], c) != "run" {
				f.Add(judge.Twice, "call %d.%d of run %s (%s) is started unasked, and the outcome of call %d.%d of run %s is unknown: %s",
					c.Turn, c.Index, h.Run.ID, c.Args, doubt.Turn, doubt.Index, doubt.RunID, doubt.Args)
			}
			if len(c.Results) == 0 {
				continue
			}
			switch result := c.Results[0].Result; {
			case result.Outcome == "unknown":
				doubt = c
			case result.Outcome == "ok" && result.How != "told":
				doubt = nil // a person decided to run it, and it did what the first may have done
			}
		}
	}
	return f
}

// answerAbout is the answer to the question whether a call may do again what an earlier one may
// have done; "" without one.
func answerAbout(facts []journal.Fact, c *judge.Call) string {
	asked := map[string]bool{}
	answer := ""
	for _, x := range facts {
		b, err := x.Decode()
		if err != nil {
			continue // who follows the facts has found that
		}
		q := b.Request
		if x.Kind == journal.Opened && q.Kind == "twin" && q.Call != nil && q.Call.Turn == c.Turn && q.Call.Index == c.Index {
			asked[q.ID] = true
		}
		if x.Kind == journal.Replied && asked[b.ID] && json.Unmarshal(b.Answer, &answer) != nil {
			answer = string(b.Answer)
		}
	}
	return answer
}

// twinControl executes a call in another spelling by hand, and takes the person's answer out of the
// record.
func twinControl(ctx context.Context, l *lab.Lab, k kind) error {
	i, err := k.find("command:timeout", "", fault.RunnerBegan)
	if err != nil {
		return err
	}
	run := *i
	run.Leave = false
	b, is, err := interfere(ctx, l, k, &run)
	if err != nil {
		return fmt.Errorf("the control of the twins: %w", err)
	}
	if f := append(b.Found, judgeTwin(b, b.was, is)...); len(f) > 0 || b.Unknown == 0 {
		return fmt.Errorf("the story of the control of the twins has %d calls whose outcome is unknown: %v, kept in %s", b.Unknown, f, b.World.Root)
	}
	for no, facts := range b.Record.Facts {
		b.Record.Facts[no] = slices.DeleteFunc(slices.Clone(facts), func(x journal.Fact) bool { return x.Kind == journal.Replied })
	}
	l.Control("a call in another spelling is executed unasked", judge.Twice, judgeTwin(b, b.was, is))
	effects, err := os.OpenFile(filepath.Join(b.World.Dir, "effects"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = effects.WriteString(b.Story.Mark + "\n")
	if err := errors.Join(err, effects.Close()); err != nil {
		return err
	}
	saw, err := b.World.Witness.Counts()
	if err != nil {
		return err
	}
	l.Control("a call in another spelling does it twice", judge.Twice, judge.CompareEffects(b.Histories, saw))
	return b.World.Close(false)
}
