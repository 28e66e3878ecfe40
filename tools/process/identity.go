package process

import (
	"fmt"
	"os"
)

// Identity names a process beyond the reuse of its number.
type Identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // as the kernel gives it, clock ticks since boot on Linux; empty where it does not
	Boot  string `json:"boot"`
	Host  string `json:"host"`
}

// Self is the identity of this process.
func Self() Identity {
	pid := os.Getpid()
	name, err := os.Hostname()
	if err != nil {
		name = "unknown" // the name is for people only
	}
	return Identity{PID: pid, Start: startTime(pid), Boot: Boot(), Host: name}
}

func (i Identity) String() string {
	if i.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s", i.PID, i.Host)
}
