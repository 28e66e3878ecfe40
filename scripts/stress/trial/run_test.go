//go:build linux

package trial

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process group is stopped once and continued, and then it is waited for.
func TestStopped(t *testing.T) {
	cat, input := group(t)
	w := &watch{group: cat.Process.Pid, stopAfter: time.Millisecond}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.until(context.Background())
	}()

	for _, change := range []int{unix.WSTOPPED, unix.WCONTINUED} {
		if err := unix.Waitid(unix.P_PID, w.group, nil, change, nil); err != nil {
			t.Error(err)
		}
	}
	input()
	<-done
	if !w.halted || w.dear {
		t.Errorf("halted %v, too dear %v", w.halted, w.dear)
	}
	if err := cat.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A run that uses more processor time than it may is ended, and so is one whose caller is.
func TestEnded(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	start(t, busy)
	w := &watch{group: busy.Process.Pid, dearest: 20 * time.Millisecond}
	w.until(context.Background())
	if err := busy.Wait(); !w.dear || err == nil || err.Error() != "signal: killed" {
		t.Errorf("too dear %v, it ended with %v", w.dear, err)
	}

	cat, _ := group(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	(&watch{group: cat.Process.Pid}).until(ctx)
	if err := cat.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
}

// group starts a process that ends when its input does, in a group of its own.
func group(t *testing.T) (*exec.Cmd, func()) {
	t.Helper()
	cat := exec.Command("cat")
	input, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cat)
	return cat, func() {
		if err := input.Close(); err != nil {
			t.Error(err)
		}
	}
}

func start(t *testing.T, c *exec.Cmd) {
	t.Helper()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
}
