//go:build linux && portable

package runner_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"agent/tools/runner"
	"agent/tools/sandbox"

	"golang.org/x/sys/unix"
)

// inherited lists the descriptors that a command has: the last carries the lock that shows whether
// something of it lives.
const inherited = "0\n1\n2\n99\n"

// tidy ends whatever a test leaves behind, by means that the runner does without here.
func (c *call) tidy() {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		c.t.Error(err)
	}
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte(runner.MarkName+"="+c.spec.Mark()+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL) // it may be gone
		}
	}
}

// eachAccess runs a test with every access. None confines here.
func eachAccess(t *testing.T, f func(t *testing.T, a sandbox.Access)) {
	for _, a := range sandbox.Accesses() {
		t.Run(string(a), func(t *testing.T) { f(t, a) })
	}
}

func confined(t *testing.T, a sandbox.Access, script string) *call {
	t.Helper()
	c := newCall(t, script)
	c.spec.Sandbox = sandbox.Profile{Access: a, Support: sandbox.Probe(""), Workspace: c.work}
	return c
}

// A killed runner takes the group of its command with it. What left the group lives: that is
// reported, nothing is signalled by a number that may be another's, and what is kept of the call
// shows when it is gone. TOOL-05.
func TestRunnerKilledByGroup(t *testing.T) {
	c := newCall(t, `sleep 1000 & a=$!; env -i sleep 1000 & b=$!
setsid sh -c 'echo > left; exec sleep 1000' & read x < left
echo $$ $a $b $! > here; read x < go`)
	c.fifo("left") // a process is killed with the group until it has left it
	here := c.fifo("here")
	c.fifo("go")
	c.start()
	var procs []process
	for _, pid := range strings.Fields(c.read(here)) {
		procs = append(procs, c.process(pid))
	}
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
	for _, p := range procs[:3] {
		p.gone()
	}
	s := c.awaitFree()
	if s.State != runner.Unknown || s.Began == nil || s.Exit != nil || len(s.Survivors) != 1 || s.Survivors[0].Pid != 0 {
		t.Fatalf("after the kill: %+v", s)
	}
	left, err := runner.Sweep(deadline(t), c.folder, *s.Began)
	if err != nil || len(left) != 1 || left[0].Pid != 0 || !procs[3].alive() {
		t.Errorf("left after the sweep: %v, %v, alive %v", left, err, procs[3].alive())
	}
	if err := runner.KillRunner(c.folder, *began); err != nil {
		t.Errorf("killing a runner that is gone: %v", err)
	}
	c.keptTrace(s.Trace(), procs[3])
}

// keptTrace checks that what lives is found by a trace although the call's records are discarded,
// until it is gone.
func (c *call) keptTrace(trace runner.Trace, last process) {
	c.t.Helper()
	text, err := json.Marshal(trace)
	if err != nil {
		c.t.Fatal(err)
	}
	var read runner.Trace
	if err := json.Unmarshal(text, &read); err != nil {
		c.t.Fatal(err)
	}
	if err := runner.Discard(c.folder); err != nil {
		c.t.Fatal(err)
	}
	if s := c.look(); s.State != runner.NoEvidence {
		c.t.Errorf("discarded, and the folder says %+v", s)
	}
	if living, err := read.Survivors(); err != nil || len(living) != 1 {
		c.t.Errorf("while it lives: %v, %v", living, err)
	}
	if living, err := (runner.Trace{}).Survivors(); err == nil {
		c.t.Errorf("by a trace of nothing: %v, and no error", living)
	}
	if err := unix.PidfdSendSignal(last.fd, unix.SIGKILL, nil, 0); err != nil {
		c.t.Fatal(err)
	}
	last.gone()
	if living, err := read.Survivors(); err != nil || len(living) != 0 {
		c.t.Errorf("when it is gone: %v, %v", living, err)
	}
	if err := runner.Discard(c.folder); err != nil {
		c.t.Error(err)
	}
	if _, err := os.Stat(c.folder); !os.IsNotExist(err) {
		c.t.Errorf("the folder is kept for nothing: %v", err)
	}
	if living, err := read.Survivors(); err != nil || len(living) != 0 {
		c.t.Errorf("when its folder is gone: %v, %v", living, err)
	}
}

