//go:build unix

package fault

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestEndsHere is the child of TestKillAndStop: it comes by a point.
func TestEndsHere(t *testing.T) {
	if os.Getenv("FAULT_TEST_CHILD") == "" {
		t.Skip("only as a child")
	}
	if _, err := Arm(); err != nil {
		t.Fatal(err)
	}
	Hit(AfterStarted)
	os.Exit(7)
}

// The process ends as by kill -9, with no deferred function; or it stops, and goes on when it is
// asked to.
func TestKillAndStop(t *testing.T) {
	for action, first := range map[string]func(syscall.WaitStatus) bool{
		"kill": func(s syscall.WaitStatus) bool { return s.Signaled() && s.Signal() == syscall.SIGKILL },
		"stop": func(s syscall.WaitStatus) bool { return s.Stopped() && s.StopSignal() == syscall.SIGSTOP },
	} {
		t.Run(action, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestEndsHere$")
			cmd.Env = append(os.Environ(), "FAULT_TEST_CHILD=1", EnvPoint+"=call.after_started:1:"+action, EnvUnsafe+"=1")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if s := wait(t, cmd.Process.Pid); !first(s) {
				t.Fatalf("the child came to %#x", int(s))
			}
			if action == "kill" {
				return
			}
			if err := syscall.Kill(cmd.Process.Pid, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if s := wait(t, cmd.Process.Pid); !s.Exited() || s.ExitStatus() != 7 {
				t.Fatalf("the child went on to %#x", int(s))
			}
		})
	}
}

func wait(t *testing.T, pid int) syscall.WaitStatus {
	t.Helper()
	var s syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &s, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}
