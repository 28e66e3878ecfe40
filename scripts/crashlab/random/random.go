//go:build linux

// Package random kills at any moment: worlds in which several runs go on at once, and hosts,
// runners or both are killed at times that chance chooses.
package random

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// chaos is one world in which several runs go on at once and are killed at any moment.
type chaos struct {
	lab   *lab.Lab
	rng   *rand.Rand
	world *world.World
	shape string
	runs  []*agentRun
	trial *trial.Trial // keeps what was seen and found
	kills int
	cmds  int
}

// agentRun is one of the world's runs.
type agentRun struct {
	story  *story.Story
	prompt string
}

// Run makes worlds until the time is over. What is chosen follows from the seed; what the machine
// does in between does not.
func Run(ctx context.Context, l *lab.Lab, duration time.Duration, seed uint64) error {
	again := fmt.Sprintf("go run ./scripts/crashlab -for %s -seed %d", duration, seed)
	until := time.Now().Add(duration)
	for n := uint64(0); time.Now().Before(until) && ctx.Err() == nil; n++ {
		if err := round(ctx, l, again, seed, n, until); err != nil {
			return err
		}
	}
	return context.Cause(ctx) // a pass that was broken off has not shown anything
}

func round(ctx context.Context, l *lab.Lab, again string, seed, n uint64, until time.Time) error {
	c, err := newChaos(l, rand.New(rand.NewPCG(seed, n)))
	if err != nil {
		return err
	}
	err = c.run(ctx, until)
	switch {
	case errors.Is(err, world.ErrStuck):
		c.trial.Found.Add(judge.Stuck, "%v", err)
	case err != nil && !errors.Is(err, trial.ErrFound):
		return errors.Join(err, c.world.Close(true))
	}
	l.Report.CountRuns(len(c.runs), c.cmds, c.kills, c.shape, c.trial.Histories)
	if len(c.trial.Found) == 0 {
		return c.world.Close(false)
	}
	l.Report.AddFailure(lab.Failure{Key: fmt.Sprintf("random, world %d of seed %d (%s)", n, seed, c.shape), Repeat: again, Folder: c.world.Root, Findings: c.trial.Found})
	return errors.Join(c.world.SaveTranscript(again), c.world.Close(true))
}

const runsPerWorld = 4

func newChaos(l *lab.Lab, rng *rand.Rand) (*chaos, error) {
	number, root := l.NextWorld()
	shape := story.Shapes()[rng.IntN(len(story.Shapes()))]
	c := &chaos{lab: l, rng: rng, shape: shape}
	base := story.Story{Shape: shape, Situation: "first", Tool: "shell", Mode: "yolo", Subject: story.Subjects()["shell"], Files: map[string]string{"notes.txt": "hay\nneedle\n"}}
	for i := range runsPerWorld {
		s := base
		s.Turns = c.turns(number, i, &base)
		c.runs = append(c.runs, &agentRun{story: &s, prompt: fmt.Sprintf("Please tell story-%d-%d.", number, i)})
	}
	w, err := world.New(number, l.Exe, root, l.Counter, &base)
	if err != nil {
		return nil, err
	}
	c.world = w
	c.trial = &trial.Trial{Story: &base, World: w, Leave: rng.IntN(2) == 0}
	for i, x := range c.runs {
		turns, err := x.story.Script()
		if err == nil && w.Model != nil {
			w.Model.Add(fmt.Sprintf("story-%d-%d.", number, i), turns)
		}
		if err == nil && shape == "runbook" {
			text := strings.Replace(x.story.Book(), "# A story", "# "+x.prompt, 1)
			err = os.WriteFile(filepath.Join(w.Dir, fmt.Sprintf("book-%d.md", i)), []byte(text), 0o600)
		}
		if err != nil {
			return nil, errors.Join(err, w.Close(false))
		}
	}
	return c, nil
}

// turns makes up what one run does: commands that take a while, files, requests, reads and
// questions.
func (c *chaos) turns(world, run int, base *story.Story) [][]story.Step {
	kinds := []string{"shell", "shell", "slow", "write_file", "edit_file", "apply_patch", "fetch", "read_file", "ask_user"}
	var turns [][]story.Step
	letter := 0
	for range 3 + c.rng.IntN(3) {
		var turn []story.Step
		calls := 1
		if c.shape != "runbook" {
			calls += c.rng.IntN(3)
		}
		for range calls {
			mark := marks.In(world, fmt.Sprintf("%c%c", 'a'+run, 'c'+letter))
			letter++
			kind := kinds[c.rng.IntN(len(kinds))]
			if kind == "slow" {
				turn = append(turn, slowStep(mark, 20+c.rng.IntN(300)))
				continue
			}
			sub := story.Subjects()[kind]
			if sub.Files != nil {
				for name, text := range sub.Files(mark) {
					base.Files[name] = text
				}
			}
			turn = append(turn, sub.Call(mark, c.lab.Counter.Addr()))
		}
		turns = append(turns, turn)
	}
	return turns
}

