package githook

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxUp is how many shells there may be between the hook and the git that runs it.
const maxUp = 4

// ticks is how many units of the kernel's clock a second has, on every system with Linux.
const ticks = 100

// parent is the git that runs the hook: its arguments, and when it began since the machine did.
func parent() (args []string, began time.Duration, ok bool) {
	pid := os.Getppid()
	for range maxUp {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return nil, 0, false
		}
		at := bytes.LastIndexByte(text, ')')
		words := strings.Fields(string(text[at+1:]))
		if at < 0 || len(words) < 20 {
			return nil, 0, false
		}
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil {
			return nil, 0, false
		}
		if args = strings.Split(string(line), "\x00"); !isShell(filepath.Base(args[0])) { // a script's own name is no shell's
			n, err := strconv.ParseInt(words[19], 10, 64) // starttime, proc_pid_stat(5)
			return args, time.Duration(n) * time.Second / ticks, err == nil
		}
		if pid, err = strconv.Atoi(words[1]); err != nil || pid < 2 {
			return nil, 0, false
		}
	}
	return nil, 0, false
}

func isShell(name string) bool {
	switch name {
	case "sh", "dash", "bash", "ash", "busybox", "zsh", "ksh":
		return true
	}
	return false
}

// running is how long the git that runs the hook has been at it; 0 where that is not known.
func running() time.Duration {
	_, began, ok := parent()
	var now unix.Timespec
	if !ok || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return max(time.Duration(now.Nano())-began, 0)
}

// unverified says whether git was asked to run no hook behind this one.
func (message) unverified() bool {
	args, _, _ := parent()
	for _, arg := range args {
		if arg == "--no-verify" || len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "n") {
			return true
		}
	}
	return false
}
