package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// supervise runs the command, and adds up what it and its descendants spent. The process is a
// subreaper: whose parent ended becomes its child, so that it can be waited for, and is counted.
// What asks this process to end is handed on to the command; it ends when the command does.
func supervise(command []string, errs io.Writer) (code int, seconds float64, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 2, 0, fmt.Errorf("become the reaper of orphans: %w", err)
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return 127, 0, err
	}
	signals := make(chan os.Signal, 8) // before the start: what comes in between must not end this process
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	process, err := os.StartProcess(path, command, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 126, 0, err
	}
	go func() {
		for s := range signals {
			process.Signal(s) // one that has ended needs none
		}
	}()
	status, err := waitFor(process.Pid)
	if err != nil {
		return 2, 0, err
	}

	code = status.ExitStatus()
	if status.Signaled() {
		code = 128 + int(status.Signal())
	}
	if err := killRest(errs); err != nil {
		return 2, 0, err
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &usage); err != nil {
		return 2, 0, fmt.Errorf("count the seconds: %w", err)
	}
	return code, float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9, nil
}

// waitFor reaps whoever ends, until this child has.
func waitFor(pid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		ended, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return status, fmt.Errorf("wait for the command: %w", err)
		}
		if ended == pid {
			return status, nil
		}
	}
}

// killRest names and kills the descendants that are there after the command has ended, and reaps
// all of them.
func killRest(errs io.Writer) error {
	killed := map[int]bool{}
	for {
		if err := killDescendants(killed, errs); err != nil {
			return err
		}
		// All of them have their signal, and whoever has it cannot fork any more: one of them ends.
		ended, err := unix.Wait4(-1, nil, 0, nil)
		delete(killed, ended)
		switch {
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for a descendant: %w", err)
		}
	}
}

// killDescendants kills until it finds nobody who has not been killed: a process may fork between
// the look and the signal.
func killDescendants(killed map[int]bool, errs io.Writer) error {
	for found := true; found; {
		found = false
		all, err := processes()
		if err != nil {
			return err
		}
		for _, p := range descendants(all, os.Getpid()) {
			if killed[p.pid] || p.state == "Z" || p.state == "X" {
				continue
			}
			found, killed[p.pid] = true, true
			fmt.Fprintf(errs, "cpu: process %d was still running and is killed: %s\n", p.pid, p.command())
			if err := unix.Kill(p.pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d: %w", p.pid, err)
			}
		}
	}
	return nil
}

// process is what /proc shows of one.
type process struct {
	pid, parent int
	state, name string
}

func processes() ([]process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("/proc shows no processes")
	}
	var all []process
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		p, err := parseStat(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// parseStat reads a line of /proc/PID/stat. The name of a process may have brackets and blanks.
func parseStat(text string) (process, error) {
	head, tail, ok := cutLast(text, ") ")
	number, name, named := strings.Cut(head, " (")
	fields := strings.Fields(tail)
	if !ok || !named || len(fields) < 2 {
		return process{}, fmt.Errorf("%q is no state of a process", text)
	}
	pid, err1 := strconv.Atoi(number)
	parent, err2 := strconv.Atoi(fields[1])
	return process{pid: pid, parent: parent, state: fields[0], name: name}, errors.Join(err1, err2)
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// descendants are the processes below one, parents first.
func descendants(all []process, of int) []process {
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	next := []int{of}
	for len(next) > 0 {
		below := children[next[0]]
		next = next[1:]
		found = append(found, below...)
		for _, p := range below {
			next = append(next, p.pid)
		}
	}
	return found
}

// command is the command line, or the name where there is none.
func (p process) command() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	line := strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
	if err != nil || line == "" {
		return p.name
	}
	return line[:min(len(line), 100)]
}
