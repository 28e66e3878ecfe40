//go:build linux

package copies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// Kinds of findings.
const (
	Torn   = "half a copy"          // stands under a valid name
	Driven = "driven in two places" // a run that went to another store
)

// outside is where commands leave their marks.
const outside = "effects"

// attempt is a script on its way: a run in its store, and what becomes of it in another one.
type attempt struct {
	*trial.Trial
	there  *trial.Trial
	script script
	kills  int // of who copied or moved the run
	asked  int // calls that asked because of a copy
}

// carryOut carries out a script. change alters how; nil for nothing. The caller judges it and
// closes its world.
func carryOut(ctx context.Context, l *lab.Lab, s script, change func(*attempt)) (*attempt, error) {
	t, err := l.Begin(plan.Job{Tool: "shell", Situation: "first", Shape: "anthropic", Victim: "host", Change: tell}, nil)
	if err != nil {
		return nil, err
	}
	x := &attempt{Trial: t, script: s}
	t.World.Witness.ReadIn(filepath.Join(t.World.Root, outside))
	t.Wary, t.Brief = true, false // effects of another place are not in its record
	if change != nil {
		change(x)
	}
	x.there = &trial.Trial{Story: t.Story, World: t.World.Beside(filepath.Join(t.World.Home, "there")), Victim: t.Victim, Prompt: t.Prompt, Wary: true}
	if _, err := l.Conclude(ctx, t, x.play(ctx)); err != nil {
		return nil, err
	}
	return x, nil
}

// tell has the model ask for one command a turn.
func tell(st *story.Story) {
	var number int
	if _, err := fmt.Sscanf(st.Mark, "mark-%d-", &number); err != nil {
		panic(err) // the form of a mark is a constant
	}
	st.Turns = nil
	for _, letter := range letters() {
		command := "echo " + marks.In(number, letter) + " >> " + filepath.Join(filepath.Dir(st.Dir), outside)
		st.Turns = append(st.Turns, []story.Step{{Tool: "shell", Args: map[string]any{"command": command}}})
	}
}

func letters() []string { return []string{"c", "d", "e"} }

func (x *attempt) play(ctx context.Context) error {
	x.Arms = []plan.Arm{x.script.run}
	if err := x.Step(x.Story.RunArgs(x.Prompt, x.World.URL())); err != nil {
		return err
	}
	x.World.WaitRunners()
	switch x.script.situation {
	case restored, replaced:
		return x.restore(ctx)
	case moved:
		if err := x.move(x.Trial, x.there); err != nil {
			return err
		}
	default:
		if err := x.move(x.Trial, x.there); err != nil {
			return err
		}
		x.there.Arms = []plan.Arm{at(fault.AfterEffect, 1)}
		if err := x.there.Step([]string{"resume", x.Histories[0].Run.ID}); err != nil {
			return err
		}
		x.World.WaitRunners()
		x.there.World.WaitRunners()
		if err := x.move(x.there, x.Trial); err != nil {
			return err
		}
		if err := x.finish(ctx, x.Trial); err != nil {
			return err
		}
		return x.stays(x.there)
	}
	if err := x.finish(ctx, x.there); err != nil {
		return err
	}
	return errors.Join(x.stays(x.Trial), x.there.CheckAtEnd(ctx))
}

// restore makes a backup, and has it go on in a folder of its own.
func (x *attempt) restore(ctx context.Context) error {
	file := filepath.Join(x.World.Root, "backup")
	if err := x.copying(x.Trial, file, "backup", file); err != nil {
		return err
	}
	how := "--nothing-after"
	if x.script.situation == restored {
		how = "--yes"
		if err := x.finish(ctx, x.Trial); err != nil {
			return err
		}
	}
	if err := x.copying(x.there, x.there.World.State, "restore", file, "--key", filepath.Join(x.World.State, "key"), how); err != nil {
		return err
	}
	if err := x.there.Look(); err != nil {
		return err
	}
	if err := x.finish(ctx, x.there); err != nil {
		return err
	}
	return x.there.CheckAtEnd(ctx)
}

