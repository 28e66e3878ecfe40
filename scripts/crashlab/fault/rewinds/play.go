//go:build linux

package rewinds

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
	family *family
	rng    *rand.Rand // chooses moments at which commands are killed; nil for none
	left   int        // of those moments
	kills  int
	met    bool // its point was reached, where somebody is halted there
	stage  stage
	had    int  // runs there were when the stage began
	turned bool // another undo was asked for in the middle of one

	before, after, touched, undone, again snapshot // touched: what a person has left after the run
	stood                                 repo
	status                                []string // what git says at each end
	restored                              int
}

// stage is what is under way.
type stage int

const (
	running stage = iota
	undoing
	redoing
	over
)

// carryOut carries out a script. change alters how; nil for nothing. The caller judges it and
// closes its world.
func carryOut(ctx context.Context, l *lab.Lab, s script, change func(*attempt)) (*attempt, error) {
	x := &attempt{script: s, family: families()[s.family]}
	t, err := l.Begin(plan.Job{Tool: "shell", Situation: "first", Shape: "anthropic", Victim: s.victim, Change: func(st *story.Story) {
		var number int
		if _, err := fmt.Sscanf(st.Mark, "mark-%d-", &number); err != nil {
			panic(err) // the form of a mark is a constant
		}
		st.Turns = x.family.turns(number, filepath.Join(filepath.Dir(st.Dir), outside))
	}}, nil)
	if err != nil {
		return nil, err
	}
	x.Trial = t
	t.Brief = t.Brief && s.moment == 0
	t.World.Witness.ReadIn(filepath.Join(t.World.Root, outside))
	if s.moment > 0 {
		x.rng, x.left = rand.New(rand.NewPCG(s.moment, 0)), 4
	}
	if change != nil {
		change(x)
	}
	if err := x.build(ctx); err != nil {
		return nil, errors.Join(err, t.World.Close(false))
	}
	if _, err := l.Conclude(ctx, t, x.proceed(ctx)); err != nil {
		return nil, err
	}
	return x, nil
}

// build makes the workspace, and keeps what is in it.
func (x *attempt) build(ctx context.Context) (err error) {
	c := exec.CommandContext(ctx, "sh", "-c", x.family.build())
	c.Dir, c.Env = x.World.Dir, x.World.Env
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("make a workspace: %v: %s", err, text)
	}
	if x.before, err = look(x.World.Dir); err != nil {
		return err
	}
	if x.script.situation == destroy || x.script.situation == written {
		x.arm()
	}
	return nil
}

// arm arms the kills for the commands from here on.
func (x *attempt) arm() {
	x.Arms = nil
	for _, a := range x.script.arms {
		a.Command += x.Commands
		x.Arms = append(x.Arms, a)
	}
}

// halts says that a command is stopped in this script, and not killed at once.
func (s script) halts() bool { return s.situation == written || s.situation == voided }

// proceed gives one command after the other until all is undone, and that undone.
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
		if err := x.between(); err != nil {
			return err
		}
		var err error
		if args, err = x.next(); err != nil {
			return err
		}
	}
	return nil
}

// step carries out a command, and kills it where the script says so.
func (x *attempt) step(args []string) error {
	killed := x.script.situation == destroy && x.stage == running || x.script.situation != destroy && x.stage != running
	switch {
	case x.script.halts():
		arms := x.Arms
		x.Arms = nil // who is stopped is not killed at the same place
		err := x.StepHalting(args, arms, &x.met, x.write)
		x.Arms = arms
		return err
	case x.rng == nil || x.left == 0 || !killed:
		return x.Step(args)
	}
	x.left--
	ok, err := x.StepKilling(args, time.Duration(10_000+x.rng.IntN(400_000))*time.Microsecond)
	if ok {
		x.kills++
	}
	return err
}

