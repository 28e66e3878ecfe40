//go:build linux

// Command speckit kills a flow of three steps in its second one and has it go on, with our binary
// or with the workflow engine of github/spec-kit, and says what a witness outside of both saw:
//
//	speckit -agent FILE -dir FOLDER [-checkout FOLDER]
//
// The witness is a file to which each step adds a line when it begins. Between the kill and the
// resume the artifact of the first step is deleted. With a checkout it is spec-kit's turn, and its
// engine is loaded by drive.py. It writes one JSON object.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed drive.py
var driver []byte

// Saw is what came of the flow that was killed.
type Saw struct {
	Who      string `json:"who"`
	Refused  string `json:"refused"`  // what the engine's own resume said, where it refused
	Second   int    `json:"second"`   // how often the killed step began
	Artifact bool   `json:"artifact"` // the artifact that was deleted is there in the end
	Ended    bool   `json:"ended"`    // the flow says that it is done
}

func main() {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "speckit: %v\n", err)
		os.Exit(1)
	}
}

// trial is one flow in a folder of its own.
type trial struct {
	agent, checkout, dir string
	gate                 *os.File
}

func run(ctx context.Context) (err error) {
	t := trial{}
	flag.StringVar(&t.agent, "agent", "", "our binary, a `file`")
	flag.StringVar(&t.checkout, "checkout", "", "`folder` with github/spec-kit; without it our binary has its turn")
	flag.StringVar(&t.dir, "dir", "", "an empty `folder`")
	flag.Parse()
	if t.dir == "" || t.agent == "" && t.checkout == "" {
		return errors.New("name a folder, and a binary or a checkout")
	}
	if err := errors.Join(os.Mkdir(t.in("work"), 0o700), syscall.Mkfifo(t.in("gate"), 0o600), os.WriteFile(t.in("drive.py"), driver, 0o600)); err != nil {
		return err
	}
	if t.gate, err = os.OpenFile(t.in("gate"), os.O_RDWR, 0); err != nil { // both ends: nothing waits for the other
		return err
	}
	defer func() { err = errors.Join(err, t.gate.Close()) }()
	carryOut := t.ours
	if t.checkout != "" {
		carryOut = t.theirs
	}
	saw, err := carryOut(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(saw)
}

func (t *trial) in(name string) string { return filepath.Join(t.dir, name) }

// steps are the commands of the three steps. The second waits at the gate.
func (t *trial) steps() [3]string {
	return [3]string{
		"echo one >> witness; echo a > one.txt",
		"echo two >> witness; read -r _ < " + t.in("gate") + "; echo b > two.txt; echo went-on >> witness",
		"echo three >> witness; cat two.txt > three.txt",
	}
}

// kill starts a flow, kills its process in the second step, lets the command of that step end, and
// deletes what the first one made.
func (t *trial) kill(ctx context.Context, c *exec.Cmd) error {
	said := &strings.Builder{}
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		return err
	}
	alive, ended := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = c.Wait() // it is killed, or what it said tells why it ended
		ended()
	}()
	began := t.until(alive, "two")
	killed := c.Process.Kill()
	<-gone
	if err := errors.Join(began, killed); err != nil {
		return fmt.Errorf("kill it in the second step: %w\n%s", err, said)
	}
	_, err := t.gate.WriteString("\n\n") // one for the command, and one should it begin again
	if err == nil {
		err = t.until(ctx, "went-on")
	}
	return errors.Join(err, os.Remove(t.in("work/one.txt")))
}

// until waits for a line of the witness.
func (t *trial) until(ctx context.Context, line string) error {
	for ctx.Err() == nil {
		if t.count(line) > 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return ctx.Err()
}

// count is how often the witness has a line.
func (t *trial) count(line string) (n int) {
	text, err := os.ReadFile(t.in("work/witness"))
	if err != nil {
		return 0 // nothing began yet
	}
	for l := range strings.Lines(string(text)) {
		if strings.TrimSpace(l) == line {
			n++
		}
	}
	return n
}

func (t *trial) saw(refused string, ended bool) Saw {
	_, err := os.Stat(t.in("work/one.txt"))
	who := "ours"
	if t.checkout != "" {
		who = "spec-kit"
	}
	return Saw{Who: who, Refused: refused, Second: t.count("two"), Artifact: err == nil, Ended: ended}
}

func (t *trial) ours(ctx context.Context) (Saw, error) {
	s := t.steps()
	flow := "---\nagent: flow\n---\n```flow\nmodel = \"runbook\"\n```\n"
	for i, phase := range []string{"outputs = [\"one.txt\"]", "inputs = [\"one.txt\"]\noutputs = [\"two.txt\"]", "inputs = [\"one\", \"two\"]\noutputs = [\"three.txt\"]"} {
		flow += fmt.Sprintf("## %s\n```phase\n%s\n```\n```sh access=write\n%s\n```\n", []string{"one", "two", "three"}[i], phase, s[i])
	}
	if err := os.WriteFile(t.in("flow.md"), []byte(flow), 0o600); err != nil {
		return Saw{}, err
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, t.agent, args...)
		c.Dir = t.in("work")
		c.Env = append(os.Environ(), "AGENT_HOME="+t.in("state"), "HOME="+t.dir, "XDG_CONFIG_HOME=", "NO_COLOR=1")
		return c
	}
	if err := t.kill(ctx, command("run", "--mode", "yolo", "-f", t.in("flow.md"))); err != nil {
		return Saw{}, err
	}
	out, err := command("resume", "last").CombinedOutput()
	if err != nil {
		return t.saw(string(out), false), nil
	}
	return t.saw("", true), nil
}

func (t *trial) theirs(ctx context.Context) (Saw, error) {
	workflow := map[string]any{"schema_version": "1.0", "workflow": map[string]string{"id": "bench", "name": "Bench", "version": "1.0.0"}}
	var steps []map[string]string
	for i, run := range t.steps() {
		steps = append(steps, map[string]string{"id": []string{"one", "two", "three"}[i], "type": "shell", "run": run})
	}
	workflow["steps"] = steps
	text, err := json.Marshal(workflow) // YAML reads JSON
	if err == nil {
		err = os.WriteFile(t.in("flow.yml"), text, 0o600)
	}
	if err != nil {
		return Saw{}, err
	}
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, "python3", append([]string{t.in("drive.py"), t.checkout, t.in("work")}, args...)...)
		c.Dir = t.in("work")
		c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		return c
	}
	if err := t.kill(ctx, command("run", t.in("flow.yml"))); err != nil {
		return Saw{}, err
	}
	refused, err := command("resume").CombinedOutput()
	if err == nil {
		return t.saw("", strings.TrimSpace(string(refused)) == "completed"), nil
	}
	// What it says is what a person reads; the way on is to change its state by hand.
	path := t.in("work/.specify/workflows/runs/bench/state.json")
	state, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(state), `"status": "running"`, `"status": "paused"`, 1)), 0o600)
	}
	if err != nil {
		return Saw{}, err
	}
	out, err := command("resume").CombinedOutput()
	return t.saw(strings.TrimSpace(string(refused)), err == nil && strings.TrimSpace(string(out)) == "completed"), nil
}
