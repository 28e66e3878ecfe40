//go:build linux

package power

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"agent/scripts/crashlab/machine"
)

// againWord names the second recording of a shape's story.
const againWord = "-again"

// recordAgain cuts the power while a command runs, and records on another disk how the story goes
// on: so that the power can be cut once more while what the first cut left is being recovered. The
// caller closes it, and p after it.
func (p *recording) recordAgain(ctx context.Context, exe string) (q *recording, err error) {
	first, err := p.began()
	if err != nil {
		return nil, err
	}
	dir, err := p.makeState(first)
	if err != nil {
		return nil, err
	}
	t, err := p.reboot(first, dir)
	if err != nil {
		return nil, err
	}
	q = &recording{
		lab: p.lab, shape: p.shape + againWord, number: p.number, root: p.root, back: dir + "-bytes", story: p.story, prompt: p.prompt,
		world: t.World, counter: p.counter, before: p,
	}
	for _, line := range p.shown {
		if line.at <= first.at {
			q.shown = append(q.shown, shownLine{0, line.args, line.text})
		}
	}
	for mark, n := range p.outside(first.at) {
		for range n {
			q.hits = append(q.hits, outsideEffect{0, mark})
		}
	}
	p.counter.Notify(q.noteEffect)
	err = errors.Join(os.Rename(dir, q.back), os.Mkdir(dir, 0o700))
	if err == nil {
		q.disk, err = machine.StartDisk(exe, q.back, dir)
	}
	if err != nil {
		return nil, errors.Join(err, q.closeAgain())
	}
	t.World.Env = append(t.World.Env, "AGENT_ALLOW_UNSAFE_FS=1")
	t.World.Launch = func(c *exec.Cmd) error {
		q.watchOutput(c)
		return p.stage(dir).Start(c)
	}
	if err := q.play(ctx, t, []string{"ls", "--interrupted"}, []string{"resume", "--all"}); err != nil {
		return nil, errors.Join(fmt.Errorf("go on after the first cut: %w", err), q.closeAgain())
	}
	return q, nil
}

// began is a cut right after the first command has recorded that it begins: nobody can know whether
// it did anything.
func (p *recording) began() (cut, error) {
	for _, c := range p.cutPoints() {
		if strings.HasPrefix(c.operation, "fsync:home/state/calls/") && strings.Contains(c.operation, "/began:") {
			c.model, c.seed, c.resume = "synced", 1, true
			c.at++ // the name is made durable next
			return c, nil
		}
	}
	return cut{}, errors.New("no command of the story recorded that it begins")
}

// closeAgain leaves what it shares with the first recording.
func (p *recording) closeAgain() error {
	var errs []error
	for _, x := range p.runners().Runners() {
		errs = append(errs, x.Signal(syscall.SIGKILL))
	}
	dir := strings.TrimSuffix(p.back, "-bytes")
	errs = append(errs, p.world.Witness.Close())
	if p.disk != nil {
		errs = append(errs, p.disk.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(dir), os.RemoveAll(p.back), os.RemoveAll(dir+".boot"))...)
}
