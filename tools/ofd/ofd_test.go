//go:build linux

package ofd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"agent/tools/ofd"
)

// TestMain lets the test binary be a process that holds a lock, its own or an inherited one.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "__hold" {
		f, err := ofd.Open(os.Args[2])
		ok := false
		if err == nil {
			ok, err = f.TryLock()
		}
		fmt.Println(ok, err)
		untilKilled()
		runtime.KeepAlive(f)
	}
	if len(os.Args) > 1 && os.Args[1] == "__keep" {
		fmt.Println("kept")
		untilKilled()
	}
	os.Exit(m.Run())
}

// untilKilled waits for a signal: where a process waits for nothing at all, Go ends it as
// deadlocked, and its lock goes.
func untilKilled() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	<-c
}

func open(t *testing.T, path string) *ofd.File {
	t.Helper()
	f, err := ofd.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // often closed by the test
	return f
}

func lock(t *testing.T, try func() (bool, error), want bool) {
	t.Helper()
	if got, err := try(); err != nil || got != want {
		t.Errorf("lock: %v, %v, want %v", got, err, want)
	}
}

func held(t *testing.T, path string, want bool) {
	t.Helper()
	if got, err := ofd.Held(path); err != nil || got != want {
		t.Errorf("held: %v, %v, want %v", got, err, want)
	}
}

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held(t, path, false)
	if _, err := os.Stat(path); err == nil {
		t.Error("looking made the file")
	}
	a, b, c := open(t, path), open(t, path), open(t, path)
	held(t, path, false)
	lock(t, a.TryLock, true)
	lock(t, a.TryLock, true)
	lock(t, b.TryLock, false)
	lock(t, b.TryLockShared, false)
	held(t, path, true)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	held(t, path, false)
	lock(t, b.TryLockShared, true)
	lock(t, c.TryLockShared, true)
	lock(t, c.TryLock, false)
	held(t, path, sharedShows)
}

// A look that takes the lock for a moment keeps nobody out who claims it.
func TestClaimBesideLooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open(t, path)
	ctx, stop := context.WithCancel(t.Context())
	var lookers sync.WaitGroup
	for range 2 {
		lookers.Go(func() {
			for ctx.Err() == nil {
				if _, err := ofd.Held(path); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 100 {
		f := open(t, path)
		lock(t, f.Claim, true)
		lock(t, open(t, path).Claim, false)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	lookers.Wait()
}

// Another open and close of the file in the same process drops nothing, which is where POSIX locks
// fail.
func TestSurvivesAnotherClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock(t, open(t, path).TryLock, true)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	held(t, path, true)
}

func TestFileIsPrivateAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	for _, text := range []string{"a long first text", "short"} {
		if err := f.Describe(text); err != nil {
			t.Fatal(err)
		}
	}
	open(t, path)
	if b, err := os.ReadFile(path); err != nil || string(b) != "short" {
		t.Errorf("text %q, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A lock file that was replaced is noticed: a lock on the old one means nothing.
func TestSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	lock(t, f.Same, true)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	lock(t, f.Same, false)
	open(t, path)
	lock(t, f.Same, false)
}

// process starts this binary in another process and returns when it has printed what it should.
func process(t *testing.T, want string, extra *os.File, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	if extra != nil {
		cmd.ExtraFiles = []*os.File{extra}
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != want+"\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // may be done already
	_ = cmd.Wait()         // the same
}

// The kernel frees the lock of a killed process, and children that it did not mean to hold the lock
// do not.
func TestFreedByTheKernel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := process(t, "true <nil>", nil, "__hold", path)
	held(t, path, true)
	lock(t, open(t, path).TryLock, false)
	kill(holder)
	held(t, path, false)

	mine := open(t, path)
	lock(t, mine.TryLock, true)
	process(t, "kept", nil, "__keep")
	if err := mine.Close(); err != nil {
		t.Fatal(err)
	}
	held(t, path, false)
}

// Handed over on purpose, the lock is held on without a gap until the child is gone.
func TestInherited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	mine := open(t, path)
	lock(t, mine.TryLock, true)
	child := process(t, "kept", mine.File(), "__keep")
	if err := mine.Close(); err != nil {
		t.Fatal(err)
	}
	held(t, path, true)
	kill(child)
	held(t, path, false)
}

func TestAcquire(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	first, err := ofd.Acquire(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := ofd.Acquire(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	got := make(chan error, 1)
	go func() {
		second, err := ofd.Acquire(ctx, path)
		if err == nil {
			err = second.Close()
		}
		got <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "lock")
	if _, err := ofd.Open(path); err == nil {
		t.Error("opened")
	}
	if _, err := ofd.Acquire(context.Background(), path); err == nil {
		t.Error("acquired")
	}
	held(t, path, false)
}
