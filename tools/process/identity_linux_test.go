//go:build !portable

package process

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A process that was killed and is not reaped yet holds nothing any more, or soon will not: its
// lock is worth a moment.
func TestEndingProcess(t *testing.T) {
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	i := Identity{PID: c.Process.Pid, Start: startTime(c.Process.Pid), Boot: Boot()}
	if !i.Alive() || i.Ending() {
		t.Fatalf("alive %v, ending %v: it sleeps", i.Alive(), i.Ending())
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	again, late := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer again.Stop()
	for !strings.Contains(stateOf(t, i.PID), "Z") {
		select {
		case <-again.C:
		case <-late:
			t.Fatal("it does not die")
		}
	}
	if !i.Alive() || !i.Ending() {
		t.Errorf("dead and not buried: alive %v, ending %v", i.Alive(), i.Ending())
	}
	_ = c.Wait() // it was killed
	if i.Alive() || !i.Ending() {
		t.Errorf("gone: alive %v, ending %v", i.Alive(), i.Ending())
	}
	if (Identity{PID: i.PID, Start: i.Start, Boot: "another"}).Ending() {
		t.Error("nothing is known of another boot's process")
	}
}

func stateOf(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "State:") {
			return line
		}
	}
	return ""
}
