//go:build linux

package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// standing is a command of a story that stands still at a fault point, or whose runner does.
type standing struct {
	*command
	arm    arm
	runner process // that stands still; none where the host does
}

// standstill starts a command that shall stand still at a fault point. It returns nil where the command came to its end without
// coming by.
func (t *tale) standstill(args []string, a arm) (*standing, error) {
	text := fmt.Sprintf("%s:%d:stop", a.point, a.n)
	if a.inRunner() {
		text = a.point + ":1:stop" // every runner counts for itself
	}
	t.cmd++
	c, err := t.world.start(text, args...)
	if err != nil {
		return nil, err
	}
	s := &standing{command: c, arm: a}
	ok := false
	if a.inRunner() {
		ok, err = s.nthRunner()
	} else {
		ok = s.stands()
	}
	if err != nil {
		return nil, errors.Join(err, endOf(c))
	}
	if !ok {
		_, err := t.over(c)
		return nil, err
	}
	t.fired = append(t.fired, a)
	return s, nil
}

// stepOver carries out one command. At the first of the points that any command comes by it stands still, and suffer says what
// becomes of it.
func (t *tale) stepOver(args []string, points []arm, met *bool, suffer func(*standing) error) error {
	for _, a := range points {
		if *met || a.cmd != t.cmd {
			continue
		}
		s, err := t.standstill(args, a)
		if s == nil || err != nil {
			return err
		}
		*met = true
		return suffer(s)
	}
	return t.step(args)
}

// over waits for the end of a command, and looks at what it leaves.
func (t *tale) over(c *command) (output, error) {
	o, ok := c.wait()
	if !ok {
		return o, fmt.Errorf("%w: agent %s: %w after %s", errStuck, strings.Join(c.args, " "), errLate, limit)
	}
	if o.code == 2 {
		return o, fmt.Errorf("agent %s: wrong usage:\n%s", strings.Join(c.args, " "), o.text)
	}
	return o, t.look()
}

// nthRunner lets runners go on that stand still before the one that is meant.
func (s *standing) nthRunner() (bool, error) {
	stood := map[process]bool{}
	for {
		p, ok := s.world.stopped(s.command)
		if !ok {
			return false, nil
		}
		p.state = 0
		stood[p] = true
		if len(stood) == s.arm.n {
			s.runner = p
			return true, nil
		}
		if err := p.signal(syscall.SIGCONT); err != nil {
			return false, err
		}
	}
}

// stands waits until the command itself stands still; false when it ended.
func (s *standing) stands() bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for {
		if p, ok := processAt(s.cmd.Process.Pid); ok && p.state == 'T' {
			return true
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return false
		case <-late:
			return false
		}
	}
}

// escort lets the runners go on that stand still after the one that was meant, until the command ends.
func (s *standing) escort() error {
	for s.arm.inRunner() {
		p, ok := s.world.stopped(s.command)
		if !ok {
			return nil
		}
		if err := p.signal(syscall.SIGCONT); err != nil {
			return err
		}
	}
	return nil
}

// goOn lets everybody continue who is not to die: victim is "host", "runner", "both" or "" for nobody.
func (s *standing) goOn(victim string) error {
	if victim == "host" || victim == "both" {
		s.kill()
		<-s.ended
	}
	if victim == "runner" || victim == "both" {
		for _, p := range s.world.processes() {
			if err := p.signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
	if s.runner.pid != 0 {
		return s.runner.signal(syscall.SIGCONT) // one that was killed does not mind
	}
	if victim == "host" || victim == "both" {
		return nil
	}
	return s.cmd.Process.Signal(syscall.SIGCONT)
}
