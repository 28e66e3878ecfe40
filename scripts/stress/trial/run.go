//go:build linux

package trial

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Conditions are what all runs of a test have in common.
type Conditions struct {
	Timeout time.Duration // after which the test prints its goroutines and fails
	Dearest time.Duration // the processor time of one run at which it is ended; 0 is any
}

// Result is one run of a test.
type Result struct {
	Outcome Outcome
	Repeat  Repeat
	Output  []byte
	CPU     time.Duration // of the test and of the processes that it waited for
	Clock   time.Duration
	Halted  bool // it was stopped, and went on
}

// Run runs a test once. The process group of the test is stopped after the given time if that is
// part of the repeat, and killed when ctx ends or the run becomes too dear.
func (b Binary) Run(ctx context.Context, name string, r Repeat, stopAfter time.Duration, cond Conditions) (Result, error) {
	// A file, and no pipe: a process that the test left behind may hold it open for long.
	output, err := os.CreateTemp("", "stress-output-")
	if err != nil {
		return Result{}, err
	}
	defer os.Remove(output.Name())
	defer output.Close()

	c := exec.Command(b.File, "-test.run", pattern(name), "-test.count=1", "-test.v=test2json", "-test.paniconexit0", "-test.timeout", cond.Timeout.String())
	c.Dir, c.Stdout, c.Stderr = b.Folder, output, output
	c.Env = append(os.Environ(), "AGENT_TESTS=whole", "PWD="+b.Folder)
	if r.Procs > 0 {
		c.Env = append(c.Env, "GOMAXPROCS="+strconv.Itoa(r.Procs))
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	began := time.Now()
	if err := c.Start(); err != nil {
		return Result{}, fmt.Errorf("start %s: %w", name, err)
	}
	how := &watch{group: c.Process.Pid, dearest: cond.Dearest}
	if r.Stopped {
		how.stopAfter = max(stopAfter, time.Millisecond)
	}
	how.until(ctx)
	failure := c.Wait()

	result := Result{Repeat: r, Clock: time.Since(began), Halted: how.halted}
	result.CPU = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	text, err := os.ReadFile(output.Name())
	if err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	result.Output, result.Outcome = plain(text), read(name, failure == nil, text)
	if how.dear {
		result.Outcome = TooDear
	}
	return result, nil
}

// watch looks at a process group until its leader ends. The leader is not reaped meanwhile, so
// its number is that of the group whenever a signal is sent.
type watch struct {
	group     int
	stopAfter time.Duration // 0 is never
	dearest   time.Duration // 0 is any

	halted, dear bool
}

// look is how often the processor time of a run is compared with what it may use.
const look = 200 * time.Millisecond

func (w *watch) until(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for unix.Waitid(unix.P_PID, w.group, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()

	var halt, resume, compare <-chan time.Time
	if w.stopAfter > 0 {
		halt = time.After(w.stopAfter)
	}
	if w.dearest > 0 {
		ticker := time.NewTicker(look)
		defer ticker.Stop()
		compare = ticker.C
	}

	interrupted := ctx.Done()
	for {
		select {
		case <-ended:
			return
		case <-halt:
			w.halted = w.signal(unix.SIGSTOP)
			resume = time.After(StopTime)

		case <-resume:
			w.signal(unix.SIGCONT)

		case <-compare:
			if s, err := stat(w.group); err == nil && s.used > w.dearest && !w.dear {
				w.dear = true
				w.kill()
			}

		case <-interrupted:
			w.kill()
			interrupted = nil
		}
	}
}

// signal sends a signal to the group, and reports whether its leader was still running.
func (w *watch) signal(s unix.Signal) bool {
	leader, err := stat(w.group)
	return unix.Kill(-w.group, s) == nil && err == nil && leader.state != "Z"
}

// kill ends the group, and those below its leader that have a group of their own.
func (w *watch) kill() {
	below := descendants(w.group)
	w.signal(unix.SIGKILL)
	for _, pid := range below {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended with the group
	}
}

// descendants are the processes below another.
func descendants(pid int) (found []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil // without it there is the group
	}

	children := map[int][]int{}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := stat(child); err == nil { // else it has just ended
			children[s.parent] = append(children[s.parent], child)
		}
	}

	for open := []int{pid}; len(open) > 0; open = open[1:] {
		found = append(found, children[open[0]]...)
		open = append(open, children[open[0]]...)
	}
	return found
}

// status is what the kernel shows of a process.
type status struct {
	state  string
	parent int
	used   time.Duration // by it and by the children that it waited for
}

func stat(pid int) (status, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, err
	}
	// Its name, in parentheses, may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return status{}, fmt.Errorf("read /proc/%d/stat: %d fields", pid, len(fields))
	}

	s := status{state: fields[0]}
	if s.parent, err = strconv.Atoi(fields[1]); err != nil {
		return status{}, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
	}

	for _, f := range fields[11:15] { // utime, stime, cutime, cstime, in hundredths of a second
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return status{}, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
		}
		s.used += time.Duration(n) * 10 * time.Millisecond
	}
	return s, nil
}
