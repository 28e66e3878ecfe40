//go:build linux

package server

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// meet is what is done as soon as the run is acknowledged, while who drives it stands still.
func (s *attempt) meet() error {
	if !s.stops() {
		return nil
	}
	p, err := s.awaitStopped()
	if err != nil {
		return err
	}
	s.met = true
	switch way, how, _ := strings.Cut(s.way, ":"); way {
	case wayUp:
		s.client.kills++
		return p.Signal(syscall.SIGKILL)
	case wayStopped:
		return s.stopped(map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT}[how])
	case wayCancel:
		return s.cancel(how)
	}
	return p.Signal(syscall.SIGCONT)
}

// stopped has a person end the process that drives by a signal. The next server, and the one after
// it, leave the run as it is.
func (s *attempt) stopped(sig syscall.Signal) error {
	for _, p := range s.World.Drivers() {
		if err := p.Signal(sig); err != nil {
			return err
		}
	}
	if err := s.release(); err != nil {
		return err
	}
	if err := s.undriven(); err != nil {
		return err
	}
	s.World.WaitRunners() // a command that runs comes to its end
	v, err := s.client.run(s.run)
	if err != nil || v.Run.Status != "interrupted" { // it was over before it was stopped
		return err
	}
	if s.saw, err = s.World.Witness.Counts(); err != nil {
		return err
	}
	for range 2 {
		if err := s.client.kill(); err != nil {
			return err
		}
		if err := s.client.up(); err != nil {
			return err
		}
		if !await(s.client.now, "run "+s.run+" is left as it is (shutdown") {
			s.Found.Add(judge.Silent, "a server does not say that it leaves run %s as it is, which a person stopped:\n%s", s.run, s.client.now.Text.String())
			return trial.ErrFound
		}
	}
	if s.revives != nil {
		if err := s.revives(s); err != nil {
			return err
		}
	}
	return s.isLeft()
}

// isLeft wants a run that a person stopped to be as it was then.
func (s *attempt) isLeft() error {
	v, err := s.client.run(s.run)
	if err != nil {
		return err
	}
	saw, err := s.World.Witness.Counts()
	if err != nil {
		return err
	}
	if v.Run.Status != "interrupted" || v.Run.Cause != "shutdown" || len(s.World.Drivers()) > 0 || fmt.Sprint(saw) != fmt.Sprint(s.saw) {
		s.Found.Add(judge.Differs, "a person stopped run %s, and it is %s (%s); the effects were %v and are %v", s.run, v.Run.Status, v.Run.Cause, s.saw, saw)
		return trial.ErrFound
	}
	return nil
}

// Ways of a cancel: of a run that is driven, of one whose process died, and of one that is asked
// for once and not again where the server is killed.
const (
	cancelLive = "live"
	cancelDead = "dead"
	cancelOnce = "once"
)

// cancel has a person end the run. The server that is asked is killed on the way.
func (s *attempt) cancel(how string) error {
	if err := s.client.kill(); err != nil {
		return err
	}
	if how != cancelLive {
		for _, p := range s.World.Drivers() {
			s.client.kills++
			if err := p.Signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
		if err := s.undriven(); err != nil {
			return err
		}
		s.World.WaitRunners()
	}
	var err error
	if s.saw, err = s.World.Witness.Counts(); err != nil {
		return err
	}
	path := "/v1/runs/" + s.run + "/cancel"
	if how == cancelOnce {
		if err = s.client.up(); err == nil {
			_, err = s.client.once(http.MethodPost, path, "{}", "")
		}
		s.cancelled = true
		if err == nil { // it had something else to record first, or nothing: this cancel is like any other
			s.acks = append(s.acks, ack{run: s.run, cancel: true})
			return s.afterCancel(cancelLive)
		}
		return s.client.ended()
	}
	r, err := s.client.ask(http.MethodPost, path, "{}", "")
	if err != nil {
		return err
	}
	if r.status != http.StatusAccepted && r.status != http.StatusOK {
		s.Found.Add(judge.Refused, "POST %s: %d %s", path, r.status, r.text)
		return trial.ErrFound
	}
	s.acks = append(s.acks, ack{run: s.run, cancel: true})
	s.cancelled = true
	if err := s.release(); err != nil {
		return err
	}
	return s.afterCancel(how)
}

// afterCancel waits for the end of a cancelled run. What is under way at that moment may still come
// home; then it is over, whatever server follows.
func (s *attempt) afterCancel(how string) error {
	if err := s.untilEnd(); err != nil {
		return err
	}
	s.World.WaitRunners()
	if how == cancelLive {
		var err error
		if s.saw, err = s.World.Witness.Counts(); err != nil {
			return err
		}
	}
	s.client.next = nil // whoever comes now has runs go on
	if plan.Pick(2, s.script.key()) == 0 {
		return s.client.stop()
	}
	return s.client.kill()
}

// untilEnd waits until the run has ended, and with it whoever ended it.
func (s *attempt) untilEnd() error {
	var v position
	err := until(func() (_ bool, err error) {
		v, err = s.client.run(s.run)
		ended := slices.Contains([]string{"cancelled", "completed", "failed"}, v.Run.Status)
		return ended && len(s.World.Drivers()) == 0 && !s.beingCancelled(), err
	})
	if errors.Is(err, world.ErrLate) {
		return fmt.Errorf("%w: run %s is %s after a cancel", world.ErrStuck, s.run, v.Run.Status)
	}
	return err
}

// beingCancelled says that a process is about to end the run.
func (s *attempt) beingCancelled() bool {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return false // the pattern is a constant
	}
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), "\x00cancel\x00"+s.run+"\x00") {
			return true
		}
	}
	return false
}

// beforeAnswer has the next server take the answer and, in half of the stories, nobody drive the
// run any more.
func (s *attempt) beforeAnswer() error {
	if s.way != wayAnswer || len(s.client.next) == 0 {
		return nil
	}
	if plan.Pick(2, s.script.key()) == 0 {
		for _, p := range s.World.Drivers() {
			s.client.kills++
			if err := p.Signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
		if err := s.undriven(); err != nil {
			return err
		}
	}
	return s.client.kill()
}
