//go:build !portable

package runner_test

// What is tried here only Linux can: it shows every process of a command, wherever that went.
// kill_posix_test.go has what holds without.

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools/runner"

	"golang.org/x/sys/unix"
)

// tidy ends whatever a test leaves behind.
func (c *call) tidy() {
	if _, err := runner.Sweep(context.Background(), c.folder, runner.Began{Identity: c.spec.Identity}); err != nil {
		c.t.Errorf("clean up: %v", err)
	}
}

// inherited lists the descriptors that a command has.
const inherited = "0\n1\n2\n"

// A killed runner takes the command with it, and what may have happened is said as unknown. What
// the command left behind is named and can be swept. Behaviour 2, TOOL-05.
func TestRunnerKilled(t *testing.T) {
	// Left behind: in the session, with the mark, both, below one of them, and one beyond what can
	// be found without the runner: it threw its environment away, left the session and lost its
	// parent.
	c := newCall(t, `sleep 1000 & env -i sleep 1000 & setsid sleep 1000 &
setsid sh -c 'env -i setsid sleep 1000 & echo > below; wait' &
env -i setsid sleep 1000 &
read x < below; echo $$ $! > here; read x < go`)
	c.fifo("below")
	here := c.fifo("here")
	c.fifo("go")
	c.start()
	pids := strings.Fields(c.read(here))
	shell, child := c.process(pids[0]), c.process(pids[1])
	began := c.look().Began
	if began == nil {
		t.Fatal("no record of the start while it runs")
	}
	// A runner that does not react to anything.
	if err := unix.Kill(began.Runner.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := runner.KillRunner(c.folder, *began); err != nil {
		t.Fatal(err)
	}
	shell.gone()
	s := c.awaitFree()
	if s.State != runner.Unknown || s.Began == nil || s.Exit != nil {
		t.Fatalf("after the kill: %+v", s)
	}
	if len(s.Survivors) != 5 {
		t.Errorf("survivors %v, want four sleeps and a shell", s.Survivors)
	}
	left, err := runner.Sweep(deadline(t), c.folder, *s.Began)
	if err != nil || len(left) != 0 {
		t.Errorf("left after the sweep: %v, %v", left, err)
	}
	if s := c.look(); s.State != runner.Unknown || len(s.Survivors) != 0 {
		t.Errorf("after the sweep: %+v", s)
	}
	_ = unix.PidfdSendSignal(child.fd, unix.SIGKILL, nil, 0) // the one that cannot be found
	child.gone()
	if err := runner.KillRunner(c.folder, *began); err != nil {
		t.Errorf("killing a runner that is gone: %v", err)
	}
}

// What could not be shown dead is looked for again without the call's folder: by its session, its
// mark and its processes. Another boot id proves that nothing is left; a trace that names nothing
// proves nothing. TOOL-05.
func TestTraceOfTheLost(t *testing.T) {
	// A process on its way to another program has no environment to be found by.
	c := newCall(t, `sleep 1000 & a=$!; setsid sleep 1000 & b=$!
until [ "$(cat /proc/$a/comm /proc/$b/comm | tr -d '\n')" = sleepsleep ]; do :; done
echo > here; read x < go`)
	here := c.fifo("here")
	c.fifo("go")
	c.start()
	c.read(here)
	began := c.look().Began
	if began == nil {
		t.Fatal("no record of the start while it runs")
	}
	if err := runner.KillRunner(c.folder, *began); err != nil {
		t.Fatal(err)
	}
	seen := c.awaitFree()
	if err := runner.Discard(c.folder); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(seen.Trace())
	if err != nil {
		t.Fatal(err)
	}
	var trace runner.Trace
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	// The script's own shell ends with the runner, a moment after the runner's lock is free.
	living, err := trace.Survivors()
	if err != nil || len(living) < 2 || !subset(living, seen.Survivors) {
		t.Errorf("living %v, %v, want both of sleep, of %v", living, err, seen.Survivors)
	}
	other := trace
	other.Boot = "another"
	if living, err := other.Survivors(); err != nil || len(living) != 0 {
		t.Errorf("after a reboot: %v, %v", living, err)
	}
	if living, err := (runner.Trace{Boot: trace.Boot}).Survivors(); err == nil {
		t.Errorf("by a trace of nothing: %v, and no error", living)
	}
	again := trace
	again.Left = append(again.Left, runner.Process{Pid: os.Getpid(), Start: 1}) // the pid is another's by now
	if left, err := runner.Sweep(deadline(t), c.folder, *seen.Began); err != nil || len(left) != 0 {
		t.Errorf("left after the sweep: %v, %v", left, err)
	}
	if living, err := again.Survivors(); err != nil || len(living) != 0 {
		t.Errorf("after the sweep: %v, %v", living, err)
	}
}

// After another boot nothing can be left; in another pid namespace nothing can be said.
func TestSweepElsewhere(t *testing.T) {
	c := newCall(t, "setsid sleep 1000 & echo $! > here; read x < go")
	here, gate := c.fifo("here"), c.fifo("go")
	c.start()
	child := c.process(c.read(here))
	b := *c.look().Began
	b.Boot = "another"
	if left, err := runner.Sweep(deadline(t), c.folder, b); err != nil || left != nil {
		t.Errorf("after a boot: %v, %v", left, err)
	}
	b = *c.look().Began
	b.Space = "pid:[1]"
	if _, err := runner.Sweep(deadline(t), c.folder, b); err == nil {
		t.Error("in another namespace: no error")
	}
	if !child.alive() {
		t.Error("a sweep that could not know killed a process")
	}
	c.let(gate)
	c.end()
}

// A cancel stops the whole tree: what ignores SIGTERM, what left the session, what threw away its
// environment too. Behaviours 12 and 14.
func TestCancelStopsTheTree(t *testing.T) {
	c := newCall(t, `trap '' TERM
sh -c 'trap "" TERM; echo $$ > a; while :; do sleep 1000; done' &
setsid sh -c 'echo $$ > b; sleep 1000; sleep 1000' &
env -i setsid /bin/sh -c '(sh -c "echo \$\$ > c; exec sleep 1000" &) ; exit' &
echo $$ > d
while :; do sleep 1000; done`)
	var procs []process
	for _, name := range []string{"a", "b", "c", "d"} {
		c.fifo(name)
	}
	c.start()
	for _, name := range []string{"a", "b", "c", "d"} {
		procs = append(procs, c.process(c.read(filepath.Join(c.work, name))))
	}
	if err := runner.Cancel(c.folder, "enough"); err != nil {
		t.Fatal(err)
	}
	e := c.end()
	if e.Cause != runner.CauseCancelled || e.Message != "enough" || e.Signal != "SIGKILL" || e.Status != 137 {
		t.Errorf("exit record %+v", e)
	}
	for i, p := range procs {
		if p.alive() {
			t.Errorf("process %d outlives the cancel's record", i)
		}
	}
}

// subset says whether every process of one list stands in another.
func subset(of, all []runner.Process) bool {
	return !slices.ContainsFunc(of, func(p runner.Process) bool {
		return !slices.ContainsFunc(all, func(q runner.Process) bool { return p.Pid == q.Pid && p.Start == q.Start })
	})
}
