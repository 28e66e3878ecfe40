//go:build linux

package commits

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// outside is where commands leave their marks.
const outside = "effects"

// base is what the repository holds before the run.
const base = `set -e
git init -q -b main .
git config user.name Person; git config user.email person@example.com
echo one > a.txt; echo one > b.txt; git add .; git commit -q -m base
`

// commands are those of the run, by the letter of the mark that each leaves.
func commands() map[string]string {
	return map[string]string{
		"c": "echo c >> a.txt; git add -A; git commit -q -m one",
		"d": "echo d >> b.txt; git commit -q -a -m two; echo late >> a.txt; git commit -q -a -m three",
		"e": "git commit -q --amend -m four; echo left > left.txt; echo left >> b.txt",
	}
}

// byHand is what a person does once the run is over. A git that was killed leaves its lock.
const byHand = `rm -f .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock
set -e
git add -A; git commit -q --allow-empty -m five; git commit -q --amend -m six
echo mine > mine.txt; git add mine.txt; git commit -q -m seven
`

// attempt is a script on its way.
type attempt struct {
	*trial.Trial
	script script
	rng    *rand.Rand // chooses moments at which commands are killed; nil for none
	left   int        // of those moments
	kills  int
	stage  stage
	asked  bool // somebody has looked since the run was interrupted
	linked int
}

// stage is what is under way.
type stage int

const (
	running stage = iota
	looking
	over
)

// carryOut carries out a script. change alters how; nil for nothing. The caller judges it and
// closes its world.
func carryOut(ctx context.Context, l *lab.Lab, s script, change func(*attempt)) (*attempt, error) {
	t, err := l.Begin(plan.Job{Tool: "shell", Situation: "first", Shape: "anthropic", Victim: s.victim, Change: tell}, nil)
	if err != nil {
		return nil, err
	}
	x := &attempt{Trial: t, script: s}
	t.Brief = t.Brief && s.moment == 0
	t.World.Witness.ReadIn(filepath.Join(t.World.Root, outside))
	if s.moment > 0 {
		x.rng, x.left = rand.New(rand.NewPCG(s.moment, 0)), 4
	}
	if change != nil {
		change(x)
	}
	if err := x.shell(ctx, base); err != nil {
		return nil, errors.Join(err, t.World.Close(false))
	}
	if s.situation != person {
		x.arm()
	}
	if _, err := l.Conclude(ctx, t, x.proceed(ctx)); err != nil {
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
		command := "echo " + marks.In(number, letter) + " >> " + filepath.Join(filepath.Dir(st.Dir), outside) + "; " + commands()[letter]
		st.Turns = append(st.Turns, []story.Step{{Tool: "shell", Args: map[string]any{"command": command}}})
	}
}

func letters() []string { return []string{"c", "d", "e"} }

// shell has a person do something in the workspace.
func (x *attempt) shell(ctx context.Context, text string) error {
	c := exec.CommandContext(ctx, "sh", "-c", text)
	c.Dir, c.Env = x.World.Dir, x.World.Env
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("do a person's work: %v: %s", err, out)
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

// proceed gives one command after the other to the end.
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
		var err error
		if args, err = x.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step carries out a command, and kills it where the script says so.
func (x *attempt) step(args []string) error {
	if x.rng == nil || x.left == 0 || (x.script.situation == person) != (x.stage == looking) {
		return x.Step(args)
	}
	x.left--
	most := 400_000
	if x.stage == looking {
		most = 60_000
	}
	ok, err := x.StepKilling(args, time.Duration(5_000+x.rng.IntN(most))*time.Microsecond)
	if ok {
		x.kills++
	}
	return err
}

// next is what a person would do now; nil at the end.
func (x *attempt) next(ctx context.Context) ([]string, error) {
	look := []string{"log", "-n", "100"}
	if x.stage == looking {
		if last := x.World.Outputs[len(x.World.Outputs)-1]; last.Killed {
			return look, nil
		}
		x.stage = over
		return nil, nil
	}
	args, err := x.Next()
	if err != nil {
		return nil, err
	}
	resumes := len(args) > 0 && args[0] == "resume"
	if resumes && x.script.situation == looked && !x.asked {
		x.asked = true
		return look, nil
	}
	x.asked = false
	if args != nil {
		return args, nil
	}
	x.Arms = nil
	if err := x.shell(ctx, byHand); err != nil {
		return nil, err
	}
	if x.stage = looking; x.script.situation == person {
		x.arm()
	}
	return look, nil
}

// status is how the run ended.
func (x *attempt) status() (ended bool, f judge.Findings) {
	for _, h := range x.Histories {
		if ended = slices.Contains([]string{"completed", "failed"}, h.Run.Status); !ended {
			f.Add(judge.Stuck, "run %s is left %s", h.Run.ID, h.Run.Status)
		}
	}
	return ended, f
}
