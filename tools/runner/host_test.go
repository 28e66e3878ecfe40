//go:build linux

package runner_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"testing"

	"agent/tools/runner"
)

// host is a host process: it prepares the call, starts it if asked to, reports that and waits to be
// killed.
func host(args []string) {
	var s runner.Spec
	err := json.Unmarshal([]byte(args[1]), &s)
	var j *runner.Job
	if err == nil {
		j, err = runner.Prepare(args[0], s)
	}
	if err == nil && args[2] == "start" {
		err = j.Start(os.Args[0], nil)
	}
	// A process that waits for nothing at all is ended by Go as deadlocked.
	killed := make(chan os.Signal, 1)
	signal.Notify(killed, os.Interrupt)
	fmt.Println("ready", err)
	<-killed
	runtime.KeepAlive(j) // and so its lock
}

// hostProcess runs host in a process and returns when it has done its part; kill is SIGKILL and
// waits for its end.
func (c *call) hostProcess(what string) (kill func()) {
	c.t.Helper()
	s, err := json.Marshal(c.spec)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "__host", c.folder, string(s), what)
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "ready <nil>" {
		c.t.Fatalf("host says %q, %v", line, err)
	}
	return func() {
		_ = cmd.Process.Kill() // one that has ended is what is wanted
		_ = cmd.Wait()         // it was killed
	}
}

// A killed host leaves the command running; another process sees it run and gets its true end.
// Behaviour 2.
func TestHostKilled(t *testing.T) {
	c := newCall(t, "echo first; echo > here; read x < go; echo last; exit 4")
	here, gate := c.fifo("here"), c.fifo("go")
	kill := c.hostProcess("start")
	c.read(here)
	kill()
	if s := c.look(); s.State != runner.Running || s.Began == nil {
		t.Fatalf("after the kill: %+v", s)
	}
	c.let(gate)
	if e := c.end(); e.Status != 4 {
		t.Errorf("exit record %+v", e)
	}
	if got := c.output(); got != "first\nlast\n" {
		t.Errorf("output %q", got)
	}
}

// A host killed after preparing and before starting leaves proof that nothing ran, and the place
// can be used again.
func TestHostKilledBeforeStart(t *testing.T) {
	c := newCall(t, "echo ran")
	kill := c.hostProcess("prepare")
	if s := c.look(); s.State != runner.Running {
		t.Errorf("while the host holds it: %+v", s)
	}
	if _, err := runner.Prepare(c.folder, c.spec); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("prepared what another host holds: %v", err)
	}
	kill()
	if s := c.look(); s.State != runner.NeverStarted {
		t.Errorf("after the kill: %+v", s)
	}
	if e := c.ended(); e.Status != 0 {
		t.Errorf("exit record %+v", e)
	}
	if _, err := runner.Prepare(c.folder, c.spec); err == nil {
		t.Error("prepared over the record of a call that ran")
	}
}

// runByHand starts the runner as a person could, without a lock, and returns its exit code.
func runByHand(t *testing.T, folder string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "__runner", folder)
	lock, err := os.OpenFile(folder+"/lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	cmd.ExtraFiles = []*os.File{lock} // the right file, and nobody holds its lock
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("runner by hand: %v", err)
	}
	return exit.ExitCode()
}
