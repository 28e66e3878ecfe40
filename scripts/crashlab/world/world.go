//go:build linux

// Package world is where a story takes place: a state folder, a workspace, the processes of the
// binary and their runners, the model that is asked, and the witness that counts effects without a
// word from any of them. It starts, stops and kills; it judges nothing.
package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"agent/host/terminal/terminaltest"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/mcp"
	"agent/scripts/crashlab/model"
	"agent/scripts/crashlab/story"
)

// ErrStuck says that a story does not come to its end.
var ErrStuck = errors.New("the run never ends")

// Layer puts something under a world: it gets the world's folder before anything is in it, and what
// it mounts on home in there carries the state. remove takes it away when the world is closed; what
// it carried is then left in its place if keep says so.
type Layer func(root string) (remove func(keep bool) error, err error)

// World is one state folder, one workspace, the model that is asked and the witness of what
// happens.
type World struct {
	Number      int
	Exe         string
	Root        string // of all of it
	Home        string
	State       string
	Dir         string // the workspace
	Env         []string
	Model       *model.Server
	Witness     *Witness
	hasMCP      bool                  // an MCP server is among its tools
	RemoveLayer func(bool) error      // see Layer; nil without one
	Launch      func(*exec.Cmd) error // starts a command of the binary; nil for one that starts like any other

	mu      sync.Mutex
	Outputs []judge.Output
}

// Limit is how long any command may take. A story's own commands take a moment, and nothing waits
// for a person.
const Limit = time.Minute

