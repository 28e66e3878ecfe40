// Package procfs reads what Linux shows of processes in /proc (proc_pid_stat(5)).
package procfs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Stat is what the kernel says of a process in /proc/PID/stat.
type Stat struct {
	PID     int
	Name    string
	State   byte // R, S, D, T, Z, X, ...
	Parent  int
	Session int
	Threads int
	Start   uint64 // clock ticks since boot
}

// Read reads the Stat of a process by its number, or of this one by "self".
func Read(pid string) (Stat, error) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return Stat{}, err
	}
	// The name may hold anything, brackets too; what follows its last bracket is plain.
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Stat{}, fmt.Errorf("read /proc/%s/stat: no name in it", pid)
	}
	rest := strings.Fields(string(b[end+1:]))
	if len(rest) < 20 {
		return Stat{}, fmt.Errorf("read /proc/%s/stat: %d fields after the name", pid, len(rest))
	}
	start, err := strconv.ParseUint(rest[19], 10, 64)
	if err != nil {
		return Stat{}, fmt.Errorf("read /proc/%s/stat: start time: %w", pid, err)
	}
	number := func(s string) int { // fields of the kernel's own making
		n, _ := strconv.Atoi(s)
		return n
	}
	return Stat{
		PID: number(strings.TrimSpace(string(b[:open]))), Name: string(b[open+1 : end]), State: rest[0][0],
		Parent: number(rest[1]), Session: number(rest[3]), Threads: number(rest[17]), Start: start,
	}, nil
}

// Dead says that the process runs no more and waits to be reaped. A first thread that ended before
// the others shows as a zombie too, while the process runs on.
func (s Stat) Dead() bool { return s.State == 'X' || s.State == 'Z' && s.Threads <= 1 }