// write has a person write while the command is stopped, which then is killed or goes on.
func (x *attempt) write(h *trial.Halted) error {
	acts := []act{{path: "papers/c.txt", content: "a person wrote this behind the plan\n"}}
	if x.script.family == "moved" {
		acts[0].path = "src/a.txt"
	}
	if x.script.situation == written {
		acts = nil
		for _, b := range x.family.between {
			acts = append(acts, act{b[0], b[1]})
		}
	}
	err := x.person(acts)
	if x.script.situation == voided && err == nil {
		x.touched, err = look(x.World.Dir)
	}
	if err = errors.Join(err, h.Release(x.script.victim)); err != nil {
		return err
	}
	_, err = x.WaitEnd(h.Command)
	return err
}

// person has a person write with an editor of their own.
func (x *attempt) person(acts []act) error {
	for _, a := range acts {
		if err := os.WriteFile(filepath.Join(x.World.Dir, a.path), []byte(a.content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// between looks at the workspace in the middle of a rewind: each file is old or new.
func (x *attempt) between() error {
	if x.stage == running || x.script.situation == voided {
		return nil
	}
	from, to := x.touched, x.wanted()
	if x.stage == redoing {
		from, to = x.undone, x.touched
	}
	now, err := look(x.World.Dir)
	if err != nil {
		return err
	}
	if f := now.torn(from, to); len(f) > 0 {
		x.Found = append(x.Found, f...)
		return trial.ErrFound
	}
	return nil
}

// wanted is the workspace as it is to be behind the undo.
func (x *attempt) wanted() snapshot {
	want := snapshot{}
	for path, text := range x.before {
		if x.family.given(path) {
			want[path] = text
		}
	}
	for path, text := range x.touched {
		if !x.family.given(path) {
			want[path] = text
		}
	}
	if b := x.family.between; b != nil { // what a person wrote over stays; what was destroyed behind is given back
		want[b["keeps"][0]] = x.touched[b["keeps"][0]]
		mode, _, _ := strings.Cut(x.before[b["loses"][0]], " ")
		want[b["loses"][0]] = mode + " " + b["loses"][1]
	}
	return want
}

// newest is the run that began last and is nobody's part; nil before there is one.
func (x *attempt) newest() *judge.History {
	if len(x.Histories) == 0 {
		return nil
	}
	return x.Histories[len(x.Histories)-1]
}

// next is what a person would do now; nil at the end.
func (x *attempt) next() ([]string, error) {
	h := x.newest()
	undo := []string{"undo", "--yes"}
	switch {
	case h == nil:
		return x.Story.RunArgs(x.Prompt, x.World.URL()), nil
	case len(x.Histories) == x.had:
		return undo, nil // it was killed before anything of it was on record
	}
	for _, q := range x.Record.Requests {
		if q.Run == h.Run.No && q.Status == "open" {
			word, err := x.Reply(h, h.Asked[q.ID])
			return []string{"answer", q.ID, word}, err
		}
	}
	if !slices.Contains([]string{"completed", "failed", "cancelled"}, h.Run.Status) {
		if x.stage == undoing && x.script.situation == back && !x.turned {
			x.turned = true
			return undo, nil
		}
		return []string{"resume", h.Run.ID}, nil
	}
	return x.behind()
}

// behind ends a stage, and says what a person does then.
func (x *attempt) behind() (args []string, err error) {
	now, err := look(x.World.Dir)
	if err != nil {
		return nil, err
	}
	x.Arms, x.had = nil, len(x.Histories)
	switch x.stage {
	case running:
		x.after = now
		if err := x.person(x.family.person); err != nil {
			return nil, err
		}
		if x.touched, err = look(x.World.Dir); err != nil {
			return nil, err
		}
		if x.stood, err = standing(x.World.Dir); err != nil {
			return nil, err
		}
	case undoing:
		x.undone = now
	default:
		x.again = now
	}
	if x.stage++; x.stage != over {
		f, err := x.stands()
		if x.Found = append(x.Found, f...); err != nil || len(x.Found) > 0 {
			return nil, err
		}
	}
	switch {
	case x.stage == over, x.stage == redoing && (x.script.situation == voided || x.turned):
		return nil, nil
	case x.script.situation != destroy && x.script.situation != written && (x.stage == undoing || x.script.situation == rewind):
		x.arm()
	}
	return []string{"undo", "--yes"}, nil
}