func New(number int, exe, root string, c *Counter, s *story.Story) (*World, error) {
	w := &World{Number: number, Exe: exe, Root: root, Home: filepath.Join(root, "home"), Dir: filepath.Join(root, "work")}
	w.State = filepath.Join(w.Home, "state")
	for _, d := range []string{filepath.Join(w.Home, ".config", "agent"), w.Dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	files := map[string]string{filepath.Join(w.Home, ".config", "agent", "config.toml"): s.Config(c.Addr())}
	for name, text := range s.Files {
		files[filepath.Join(w.Dir, name)] = text
	}
	if w.hasMCP = s.Subject.Server; w.hasMCP {
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		text, err := mcp.Config(exe, c.Addr(), number)
		if err != nil {
			return nil, err
		}
		files[filepath.Join(w.Home, ".config", "agent", "mcp.json")] = string(text)
	}
	if s.Shape == "runbook" {
		files[filepath.Join(w.Dir, "book.md")] = s.Book()
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	var err error
	if w.Witness, err = NewWitness(number, w.Dir, c); err != nil {
		return nil, err
	}
	if p := model.Protocols(s.Shape); p != nil {
		if w.Model, err = model.Start(p); err != nil {
			return nil, errors.Join(err, w.Witness.Close())
		}
	}
	w.Env = append(PlainEnv(), "HOME="+w.Home, "AGENT_HOME="+w.State, "NO_COLOR=1")
	w.Env = append(w.Env, model.Env(s.Shape, w.URL())...)
	return w, nil
}

// Beside is the same world seen from another state folder. Only the world itself is closed.
func (w *World) Beside(state string) *World {
	return &World{
		Number: w.Number, Exe: w.Exe, Root: w.Root, Home: w.Home, State: state, Dir: w.Dir, Env: append(slices.Clone(w.Env), "AGENT_HOME="+state),
		Model: w.Model, Witness: w.Witness, hasMCP: w.hasMCP, Launch: w.Launch,
	}
}

func (w *World) URL() string {
	if w.Model == nil {
		return ""
	}
	return w.Model.URL()
}

// Close ends what the world still runs. The folder stays when something was found in it.
func (w *World) Close(keep bool) error {
	var errs []error
	for _, p := range append(w.Drivers(), w.Runners()...) {
		errs = append(errs, p.Signal(syscall.SIGKILL))
	}
	errs = append(errs, w.Witness.Close())
	if w.Model != nil {
		errs = append(errs, w.Model.Close())
	}
	if w.RemoveLayer != nil {
		errs = append(errs, w.RemoveLayer(keep))
	}
	if !keep {
		errs = append(errs, os.RemoveAll(w.Root))
	}
	return errors.Join(errs...)
}

// Command is a process of the binary.
type Command struct {
	World *World
	Cmd   *exec.Cmd
	Text  terminaltest.Tape // what it has printed so far
	arm   string
	Args  []string
	Ended chan struct{}

	killedAt time.Time // see judge.Output
}

func (w *World) Start(arm string, args ...string) (*Command, error) {
	c := &Command{World: w, Cmd: exec.Command(w.Exe, args...), arm: arm, Args: args, Ended: make(chan struct{})}
	c.Cmd.Dir = w.Dir
	c.Cmd.Env = append([]string(nil), w.Env...)
	if arm != "" {
		c.Cmd.Env = append(c.Cmd.Env, "AGENT_FAULT="+arm, "AGENT_FAULT_UNSAFE=1")
	}
	c.Cmd.Stdout, c.Cmd.Stderr = &c.Text, &c.Text
	c.Cmd.WaitDelay = 2 * time.Second // what a command left behind may hold the pipe
	c.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	launch := w.Launch
	if launch == nil {
		launch = (*exec.Cmd).Start
	}
	if err := launch(c.Cmd); err != nil {
		return nil, fmt.Errorf("start agent %s: %v", strings.Join(args, " "), err)
	}
	go func() {
		// How it ended is in its state; a pipe that was held open is no matter.
		_ = c.Cmd.Wait()
		close(c.Ended)
	}()
	return c, nil
}

func (c *Command) Kill() {
	c.World.mu.Lock()
	if c.killedAt.IsZero() {
		c.killedAt = time.Now()
	}
	c.World.mu.Unlock()
	// One that is gone already is what is wanted.
	_ = c.Cmd.Process.Kill()
}

// Wait waits for the end, and keeps what was printed. ok is false when it did not end in time and
// was killed for it.
func (c *Command) Wait() (o judge.Output, ok bool) {
	late := time.NewTimer(Limit)
	defer late.Stop()
	ok = true
	select {
	case <-c.Ended:
	case <-late.C:
		ok = false
		c.Kill()
		<-c.Ended
	}
	o = judge.Output{PID: c.Cmd.Process.Pid, Args: c.Args, Arm: c.arm, Text: c.Text.String(), Code: c.Cmd.ProcessState.ExitCode()}
	if s, is := c.Cmd.ProcessState.Sys().(syscall.WaitStatus); is && s.Signaled() {
		o.Code, o.Killed = -9, true
	}
	c.World.mu.Lock()
	o.KilledAt = c.killedAt
	c.World.Outputs = append(c.World.Outputs, o)
	c.World.mu.Unlock()
	return o, ok
}

// ErrLate says that a command did not come to its end.
var ErrLate = errors.New("it does not end")

// Run carries out one command without a fault.
func (w *World) Run(_ context.Context, args ...string) (judge.Output, error) {
	c, err := w.Start("", args...)
	if err != nil {
		return judge.Output{}, err
	}
	o, ok := c.Wait()
	if !ok {
		return o, fmt.Errorf("agent %s: %w after %s", strings.Join(args, " "), ErrLate, Limit)
	}
	return o, nil
}

// Transcript is all that was done and printed, for who looks at a failure.
func (w *World) Transcript() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, o := range w.Outputs {
		fmt.Fprintf(&b, "$ %s agent %s\n%s(exit %d)\n", o.Arm, strings.Join(o.Args, " "), o.Text, o.Code)
	}
	return b.String()
}

// SaveTranscript writes what was done, printed and asked into the world's folder.
func (w *World) SaveTranscript(title string) error {
	err := os.WriteFile(filepath.Join(w.Root, "transcript"), []byte(title+"\n"+w.Transcript()), 0o600)
	if w.Model == nil {
		return err
	}
	b, e := json.MarshalIndent(w.Model.Exchanges(), "", " ")
	if e != nil {
		return errors.Join(err, e)
	}
	return errors.Join(err, os.WriteFile(filepath.Join(w.Root, "exchanges.json"), b, 0o600))
}
