//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"

	"agent/tools/ofd"
	"agent/tools/process"
)

// aliveName is the file whose lock the command and all that it starts inherit.
const aliveName = "alive"

// means is what the system's own does elsewhere.
type means struct {
	alive *ofd.File
}

// takePlace checks that this process has a session of its own, and takes the lock that the command
// is to inherit.
func (k *keeper) takePlace() error {
	pid := os.Getpid()
	if sid, err := unix.Getsid(0); err != nil || sid != pid {
		return errors.Join(err, errors.New("it has no session of its own"))
	}
	start, err := process.Started(pid)
	if err != nil {
		return fmt.Errorf("find when this process started: %w", err)
	}
	k.me = Process{Pid: pid, Start: start, Name: "agent"}
	if k.alive, err = ofd.Open(filepath.Join(k.folder, aliveName)); err != nil {
		return err
	}
	ok, err := k.alive.Claim()
	if err == nil && !ok {
		err = errors.New("something of this call is alive already")
	}
	return err
}

// origin says where a pid of this process means something. There is one namespace.
func origin() (boot, space string, err error) { return process.Boot(), "", nil }

// allocate reserves the room of a record, as far as a file system does that which writes into what
// is there.
func allocate(f *os.File) error {
	if _, err := f.WriteAt(make([]byte, recordRoom), 0); err != nil {
		return err
	}
	return f.Sync()
}

// settleSignals has the runner live through hangups and requests to end. What is caught here is not
// ignored in the command, also where agent was started with it ignored.
func settleSignals() error {
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT)
	return nil
}

// closeInherited closes what reached this process by accident, as far as descriptors are usual.
// Whatever this process opened itself is closed on exec.
func closeInherited() {
	const usual = 4096
	for fd := jobFD + 1; fd < usual; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // it is gone either way
		}
	}
}

// pack puts the specification into a pipe. It rests nowhere, and a runner that gets only a part of
// it, because the host was killed, starts nothing.
func (s Spec) pack() (job *os.File, sent func(started bool), err error) {
	b, err := s.encode()
	if err != nil {
		return nil, nil, err
	}
	job, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return job, func(started bool) {
		if started {
			_, _ = write.Write(b) // a runner that is gone started nothing, and its lock says so
		}
		_ = write.Close() // what was written is in the pipe
	}, nil
}

// unpack reads what pack wrote, until it is whole.
func unpack(f *os.File) (Spec, error) {
	var w wire
	if err := json.NewDecoder(f).Decode(&w); err != nil {
		return Spec{}, err
	}
	return w.spec(), nil
}
