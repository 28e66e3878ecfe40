//go:build linux && !portable

package runner_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent/tools/runner"
	"agent/tools/sandbox"

	"golang.org/x/sys/unix"
)

// eachAccess runs a test with every access that can be had here.
func eachAccess(t *testing.T, f func(t *testing.T, a sandbox.Access)) {
	support := sandbox.Probe("/proc/self/exe")
	for _, a := range sandbox.Accesses() {
		t.Run(string(a), func(t *testing.T) {
			if !support.Namespaces || !support.Hiding {
				t.Skipf("there are no namespaces here: %s", strings.Join(support.Missing, "; "))
			}
			f(t, a)
		})
	}
}

// confined makes a call that runs with an access. Every sleep of it can be told from others by
// sleepTime.
func confined(t *testing.T, a sandbox.Access, script string) *call {
	t.Helper()
	c := newCall(t, strings.ReplaceAll(script, "SLEEP", "sleep "+sleepTime(t)))
	c.spec.Sandbox = sandbox.Profile{Access: a, Support: sandbox.Probe("/proc/self/exe"), Workspace: c.work, Hidden: []string{c.folder}}
	// The folder of all calls stands for the state folder.
	state := filepath.Dir(filepath.Dir(c.folder))
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	c.spec.Sandbox.Hidden = []string{state}
	return c
}

func sleepTime(t *testing.T) string {
	return fmt.Sprintf("1000.%d%d", os.Getpid(), len(t.Name()))
}

// sleeping counts the sleeps of the test that live, seen from outside and by nothing of ours.
func sleeping(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.HasSuffix(bytes.TrimRight(b, "\x00"), []byte("\x00"+sleepTime(t))) {
			n++
		}
	}
	return n
}

// asleep waits until so many sleeps of the test are there: a process that was forked is none before
// it began to be one.
func asleep(t *testing.T, least int) {
	t.Helper()
	ctx := deadline(t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for sleeping(t) < least {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("only %d processes of the command live", sleeping(t))
		}
	}
}

// noneSleeps waits until all sleeps of the test are dead.
func noneSleeps(t *testing.T) {
	t.Helper()
	ctx := deadline(t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for sleeping(t) > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d processes of the command are alive", sleeping(t))
		}
	}
}

// printed waits until the command has printed a text.
func (c *call) printed(text string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(deadline(c.t))
	defer cancel()
	var all []byte
	_, err := runner.Follow(ctx, c.folder, 0, func(p []byte) {
		if all = append(all, p...); bytes.Contains(all, []byte(text)) {
			cancel()
		}
	})
	if !bytes.Contains(all, []byte(text)) {
		c.t.Fatalf("it printed %q, not %q: %v", all, text, err)
	}
}

const brood = `SLEEP & env -i SLEEP & setsid SLEEP & env -i setsid sh -c 'SLEEP & SLEEP' & (setsid env -i setsid SLEEP &)
while test $(ls /proc | grep -c '^[0-9]') -lt 8; do :; done
echo up; read x < go`

// The runner's death ends everything that a confined command started, at once and without a sweep,
// and the outcome is unknown.
func TestRunnerKilledConfined(t *testing.T) {
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		c := confined(t, a, brood)
		c.fifo("go")
		c.start()
		c.printed("up")
		asleep(t, 4)
		if err := runner.KillRunner(c.folder, *c.look().Began); err != nil {
			t.Fatal(err)
		}
		noneSleeps(t)
		if s := c.awaitFree(); s.State != runner.Unknown || s.Exit != nil {
			t.Errorf("%+v", s)
		}
	})
}

// The death of the confining process ends everything too, and the call has an end that says that it
// was killed.
func TestConfiningProcessKilled(t *testing.T) {
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		c := confined(t, a, brood)
		c.fifo("go")
		c.start()
		c.printed("up")
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", c.look().Began.Runner.Pid))
		pids := strings.Fields(string(children))
		for _, task := range tasks(t, c.look().Began.Runner.Pid) {
			b, rerr := os.ReadFile(task + "/children")
			if rerr == nil {
				pids = append(pids, strings.Fields(string(b))...)
			}
		}
		if err != nil || len(pids) == 0 {
			t.Fatalf("%q %v", children, err)
		}
		pid, err := strconv.Atoi(pids[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if e := c.end(); e.Cause != runner.CauseSignalled || e.Signal != "SIGKILL" || e.Started.IsZero() {
			t.Errorf("%+v", e)
		}
		noneSleeps(t)
	})
}

