//go:build linux

package main

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
)

// chaos is one world in which several runs go on at once and are killed at any moment.
type chaos struct {
	lab    *lab
	rng    *rand.Rand
	world  *world
	shape  string
	scenes []*scene
	tale   *tale // keeps what was seen and found
	kills  int
	cmds   int
}

// scene is one of the world's runs.
type scene struct {
	story  *story
	prompt string
}

// randomKills makes worlds until the time is over. What is chosen follows from the seed; what the machine does in between does not.
func randomKills(ctx context.Context, l *lab, duration time.Duration, seed uint64) error {
	again := fmt.Sprintf("go run ./scripts/crashlab -for %s -seed %d", duration, seed)
	until := time.Now().Add(duration)
	for n := uint64(0); time.Now().Before(until) && ctx.Err() == nil; n++ {
		if err := round(ctx, l, again, seed, n, until); err != nil {
			return err
		}
	}
	return context.Cause(ctx) // a pass that was broken off has not shown anything
}

func round(ctx context.Context, l *lab, again string, seed, n uint64, until time.Time) error {
	c, err := newChaos(l, rand.New(rand.NewPCG(seed, n)))
	if err != nil {
		return err
	}
	err = c.run(ctx, until)
	switch {
	case errors.Is(err, errStuck):
		c.tale.found.add(stuck, "%v", err)
	case err != nil && !errors.Is(err, errFound):
		return errors.Join(err, c.world.close(true))
	}
	l.report.runs(len(c.scenes), c.cmds, c.kills, c.shape, c.tale.last)
	if len(c.tale.found) == 0 {
		return c.world.close(false)
	}
	l.report.add(failure{Key: fmt.Sprintf("random, world %d of seed %d (%s)", n, seed, c.shape), Repeat: again, Folder: c.world.root, Findings: c.tale.found})
	return errors.Join(c.world.keep(again), c.world.close(true))
}

const scenesPerWorld = 4

func newChaos(l *lab, rng *rand.Rand) (*chaos, error) {
	number, root := l.nextWorld()
	shape := shapes()[rng.IntN(len(shapes()))]
	c := &chaos{lab: l, rng: rng, shape: shape}
	base := story{shape: shape, situation: "first", tool: "shell", mode: "yolo", read: subjects()["shell"], files: map[string]string{"notes.txt": "hay\nneedle\n"}}
	for i := range scenesPerWorld {
		s := base
		s.turns = c.turns(number, i, &base)
		c.scenes = append(c.scenes, &scene{story: &s, prompt: fmt.Sprintf("Please tell story-%d-%d.", number, i)})
	}
	w, err := newWorld(number, l.exe, root, l.counter, &base)
	if err != nil {
		return nil, err
	}
	c.world = w
	c.tale = &tale{story: &base, world: w, leave: rng.IntN(2) == 0}
	for i, x := range c.scenes {
		turns, err := x.story.script()
		if err == nil && w.server != nil {
			w.server.tell(fmt.Sprintf("story-%d-%d.", number, i), turns)
		}
		if err == nil && shape == "runbook" {
			text := strings.Replace(x.story.book(), "# A story", "# "+x.prompt, 1)
			err = os.WriteFile(filepath.Join(w.dir, fmt.Sprintf("book-%d.md", i)), []byte(text), 0o600)
		}
		if err != nil {
			return nil, errors.Join(err, w.close(false))
		}
	}
	return c, nil
}

// turns makes up what one run does: commands that take a while, files, requests, reads and questions.
func (c *chaos) turns(world, scene int, base *story) [][]step {
	kinds := []string{"shell", "shell", "slow", "write_file", "edit_file", "apply_patch", "fetch", "read_file", "ask_user"}
	var turns [][]step
	letter := 0
	for range 3 + c.rng.IntN(3) {
		var turn []step
		calls := 1
		if c.shape != "runbook" {
			calls += c.rng.IntN(3)
		}
		for range calls {
			mark := markIn(world, fmt.Sprintf("%c%c", 'a'+scene, 'c'+letter))
			letter++
			kind := kinds[c.rng.IntN(len(kinds))]
			if kind == "slow" {
				turn = append(turn, slowStep(mark, 20+c.rng.IntN(300)))
				continue
			}
			sub := subjects()[kind]
			if sub.files != nil {
				for name, text := range sub.files(mark) {
					base.files[name] = text
				}
			}
			turn = append(turn, sub.call(mark, c.lab.counter.addr()))
		}
		turns = append(turns, turn)
	}
	return turns
}

