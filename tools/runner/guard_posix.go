//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && portable)

package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"agent/recovery/fault"
)

// guardName stands in the place of a call's folder, which is an absolute path, and makes a runner
// process a guard.
const guardName = "guard"

// Descriptors that a guard inherits.
const (
	wordFD = 3 // a byte lets the guard go; its end means that the runner is gone
	upFD   = 4 // a byte means that the guard waits
)

// guard is the process that leads the command's group, and kills it when the runner is gone. Until
// it is reaped, which happens after the command's end alone, the number of the group is ours.
type guard struct {
	cmd      *exec.Cmd
	word, up *os.File
}

func startGuard() (*guard, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	word, send, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	up, rise, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, word.Close(), send.Close())
	}
	g := &guard{cmd: exec.Command(exe, Command, guardName), word: send, up: up}
	g.cmd.Args[0], g.cmd.Dir = "agent", "/"
	g.cmd.Env = append(fault.Race(), "GOMAXPROCS=1")
	g.cmd.ExtraFiles = []*os.File{word, rise}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = g.cmd.Start()
	_, _ = word.Close(), rise.Close() // the guard has its own copies
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard of the command: %w", err), send.Close(), up.Close())
	}
	return g, nil
}

// group is the number of the command's process group.
func (g *guard) group() int { return g.cmd.Process.Pid }

// ready waits until the guard waits for the runner's end.
func (g *guard) ready() error {
	_, err := g.up.Read(make([]byte, 1))
	_ = g.up.Close() // nothing more comes
	if err != nil {
		return errors.New("the guard of the command ended before the command was started")
	}
	return nil
}

// letGo ends the guard, and nothing else.
func (g *guard) letGo() {
	_, _ = g.word.Write([]byte{1}) // a guard that was killed needs no byte
	_, _ = g.word.Close(), g.up.Close()
	go func() { _ = g.cmd.Wait() }() // how it ended is no news
}

// guardMain is the guard.
func guardMain() int {
	signal.Ignore() // what is sent to the group is meant for the command
	syscall.CloseOnExec(wordFD)
	closeInherited()
	up, word := os.NewFile(upFD, "up"), os.NewFile(wordFD, "word")
	if up == nil || word == nil || unix.Getpgrp() != os.Getpid() {
		fmt.Fprintln(os.Stderr, "agent: this command is started by a runner alone")
		return codeNoLock
	}
	if _, err := up.Write([]byte{1}); err != nil {
		return codeRefused // the runner is gone, and started nothing
	}
	_ = up.Close() // it was written
	if n, _ := word.Read(make([]byte, 1)); n > 0 {
		return codeDone
	}
	_ = unix.Kill(0, unix.SIGKILL) // the group of this process, with this process
	select {}
}
