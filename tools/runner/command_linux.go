package runner

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agent/recovery/fault"
	"agent/tools/sandbox"
)

// largestArgument is the longest script that is passed as an argument; the kernel takes 128 KiB.
const largestArgument = 100 << 10

// After the command's end its output is read on until nothing came for quietTime, at most for
// drainTime: something that it started and left behind may hold the pipe open for ever.
const (
	quietTime = 50 * time.Millisecond
	drainTime = 500 * time.Millisecond
	drainRoom = 1 << 20 // the most that a pipe holds
)

// command is the command's first process, or the one that confines it. Until it is reaped its pid,
// and so the number of its group, stays ours.
type command struct {
	cmd     *exec.Cmd
	report  *sandbox.Report // tells the end of a command that is confined; nil where cmd's own end is the command's
	stays   bool            // the confining process may outlive the command
	out     *output
	begun   time.Time // measures
	date    time.Time // the same, by the clock
	write   *os.File  // its end of out's pipe, and
	script  *os.File  // its script where that is long: ours until it has its own copies
	run     chan bool // whether it is to run
	started chan error
	ended   chan struct{}
	bury    chan struct{}
	buried  chan error
	gone    chan struct{}       // closed once it is reaped
	told    *syscall.WaitStatus // by report; read after ended
}

// ready makes the command of s, in a group of its own, with empty input and both outputs in one
// pipe that feeds sp. What confines it is set up from here on, beside what is still to be done
// before the command may start. Then begin or drop it.
func ready(s Spec, sp *spool) (*command, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &command{
		cmd: &exec.Cmd{
			Path: s.Shell[0], Args: append(append([]string{}, s.Shell...), "-c", s.Script), Dir: s.Dir, Env: environment(s),
			Stdout: write, Stderr: write,
			// The parent here is the thread that starts it, see hold.
			SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		},
		out: &output{pipe: read, to: sp, done: make(chan struct{})}, write: write, run: make(chan bool),
		started: make(chan error), ended: make(chan struct{}), bury: make(chan struct{}), buried: make(chan error, 1), gone: make(chan struct{}),
	}
	if len(s.Script) > largestArgument {
		if c.script, err = sandbox.MemoryFile("script", []byte(s.Script)); err != nil {
			return nil, errors.Join(err, read.Close(), write.Close())
		}
		c.cmd.ExtraFiles = []*os.File{c.script}
		c.cmd.Args = append(append([]string{}, s.Shell...), "/proc/self/fd/3")
	}
	if s.Sandbox.Access != "" {
		c.stays = s.Sandbox.Access == sandbox.Full
		if c.report, err = s.Sandbox.WrapReported(c.cmd, "/proc/self/exe"); err != nil {
			c.closeOurs()
			return nil, errors.Join(err, read.Close())
		}
	}
	go c.hold()
	return c, nil
}

// closeOurs closes what belongs to the command alone.
func (c *command) closeOurs() {
	_ = c.write.Close() // the command has its own copy, or never was
	if c.script != nil {
		_ = c.script.Close() // the same
	}
}

// begin starts the command.
func (c *command) begin() error {
	c.run <- true
	err := <-c.started
	c.closeOurs()
	if err != nil {
		return errors.Join(err, c.out.pipe.Close())
	}
	go c.out.copy()
	return nil
}

// drop frees what a command holds that is not to run. What was to confine it is gone when it
// returns.
func (c *command) drop() {
	c.run <- false
	<-c.started
	c.closeOurs()
	_ = c.out.pipe.Close() // nothing was written
}

// hold starts the command and waits for it. The death signal fires when the *thread* that forked
// ends, so this goroutine keeps its thread until the command is at its end.
func (c *command) hold() {
	runtime.LockOSThread()
	var err error
	if c.report != nil {
		err = c.cmd.Start()
	}
	if !<-c.run {
		c.giveUp(err == nil && c.report != nil)
		c.started <- nil
		return
	}
	c.begun, c.date = time.Now(), fault.Now()
	if err = c.start(err); err != nil {
		c.started <- err
		return
	}
	c.started <- nil
	gone := make(chan struct{})
	if c.report != nil {
		go c.hear(gone)
	}
	for errors.Is(unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue // only a signal of our own
	}
	close(gone)
	if c.report == nil {
		close(c.ended)
	}
	<-c.bury
	c.buried <- c.cmd.Wait()
	close(c.gone)
}