func tasks(t *testing.T, pid int) []string {
	t.Helper()
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What a command leaves behind lives on with access full, and dies with the command otherwise.
func TestLeftBehindConfined(t *testing.T) {
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		c := confined(t, a, `setsid SLEEP > /dev/null 2>&1 < /dev/null & while ! grep -qs SLEEP /proc/*/cmdline; do test $((n=n+1)) -lt 50 || break; done; echo done`)
		c.spec.Script = strings.ReplaceAll(c.spec.Script, "grep -qs sleep "+sleepTime(t), "grep -qs "+sleepTime(t))
		if e := c.ended(); e.Status != 0 {
			t.Fatalf("%+v", e)
		}
		if a != sandbox.Full {
			noneSleeps(t)
			return
		}
		if n := sleeping(t); n != 1 {
			t.Errorf("%d processes live on, want the server", n)
		}
	})
}

// A confined command ends as any other: with its status, by a signal, at a time limit, politely.
func TestEndsConfined(t *testing.T) {
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		if e := confined(t, a, "exit 4").ended(); e.Status != 4 || e.Cause != runner.CauseExited {
			t.Errorf("exit: %+v", e)
		}
	})
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		if e := confined(t, a, "kill -9 $$").ended(); e.Status != 137 || e.Cause != runner.CauseSignalled || e.Signal != "SIGKILL" {
			t.Errorf("signal: %+v", e)
		}
	})
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		c := confined(t, a, "trap 'echo bye; exit 9' TERM; trap '' INT; echo up; while :; do SLEEP & wait; done")
		c.start()
		c.printed("up")
		if err := runner.Cancel(c.folder, "enough"); err != nil {
			t.Fatal(err)
		}
		if e := c.end(); e.Cause != runner.CauseCancelled || e.Status != 9 {
			t.Errorf("politely: %+v", e)
		}
		if got := c.output(); got != "up\nbye\n" {
			t.Errorf("output %q", got)
		}
		noneSleeps(t)
	})
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		c := confined(t, a, "trap '' TERM; setsid sh -c 'trap \"\" TERM; SLEEP' & while :; do SLEEP || :; done")
		c.spec.Timeout = 100 * time.Millisecond // time: whenever it passes, the command lives
		if e := c.ended(); e.Cause != runner.CauseTimeout {
			t.Errorf("at its limit: %+v", e)
		}
		noneSleeps(t)
	})
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		c := confined(t, a, "# "+strings.Repeat("x", 200<<10)+"\necho long")
		if e := c.ended(); e.Status != 0 || c.output() != "long\n" {
			t.Errorf("a long script: %+v %q", e, c.output())
		}
	})
}

// A level that cannot be reached is a start error, and nothing ran. So is a folder that is not
// there.
func TestStartErrorConfined(t *testing.T) {
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		c := confined(t, a, "echo ran")
		c.spec.Dir = filepath.Join(c.work, "missing")
		if e := c.ended(); e.Cause != runner.CauseStartError || !e.Started.IsZero() || !strings.Contains(e.Message, "missing") {
			t.Errorf("%+v", e)
		}
		if a == sandbox.Full {
			return
		}
		c = confined(t, a, "echo ran")
		c.spec.Turn, c.folder = 4, c.folder+"x"
		c.spec.Sandbox.Support.Landlock = 99
		if e := c.ended(); e.Cause != runner.CauseStartError || !e.Started.IsZero() || !strings.Contains(e.Message, "ABI 99 was promised") {
			t.Errorf("%+v", e)
		}
		if got := c.output(); got != "" {
			t.Errorf("output %q", got)
		}
	})
}

// The kernel kills the command when the thread that started it ends, and so that thread is kept as
// long as the command runs. Where the command is confined, the runner waits between its start and
// its first step, and so could go on in another thread.
func TestTheStartingThreadIsKept(t *testing.T) {
	eachAccess(t, func(t *testing.T, a sandbox.Access) {
		c := confined(t, a, "read x < go; echo done")
		c.env = []string{"END_THREADS=" + c.fifo("go"), "GOMAXPROCS=1"}
		if e := c.ended(); e.Cause != runner.CauseExited || e.Status != 0 {
			t.Fatalf("the command ended as %+v", e)
		}
	})
}
