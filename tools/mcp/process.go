package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How long a server has to end by itself when its input ends, and again when it is asked to.
const (
	leavePatience = 500 * time.Millisecond
	termPatience  = time.Second
)

// process is a server on stdio, with our ends of its pipes.
type process struct {
	in    *os.File // its stdin
	out   *os.File // its stdout
	errs  *tail
	pid   int
	ended chan struct{} // closed when it has ended and been waited for
	err   error         // how it ended, once ended is closed
	stop  sync.Once
}

// startProcess starts a server. The thread that starts it stays until the server has ended: the
// kernel takes a parent's death for that of the thread.
func startProcess(cmd *exec.Cmd, wrap func(*exec.Cmd) error) (*process, error) {
	theirs, ours, err := pipes()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	cmd.SysProcAttr = ownGroup()
	if wrap != nil {
		err = wrap(cmd)
	}
	p := &process{in: ours[0], out: ours[1], errs: &tail{done: make(chan struct{})}, ended: make(chan struct{})}
	if err == nil {
		began := make(chan error)
		go p.run(cmd, began)
		err = <-began
	}
	closeAll(theirs)
	closeAll(cmd.ExtraFiles) // the sandbox's
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	go p.errs.follow(ours[2])
	return p, nil
}

// run is the life of the server, on a thread of its own.
func (p *process) run(cmd *exec.Cmd, began chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
	err := cmd.Start()
	if err == nil {
		p.pid = cmd.Process.Pid
	}
	began <- err
	if err != nil {
		return
	}
	if untilDead(p.pid) {
		killGroup(p.pid, syscall.SIGKILL) // what it started goes with it, while its number cannot be another's yet
	}
	p.err = cmd.Wait()
	close(p.ended)
}

// pipes makes three pipes; the server's ends are given to it alone.
func pipes() (theirs, ours []*os.File, err error) {
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(theirs)
			closeAll(ours)
			return nil, nil, fmt.Errorf("make a pipe: %v", err)
		}
		if i == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	return theirs, ours, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // a pipe holds nothing that could be lost
	}
}

// end has the server end: by the end of its input, else by a signal, else by force. It returns when
// it is gone.
func (p *process) end() {
	p.stop.Do(func() {
		_ = p.in.Close() // a second close of a pipe says no more
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			patience := leavePatience
			if s == syscall.SIGKILL {
				patience = termPatience
			}
			if p.gone(patience) {
				break
			}
			killGroup(p.pid, s)
		}
		p.gone(termPatience)
		_ = p.out.Close() // the server is gone, and who reads gets that
	})
}

func (p *process) gone(patience time.Duration) bool {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}

// how says how the server ended, and what it wrote last.
func (p *process) how() string {
	words := "it is still running"
	select {
	case <-p.ended:
		words = "it ended"
		if p.err != nil {
			words += " with " + p.err.Error()
		}
		p.errs.whole()
	default:
	}
	if last := p.errs.last(); last != "" {
		words += "; it wrote last: " + last
	}
	return words
}

// tail keeps the end of what a server writes to stderr.
type tail struct {
	mu   sync.Mutex
	kept []byte
	done chan struct{} // closed at the end of it
}

const tailRoom = 8 << 10

func (t *tail) follow(f *os.File) {
	defer close(t.done)
	defer f.Close()
	buf := make([]byte, tailRoom)
	for {
		n, err := f.Read(buf)
		t.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailRoom; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
}

// whole waits until the last word is read, where nobody holds the pipe open.
func (t *tail) whole() {
	limit := time.NewTimer(100 * time.Millisecond)
	defer limit.Stop()
	select {
	case <-t.done:
	case <-limit.C:
	}
}

// last is the last lines, as one line of text.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	const shown = 500
	words := strings.Join(strings.Fields(clean(string(t.kept))), " ")
	if r := []rune(words); len(r) > shown {
		words = "…" + string(r[len(r)-shown:])
	}
	return words
}
