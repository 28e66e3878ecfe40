//go:build linux

package trial

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/world"
)

// Halted is a command of a story that is stopped at a fault point, or whose runner is.
type Halted struct {
	*world.Command
	Arm    plan.Arm
	Runner world.Process // that is stopped; none where the host is
}

// Halt starts a command that shall be stopped at a fault point. It returns nil where the command
// came to its end without reaching it.
func (t *Trial) Halt(args []string, a plan.Arm) (*Halted, error) {
	text := fmt.Sprintf("%s:%d:stop", a.Point, a.Pass)
	if a.InRunner() {
		text = a.Point + ":1:stop" // every runner counts for itself
	}
	t.Commands++
	c, err := t.World.Start(text, args...)
	if err != nil {
		return nil, err
	}
	s := &Halted{Command: c, Arm: a}
	ok := false
	if a.InRunner() {
		ok, err = s.waitRunner()
	} else {
		ok = s.waitStopped()
	}
	if err != nil {
		return nil, errors.Join(err, Abort(c))
	}
	if !ok {
		_, err := t.WaitEnd(c)
		return nil, err
	}
	t.Fired = append(t.Fired, a)
	return s, nil
}

// StepHalting carries out one command. At the first of the points that any command reaches it is
// stopped, and suffer says what is done then.
func (t *Trial) StepHalting(args []string, points []plan.Arm, met *bool, suffer func(*Halted) error) error {
	for _, a := range points {
		if *met || a.Command != t.Commands {
			continue
		}
		s, err := t.Halt(args, a)
		if s == nil || err != nil {
			return err
		}
		*met = true
		return suffer(s)
	}
	return t.Step(args)
}

// StepKilling carries out one command and kills it after a time, if it has not ended by then.
func (t *Trial) StepKilling(args []string, after time.Duration) (killed bool, err error) {
	t.Commands++
	c, err := t.World.Start("", args...)
	if err != nil {
		return false, err
	}
	blow := time.AfterFunc(after, c.Kill)
	o, ok, err := t.Attend(c)
	blow.Stop()
	if err != nil {
		return false, err
	}
	if !ok {
		return false, fmt.Errorf("%w: agent %s: %w after %s", world.ErrStuck, strings.Join(args, " "), world.ErrLate, world.Limit)
	}
	return o.Killed, t.Look()
}

// WaitEnd waits for the end of a command, and looks at what it leaves.
func (t *Trial) WaitEnd(c *world.Command) (judge.Output, error) {
	o, ok := c.Wait()
	if !ok {
		return o, fmt.Errorf("%w: agent %s: %w after %s", world.ErrStuck, strings.Join(c.Args, " "), world.ErrLate, world.Limit)
	}
	if o.Code == 2 {
		return o, fmt.Errorf("agent %s: wrong usage:\n%s", strings.Join(c.Args, " "), o.Text)
	}
	return o, t.Look()
}

// waitRunner waits for the runner that is meant, and lets those go on that are stopped before it.
func (s *Halted) waitRunner() (bool, error) {
	stood := map[world.Process]bool{}
	for {
		p, ok := s.World.WaitStopped(s.Command)
		if !ok {
			return false, nil
		}
		p.State = 0
		stood[p] = true
		if len(stood) == s.Arm.Pass {
			s.Runner = p
			return true, nil
		}
		if err := p.Signal(syscall.SIGCONT); err != nil {
			return false, err
		}
	}
}

// waitStopped waits until the command itself is stopped; false when it ended.
func (s *Halted) waitStopped() bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(world.Limit)
	for {
		if p, ok := world.ProcessAt(s.Cmd.Process.Pid); ok && p.State == 'T' {
			return true
		}
		select {
		case <-tick.C:
		case <-s.Ended:
			return false
		case <-late:
			return false
		}
	}
}

// ReleaseLater lets the runners go on that are stopped after the one that was meant, until the
// command ends.
func (s *Halted) ReleaseLater() error {
	if !s.Arm.InRunner() {
		return nil
	}
	return s.World.ReleaseStopped(s.Command)
}

// Release kills the victim ("host", "runner", "both" or "" for nobody) and lets the others
// continue.
func (s *Halted) Release(victim string) error {
	if victim == "host" || victim == "both" {
		s.Kill()
		<-s.Ended
	}
	if victim == "runner" || victim == "both" {
		for _, p := range s.World.Runners() {
			if err := p.Signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
	if s.Runner.PID != 0 {
		return s.Runner.Signal(syscall.SIGCONT) // one that was killed does not mind
	}
	if victim == "host" || victim == "both" {
		return nil
	}
	return s.Cmd.Process.Signal(syscall.SIGCONT)
}
