package command_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agent/recovery/fault"
)

// A panic of the host while it holds a flow, in the flow's own goroutine or beside one of the runs
// below it, ends the flow as failed at once and leaves nothing of it under way: there is no flow
// that can be resumed and panics again. What had ended is done: to go on with it does the rest, and
// each effect is there once.
// EX-20.
func TestPanicInAFlow(t *testing.T) {
	t.Parallel()
	chain := killedFlow{
		text: flowOf(phaseOf("one", `outputs = ["a"]`, "echo one > a"), phaseOf("two", "inputs = [\"a\"]\noutputs = [\"b\"]", "cat a a > b")),
		log:  []string{"one", "two"}, made: map[string]string{"a": "one\n", "b": "one\none\n"},
	}
	side := killedFlows()["side"]
	for _, c := range []struct {
		name string
		flow killedFlow
		at   fault.Point
		pass int
		slow bool // left out of a quick run
	}{
		{"looked", chain, fault.ArtifactsLooked, 1, true},
		{"phase recorded", chain, fault.PhaseStarted, 2, false},
		{"run recorded", chain, fault.ChildRecorded, 2, true},
		{"run ended", chain, fault.ChildEnded, 1, true},
		{"output synced", chain, fault.ArtifactSynced, 1, true},
		{"output copied", chain, fault.ArtifactCopied, 2, true},
		{"phase ended", chain, fault.PhaseEnded, 1, true},
		{"run ended beside another", side, fault.ChildEnded, 2, false},
		{"phase ended beside another", side, fault.PhaseEnded, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.slow {
				onlyWhole(t)
			}
			panicsInAFlow(t, c.flow, fmt.Sprintf("%s:%d:panic", c.at, c.pass), len(c.flow.log) == 2)
		})
	}
}

// panicsInAFlow has the flow panic. What ran beside other runs was stopped in its middle, so each
// effect is there once in the end only of a flow whose phases run alone.
func panicsInAFlow(t *testing.T, f killedFlow, arm string, alone bool) {
	t.Helper()
	dir, home := filepath.Join(t.TempDir(), "work"), t.TempDir()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "flow.md"), f.text)
	text, err := agentCommand(dir, home, arm, "run", "--mode", "yolo", "-f", "flow.md").CombinedOutput()
	out := string(text)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(out, "goroutine ") {
		t.Errorf("it ends with %v:\n%s", err, out)
	}
	list := string(outputOf(t, dir, home, "ls", "--children"))
	left, err := filepath.Glob(filepath.Join(home, "calls", "*", "*"))
	if err != nil || len(left) > 0 || regexp.MustCompile(`running|interrupted|waiting`).MatchString(list) {
		t.Errorf("it is under way: %v, %v\n%s\n%s", left, err, list, out)
	}
	if !regexp.MustCompile(`failed.*: the host panicked: fault point`).MatchString(out) {
		t.Errorf("the flow does not say why it failed:\n%s\n%s", out, list)
	}
	if !alone {
		return
	}
	if text, err := agentCommand(dir, home, "", "run", "-c", "--mode", "yolo", "continue").CombinedOutput(); err != nil {
		t.Fatalf("go on with it: %v\n%s", err, text)
	}
	killing{}.judge(t, f, dir)
}