// move takes the run from one store to another. Each pack has a name of its own.
func (x *attempt) move(from, to *trial.Trial) error {
	o, err := to.World.Run(context.Background(), "import", "--id")
	if err != nil {
		return err
	}
	id, file := "", filepath.Join(x.World.Root, "pack-from-"+filepath.Base(from.World.State))
	for word := range strings.FieldsSeq(o.Text) {
		if strings.HasPrefix(word, "agent-store-") {
			id = word
		}
	}
	if err := x.copying(from, file, "export", x.Histories[0].Run.ID, "--move", "--to", id, file); err != nil {
		return err
	}
	if err := x.copying(to, "", "import", file); err != nil {
		return err
	}
	return to.Look()
}

// copying carries out a command that copies, and kills it where the script says so; then it is
// given again, unless what it makes is there.
func (x *attempt) copying(t *trial.Trial, makes string, args ...string) error {
	arm := ""
	if p := string(x.script.copy); x.kills == 0 && p != "" {
		arm = p + ":1"
	}
	for {
		c, err := t.World.Start(arm, args...)
		if err != nil {
			return err
		}
		o, ok := c.Wait()
		switch {
		case !ok:
			return fmt.Errorf("%w: agent %s: %w", world.ErrStuck, strings.Join(args, " "), world.ErrLate)
		case o.Killed:
			x.kills++
			if _, err := os.Lstat(makes); makes != "" && err == nil {
				return nil // whoever goes on with it finds whether it is whole
			}
		case o.Code != 0:
			x.Found.Add(Torn, "agent %s ends with %d: %s", strings.Join(args, " "), o.Code, o.Text)
			return trial.ErrFound
		default:
			return nil
		}
		arm = ""
	}
}

// finish carries the run to its end in one of the stores.
func (x *attempt) finish(ctx context.Context, t *trial.Trial) error {
	for {
		args, err := t.Next()
		if args == nil || err != nil {
			return err
		}
		if t.Commands >= trial.MostCommands {
			return fmt.Errorf("%w: %d commands, the next is agent %s", world.ErrStuck, t.Commands, strings.Join(args, " "))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if i := slices.IndexFunc(t.Histories, func(h *judge.History) bool { return len(h.Asked) > 0 }); i >= 0 && args[0] == "answer" {
			for _, b := range t.Histories[i].Asked {
				if b.Request.Kind == "copy" {
					x.asked++
				}
			}
		}
		if err := t.Step(args); err != nil {
			return err
		}
	}
}

// stays sees to it that a store does not drive the run that went.
func (x *attempt) stays(t *trial.Trial) error {
	run := t.Histories[0].Run
	if run.Status == "completed" {
		return nil
	}
	o, err := t.World.Run(context.Background(), "resume", run.ID)
	if err != nil {
		return err
	}
	if o.Code != 1 || !strings.Contains(o.Text, "it went to another store") {
		x.Found.Add(Driven, "agent resume %s in the store that it left ends with %d: %s", run.ID, o.Code, o.Text)
	}
	return t.Look()
}

// judge judges the end of a script.
func (x *attempt) judge() error {
	x.Found = append(x.Found, x.there.Found...)
	saw, err := x.World.Witness.Counts()
	if err != nil {
		return err
	}
	ends := map[string][]*trial.Trial{restored: {x.Trial, x.there}, replaced: {x.there}, moved: {x.there}, back: {x.Trial}}[x.script.situation]
	unknown := false
	for _, t := range ends {
		for _, h := range t.Histories {
			if h.Run.Status != "completed" && len(x.Found) == 0 {
				x.Found.Add(judge.Stuck, "run %s is left %s in %s", h.Run.ID, h.Run.Status, t.World.State)
			}
			for _, c := range h.Calls {
				unknown = unknown || len(c.Results) > 0 && c.Results[0].Result.Outcome == "unknown"
			}
		}
	}
	for _, letter := range letters() {
		n := saw[marks.In(x.World.Number, letter)]
		if n > 1 {
			x.Found.Add(judge.Twice, "the effect %s happened %d times", letter, n)
		} else if n < 1 && !unknown && len(x.Found) == 0 {
			x.Found.Add(judge.Lost, "the effect %s never happened", letter)
		}
	}
	return nil
}
