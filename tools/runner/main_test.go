//go:build linux

package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/recovery/fault"
	"agent/tools/runner"
	"agent/tools/sandbox"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the runner, the host and small commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case sandbox.Command:
			os.Exit(sandbox.Main(os.Args[2:]))
		case "__runner":
			os.Exit(runner.Main(os.Args[2], runner.MainOptions{Hit: (&points{stop: make(chan struct{})}).hit}))
		case "__host":
			host(os.Args[2:])
		}
	}
	// A binary with the race detector waits for a second at its end, for each of hundreds of
	// processes. It cannot fail here.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// points does at a point of the runner what the environment says.
type points struct{ stop chan struct{} } // ends what endThreads began

func (p *points) hit(point fault.Point) {
	if os.Getenv("DIE_AT") == string(point) {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL) // a process may always kill itself
		select {}
	}
	if os.Getenv("PAUSE_AT") == string(point) {
		// Both wait for the test, which fails where one of them does.
		_ = os.WriteFile(os.Getenv("REACHED"), []byte("reached\n"), 0)
		_, _ = os.ReadFile(os.Getenv("GO"))
	}
	if os.Getenv("END_THREADS") != "" {
		p.endThreads(point)
	}
}

const patience = 30 * time.Second

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// call is one call under test.
type call struct {
	t      *testing.T
	folder string
	work   string
	spec   runner.Spec
	env    []string // of the runner
}

func newCall(t *testing.T, script string) *call {
	t.Helper()
	id := runner.Identity{Run: "r-" + strings.ToLower(filepath.Base(t.TempDir())) + "x" + strings.ReplaceAll(t.Name(), "/", "-"), Turn: 3, Index: 0, Attempt: 1, Fingerprint: "f1"}
	work := t.TempDir()
	c := &call{t: t, work: work, folder: id.Folder(filepath.Join(t.TempDir(), "calls")), spec: runner.Spec{
		Identity: id, Script: script, Shell: []string{"/bin/sh", "-e"}, Dir: work,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Grace: 300 * time.Millisecond,
	}}
	t.Cleanup(c.tidy)
	return c
}

func (c *call) prepare() *runner.Job {
	c.t.Helper()
	j, err := runner.Prepare(c.folder, c.spec)
	if err != nil {
		c.t.Fatal(err)
	}
	return j
}

func (c *call) start() {
	c.t.Helper()
	if err := c.prepare().Start(os.Args[0], c.env); err != nil {
		c.t.Fatal(err)
	}
}

func (c *call) look() runner.Evidence {
	c.t.Helper()
	s, err := runner.Inspect(c.folder, c.spec.Identity)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *call) wait() runner.Evidence {
	c.t.Helper()
	s, err := runner.Wait(deadline(c.t), c.folder, c.spec.Identity)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// ended starts the call and waits for its exit record.
func (c *call) ended() runner.Exit {
	c.t.Helper()
	c.start()
	return c.end()
}

func (c *call) end() runner.Exit {
	c.t.Helper()
	s := c.wait()
	if s.State != runner.Ended {
		c.t.Fatalf("state %s (%s), want ended", s.State, s.Why)
	}
	return *s.Exit
}

func (c *call) output() string {
	c.t.Helper()
	head, tail, _, _, err := runner.Output(c.folder, 8<<20)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(head) + string(tail)
}

// fifo makes a named pipe in the working folder: a command that opens it waits for the test, and
// tells it where it is.
func (c *call) fifo(name string) string {
	c.t.Helper()
	path := filepath.Join(c.work, name)
	if err := unix.Mkfifo(path, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// read waits for a writer of the fifo and returns all that it writes.
func (c *call) read(fifo string) string {
	c.t.Helper()
	got := make(chan string, 1)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	select {
	case s := <-got:
		return strings.TrimSpace(s)
	case <-time.After(patience):
		c.t.Fatalf("nobody wrote to %s", fifo)
		return ""
	}
}

// let lets a command go that waits to read the fifo.
func (c *call) let(fifo string) {
	c.t.Helper()
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(fifo, []byte("go\n"), 0o600) }()
	select {
	case err := <-done:
		if err != nil {
			c.t.Fatal(err)
		}
	case <-time.After(patience):
		c.t.Fatalf("nobody reads %s", fifo)
	}
}
