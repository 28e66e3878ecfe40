//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"agent/recovery/fault"
	"agent/tools/ofd"
)

// largestArgument is the longest script that is passed as an argument.
const largestArgument = 100 << 10

// Descriptors that the command inherits beside its three: its script where that is long, which it
// closes, and the lock of alive, out of the way of what scripts use.
const (
	scriptFD = 3
	aliveFD  = 99
)

// command is the command's first process, in the group of its guard.
type command struct {
	cmd    *exec.Cmd
	guard  *guard
	alive  *ofd.File // until the command has its own copy
	out    *output
	begun  time.Time // measures
	date   time.Time // the same, by the clock
	write  *os.File  // its end of out's pipe, and
	script *os.File  // of the pipe that feed goes through: ours until it has its own copies
	feed   *os.File
	text   string // what feed gets
	ended  chan struct{}
	err    error // of its end; read after ended
}

// ready makes the command, with empty input and both outputs in one pipe that feeds the spool, and
// has its guard come up beside what is still to be done. Then begin or drop it.
func (k *keeper) ready() (*command, error) {
	s := k.spec
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &command{
		cmd: &exec.Cmd{
			Path: s.Shell[0], Args: append(slices.Clone(s.Shell), "-c", s.Script), Dir: s.Dir, Env: environment(s), Stdout: write, Stderr: write,
		},
		alive: k.alive, out: &output{pipe: read, to: k.spool, done: make(chan struct{})}, write: write, ended: make(chan struct{}),
	}
	files := make([]*os.File, aliveFD-scriptFD+1) // what is nil is closed in the command
	files[aliveFD-scriptFD] = k.alive.File()
	if len(s.Script) > largestArgument {
		if err := c.pipeScript(s); err != nil {
			return nil, errors.Join(err, read.Close(), write.Close())
		}
		files[0] = c.script
	}
	c.cmd.ExtraFiles = files
	if s.Sandbox.Access != "" {
		_, err = s.Sandbox.WrapReported(c.cmd, "")
	}
	if err == nil {
		c.guard, err = startGuard()
	}
	if err != nil {
		c.closeOurs()
		return nil, errors.Join(err, read.Close())
	}
	return c, nil
}

// pipeScript has the shell read its script from a pipe. It carries it out only when it has all of
// it: a runner that is killed while it writes leaves a part.
func (c *command) pipeScript(s Spec) (err error) {
	if strings.IndexByte(s.Script, 0) >= 0 {
		return errors.New("a script cannot hold a NUL byte")
	}
	sum := sha256.Sum256([]byte(s.Script))
	end := "end-" + hex.EncodeToString(sum[:])
	c.text = s.Script + end
	load := `agent_script=$(/bin/cat <&3) || exit 126; exec 3<&-
case $agent_script in *` + end + `) ;; *) exit 126 ;; esac
eval "unset agent_script; ${agent_script%` + end + `}"`
	c.cmd.Args = append(slices.Clone(s.Shell), "-c", load)
	c.script, c.feed, err = os.Pipe()
	return err
}

// closeOurs closes what belongs to the command alone.
func (c *command) closeOurs() {
	_, _ = c.write.Close(), c.alive.Close() // the command has its own copies, or never was
	if c.script != nil {
		_ = c.script.Close() // the same
	}
}

// begin starts the command in the group of its guard.
func (c *command) begin() error {
	err := c.guard.ready()
	if err == nil {
		c.begun, c.date = time.Now(), fault.Now()
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: c.guard.group()}
		err = c.cmd.Start()
	}
	c.closeOurs()
	if err != nil {
		c.guard.letGo()
		if c.feed != nil {
			_ = c.feed.Close() // nothing was written
		}
		return errors.Join(err, c.out.pipe.Close())
	}
	if c.feed != nil {
		go func() {
			_, _ = c.feed.WriteString(c.text) // a command that ended reads no more
			_ = c.feed.Close()                // it was written
		}()
	}
	go c.out.copy()
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	return nil
}

// drop frees what a command holds that is not to run.
func (c *command) drop() {
	c.guard.letGo()
	c.closeOurs()
	if c.feed != nil {
		_ = c.feed.Close() // nothing was written
	}
	_ = c.out.pipe.Close() // the same
}

// letGo ends the guard once the record of the command's end is durable: what the command left
// behind stays from here on.
func (c *command) letGo() { c.guard.letGo() }

// buryOrphans has nothing to do: the orphans of a command fall to the system's first process.
func (c *command) buryOrphans() {}

// status says how the command, which is at its end, ended.
func (c *command) status() (code int, signal string, cause Cause) {
	var exit *exec.ExitError
	if c.err != nil && !errors.As(c.err, &exit) {
		return -1, "", CauseLost
	}
	w, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return -1, "", CauseLost
	}
	return statusOf(w)
}
