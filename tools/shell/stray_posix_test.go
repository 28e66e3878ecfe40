//go:build linux && portable

package shell

import (
	"strconv"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/tools/runner"
	"agent/tools/toolstest"

	"golang.org/x/sys/unix"
)

// stray stays in its script's process group: what leaves it is reported, and not killed.
const stray = "sleep 600"

// What left the group of a command whose runner was killed is alive in the result, and is looked
// for by what the result keeps until it is gone.
func TestShellReportsWhatLeftTheGroup(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("shell", b.Call("shell", args{"command": "setsid sh -c 'echo $$; exec sleep 600' & wait"}))
	if err != nil {
		t.Fatal(err)
	}
	var printed string
	c.Show = func(p []byte) {
		if printed != "" {
			return
		}
		printed = string(p)
		s, err := runner.Inspect(b.shell().callFolder(c), identity(c))
		if err == nil {
			err = unix.Kill(s.Began.Runner.Pid, unix.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
	}
	r, err := b.shell().Call(b.Context(), c)
	if err != nil || r.Outcome != journal.OutcomeUnknown || len(r.Alive) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	toolstest.Contains(t, r.Content, "outcome unknown", "may still be running: something that the command started", "was not repeated")
	if left, err := b.shell().Survivors(r.Data); err != nil || len(left) != 1 {
		t.Errorf("while it lives: %v, %v", left, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(printed))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		err = unix.Kill(pid, unix.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			break
		}
	}
	_ = unix.Close(fd) // it only named a process
	if left, err := b.shell().Survivors(r.Data); err != nil || len(left) != 0 {
		t.Errorf("when it is gone: %v, %v", left, err)
	}
}

// Where nothing confines a command, no access makes it a read: it is not repeated unasked.
func TestNoAccessIsARead(t *testing.T) {
	b := newBench(t)
	for _, access := range []string{"read", "write", "full"} {
		is := b.shell().Describe("", toolsArgs(access))
		if is.Effect != journal.EffectWriteExternal || is.RetrySafe {
			t.Errorf("access %s: %+v", access, is)
		}
	}
}

func toolsArgs(access string) []byte { return []byte(`{"command":":","access":"` + access + `"}`) }