// giveUp ends what was to confine the command, if that was started, before the command is.
func (c *command) giveUp(started bool) {
	if c.report != nil {
		c.report.Abort()
	}
	if started {
		// Without its gate it ends by itself; how it ends is no news of the command.
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// start starts the command, and where it is confined waits until it runs. err is why what confines
// it could not be started.
func (c *command) start(err error) error {
	if c.report == nil {
		return c.cmd.Start()
	}
	if err != nil {
		c.report.Abort()
		return err
	}
	direct, err := c.report.Started()
	if err != nil {
		// Nothing of the command ran. What was to confine it is going, or is made to.
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // the error below says why it ended
		return err
	}
	if direct {
		c.report = nil
	}
	return nil
}

// hear takes the end of a command that is confined from the process that confines it. gone is that
// process's own end, before which everything but what a full command left is gone too.
func (c *command) hear(gone <-chan struct{}) {
	if status, ok := c.report.Ended(); ok {
		c.told = &status
	}
	if c.told == nil || !c.stays {
		<-gone
	}
	close(c.ended)
}

// status reaps the command, which is at its end, and says how that was.
func (c *command) status() (code int, signal string, cause Cause) {
	close(c.bury)
	var w syscall.WaitStatus
	if c.told != nil {
		w = *c.told
	} else {
		err := <-c.buried
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return -1, "", CauseLost
		}
		var ok bool
		if w, ok = c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok {
			return -1, "", CauseLost
		}
		if c.report != nil && w.Exited() {
			return -1, "", CauseLost // its own exit code is none of the command's
		}
	}
	switch {
	case w.Signaled():
		return 128 + int(w.Signal()), unix.SignalName(w.Signal()), CauseSignalled
	case w.Exited():
		return w.ExitStatus(), "", CauseExited
	}
	return -1, "", CauseLost
}

// environment is the specification's and the mark, and never a fault meant for us.
func environment(s Spec) []string {
	env := make([]string, 0, len(s.Env)+1)
	for _, entry := range s.Env {
		if !strings.HasPrefix(entry, "AGENT_FAULT") && !strings.HasPrefix(entry, MarkName+"=") {
			env = append(env, entry)
		}
	}
	return append(env, MarkName+"="+s.Mark())
}

// output moves what the command prints into the spool.
type output struct {
	pipe *os.File
	to   *spool // owned by copy until done
	done chan struct{}
	last atomic.Pointer[time.Time] // set at the command's end: when reading ends at the latest
	eof  bool                      // nobody holds the other end any more; read after done
}

func (o *output) copy() {
	defer close(o.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := o.pipe.Read(buf)
		_, _ = o.to.Write(buf[:n]) // never fails: it counts what it cannot record
		if err != nil {
			o.eof = errors.Is(err, io.EOF)
			return
		}
		if last := o.last.Load(); last != nil {
			o.until(*last)
		}
	}
}

func (o *output) until(last time.Time) {
	next := time.Now().Add(quietTime)
	if next.After(last) {
		next = last
	}
	// A pipe that takes no deadline is none of ours.
	_ = o.pipe.SetReadDeadline(next)
}

// finish reads what is left after the command's end, and returns when the spool is complete.
func (o *output) finish() {
	last := time.Now().Add(drainTime)
	o.last.Store(&last)
	o.until(last)
	<-o.done
	if !o.eof {
		o.rest()
	}
}

// rest takes what lies in the pipe at this moment: on a busy machine a deadline may pass before the
// first read.
func (o *output) rest() {
	_ = o.pipe.SetReadDeadline(time.Time{}) // as above
	raw, err := o.pipe.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for got := 0; got < drainRoom; {
		n := 0
		var rerr error
		err := raw.Read(func(fd uintptr) bool {
			n, rerr = unix.Read(int(fd), buf)
			return true // never waits
		})
		o.eof = err == nil && rerr == nil && n == 0
		if n <= 0 || err != nil {
			return
		}
		_, _ = o.to.Write(buf[:n]) // as in copy
		got += n
	}
}

// linger reads and forgets what comes after the call's end, until nobody can write any more:
// closing the pipe would kill a server that was left running as soon as it prints a line.
func (o *output) linger() {
	if !o.eof {
		_, _ = io.Copy(io.Discard, o.pipe) // there is nobody left to tell
	}
	_ = o.pipe.Close() // as above
}
