//go:build !portable

package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"golang.org/x/sys/unix"

	"agent/tools/process"
	"agent/tools/sandbox"
	"agent/tools/sigaction"
)

// means is empty: the kernel kills the command with the runner, and shows what it started.
//
//lint:ignore U1000 other systems have something in it
type means struct{}

// guardName names no process here: the kernel does what it is for.
const guardName = "\x00"

func guardMain() int { return codeNoLock }

// takePlace has orphans of the command fall to this process, so that its tree can be found whole.
func (k *keeper) takePlace() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of the command's orphans: %w", err)
	}
	me, err := readProc("self")
	if err != nil {
		return err
	}
	if me.session != me.Pid {
		return errors.New("it has no session of its own")
	}
	k.me = me.Process
	return nil
}

// origin says where a pid of this process means something.
func origin() (boot, space string, err error) {
	if boot, err = process.BootID(); err != nil {
		return "", "", fmt.Errorf("read the boot id: %w", err)
	}
	if space, err = pidSpace(); err != nil {
		return "", "", fmt.Errorf("read the pid namespace: %w", err)
	}
	return boot, space, nil
}

// allocate reserves the room of a record.
func allocate(f *os.File) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, recordRoom)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		if _, err = f.WriteAt(make([]byte, recordRoom), 0); err == nil {
			err = f.Sync()
		}
	}
	return err
}

// settleSignals has the runner live through hangups and requests to end, and be stopped as any
// other process.
func settleSignals() error {
	if err := survive(unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT); err != nil {
		return err
	}
	// These end nobody, and ignored where agent was started they would stay so in the command,
	// which nobody could stop then.
	return sigaction.Default(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT)
}

// survive has the runner live through hangups and requests to end: only Cancel stops it. Nothing of
// it reaches the command. A signal that was ignored when the runner started is caught: ignored, it
// would stay so in the command.
func survive(signals ...unix.Signal) error {
	for _, sig := range signals {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		} else if err := sigaction.Ignore(sig); err != nil {
			return err
		}
	}
	return nil
}

// closeInherited closes what reached this process by accident: it may outlive its host for days,
// and must not keep a pipe or a lock of the host's surroundings. Whatever this process opened
// itself is closed on exec.
func closeInherited() {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return // nothing to go by; it is only tidiness
	}
	for _, entry := range names {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= jobFD {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // it is gone either way
		}
	}
}

// pack puts the specification into a file that exists only in memory. Nothing is left to do once
// the runner has it.
func (s Spec) pack() (job *os.File, sent func(started bool), err error) {
	b, err := s.encode()
	if err != nil {
		return nil, nil, err
	}
	job, err = sandbox.MemoryFile("agent-call", b)
	return job, func(bool) {}, err
}

// unpack reads what pack wrote.
func unpack(f *os.File) (Spec, error) {
	info, err := f.Stat()
	if err != nil {
		return Spec{}, err
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		return Spec{}, err
	}
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return Spec{}, err
	}
	return w.spec(), nil
}
