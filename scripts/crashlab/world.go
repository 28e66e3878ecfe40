//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// world is one state folder, one workspace, the model that is asked and the witness of what happens.
type world struct {
	number    int
	exe       string
	root      string // of all of it
	home      string
	state     string
	dir       string // the workspace
	env       []string
	server    *server
	witness   *witness
	hasServer bool                  // of MCP
	unlay     func(bool) error      // see layer; nil without one
	launch    func(*exec.Cmd) error // starts a command of the binary; nil for one that starts like any other

	mu      sync.Mutex
	outputs []output
}

// output is what one command printed.
type output struct {
	args   []string
	arm    string
	pid    int
	text   string
	code   int // -9 when it was killed
	killed bool
	struck time.Time // before the lab killed it; zero where it did not
}

// limit is how long any command may take. A story's own commands take a moment, and nothing waits for a person.
const limit = time.Minute

func newWorld(number int, exe, root string, c *counter, s *story) (*world, error) {
	w := &world{number: number, exe: exe, root: root, home: filepath.Join(root, "home"), dir: filepath.Join(root, "work")}
	w.state = filepath.Join(w.home, "state")
	for _, d := range []string{filepath.Join(w.home, ".config", "agent"), w.dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	files := map[string]string{filepath.Join(w.home, ".config", "agent", "config.toml"): s.config(c.addr())}
	for name, text := range s.files {
		files[filepath.Join(w.dir, name)] = text
	}
	if w.hasServer = s.read.server; w.hasServer {
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		text, err := servers(exe, c.addr(), number)
		if err != nil {
			return nil, err
		}
		files[filepath.Join(w.home, ".config", "agent", "mcp.json")] = string(text)
	}
	if s.shape == "runbook" {
		files[filepath.Join(w.dir, "book.md")] = s.book()
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	var err error
	if w.witness, err = newWitness(number, w.dir, c); err != nil {
		return nil, err
	}
	if p := protocolOf(s.shape); p != nil {
		if w.server, err = startServer(p); err != nil {
			return nil, errors.Join(err, w.witness.close())
		}
	}
	w.env = append(plainEnv(), "HOME="+w.home, "AGENT_HOME="+w.state, "NO_COLOR=1")
	w.env = append(w.env, shapeEnv(s.shape, w.url())...)
	return w, nil
}

func (w *world) url() string {
	if w.server == nil {
		return ""
	}
	return w.server.url()
}

// close ends what the world still runs. The folder stays when something was found in it.
func (w *world) close(keep bool) error {
	var errs []error
	for _, p := range w.processes() {
		errs = append(errs, p.signal(syscall.SIGKILL))
	}
	errs = append(errs, w.witness.close())
	if w.server != nil {
		errs = append(errs, w.server.close())
	}
	if w.unlay != nil {
		errs = append(errs, w.unlay(keep))
	}
	if !keep {
		errs = append(errs, os.RemoveAll(w.root))
	}
	return errors.Join(errs...)
}

// command is a process of the binary.
type command struct {
	world *world
	cmd   *exec.Cmd
	text  page
	arm   string
	args  []string
	ended chan struct{}

	struck time.Time // see output
}

// page is what a command has printed so far.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (w *world) start(arm string, args ...string) (*command, error) {
	c := &command{world: w, cmd: exec.Command(w.exe, args...), arm: arm, args: args, ended: make(chan struct{})}
	c.cmd.Dir = w.dir
	c.cmd.Env = append([]string(nil), w.env...)
	if arm != "" {
		c.cmd.Env = append(c.cmd.Env, "AGENT_FAULT="+arm, "AGENT_FAULT_UNSAFE=1")
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.text, &c.text
	c.cmd.WaitDelay = 2 * time.Second // what a command left behind may hold the pipe
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	launch := w.launch
	if launch == nil {
		launch = (*exec.Cmd).Start
	}
	if err := launch(c.cmd); err != nil {
		return nil, fmt.Errorf("start agent %s: %v", strings.Join(args, " "), err)
	}
	go func() {
		// How it ended is in its state; a pipe that was held open is no matter.
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

func (c *command) kill() {
	c.world.mu.Lock()
	if c.struck.IsZero() {
		c.struck = time.Now()
	}
	c.world.mu.Unlock()
	// One that is gone already is what is wanted.
	_ = c.cmd.Process.Kill()
}

// wait waits for the end, and keeps what was printed. ok is false when it did not end in time and was killed for it.
func (c *command) wait() (o output, ok bool) {
	late := time.NewTimer(limit)
	defer late.Stop()
	ok = true
	select {
	case <-c.ended:
	case <-late.C:
		ok = false
		c.kill()
		<-c.ended
	}
	o = output{pid: c.cmd.Process.Pid, args: c.args, arm: c.arm, text: c.text.String(), code: c.cmd.ProcessState.ExitCode()}
	if s, is := c.cmd.ProcessState.Sys().(syscall.WaitStatus); is && s.Signaled() {
		o.code, o.killed = -9, true
	}
	c.world.mu.Lock()
	o.struck = c.struck
	c.world.outputs = append(c.world.outputs, o)
	c.world.mu.Unlock()
	return o, ok
}

// errLate says that a command did not come to its end.
var errLate = errors.New("it does not end")

// agent carries out one command without a fault.
func (w *world) agent(_ context.Context, args ...string) (output, error) {
	c, err := w.start("", args...)
	if err != nil {
		return output{}, err
	}
	o, ok := c.wait()
	if !ok {
		return o, fmt.Errorf("agent %s: %w after %s", strings.Join(args, " "), errLate, limit)
	}
	return o, nil
}

// transcript is all that was done and printed, for who looks at a failure.
func (w *world) transcript() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, o := range w.outputs {
		fmt.Fprintf(&b, "$ %s agent %s\n%s(exit %d)\n", o.arm, strings.Join(o.args, " "), o.text, o.code)
	}
	return b.String()
}

// keep writes what was done, printed and asked into the world's folder.
func (w *world) keep(title string) error {
	err := os.WriteFile(filepath.Join(w.root, "transcript"), []byte(title+"\n"+w.transcript()), 0o600)
	if w.server == nil {
		return err
	}
	b, e := json.MarshalIndent(w.server.exchanges(), "", " ")
	if e != nil {
		return errors.Join(err, e)
	}
	return errors.Join(err, os.WriteFile(filepath.Join(w.root, "exchanges.json"), b, 0o600))
}
