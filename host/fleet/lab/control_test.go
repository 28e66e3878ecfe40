package lab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agent/fleet/lab"
)

// Two state folders without a log carry out the same run: the lab sees that each step was done
// twice.
func TestControlWithoutALogEffectsAreDoneTwice(t *testing.T) {
	l := lab.New(t)
	l.StartEngine()
	l.Begin("twice", []string{"true", "true"}) // no host takes it: it writes the book
	for _, home := range []string{"a", "b"} {
		dir := filepath.Join(l.Dir, home)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(l.Agent, "run", "--json", "--runbook", "--mode", "yolo", "-f", filepath.Join(l.Dir, "books", "twice.md"))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "AGENT_HOME="+filepath.Join(dir, "home"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if got := l.Effects("twice"); got["twice.1"] != 2 || got["twice.2"] != 2 {
		t.Errorf("the lab saw %v", got)
	}
}
