//go:build !portable

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"agent/tools/ofd"
	"agent/tools/process"
)

// deathTime bounds how long a killed process is waited for. One that hangs in the kernel is
// reported, not waited out.
const deathTime = 5 * time.Second

// errElsewhere is returned where the command's processes cannot be seen from here.
var errElsewhere = errors.New("the call was started in another pid namespace, its processes cannot be seen from here")

// of says which processes are left of a call whose runner is gone; false if there can be none,
// because the machine was started anew since.
func (b Began) of() (tree, bool, error) {
	t := tree{mark: MarkName + "=" + b.Mark()}
	if b.Boot == "" {
		return t, true, nil // the record could not be read: only the mark is known
	}
	boot, err := process.BootID()
	if err != nil {
		return t, false, fmt.Errorf("read the boot id: %w", err)
	}
	if boot != b.Boot {
		return t, false, nil
	}
	space, err := pidSpace()
	if err != nil {
		return t, false, fmt.Errorf("read the pid namespace: %w", err)
	}
	if space != b.Space {
		return t, false, errElsewhere
	}
	// The kernel gives no pid away while a session has that number. So if the runner's pid is
	// another's now, its session is empty, and a session of that number is not ours.
	p, err := readProc(fmt.Sprint(b.Runner.Pid))
	if err != nil || p.Start == b.Runner.Start {
		t.session = b.Runner.Pid
	}
	return t, true, nil
}

// survivors lists what is alive of a call whose runner is gone.
func survivors(_ string, b Began) ([]Process, error) {
	t, can, err := b.of()
	if err != nil || !can {
		return nil, err
	}
	members, spared, err := t.find()
	return append(members, spared...), err
}

// Trace is what is needed to look again for the processes that were seen, when the call's folder is
// gone.
func (s Evidence) Trace() Trace {
	t := Trace{Began: s.Began, Left: s.Survivors}
	if boot, err := process.BootID(); err == nil { // without it only the processes themselves can show that they are gone
		t.Boot = boot
	}
	return t
}

// Survivors lists what is alive of a call whose trace was taken. An error means that it could not
// be determined.
func (t Trace) Survivors() ([]Process, error) {
	if boot, err := process.BootID(); err == nil && t.Boot != "" && boot != t.Boot {
		return nil, nil
	}
	if t.Began == nil {
		return nil, errors.New("look for what is left of a call: no record says which processes were its")
	}
	living, err := survivors("", *t.Began)
	if err != nil {
		return nil, fmt.Errorf("look for what is left of call %s: %w", t.Began.Mark(), err)
	}
	for _, p := range t.Left {
		now, err := readProc(fmt.Sprint(p.Pid)) // one that cannot be read is gone
		if err == nil && now.Start == p.Start && !now.dead && !slices.Contains(living, now.Process) {
			living = append(living, now.Process)
		}
	}
	return living, nil
}

// Sweep kills what is left of a call whose runner is gone: its session, and whatever carries its
// mark. It waits until they are shown dead, at most five seconds or until ctx ends. What cannot be
// shown dead is returned, with an error if it could not even be looked for: either way the command
// may still be running. This process and those above it are never killed.
func Sweep(ctx context.Context, _ string, b Began) ([]Process, error) {
	t, can, err := b.of()
	if err != nil {
		return nil, fmt.Errorf("sweep call %s: %w", b.Mark(), err)
	}
	if !can {
		return nil, nil
	}
	left, err := t.kill(ctx, deathTime)
	if err != nil {
		return left, fmt.Errorf("sweep call %s: %w", b.Mark(), err)
	}
	return left, nil
}

// kill sends SIGKILL to the tree until nothing of it is left, for at most limit, and returns what
// is.
func (t tree) kill(ctx context.Context, limit time.Duration) ([]Process, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := newBackoff(2*time.Millisecond, 50*time.Millisecond)
	for {
		members, spared, err := t.find()
		if err != nil || len(members) == 0 {
			return spared, err
		}
		for _, p := range members {
			// A refusal (a process of another user) shows in what is left.
			_ = send(p, unix.SIGKILL)
		}
		if !pause.wait(ctx, nil) {
			return append(members, spared...), nil
		}
	}
}

// keeps says whether something in a call's folder is needed after its result is stored: the
// processes themselves show here.
func keeps(string) string { return "" }

// KillRunner kills the runner of b, for one that does not react to Cancel; the kernel kills the
// command with it, and Sweep finds the rest. It kills only a process whose boot id, pid and start
// time match the record, and waits until it is gone. If nobody holds the call's lock there is
// nothing to kill.
func KillRunner(folder string, b Began) error {
	held, err := ofd.Held(filepath.Join(folder, lockName))
	if err != nil {
		return fmt.Errorf("kill runner of call %s: %w", b.Mark(), err)
	}
	if !held {
		return nil
	}
	if err := killExactly(b); err != nil {
		return fmt.Errorf("kill runner of call %s: %w", b.Mark(), err)
	}
	return nil
}

func killExactly(b Began) error {
	boot, err := process.BootID()
	if err != nil {
		return err
	}
	space, err := pidSpace()
	if err != nil {
		return err
	}
	if boot != b.Boot || space != b.Space || b.Runner.Pid == os.Getpid() {
		return fmt.Errorf("the lock is held, and not by the recorded process %d", b.Runner.Pid)
	}
	fd, err := openPid(b.Runner)
	if errors.Is(err, errGone) {
		return fmt.Errorf("the lock is held, and the recorded process %d is gone", b.Runner.Pid)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd) // only a handle: closing it changes nothing
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	end := time.Now().Add(deathTime)
	for left := deathTime; left > 0; left = time.Until(end) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return fmt.Errorf("process %d does not die", b.Runner.Pid)
}

func supported() error { return nil }

// Limits says what of a command this system does not keep: nothing here.
func Limits() []string { return nil }
