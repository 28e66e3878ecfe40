//go:build linux

package world

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is one of the world's own: its command line names a folder of the world's calls.
type Process struct {
	PID   int
	start string // clock ticks from boot; a pid may be used again
	State byte
}

func (p Process) Signal(s syscall.Signal) error {
	now, ok := ProcessAt(p.PID)
	if !ok || now.start != p.start {
		return nil // gone, which is what was wanted
	}
	if err := syscall.Kill(p.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %v", p.PID, err)
	}
	return nil
}

// ProcessAt reads /proc/PID/stat (proc_pid_stat(5)): the name in parentheses may hold anything.
func ProcessAt(pid int) (Process, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, false
	}
	_, rest, ok := bytes.Cut(b[bytes.LastIndexByte(b, ')'):], []byte(" "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 20 {
		return Process{}, false
	}
	return Process{PID: pid, State: fields[0][0], start: fields[19]}, fields[0] != "Z"
}

// Runners lists the runners of the world's calls.
func (w *World) Runners() []Process { return RunnersBelow(filepath.Join(w.State, "calls")) }

// RunnersBelow lists the runners whose calls lie below a folder.
func RunnersBelow(folder string) []Process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	calls := folder + "/"
	var out []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !bytes.Contains(line, []byte("\x00__runner\x00"+calls)) {
			continue
		}
		if p, ok := ProcessAt(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// WaitStopped waits until a runner of the world is stopped at its armed point; false when the
// command ended first.
func (w *World) WaitStopped(c *Command) (Process, bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(Limit)
	for {
		for _, p := range w.Runners() {
			if p.State == 'T' {
				return p, true
			}
		}
		select {
		case <-tick.C:
		case <-c.Ended:
			return Process{}, false
		case <-late:
			return Process{}, false
		}
	}
}

// ReleaseStopped lets each runner go on that is stopped, until the command ends.
func (w *World) ReleaseStopped(c *Command) error {
	for {
		p, ok := w.WaitStopped(c)
		if !ok {
			return nil
		}
		if err := p.Signal(syscall.SIGCONT); err != nil {
			return err
		}
	}
}

// WaitRunners waits until no runner of the world is left, or for as long as a command may take.
func (w *World) WaitRunners() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(Limit)
	for len(w.Runners()) > 0 {
		select {
		case <-tick.C:
		case <-late:
			return
		}
	}
}
