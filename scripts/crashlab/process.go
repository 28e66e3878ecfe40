//go:build linux

package main

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

// process is one of the world's own: its command line names a folder of the world's calls.
type process struct {
	pid   int
	start string // clock ticks from boot; a pid may be used again
	state byte
}

func (p process) signal(s syscall.Signal) error {
	now, ok := processAt(p.pid)
	if !ok || now.start != p.start {
		return nil // gone, which is what was wanted
	}
	if err := syscall.Kill(p.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %v", p.pid, err)
	}
	return nil
}

// processAt reads /proc/PID/stat (proc_pid_stat(5)): the name in parentheses may hold anything.
func processAt(pid int) (process, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	_, rest, ok := bytes.Cut(b[bytes.LastIndexByte(b, ')'):], []byte(" "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 20 {
		return process{}, false
	}
	return process{pid: pid, state: fields[0][0], start: fields[19]}, fields[0] != "Z"
}

// processes lists the runners of the world's calls.
func (w *world) processes() []process { return runnersBelow(filepath.Join(w.state, "calls")) }

// runnersBelow lists the runners whose calls lie below a folder.
func runnersBelow(folder string) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	calls := folder + "/"
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !bytes.Contains(line, []byte("\x00__runner\x00"+calls)) {
			continue
		}
		if p, ok := processAt(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// stopped waits until a runner of the world stands still at its armed point; false when the command ended first.
func (w *world) stopped(c *command) (process, bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for {
		for _, p := range w.processes() {
			if p.state == 'T' {
				return p, true
			}
		}
		select {
		case <-tick.C:
		case <-c.ended:
			return process{}, false
		case <-late:
			return process{}, false
		}
	}
}

// runnersEnd waits until no runner of the world is left, or for as long as a command may take.
func (w *world) runnersEnd() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for len(w.processes()) > 0 {
		select {
		case <-tick.C:
		case <-late:
			return
		}
	}
}