// slowStep has its effect in the middle of its time.
func slowStep(mark string, millis int) story.Step {
	command := fmt.Sprintf("sleep 0.%03d; echo %s >> effects; sleep 0.%03d", millis, mark, millis)
	return story.Step{Tool: "shell", Args: map[string]any{"command": command}}
}

const stepsPerWorld = 12

// run goes from step to step; then everything is brought to its end in peace.
func (c *chaos) run(ctx context.Context, until time.Time) error {
	for i := 0; i < stepsPerWorld && ctx.Err() == nil && time.Now().Before(until); i++ {
		over, err := c.step()
		if err != nil {
			return err
		}
		if over {
			break
		}
	}
	for n := 0; ; n++ {
		next, err := c.commands(false)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			break
		}
		if n > trial.MostCommands {
			return fmt.Errorf("%w: the next is agent %s", world.ErrStuck, strings.Join(next[0], " "))
		}
		for _, args := range next {
			if _, err := c.world.Run(ctx, args...); err != nil {
				return fmt.Errorf("%w: %w", world.ErrStuck, err)
			}
			c.cmds++
		}
		if err := c.look(); err != nil {
			return err
		}
	}
	return c.trial.CheckAtEnd(ctx)
}

// step starts what is to be done next for every run, some of it twice, kills some of it, and looks
// at the world.
func (c *chaos) step() (over bool, err error) {
	next, err := c.commands(true)
	if err != nil || len(next) == 0 {
		return true, err
	}
	var going []*world.Command
	for _, args := range next {
		p, err := c.world.Start("", args...)
		if err != nil {
			return false, err
		}
		going = append(going, p)
		c.cmds++
		c.pause(10)
	}
	for range 1 + c.rng.IntN(4) {
		c.pause(150)
		if err := c.kill(going); err != nil {
			return false, err
		}
	}
	for _, p := range going {
		if _, ok := p.Wait(); !ok {
			return false, fmt.Errorf("%w: agent %s: %w after %s", world.ErrStuck, strings.Join(p.Args, " "), world.ErrLate, world.Limit)
		}
	}
	return false, c.look()
}

// pause lets the machine go on for a while, at most so many milliseconds: when the kill comes is
// what is left to chance.
func (c *chaos) pause(most int) { time.Sleep(time.Duration(c.rng.IntN(most*1000)) * time.Microsecond) }

// kill kills a host, a runner or both.
func (c *chaos) kill(going []*world.Command) error {
	who := c.rng.IntN(4)
	if who != 1 {
		p := going[c.rng.IntN(len(going))]
		select {
		case <-p.Ended:
		default:
			p.Kill()
			c.kills++
		}
	}
	if who == 0 || who > 2 {
		return nil
	}
	runners := c.world.Runners()
	if len(runners) == 0 {
		return nil
	}
	c.kills++
	return runners[c.rng.IntN(len(runners))].Signal(syscall.SIGKILL)
}

func (c *chaos) look() error {
	err := c.trial.Look()
	f := judge.CompareOwners(c.trial.Histories, c.world.Outputs)
	c.trial.Found = append(c.trial.Found, f...)
	if err == nil && len(f) > 0 {
		return trial.ErrFound
	}
	return err
}

// commands are what comes next for each run. With rivals some are given to several processes.
func (c *chaos) commands(rivals bool) ([][]string, error) {
	var out [][]string
	interrupted := 0
	for i, x := range c.runs {
		h := c.historyOf(x)
		if h == nil {
			out = append(out, c.begin(i, x))
			continue
		}
		args, err := c.next(h)
		if err != nil {
			return nil, err
		}
		if args == nil {
			continue
		}
		out = append(out, args)
		if args[0] == "resume" {
			interrupted++
		}
		if rivals && c.rng.IntN(3) == 0 {
			out = append(out, args)
		}
	}
	if rivals && interrupted > 0 && c.rng.IntN(4) == 0 {
		out = append(out, []string{"resume", "--all"})
	}
	return out, nil
}

func (c *chaos) begin(i int, x *agentRun) []string {
	args := x.story.RunArgs(x.prompt, c.world.URL())
	if c.shape == "runbook" {
		args[len(args)-1] = fmt.Sprintf("book-%d.md", i)
	}
	return args
}

// historyOf is the journal of the run, found by its prompt.
func (c *chaos) historyOf(x *agentRun) *judge.History {
	i := slices.IndexFunc(c.trial.Histories, func(h *judge.History) bool { return strings.Contains(h.Prompt, x.prompt) })
	if i < 0 {
		return nil
	}
	return c.trial.Histories[i]
}

// next is what a person would do about the run; nil when nothing is left to do.
func (c *chaos) next(h *judge.History) ([]string, error) {
	switch h.Run.Status {
	case "completed", "failed", "cancelled":
		return nil, nil
	}
	for _, q := range c.trial.Record.Requests {
		if q.Run == h.Run.No && q.Status == "open" {
			word, err := c.trial.Reply(h, h.Asked[q.ID])
			args := []string{"answer", q.ID, word}
			if c.rng.IntN(3) == 0 {
				args = []string{"answer", "--no-resume", q.ID, word}
			}
			return args, err
		}
	}
	return []string{"resume", h.Run.ID}, nil
}
