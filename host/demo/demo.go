// Package demo shows what agent is for: it starts a run in a folder of its own, kills the process
// that drives it in the middle of a command, and has the run go on.
package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed demo.md
var book string

// witness is the file in which each step of the runbook leaves a line.
const witness = "witness.txt"

// want is what it holds where each step was carried out once.
const want = "one\ntwo\nthree\n"

// Demo is one show.
type Demo struct {
	Exe    string    // this binary
	Out    io.Writer // gets what is done and what the runs say
	Folder string    // holds all of it, and the state of its runs; it must be empty
}

// Run shows it. It takes about six seconds. An error says what was not as promised.
func (d Demo) Run(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(d.Folder, "demo.md"), []byte(book), 0o600); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.say("Three commands, each leaves a line in %s; the second takes a while.\n", witness)
	d.say("$ agent run -f demo.md &")
	host := d.agent(ctx, "run", "-f", "demo.md")
	if err := host.Start(); err != nil {
		return fmt.Errorf("demo: start a run: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- host.Wait() }()
	if err := d.untilTwo(ctx, ended); err != nil {
		return errors.Join(err, kill(host, ended))
	}
	d.say("\n$ kill -9 %d        # the process that drives the run; nobody can catch that", host.Process.Pid)
	if err := kill(host, ended); err != nil {
		return fmt.Errorf("demo: kill the host: %w", err)
	}
	d.say("\n$ agent resume last")
	if err := d.agent(ctx, "resume", "last").Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("demo: resume the run: %w", err)
	}
	got, err := os.ReadFile(filepath.Join(d.Folder, witness))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.say("\n$ cat %s\n%s", witness, strings.TrimSuffix(string(got), "\n"))
	if string(got) != want {
		return fmt.Errorf("demo: %s holds %q, not each line once", witness, got)
	}
	d.say("\nEach line once: nothing was lost, and nothing was done twice.")
	return nil
}

func (d Demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Out, format+"\n", args...) // a reader that went away sees nothing of the rest
}

// agent is a command of agent in the demo's folder, with a state folder of its own, and without the
// person's configuration: the show is the same for everybody.
func (d Demo) agent(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, d.Exe, args...)
	home := filepath.Join(d.Folder, "home")
	c.Dir, c.Env = d.Folder, append(os.Environ(), "AGENT_HOME="+filepath.Join(d.Folder, "state"), "HOME="+home,
		"XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_CACHE_HOME="+filepath.Join(home, "cache"))
	c.Stdout, c.Stderr = d.Out, d.Out
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	return c
}

// untilTwo waits until the second command is in its middle.
func (d Demo) untilTwo(ctx context.Context, ended chan error) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if text, err := os.ReadFile(filepath.Join(d.Folder, witness)); err == nil && strings.Contains(string(text), "two") {
			return nil
		}
		select {
		case <-look.C:
		case err := <-ended:
			ended <- err
			return errors.New("demo: the run ended before it could be killed")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// kill ends a process that may have ended, and waits for it.
func kill(c *exec.Cmd, ended chan error) error {
	err := c.Process.Kill()
	<-ended // how it ended is what was asked for
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
