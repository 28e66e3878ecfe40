package logfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A log that is written for long stays within twice its limit and a line, also while it is
// open. // Issue 11, C20
func TestBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "agent.log")
	l, err := Open(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		if _, err := fmt.Fprintf(l, "line %03d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	now, old := read(t, path), read(t, path+".1")
	if len(now) > 1000+9 || len(old) > 1000+9 {
		t.Errorf("%d and %d bytes", len(now), len(old))
	}
	if all := old + now; !strings.HasSuffix(all, "line 499\n") || strings.Count(all, "\n")*9 != len(all) || len(old) < 1000 {
		t.Errorf("the newest lines are not whole:\n%s", all)
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 2 {
		t.Errorf("%v %v", names, err)
	}
}

// Several processes write one log: no line is torn, and one that moves the file away takes nobody's
// newest lines along. Each File has an open file and a lock of its own, as each process has.
func TestSeveralWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.log")
	const writers, lines = 4, 400
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			l, err := Open(path, 4000)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range lines {
				if _, err := fmt.Fprintf(l, "writer %d line %04d\n", w, i); err != nil {
					t.Error(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	now, old := read(t, path), read(t, path+".1")
	for line := range strings.Lines(old + now) {
		var w, i int
		if n, err := fmt.Sscanf(line, "writer %d line %04d\n", &w, &i); n != 2 || err != nil {
			t.Errorf("a line is torn: %q", line)
		}
	}
	// How much more it has depends on how long the writer that moved it was held up.
	if len(old) < 4000 {
		t.Errorf("the old file has %d bytes: it was moved away before it was full", len(old))
	}
	if !bytes.Contains([]byte(old+now), fmt.Appendf(nil, "line %04d\n", lines-1)) {
		t.Error("the newest lines are not there")
	}
}

// A log that somebody removes is made again.
func TestRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.log")
	l, err := Open(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fmt.Fprintln(l, "before")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(l, "after")
	if got := read(t, path); got != "after\n" {
		t.Errorf("it holds %q", got)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
