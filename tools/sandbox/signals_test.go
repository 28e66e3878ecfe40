//go:build linux && !portable

package sandbox_test

import (
	"bufio"
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"agent/tools/sandbox"
	"golang.org/x/sys/unix"
)

// What is sent to the group, from outside or from inside, ends neither the confining process nor
// what runs in it.
func TestSignalsAreTheCommandsAlone(t *testing.T) {
	s := newScene(t)
	signals := []unix.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGTERM, unix.SIGUSR1, unix.SIGPIPE, unix.SIGALRM, unix.SIGTSTP, unix.SIGTTIN,
		unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS,
	}
	for _, a := range sandbox.Accesses() {
		cmd := exec.Command("/bin/bash", "-c", `
			for sig in HUP INT QUIT ABRT TERM USR1 PIPE ALRM TSTP ILL TRAP BUS FPE SEGV STKFLT SYS; do kill -s $sig 1; done
			grep -q '^SigIgn:.*[^0]$' /proc/self/status && echo a signal is ignored
			sh -c 'kill -s TERM $$'; test $? = 143 || echo a signal does not end a command
			echo ready; read line; exit 7`)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.profile(a).Wrap(cmd, self); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Errorf("access %s: the command says %q: %v", a, line, err)
		}
		for _, sig := range signals {
			if err := unix.Kill(-cmd.Process.Pid, sig); err != nil {
				t.Errorf("access %s: send %s to the group: %v", a, unix.SignalName(sig), err)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
			t.Errorf("access %s: the command ended with %v, not with status 7", a, err)
		}
	}
}
