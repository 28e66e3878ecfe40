//go:build !portable

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"agent/tools/process/procfs"
)

// BootID is Boot for who has to know that there is one.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// Alive says whether the named process still runs on this machine.
func (i Identity) Alive() bool {
	return i.PID > 0 && i.Boot == Boot() && i.Start != "" && i.Start == startTime(i.PID)
}

// Stopped says whether the process was stopped (SIGSTOP).
func (i Identity) Stopped() bool {
	s, err := procfs.Read(strconv.Itoa(i.PID))
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

// startTime is empty for a process that is gone.
func startTime(pid int) string {
	s, err := procfs.Read(strconv.Itoa(pid))
	if err != nil {
		return ""
	}
	return strconv.FormatUint(s.Start, 10)
}