// A cancel ends the command's group, also what ignores SIGTERM. What left the group is named as
// alive in the record, and is.
func TestCancelStopsTheGroup(t *testing.T) {
	c := newCall(t, `trap '' TERM
sh -c 'trap "" TERM; echo $$ > a; while :; do sleep 1000; done' &
env -i /bin/sh -c '(sh -c "echo \$\$ > b; exec sleep 1000" &) ; exit' &
setsid sh -c 'echo $$ > c; sleep 1000; sleep 1000' &
echo $$ > d
while :; do sleep 1000; done`)
	names := []string{"a", "b", "d", "c"}
	for _, name := range names {
		c.fifo(name)
	}
	c.start()
	var procs []process
	for _, name := range names {
		procs = append(procs, c.process(c.read(filepath.Join(c.work, name))))
	}
	if err := runner.Cancel(c.folder, "enough"); err != nil {
		t.Fatal(err)
	}
	e := c.end()
	if e.Cause != runner.CauseCancelled || e.Signal != "SIGKILL" || e.Status != 137 {
		t.Errorf("exit record %+v", e)
	}
	if want := "enough; may still be running: something that the command started"; !strings.HasPrefix(e.Message, want) {
		t.Errorf("message %q", e.Message)
	}
	for i, p := range procs[:3] {
		if p.alive() {
			t.Errorf("process %s outlives the cancel's record", names[i])
		}
	}
	if !procs[3].alive() {
		t.Error("what left the group is dead, and the record says that it may live")
	}
}

// A cancel of a command that stayed in its group leaves nothing, and says nothing of that.
func TestCancelLeavesNothing(t *testing.T) {
	c := newCall(t, `sh -c 'trap "" TERM; echo $$ > here; while :; do sleep 1000; done' & wait`)
	here := c.fifo("here")
	c.start()
	child := c.process(c.read(here))
	if err := runner.Cancel(c.folder, "enough"); err != nil {
		t.Fatal(err)
	}
	if e := c.end(); e.Cause != runner.CauseCancelled || e.Message != "enough" || child.alive() {
		t.Errorf("exit record %+v, child alive %v", e, child.alive())
	}
}

// A guard that somebody killed changes nothing for the command. Where its runner is killed too,
// what lives of the command is reported.
func TestGuardKilled(t *testing.T) {
	c := newCall(t, "echo $$ > here; read x < go; exit 3")
	here, gate := c.fifo("here"), c.fifo("go")
	killGuard := func(pid string) {
		t.Helper()
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		group, err := unix.Getpgid(n)
		if err != nil || group == n {
			t.Fatalf("the command leads its group: %v", err)
		}
		guard := c.process(strconv.Itoa(group))
		if err := unix.Kill(group, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		guard.gone()
	}
	c.start()
	killGuard(c.read(here))
	c.let(gate)
	if e := c.end(); e.Status != 3 {
		t.Errorf("exit record %+v", e)
	}
	c = newCall(t, "echo $$ > here; read x < go; exit 3")
	here = c.fifo("here")
	c.fifo("go")
	c.start()
	pid := c.read(here)
	shell := c.process(pid)
	killGuard(pid)
	if err := runner.KillRunner(c.folder, *c.look().Began); err != nil {
		t.Fatal(err)
	}
	s := c.awaitFree()
	if s.State != runner.Unknown || len(s.Survivors) != 1 {
		t.Errorf("%+v", s)
	}
	left, err := runner.Sweep(deadline(t), c.folder, *s.Began)
	if err != nil || len(left) != 1 || !shell.alive() {
		t.Errorf("left after the sweep: %v, %v", left, err)
	}
}
