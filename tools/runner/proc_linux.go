//go:build !portable

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"agent/tools/process/procfs"
)

// proc is one process as the kernel shows it.
type proc struct {
	Process
	parent  int
	session int
	dead    bool // a zombie: it runs no more and waits to be reaped
}

// readProc reads a process by its number, or this one by "self".
func readProc(pid string) (proc, error) {
	s, err := procfs.Read(pid)
	if err != nil {
		return proc{}, err
	}
	return proc{Process{Pid: s.PID, Start: s.Start, Name: s.Name}, s.Parent, s.Session, s.Dead()}, nil
}

// allProcs reads every process that can be seen. One that ends meanwhile is left out.
func allProcs() (map[int]proc, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make(map[int]proc, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		p, err := readProc(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[p.Pid] = p
	}
	return all, nil
}

// tree says which processes are a command's: those of its session, those that carry its mark, and
// all that descend from them or from parent.
type tree struct {
	session int    // 0 if it is not known
	mark    string // MarkName=…
	parent  int    // a living runner, to which every orphan of the command falls; else 0
	self    int    // never part of it
}

// find lists what is alive of the tree, parents before their children: a shell must not see its
// child killed and go on to its next command. spared are members which must not be killed, since
// this process descends from them.
func (t tree) find() (members, spared []Process, err error) {
	all, err := allProcs()
	if err != nil {
		return nil, nil, err
	}
	above := ancestry(all, os.Getpid())
	for pid := range t.pick(all) {
		switch {
		case pid == t.self || all[pid].dead:
		case slices.Contains(above, pid):
			spared = append(spared, all[pid].Process)
		default:
			members = append(members, all[pid].Process)
		}
	}
	slices.SortFunc(members, func(a, b Process) int {
		return len(ancestry(all, a.Pid)) - len(ancestry(all, b.Pid))
	})
	return members, spared, nil
}

// ancestry is pid and all above it.
func ancestry(all map[int]proc, pid int) []int {
	var line []int
	for ; pid > 0 && !slices.Contains(line, pid); pid = all[pid].parent {
		line = append(line, pid)
	}
	return line
}

// pick marks what belongs to the tree, dead or alive.
func (t tree) pick(all map[int]proc) map[int]bool {
	in := map[int]bool{}
	for pid, p := range all {
		if !p.dead && (t.session != 0 && p.session == t.session || t.marked(pid)) {
			in[pid] = true
		}
	}
	for more := true; more; {
		more = false
		for pid, p := range all {
			if !in[pid] && (in[p.parent] || t.parent != 0 && p.parent == t.parent) {
				in[pid], more = true, true
			}
		}
	}
	return in
}

// marked looks for the mark in a process's environment. What may not be read carries none that we
// set.
func (t tree) marked(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if string(entry) == t.mark {
			return true
		}
	}
	return false
}

// errGone says that the process meant is not there any more.
var errGone = errors.New("the process is gone")

// openPid opens a descriptor for exactly the process meant.
func openPid(p Process) (int, error) {
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return -1, errGone
	}
	if err != nil {
		return -1, fmt.Errorf("open process %d: %w", p.Pid, err)
	}
	// Looked at after opening: the descriptor names one process for good, so the pid cannot change
	// hands in between.
	now, err := readProc(strconv.Itoa(p.Pid))
	if err != nil || now.Start != p.Start {
		_ = unix.Close(fd) // nothing was done with it
		return -1, errGone
	}
	return fd, nil
}

// send signals exactly the process meant. One that is gone is fine.
func send(p Process, sig unix.Signal) error {
	fd, err := openPid(p)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	_ = unix.Close(fd) // the signal is sent
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %d: %w", p.Pid, err)
	}
	return nil
}

func pidSpace() (string, error) { return os.Readlink("/proc/self/ns/pid") }

// end ends everything that the command started, and returns what it could not. Without a list of
// processes the group is what can be reached. Its number is ours until the command is reaped.
func (k *keeper) end(c *command) ([]Process, error) {
	t := tree{session: k.me.Pid, mark: MarkName + "=" + k.spec.Mark(), parent: k.me.Pid, self: k.me.Pid}
	left, err := t.end(k.spec.Grace)
	if err != nil {
		_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL) // it may be gone, and what is left is reported
	}
	return left, err
}

// end asks every process of the tree to end, waits for the grace time, and kills what is left.
func (t tree) end(grace time.Duration) ([]Process, error) {
	members, _, err := t.find()
	if err != nil {
		return nil, err
	}
	for _, p := range members {
		_ = send(p, unix.SIGTERM) // what this does not reach is killed below, or reported as left
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	pause := newBackoff(2*time.Millisecond, 50*time.Millisecond)
	for len(members) > 0 && pause.wait(ctx, nil) {
		if members, _, err = t.find(); err != nil {
			return nil, err
		}
	}
	return t.kill(context.Background(), deathTime)
}
