//go:build linux

package delegate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// attempt is a script on its way.
type attempt struct {
	*trial.Trial
	script script
	rng    *rand.Rand // chooses moments at which commands are killed; nil for none
	left   int        // of those moments
	kills  int
	is     judge.End
}

// carryOut carries out a script. change alters how; nil for nothing. The caller judges it and
// closes its world.
func carryOut(ctx context.Context, l *lab.Lab, s script, change func(*attempt)) (*attempt, error) {
	f := families()[s.family]
	t, err := l.Begin(plan.Job{Tool: "shell", Situation: "first", Shape: "anthropic", Victim: s.victim, Arms: s.arms, Change: func(st *story.Story) {
		var number int
		if _, err := fmt.Sscanf(st.Mark, "mark-%d-", &number); err != nil {
			panic(err) // the form of a mark is a constant
		}
		st.Turns = f.root(number)
	}}, nil)
	if err != nil {
		return nil, err
	}
	t.Brief = t.Brief && s.moment == 0
	for prompt, steps := range f.parts {
		turns, err := (&story.Story{Turns: steps(t.World.Number)}).Script()
		if err != nil {
			return nil, errors.Join(err, t.World.Close(false))
		}
		t.World.Model.Add(prompt, turns)
	}
	x := &attempt{Trial: t, script: s}
	if s.moment > 0 {
		x.rng, x.left = rand.New(rand.NewPCG(s.moment, 0)), 4
	}
	if change != nil {
		change(x)
	}
	x.is, err = l.Conclude(ctx, t, x.proceed(ctx))
	if err != nil {
		return nil, err
	}
	return x, nil
}

// proceed gives one command after the other until the family is at its end.
func (x *attempt) proceed(ctx context.Context) error {
	args := x.Story.RunArgs(x.Prompt, x.World.URL())
	for args != nil {
		if x.Commands >= trial.MostCommands {
			return fmt.Errorf("%w: %d commands, the next is agent %s", world.ErrStuck, x.Commands, strings.Join(args, " "))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.step(args); err != nil {
			return err
		}
		claimed, err := x.claimed()
		if err != nil {
			return err
		}
		f := slices.Concat(x.onRecord(), claimed, x.saysUnknown())
		if x.Found = append(x.Found, f...); len(f) > 0 {
			return trial.ErrFound
		}
		if args, err = x.next(); err != nil {
			return err
		}
	}
	return nil
}

// step carries out a command, and kills it where chance says so.
func (x *attempt) step(args []string) error {
	if x.rng == nil || x.left == 0 {
		return x.Step(args)
	}
	x.left--
	killed, err := x.StepKilling(args, time.Duration(30_000+x.rng.IntN(500_000))*time.Microsecond)
	if killed {
		x.kills++
	}
	return err
}

// root is the run at the top; nil before it is on record.
func (x *attempt) root() *judge.History {
	i := slices.IndexFunc(x.Histories, func(h *judge.History) bool { return h.Parent == "" })
	if i < 0 {
		return nil
	}
	return x.Histories[i]
}

// next is what a person would do now; nil at the end. Some name a run below where they resume, and
// some leave it to another command to take their answer.
func (x *attempt) next() ([]string, error) {
	root := x.root()
	if root == nil {
		return x.Story.RunArgs(x.Prompt, x.World.URL()), nil
	}
	turn := fmt.Sprint(x.Commands)
	for _, q := range x.Record.Requests {
		if q.Status != "open" {
			continue
		}
		i := slices.IndexFunc(x.Histories, func(h *judge.History) bool { return h.Run.No == q.Run })
		h := x.Histories[i] // the record holds the run of each question
		word, err := x.Reply(h, h.Asked[q.ID])
		if who, ok := strings.CutPrefix(h.Asked[q.ID].Request.Message, question); ok {
			word = "blue for " + who
		}
		if plan.Pick(4, x.script.key(), turn) == 0 && q.Kind == "ask_user" {
			return []string{"answer", "--no-resume", q.ID, word}, err
		}
		return []string{"answer", q.ID, word}, err
	}
	if slices.Contains([]string{"completed", "failed", "cancelled"}, root.Run.Status) {
		return nil, nil
	}
	if plan.Pick(4, x.script.key(), turn) == 1 {
		for _, h := range x.Histories {
			if h.Parent != "" && h.Run.Status == "interrupted" {
				return []string{"resume", h.Run.ID}, nil
			}
		}
	}
	return []string{"resume", root.Run.ID}, nil
}
