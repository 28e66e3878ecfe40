//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// againWord names the second telling of a shape's story.
const againWord = "-again"

// again cuts the power while a command runs, and tells on a disk that remembers how the story goes on: so that the power can be cut
// once more while what the first cut left is being mended. The caller closes it, and p after it.
func (p *power) again(ctx context.Context, exe string) (q *power, err error) {
	first, err := p.began()
	if err != nil {
		return nil, err
	}
	dir, err := p.make(first)
	if err != nil {
		return nil, err
	}
	t, err := p.reboot(first, dir)
	if err != nil {
		return nil, err
	}
	q = &power{
		lab: p.lab, shape: p.shape + againWord, number: p.number, root: p.root, back: dir + "-bytes", story: p.story, prompt: p.prompt,
		world: t.world, counter: p.counter, before: p,
	}
	for _, line := range p.heard {
		if line.at <= first.at {
			q.heard = append(q.heard, heard{0, line.args, line.text})
		}
	}
	for mark, n := range p.outside(first.at) {
		for range n {
			q.hits = append(q.hits, hit{0, mark})
		}
	}
	p.counter.tell(q.effect)
	err = errors.Join(os.Rename(dir, q.back), os.Mkdir(dir, 0o700))
	if err == nil {
		q.disk, err = startDisk(exe, q.back, dir)
	}
	if err != nil {
		return nil, errors.Join(err, q.closeAgain())
	}
	t.world.env = append(t.world.env, "AGENT_ALLOW_UNSAFE_FS=1")
	t.world.launch = func(c *exec.Cmd) error {
		q.hear(c)
		return p.stage(dir).start(c)
	}
	if err := q.tell(ctx, t, []string{"ls", "--interrupted"}, []string{"resume", "--all"}); err != nil {
		return nil, errors.Join(fmt.Errorf("go on after the first cut: %w", err), q.closeAgain())
	}
	return q, nil
}

// began is a cut right after the first command has said that it begins: nobody can know whether it did anything.
func (p *power) began() (blackout, error) {
	for _, c := range p.moments() {
		if strings.HasPrefix(c.moment, "fsync:home/state/calls/") && strings.Contains(c.moment, "/began:") {
			c.model, c.seed, c.resume = "synced", 1, true
			c.at++ // the name is made durable next
			return c, nil
		}
	}
	return blackout{}, errors.New("no command of the story said that it begins")
}

// closeAgain leaves what it shares with the first telling.
func (p *power) closeAgain() error {
	var errs []error
	for _, x := range p.runners().processes() {
		errs = append(errs, x.signal(syscall.SIGKILL))
	}
	dir := strings.TrimSuffix(p.back, "-bytes")
	errs = append(errs, p.world.witness.close())
	if p.disk != nil {
		errs = append(errs, p.disk.close())
	}
	return errors.Join(append(errs, os.RemoveAll(dir), os.RemoveAll(p.back), os.RemoveAll(dir+".boot"))...)
}