// slowStep has its effect in the middle of its time.
func slowStep(mark string, millis int) step {
	command := fmt.Sprintf("sleep 0.%03d; echo %s >> effects; sleep 0.%03d", millis, mark, millis)
	return step{tool: "shell", args: map[string]any{"command": command}}
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
		if n > mostCommands {
			return fmt.Errorf("%w: the next is agent %s", errStuck, strings.Join(next[0], " "))
		}
		for _, args := range next {
			if _, err := c.world.agent(ctx, args...); err != nil {
				return fmt.Errorf("%w: %w", errStuck, err)
			}
			c.cmds++
		}
		if err := c.look(); err != nil {
			return err
		}
	}
	return c.tale.quietEnd(ctx)
}

// step starts what is to be done next for every run, some of it twice, kills some of it, and looks at the world.
func (c *chaos) step() (over bool, err error) {
	next, err := c.commands(true)
	if err != nil || len(next) == 0 {
		return true, err
	}
	var going []*command
	for _, args := range next {
		p, err := c.world.start("", args...)
		if err != nil {
			return false, err
		}
		going = append(going, p)
		c.cmds++
		c.pause(10)
	}
	for range 1 + c.rng.IntN(4) {
		c.pause(150)
		if err := c.strike(going); err != nil {
			return false, err
		}
	}
	for _, p := range going {
		if _, ok := p.wait(); !ok {
			return false, fmt.Errorf("%w: agent %s: %w after %s", errStuck, strings.Join(p.args, " "), errLate, limit)
		}
	}
	return false, c.look()
}

// pause lets the machine go on for a while, at most so many milliseconds: when the kill comes is what is left to chance.
func (c *chaos) pause(most int) { time.Sleep(time.Duration(c.rng.IntN(most*1000)) * time.Microsecond) }

// strike kills a host, a runner or both.
func (c *chaos) strike(going []*command) error {
	who := c.rng.IntN(4)
	if who != 1 {
		p := going[c.rng.IntN(len(going))]
		select {
		case <-p.ended:
		default:
			p.kill()
			c.kills++
		}
	}
	if who == 0 || who > 2 {
		return nil
	}
	runners := c.world.processes()
	if len(runners) == 0 {
		return nil
	}
	c.kills++
	return runners[c.rng.IntN(len(runners))].signal(syscall.SIGKILL)
}

func (c *chaos) look() error {
	err := c.tale.look()
	f := compareOwners(c.tale.last, c.world.outputs)
	c.tale.found = append(c.tale.found, f...)
	if err == nil && len(f) > 0 {
		return errFound
	}
	return err
}

// commands are what comes next for each run. With rivals some are given to several processes.
func (c *chaos) commands(rivals bool) ([][]string, error) {
	var out [][]string
	interrupted := 0
	for i, x := range c.scenes {
		h := c.find(x)
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

func (c *chaos) begin(i int, x *scene) []string {
	args := x.story.runArgs(x.prompt, c.world.url())
	if c.shape == "runbook" {
		args[len(args)-1] = fmt.Sprintf("book-%d.md", i)
	}
	return args
}

// find is the scene's run, by what the journal says was asked.
func (c *chaos) find(x *scene) *history {
	i := slices.IndexFunc(c.tale.last, func(h *history) bool { return strings.Contains(h.prompt, x.prompt) })
	if i < 0 {
		return nil
	}
	return c.tale.last[i]
}

// next is what a person would do about the run; nil when nothing is left to do.
func (c *chaos) next(h *history) ([]string, error) {
	switch h.run.status {
	case "completed", "failed", "cancelled":
		return nil, nil
	}
	for _, q := range c.tale.record.requests {
		if q.run == h.run.no && q.status == "open" {
			word, err := c.tale.reply(h, h.asked[q.id])
			args := []string{"answer", q.id, word}
			if c.rng.IntN(3) == 0 {
				args = []string{"answer", "--no-resume", q.id, word}
			}
			return args, err
		}
	}
	return []string{"resume", h.run.id}, nil
}
