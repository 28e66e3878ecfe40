//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runner

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// After the command's end its output is read on until nothing came for quietTime, at most for
// drainTime: something that it started and left behind may hold the pipe open for ever.
const (
	quietTime = 50 * time.Millisecond
	drainTime = 500 * time.Millisecond
	drainRoom = 1 << 20 // the most that a pipe holds
)

// statusOf says how a command ended.
func statusOf(w syscall.WaitStatus) (code int, signal string, cause Cause) {
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
