//go:build !portable

package runner

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"agent/recovery/fault"
	"agent/tools/sandbox"
)

// largestArgument is the longest script that is passed as an argument; the kernel takes 128 KiB.
const largestArgument = 100 << 10

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

// ready makes the command, in a group of its own, with empty input and both outputs in one pipe
// that feeds the spool. What confines it is set up from here on, beside what is still to be done
// before the command may start. Then begin or drop it.
func (k *keeper) ready() (*command, error) {
	s, sp := k.spec, k.spool
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

// letGo has nothing to do: what the command left behind depends on nobody.
func (c *command) letGo() {}

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
	return statusOf(w)
}

// buryOrphans takes away the zombies of processes that the command left to this one, and never the
// command itself. It looks at children alone: a machine may have thousands of processes, and every
// call ends with a death.
func (c *command) buryOrphans() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	mine, gone := c.cmd.Process.Pid, c.gone
	for {
		for pid := deadChild(); pid > 0 && pid != mine; pid = deadChild() {
			if n, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); n != pid || err != nil {
				break // zombies only take up room
			}
		}
		// While the command's own zombie stands it may hide others, which only wait a little
		// longer.
		select {
		case <-ended:
		case <-gone:
			mine, gone = 0, nil
		}
	}
}

// deadChild is the pid of a child that waits to be reaped; 0 if there is none.
func deadChild() int {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) // never waits
	if err != nil || info.Signo == 0 {
		return 0
	}
	// siginfo_t of the kernel (asm-generic/siginfo.h): after three numbers comes a union, aligned
	// as a pointer is, and for the end of a child it begins with the pid.
	const align = unsafe.Sizeof(uintptr(0))
	const at = (unsafe.Sizeof([3]int32{}) + align - 1) &^ (align - 1)
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at)))
}
