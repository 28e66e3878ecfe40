package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"agent/tools/ofd"
)

// Identity names a process beyond the reuse of its number: boot, number and start time.
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
	return Identity{PID: pid, Start: startTime(pid), Boot: bootID(), Host: name}
}

// Alive says whether the named process still runs on this machine.
func (i Identity) Alive() bool {
	return i.PID > 0 && i.Boot == bootID() && i.Start != "" && i.Start == startTime(i.PID)
}

// ending says whether the named process of this boot has ended or was killed and is about to (proc_pid_status(5)); false
// where the system does not tell.
func (i Identity) ending() bool {
	if i.PID <= 0 || i.Boot != bootID() || i.Start == "" {
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

// bootID is the kernel's name for this boot; empty where there is none.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "" // no such file outside Linux: a reboot is then taken for a crash
	}
	return strings.TrimSpace(string(b))
}

// startTime reads field 22 of /proc/<pid>/stat (proc_pid_stat(5)); the name in field 2 may hold spaces.
func startTime(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "" // gone, or no such file system
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return ""
	}
	return fields[19]
}

// lockText is what a lock file says of its holder. The lock is the authority; this is for messages, for a takeover, and for the
// cause of an interruption that could not be recorded.
type lockText struct {
	Identity
	Failed string `json:"failed,omitempty"` // why the holder could not record anything any more
}

// maxFailed bounds lockText.Failed; bytes.
const maxFailed = 512

func describeLock(f *ofd.File, holder Identity, failed string) error {
	text, err := json.Marshal(lockText{holder, brief(failed, maxFailed)})
	if err != nil {
		return err
	}
	return f.Describe(string(text))
}

func readLock(path string) (lockText, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return lockText{}, fmt.Errorf("read lock file %s: %v", path, err)
	}
	var t lockText
	if err := json.Unmarshal(b, &t); err != nil {
		return lockText{}, errors.New("lock file " + path + " names no holder")
	}
	return t, nil
}

func readHolder(path string) (Identity, error) {
	t, err := readLock(path)
	return t.Identity, err
}
