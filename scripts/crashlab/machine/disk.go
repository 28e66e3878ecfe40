//go:build linux

// Package machine makes what is usually the machine's: disks that fill, fail and remember what was
// written, a mount namespace, another start of the machine. All of it is gone with the lab's own
// process.
package machine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Disk is a file system that remembers what is done to it, fails on demand, and can say what a
// power cut leaves. It is served by a process of its own (scripts/crashlab/disk says why, and what
// it can be asked).
type Disk struct {
	dir    string // where it is mounted
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	mu     sync.Mutex
	closed bool
}

// Op is one operation that changed something.
type Op struct {
	N      int    `json:"n"`
	Op     string `json:"op"`
	Path   string `json:"path"`
	To     string `json:"to"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
}

// DiskFault lets the at-th operation of a kind on a path that begins so fail, counted from now;
// with Sticky those after it too. A torn write writes the first half of its bytes.
type DiskFault struct {
	Op     string `json:"op"` // write, fsync, create, rename, truncate, unlink or any
	Path   string `json:"path"`
	Errno  string `json:"errno"` // EIO, ENOSPC or EROFS
	At     int    `json:"at"`
	Sticky bool   `json:"sticky"`
	Torn   bool   `json:"torn"`
}

// State names one state that a power cut after an operation may leave. What lies under Keep is left
// as it is seen: it stands for what is not on the disk. Paths that begin like one in Omit are left
// out.
type State struct {
	At    int      `json:"at"`
	Model string   `json:"model"` // everything, synced, prefix, scattered, torn or nosync
	Seed  uint64   `json:"seed"`
	Into  string   `json:"into"` // it must not exist
	Keep  []string `json:"keep,omitempty"`
	Omit  []string `json:"omit,omitempty"`
}

// BuildDisk makes the program that serves disks.
func BuildDisk(ctx context.Context, dir string) (string, error) {
	out := filepath.Join(dir, "disk")
	c := exec.CommandContext(ctx, "go", "build", "-C", "scripts/crashlab/disk", "-trimpath", "-o", out, ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the disk: %v\n%s", err, text)
	}
	return out, nil
}

// NeedsDisk says why no disk can be served here.
func NeedsDisk() error {
	if os.Geteuid() != 0 {
		return errors.New("a file system is mounted by root")
	}
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("a disk that is a program needs FUSE: %v", err)
	}
	return f.Close()
}

// patience is how long it may take to answer.
const patience = time.Minute

// StartDisk serves the folder back at dir; both exist. The caller closes it.
func StartDisk(exe, back, dir string) (*Disk, error) {
	d := &Disk{dir: dir, cmd: exec.Command(exe, "-back", back, "-mount", dir)}
	d.cmd.Stderr = os.Stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the disk: %v", err)
	}
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the disk: %v", err)
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the disk: %v", err)
	}
	d.out = bufio.NewScanner(out)
	d.out.Buffer(nil, 64<<20)
	if _, err := d.Index(); err != nil { // it answers once it is mounted
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close unmounts it.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	late := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() }) // one that is gone already is as good
	defer late.Stop()
	if err := errors.Join(d.in.Close(), d.cmd.Wait()); err != nil {
		return fmt.Errorf("unmount the disk at %s: %v", d.dir, err)
	}
	return nil
}

type answer struct {
	Index int    `json:"index"`
	Hit   int    `json:"hit"`
	Ops   []Op   `json:"ops"`
	Error string `json:"error"`
}

// ask sends what is to be done, with what it needs.
func (d *Disk) ask(do string, with any) (a answer, err error) {
	fields := map[string]json.RawMessage{}
	b, err := json.Marshal(with)
	if err == nil && with != nil {
		err = json.Unmarshal(b, &fields)
	}
	if err == nil {
		fields["do"], err = json.Marshal(do)
	}
	if err == nil {
		b, err = json.Marshal(fields)
	}
	if err != nil {
		return a, fmt.Errorf("ask the disk for %s: %v", do, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return a, errors.New("ask the disk: it is unmounted")
	}
	late := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() }) // the read below then ends
	defer late.Stop()
	if _, err := d.in.Write(append(b, '\n')); err != nil {
		return a, fmt.Errorf("ask the disk: %v", err)
	}
	if !d.out.Scan() {
		return a, fmt.Errorf("ask the disk for %s: it is gone: %v", do, d.out.Err())
	}
	if err := json.Unmarshal(d.out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("ask the disk for %s: %v", do, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("ask the disk for %s: %s", do, a.Error)
	}
	return a, nil
}

// Index is the number of the last operation.
func (d *Disk) Index() (int, error) {
	a, err := d.ask("index", nil)
	return a.Index, err
}

// Ops lists operations from one to another, both included.
func (d *Disk) Ops(from, to int) ([]Op, error) {
	a, err := d.ask("ops", map[string]int{"from": from, "to": to})
	return a.Ops, err
}

// Fail arms a fault.
func (d *Disk) Fail(f DiskFault) error {
	_, err := d.ask("fault", f)
	return err
}

// Slow lets operations wait before they begin.
func (d *Disk) Slow(op, path string, wait time.Duration) error {
	_, err := d.ask("slow", map[string]any{"op": op, "path": path, "ms": wait.Milliseconds()})
	return err
}

// Heal takes all faults back. It says how many operations had failed since it was last healed.
func (d *Disk) Heal() (int, error) {
	a, err := d.ask("heal", nil)
	return a.Hit, err
}

// MakeState makes one. It is the same every time.
func (d *Disk) MakeState(s State) error {
	_, err := d.ask("state", s)
	return err
}
