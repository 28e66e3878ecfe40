//go:build linux

package world

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Drivers lists the processes that drive runs of the world in the background.
func (w *World) Drivers() []Process {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	var out []Process
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.HasSuffix(line, []byte("\x00__drive\x00")) {
			continue
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if err != nil || !bytes.Contains(env, []byte("AGENT_HOME="+w.State+"\x00")) {
			continue // of another world, or gone meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if p, ok := ProcessAt(pid); ok && err == nil {
			out = append(out, p)
		}
	}
	return out
}

// WaitDrivers waits until no process drives in the background any more, or rests says that one only
// listens. It says whether that came in time.
func (w *World) WaitDrivers(rests func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(Limit)
	for len(w.Drivers()) > 0 && !rests() {
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
	return true
}
