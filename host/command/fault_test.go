package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"agent/recovery/fault"
)

// world is one state folder, one workspace, and what a person would do to bring a run to its end.
type world struct {
	t      *testing.T
	home   string
	dir    string
	log    bytes.Buffer
	killed int
	first  []string // the command that begins the run
	env    []string // what every command finds beside the usual

	release func() // lets answers of the model go on that are held; nil without a model
}

const faultStory = `# A story with every kind of step

- read_file in.txt
- search "needle" .
- write_file out.txt

` + "```" + `
written
` + "```" + `

` + "```sh" + `
echo first >> effects
` + "```" + `

- confirm_action "Go on?"

` + "```sh" + `
echo second >> effects
` + "```" + `

- edit_file out.txt "written" "edited"
`

func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	w := &world{t: t, home: filepath.Join(root, "home"), dir: filepath.Join(root, "work"), first: []string{"run", "--runbook", "-f", "book.md"}}
	for _, d := range []string{w.home, w.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write("in.txt", "hay\nneedle\n")
	w.write("book.md", faultStory)
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// agent runs one command and returns its exit code, or -9 when it was killed.
func (w *world) agent(arm string, args ...string) int {
	w.t.Helper()
	c := exec.Command(filepath.Join(binDir(), "agent"), args...)
	c.Dir = w.dir
	c.Env = append(os.Environ(), "HOME="+w.home, "AGENT_HOME="+filepath.Join(w.home, "state"), "AGENT_FAULT="+arm, "AGENT_FAULT_UNSAFE=1")
	c.Env = append(c.Env, w.env...)
	out, err := c.CombinedOutput()
	fmt.Fprintf(&w.log, "$ %s agent %s\n%s", arm, strings.Join(args, " "), out)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			w.killed++
			fmt.Fprintf(&w.log, "(killed)\n")
			return -9
		}
		fmt.Fprintf(&w.log, "(exit %d)\n", exit.ExitCode())
		return exit.ExitCode()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return 0
}

// finish brings the run to its end the way a person would: resume what was interrupted, say yes to
// what is asked. arms are armed one after the other, one for each command that follows.
func (w *world) finish(code int, arms ...string) {
	w.t.Helper()
	for range 40 {
		arm := ""
		if len(arms) > 0 {
			arm, arms = arms[0], arms[1:]
		}
		switch code {
		case 0:
			return
		case -9, 4:
			code = w.agent(arm, "resume", "last")
		case 3, 5:
			code = w.agent(arm, "answer", "last", "yes")
		case 1:
			code = w.agent(arm, w.afterRefusal()...)
		default:
			w.t.Fatalf("exit code %d\n%s", code, w.log.String())
		}
	}
	w.t.Fatalf("the run never ends\n%s", w.log.String())
}

// afterRefusal is what a person does next when nothing was recorded yet, the run failed, or it was
// answered already.
func (w *world) afterRefusal() []string {
	w.t.Helper()
	var l listed
	c := exec.Command(filepath.Join(binDir(), "agent"), "ls", "--all", "--json")
	c.Env = append(os.Environ(), "HOME="+w.home, "AGENT_HOME="+filepath.Join(w.home, "state"))
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &l)
	}
	switch {
	case err != nil:
		w.t.Fatalf("list runs: %v\n%s", err, w.log.String())
	case len(l.Runs) == 0:
		return w.first
	case l.Runs[0].Status == "failed":
		return []string{"run", "-c", "continue"}
	case l.Runs[0].Status == "completed": // killed behind its end: nothing is left to resume
		return []string{"show", "last"}
	}
	return []string{"resume", "last"}
}

// check compares the world with one that was never killed.
func (w *world) check(unknown bool) {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "effects"))
	if err != nil && !unknown {
		w.t.Fatalf("%v\n%s", err, w.log.String())
	}
	for _, word := range []string{"first", "second"} {
		n := strings.Count(string(b), word)
		if n > 1 || (n == 0 && !unknown) {
			w.t.Errorf("the effect %q happened %d times\n%s", word, n, w.log.String())
		}
	}
	out, err := os.ReadFile(filepath.Join(w.dir, "out.txt"))
	if err != nil || string(out) != "edited\n" {
		w.t.Errorf("out.txt holds %q (%v)\n%s", out, err, w.log.String())
	}
	left, err := filepath.Glob(filepath.Join(w.home, "state", "calls", "*", "*"))
	if err != nil || len(left) > 0 {
		w.t.Errorf("left behind: %v %v\n%s", left, err, w.log.String())
	}
}

// passes is how many passes of a fault point are tried here. The crash lab tries them all.
func passes() int {
	if whole() {
		return 2
	}
	return 1
}

// quickPoints are the fault points of a quick run: the two sides of a commit, of a call's start and
// of its effect, and one in the runner. The crash lab and AGENT_TESTS=whole try them all.
func quickPoints() []fault.Point {
	points := []fault.Point{fault.AfterStarted, fault.AfterCommit}
	if !raceEnabled {
		points = append(points, fault.AfterEffect, fault.WriteTemp, fault.RunnerBegan)
	}
	return points
}

// Every fault point is reached, and a run that was killed there ends in the same world: no effect
// twice, none without its record, none lost. // RUN-15 TOOL-01 TOOL-02
func TestKilledAtEveryPoint(t *testing.T) {
	for _, p := range fault.Driving() {
		if slices.Contains(providerPoints(), p) {
			continue // see TestKilledAtEveryPointOfAModel
		}
		t.Run(string(p), func(t *testing.T) {
			if !slices.Contains(quickPoints(), p) {
				onlyWhole(t)
			}
			t.Parallel()
			reached := false
			runner := strings.HasPrefix(string(p), "runner.") && p != fault.RunnerStarted
			for n := 1; n <= passes(); n++ {
				arm := fmt.Sprintf("%s:%d", p, n)
				w := newWorld(t)
				w.finish(w.agent(arm, "run", "--runbook", "-f", "book.md"))
				w.check(runner)
				// Killed once in the middle, then again at the point while it recovers and while it
				// is answered.
				v := newWorld(t)
				v.finish(v.agent(string(fault.AfterStarted)+":4", "run", "--runbook", "-f", "book.md"), arm, arm, arm, arm)
				v.check(runner)
				reached = reached || w.killed > 0 || v.killed > 1 || runner
			}
			if !reached {
				t.Errorf("no command passed the point")
			}
		})
	}
}
