package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity names a process beyond the reuse of its number.
type Identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // clock ticks since boot, as the kernel says; empty where it does not
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

// Alive says whether the named process still runs on this machine.
func (i Identity) Alive() bool {
	return i.PID > 0 && i.Boot == Boot() && i.Start != "" && i.Start == startTime(i.PID)
}

// Stopped says whether the process was stopped (SIGSTOP).
func (i Identity) Stopped() bool {
	s, err := ReadStat(strconv.Itoa(i.PID))
	return err == nil && i.Alive() && s.State == 'T'
}

// Ending says whether the named process of this boot has ended or was killed and is about to
// (proc_pid_status(5)); false where the system does not show that.
func (i Identity) Ending() bool {
	if i.PID <= 0 || i.Boot != Boot() || i.Start == "" {
		return false
	}
	if !i.Alive() {
		return true
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", i.PID))
	if err != nil {
		return true // it ended just now
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "State":
			if strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X") {
				return true
			}
		case "SigPnd", "ShdPnd":
			if mask, err := strconv.ParseUint(value, 16, 64); err == nil && mask&(1<<8) != 0 { // SIGKILL is signal 9
				return true
			}
		}
	}
	return false
}

func (i Identity) String() string {
	if i.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s", i.PID, i.Host)
}

// startTime is empty for a process that is gone, or where there is no such file system.
func startTime(pid int) string {
	s, err := ReadStat(strconv.Itoa(pid))
	if err != nil {
		return ""
	}
	return strconv.FormatUint(s.Start, 10)
}
