package lab

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is one that the lab started. Its output is in a file.
type process struct {
	lab  *Lab
	name string
	cmd  *exec.Cmd
	out  string
	done chan struct{}
}

func start(l *Lab, name string, cmd *exec.Cmd) *process {
	l.Helper()
	p := &process{lab: l, name: name, cmd: cmd, out: l.path(name + ".out"), done: make(chan struct{})}
	out, err := os.OpenFile(p.out, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		l.Fatal(err)
	}
	defer out.Close()
	errs, err := os.OpenFile(l.path(name+".err"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		l.Fatal(err)
	}
	defer errs.Close()
	cmd.Stdout, cmd.Stderr = out, errs
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // how it ended is in its output
		close(p.done)
	}()
	return p
}

// says waits until the process has printed a text, and gives all that it printed.
func (p *process) says(text string, limit time.Duration) string {
	p.lab.Helper()
	var out string
	ok := Wait(limit, func() bool {
		b, _ := os.ReadFile(p.out)
		out = string(b)
		return strings.Contains(out, text) || p.ended()
	})
	if !ok || !strings.Contains(out, text) {
		b, _ := os.ReadFile(strings.TrimSuffix(p.out, ".out") + ".err")
		p.lab.Fatalf("%s does not say %q: %s%s", p.name, text, out, b)
	}
	return out
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process as a crash does.
func (p *process) kill() { p.signal(syscall.SIGKILL) }

// signal sends a signal that ends the process, and waits until it has ended.
func (p *process) signal(s syscall.Signal) {
	if p.ended() {
		return
	}
	_ = p.cmd.Process.Signal(s) // it may have ended by now
	<-p.done
}
