//go:build linux

package runner_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"agent/tools/runner"
	"agent/tools/sandbox"

	"golang.org/x/sys/unix"
)

// process finds a process by what a command printed of it, so that its end can be seen.
type process struct {
	t  *testing.T
	fd int
}

func (c *call) process(pid string) process {
	c.t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		c.t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err != nil {
		c.t.Fatalf("process %d: %v", n, err)
	}
	c.t.Cleanup(func() { _ = unix.Close(fd) }) // it only names a process
	return process{c.t, fd}
}

// gone waits for the end of the process; alive looks without waiting.
func (p process) gone() {
	p.t.Helper()
	if !p.ended(int(patience.Milliseconds())) {
		p.t.Error("the process is still alive")
	}
}

func (p process) alive() bool { return !p.ended(0) }

func (p process) ended(ms int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, ms)
		if err != unix.EINTR {
			return n > 0
		}
	}
}

// awaitFree waits until the call's lock is free, and looks.
func (c *call) awaitFree() runner.Evidence { c.t.Helper(); return c.wait() }

// KillRunner never trusts a pid: another start time, boot or namespace is another process.
func TestKillRunnerOfAnotherProcess(t *testing.T) {
	c := newCall(t, "echo > here; read x < go")
	here, gate := c.fifo("here"), c.fifo("go")
	c.start()
	c.read(here)
	other := exec.Command("cat")
	hold, err := other.StdinPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*runner.Began){
		"another": func(b *runner.Began) {
			b.Runner.Pid = other.Process.Pid
			if b.Runner.Start > 0 {
				b.Runner.Start-- // both may have begun in one tick, and this one not before the other
			}
		},
		"start":     func(b *runner.Began) { b.Runner.Start++ },
		"boot":      func(b *runner.Began) { b.Boot = "another" },
		"namespace": func(b *runner.Began) { b.Space = "pid:[1]" },
		"self":      func(b *runner.Began) { b.Runner.Pid = os.Getpid() },
	} {
		b := *c.look().Began
		change(&b)
		if err := runner.KillRunner(c.folder, b); err == nil {
			t.Errorf("%s: killed", name)
		}
	}
	if err := errors.Join(hold.Close(), other.Wait()); err != nil {
		t.Errorf("another process: %v", err)
	}
	c.let(gate)
	if e := c.end(); e.Status != 0 {
		t.Errorf("exit record %+v", e)
	}
}

// Killed at every named point: what the folder proves is what the world shows. What confines a
// command is set up before the record of its start, and the command starts after it.
func TestRunnerKilledAtPoints(t *testing.T) {
	for point, want := range map[string]struct {
		state runner.State
		may   bool // the command may have run
	}{
		"runner.before_began":  {runner.NeverStarted, false},
		"runner.confining":     {runner.NeverStarted, false},
		"runner.after_began":   {runner.Unknown, false},
		"runner.after_start":   {runner.Unknown, true},
		"runner.after_command": {runner.Unknown, true},
		"runner.after_exit":    {runner.Ended, true},
	} {
		eachWay(t, point, func(t *testing.T, c *call) {
			c.env = []string{"DIE_AT=" + point}
			c.start()
			s := c.wait()
			if s.State != want.state || s.State == runner.Unknown && s.Began.Runner.Pid == 0 {
				t.Errorf("state %s (%s), want %s", s.State, s.Why, want.state)
			}
			_, err := os.Stat(filepath.Join(c.work, "effect"))
			if err == nil && !want.may {
				t.Error("the command ran")
			}
			if err != nil && (point == "runner.after_command" || point == "runner.after_exit") {
				t.Error("the command did not run")
			}
		})
	}
}

// eachWay runs a test with a call that leaves a file effect: unconfined, and with each access that
// lets it.
func eachWay(t *testing.T, name string, f func(t *testing.T, c *call)) {
	const script = "echo x >> effect"
	t.Run(name, func(t *testing.T) {
		t.Run("unconfined", func(t *testing.T) { f(t, newCall(t, script)) })
		eachAccess(t, func(t *testing.T, a sandbox.Access) {
			if a != sandbox.Read {
				f(t, confined(t, a, script))
			}
		})
	})
}

// A cancel that comes before the command starts means that it never does. Behaviour 12.
func TestCancelBeforeStart(t *testing.T) {
	for _, point := range []string{"", "runner.before_began", "runner.confining", "runner.after_began"} {
		eachWay(t, "at "+point, func(t *testing.T, c *call) {
			j := c.prepare()
			reached, gate := c.fifo("reached"), c.fifo("go")
			c.env = []string{"PAUSE_AT=" + point, "REACHED=" + reached, "GO=" + gate}
			cancel := func() {
				if err := runner.Cancel(c.folder, "a person said so"); err != nil {
					t.Fatal(err)
				}
				if err := runner.Cancel(c.folder, "another word"); err != nil {
					t.Fatal(err)
				}
			}
			if point == "" {
				cancel()
			}
			if err := j.Start(os.Args[0], c.env); err != nil {
				t.Fatal(err)
			}
			if point != "" {
				c.read(reached)
				// In the time in which another call comes to its end this one would have started.
				other := newCall(t, "true")
				other.spec.Sandbox = c.spec.Sandbox
				other.spec.Sandbox.Workspace = other.work
				other.start()
				other.end()
				cancel()
				c.let(gate)
			}
			e := c.end()
			if e.Cause != runner.CauseCancelled || e.Message != "a person said so" || !e.Started.IsZero() || e.Status != -1 {
				t.Errorf("exit record %+v", e)
			}
			if _, err := os.Stat(filepath.Join(c.work, "effect")); err == nil {
				t.Error("the command ran")
			}
		})
	}
}

