package testkit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// machine describes what there is to see of a wait that failed: what this process does, and what
// else runs. What a system does not show is left out.
func machine() string {
	text := "goroutines:\n" + string(stacks())
	if processes := processesOf("/proc", os.Getuid()); processes != "" {
		text += "\nprocesses of this user:\n" + processes
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		text += fmt.Sprintf("\nload, on %d processors: %s", runtime.NumCPU(), load)
	}
	return text
}

// stacks are those of all goroutines, that of the caller first.
func stacks() []byte {
	for size := 1 << 16; ; size *= 2 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, true); n < size {
			return buffer[:n]
		}
	}
}

// processesOf lists the processes of a user, a line each, by a folder that has the form of Linux's
// /proc. A process that ended meanwhile, or that is hidden, is left out.
func processesOf(proc string, user int) string {
	folders, err := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	if err != nil {
		return "" // the pattern is right, and it is the only error
	}

	var lines strings.Builder
	for _, folder := range folders {
		status, err := os.ReadFile(filepath.Join(folder, "status"))
		if err != nil || !strings.HasPrefix(field(status, "Uid"), strconv.Itoa(user)+"\t") {
			continue
		}
		command, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil {
			continue
		}

		line := strings.TrimSpace(string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
		if line == "" {
			line = "[" + field(status, "Name") + "]"
		}
		fmt.Fprintf(&lines, "%s, parent %s, %s: %.200q\n", filepath.Base(folder), field(status, "PPid"), field(status, "State"), line)
	}
	return lines.String()
}

// field is a value of /proc/PID/status.
func field(status []byte, name string) string {
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
