//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"agent/tools/ofd"
	"agent/tools/process"
)

// deathTime bounds how long a killed runner is waited for, and leaveTime what was killed with it: a
// process that left the group was not killed.
const (
	deathTime = 5 * time.Second
	leaveTime = 2 * time.Second
)

// errUnseen is returned where nothing shows whether something of a command lives.
var errUnseen = errors.New("no record shows whether something of the command is alive")

// unseen stands for the processes of a command that live: which they are does not show here.
func unseen() []Process {
	return []Process{{Name: "something that the command started, which this system cannot name"}}
}

// lives says whether something lives that holds the lock of a file which the command inherited.
func lives(path string) (bool, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, errUnseen
	}
	return ofd.Held(path)
}

// another says that the machine was started anew since a boot, as far as boots have names here.
func another(boot string) bool {
	now := process.Boot()
	return boot != "" && now != "" && now != boot
}

// survivors says whether something is alive of a call whose runner is gone.
func survivors(folder string, b Began) ([]Process, error) {
	if another(b.Boot) {
		return nil, nil
	}
	held, err := lives(filepath.Join(folder, aliveName))
	if err != nil || !held {
		return nil, err
	}
	return unseen(), nil
}

// Trace is what is needed to look again for what lives, when the call's records are gone.
func (s Evidence) Trace() Trace {
	t := Trace{Boot: process.Boot(), Began: s.Began, Left: s.Survivors}
	if s.folder != "" {
		t.Alive = filepath.Join(s.folder, aliveName)
	}
	return t
}

// Survivors says whether something is alive of a call whose trace was taken. An error means that it
// could not be determined. The file of the lock is removed only once nobody holds it (Discard).
func (t Trace) Survivors() ([]Process, error) {
	if another(t.Boot) {
		return nil, nil
	}
	if t.Alive == "" {
		return nil, fmt.Errorf("look for what is left of a call: %w", errUnseen)
	}
	held, err := lives(t.Alive)
	if errors.Is(err, errUnseen) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for what is left of a call: %w", err)
	}
	if !held {
		return nil, nil
	}
	return unseen(), nil
}

// keeps names the file in a call's folder that is needed after its result is stored: the lock of
// what lives of a command whose end nobody saw.
func keeps(folder string) string {
	if ended, err := there(folder, exitName); err != nil || ended {
		return ""
	}
	if held, err := lives(filepath.Join(folder, aliveName)); err != nil || !held {
		return ""
	}
	return aliveName
}

// Sweep waits until what was killed with a call's runner is dead, for some seconds at most or until
// ctx ends. What lives then is outside of the command's group: which process that is does not show,
// so nothing is signalled, and it is returned.
func Sweep(ctx context.Context, folder string, b Began) ([]Process, error) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	pause := newBackoff(2*time.Millisecond, 50*time.Millisecond)
	for {
		left, err := survivors(folder, b)
		if err != nil {
			return nil, fmt.Errorf("sweep call %s: %w", b.Mark(), err)
		}
		if len(left) == 0 || !pause.wait(ctx, nil) {
			return left, nil
		}
	}
}

// end asks the command's group to end, and after the grace time kills it. What left the group is
// returned, if it lives.
func (k *keeper) end(c *command) ([]Process, error) {
	alive := func() bool {
		select {
		case <-c.ended:
		default:
			return true
		}
		held, err := lives(filepath.Join(k.folder, aliveName))
		return held || err != nil
	}
	wait := func(limit time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		pause := newBackoff(2*time.Millisecond, 50*time.Millisecond)
		for alive() && pause.wait(ctx, nil) {
			continue
		}
	}
	// The guard is of the group and not reaped yet: the number is ours. What is not reached is
	// killed, or reported as left.
	_ = unix.Kill(-c.guard.group(), unix.SIGTERM)
	wait(k.spec.Grace)
	err := unix.Kill(-c.guard.group(), unix.SIGKILL)
	if errors.Is(err, unix.ESRCH) {
		err = nil // none of it is left
	}
	wait(leaveTime)
	select {
	case <-c.ended:
	default:
		return nil, err // its own end is waited for
	}
	if alive() {
		return unseen(), err
	}
	return nil, err
}

// KillRunner kills the runner of b, for one that does not react to Cancel; the guard kills the
// command then. The lock of the call, held from before the record of the start was made, proves
// that the process of that record lives: only the runner made it, and only the runner holds the
// lock. On macOS its start time is compared, too. If nobody holds the lock there is nothing to
// kill.
func KillRunner(folder string, b Began) error {
	lock := filepath.Join(folder, lockName)
	held, err := ofd.Held(lock)
	if err == nil && held {
		err = killExactly(folder, lock, b)
	}
	if err != nil {
		return fmt.Errorf("kill runner of call %s: %w", b.Mark(), err)
	}
	return nil
}

func killExactly(folder, lock string, b Began) error {
	var now Began
	if err := readRecord(folder, beganName, &now); err != nil {
		return err
	}
	start, err := process.Started(b.Runner.Pid)
	if err != nil || now.Runner != b.Runner || now.Boot != b.Boot || now.Space != b.Space || now.Identity != b.Identity ||
		another(b.Boot) || start != b.Runner.Start || b.Runner.Pid == os.Getpid() {
		return fmt.Errorf("the lock is held, and not by the recorded process %d", b.Runner.Pid)
	}
	if held, err := ofd.Held(lock); err != nil || !held {
		return err // it went meanwhile
	}
	if err := unix.Kill(b.Runner.Pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), deathTime)
	defer cancel()
	pause := newBackoff(time.Millisecond, 50*time.Millisecond)
	for {
		held, err := ofd.Held(lock)
		if err != nil || !held {
			return err
		}
		if !pause.wait(ctx, nil) {
			return fmt.Errorf("process %d does not die", b.Runner.Pid)
		}
	}
}

func supported() error { return nil }

// Limits says what of a command this system does not keep, as sentences.
func Limits() []string {
	lost := []string{
		"a process that leaves the process group of its command (a daemon, setsid) is not stopped with it: it is reported as possibly running, without its name",
		"such a process that closes what it inherited, too, is not seen once the runner of its command was killed",
		"a process is signalled by its number while a lock shows that it lives: one that ends in that moment could be mistaken for the next with its number",
	}
	if process.Boot() == "" {
		lost = append(lost, "a reboot is taken for a crash")
	}
	return lost
}