// A runner whose folder was replaced by a copy before it began starts nothing: its record would lie
// in the copy, and the folder that is put back later would say that the command never started.
// Issue A4.
func TestReplacedBeforeStart(t *testing.T) {
	c := newCall(t, "echo x >> effect")
	j := c.prepare()
	reached, gate := c.fifo("reached"), c.fifo("go")
	c.env = []string{"PAUSE_AT=runner.before_began", "REACHED=" + reached, "GO=" + gate}
	if err := j.Start(os.Args[0], c.env); err != nil {
		t.Fatal(err)
	}
	c.read(reached)
	away := c.folder + ".away"
	if err := os.Rename(c.folder, away); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(c.folder, os.DirFS(away)); err != nil {
		t.Fatal(err)
	}
	c.let(gate)
	if _, err := runner.Wait(deadline(t), away, c.spec.Identity); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(c.folder), os.Rename(away, c.folder)); err != nil {
		t.Fatal(err)
	}
	if s := c.look(); s.State != runner.NeverStarted {
		t.Errorf("state %s (%s), want never started", s.State, s.Why)
	}
	if _, err := os.Stat(filepath.Join(c.work, "effect")); err == nil {
		t.Error("the command ran")
	}
}

// A shell that is being stopped never goes on to its next command because its child was stopped
// first.
func TestCancelStopsParentsFirst(t *testing.T) {
	c := newCall(t, `trap '' TERM
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (sleep 1000 || true; echo x >> next) & done
echo > here; wait`)
	here := c.fifo("here")
	c.start()
	c.read(here)
	if err := runner.Cancel(c.folder, "enough"); err != nil {
		t.Fatal(err)
	}
	if e := c.end(); e.Cause != runner.CauseCancelled {
		t.Errorf("exit record %+v", e)
	}
	if _, err := os.Stat(filepath.Join(c.work, "next")); err == nil {
		t.Error("a shell went on to its next command")
	}
}

// A command gets the chance to end well, and its own words are kept.
func TestCancelIsPolite(t *testing.T) {
	c := newCall(t, `trap 'echo bye; exit 9' TERM; echo > here; while :; do sleep 1000 & wait; done`)
	here := c.fifo("here")
	c.start()
	c.read(here)
	if err := runner.Cancel(c.folder, "enough"); err != nil {
		t.Fatal(err)
	}
	if e := c.end(); e.Cause != runner.CauseCancelled || e.Status != 9 || e.Signal != "" {
		t.Errorf("exit record %+v", e)
	}
	if got := c.output(); got != "bye\n" {
		t.Errorf("output %q", got)
	}
}

// The runner survives what ends a terminal's processes, and the command's own handling of signals
// is not touched by that.
func TestRunnerSurvivesHangup(t *testing.T) {
	c := newCall(t, "grep SigIgn /proc/self/status; echo > here; read x < go")
	here, gate := c.fifo("here"), c.fifo("go")
	c.start()
	c.read(here)
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		if err := unix.Kill(c.look().Began.Runner.Pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	c.let(gate)
	if e := c.end(); e.Status != 0 || e.Cause != runner.CauseExited {
		t.Errorf("exit record %+v", e)
	}
	if got := strings.Fields(c.output()); len(got) != 2 || strings.Trim(got[1], "0") != "" {
		t.Errorf("ignored signals of the command: %q", got)
	}
}

func TestTimeout(t *testing.T) {
	c := newCall(t, "echo begun; sleep 1000")
	c.spec.Timeout = 1 // time: any time is later
	e := c.ended()
	if e.Cause != runner.CauseTimeout || e.Signal != "SIGTERM" || e.Status != 143 || !strings.Contains(e.Message, "stopped after") {
		t.Errorf("exit record %+v", e)
	}
}

// Who waits for a call can be asked to stop waiting, which changes nothing for the call.
func TestWaitEndsWithItsContext(t *testing.T) {
	c := newCall(t, "echo > here; read x < go")
	here, gate := c.fifo("here"), c.fifo("go")
	c.start()
	c.read(here)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := runner.Wait(ctx, c.folder, c.spec.Identity); err == nil || s.State != runner.Running {
		t.Errorf("%+v, %v", s, err)
	}
	c.let(gate)
	c.end()
}
