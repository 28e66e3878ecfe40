//go:build linux

package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/runner"

	"golang.org/x/sys/unix"
)

// A command that prints more than is kept runs to its end, and how it ended is recorded: head and
// tail are kept, within bounds, and everything is counted. // Issue 11, C20
func TestOutputLimit(t *testing.T) {
	c := newCall(t, "head -c 300M /dev/zero; exit 7")
	c.spec.Keep = 8 << 20
	e := c.ended()
	if e.Cause != runner.CauseExited || e.Status != 7 || e.Output != 300<<20 || !e.Truncated || e.Kept > 8<<20 || e.Kept < 7<<20 {
		t.Errorf("exit record %+v", e)
	}
	entries, err := filepath.Glob(filepath.Join(c.folder, "out*"))
	if err != nil || len(entries) != 5 {
		t.Errorf("spool files %v, %v", entries, err)
	}
}

// The head is the first bytes, the tail the last ones, also when fewer are asked for than are kept.
func TestHeadAndTail(t *testing.T) {
	c := newCall(t, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done")
	c.spec.Keep = 64 << 10
	var all bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&all, "line %d\n", i+1)
	}
	e := c.ended()
	if e.Output != int64(all.Len()) || e.Status != 0 || !e.Truncated {
		t.Errorf("exit record %+v, want %d bytes", e, all.Len())
	}
	for _, max := range []int64{0, 1, 100, 9_001, 60_000, 64 << 10, 1 << 20} {
		head, tail, total, truncated, err := runner.Output(c.folder, max)
		if err != nil || total != e.Output || !truncated {
			t.Fatalf("max %d: total %d, truncated %v, %v", max, total, truncated, err)
		}
		if !bytes.HasPrefix(all.Bytes(), head) || !bytes.HasSuffix(all.Bytes(), tail) {
			t.Errorf("max %d: head or tail are not the command's", max)
		}
		if got := int64(len(head) + len(tail)); got > max || got < min(max, 50_000) {
			t.Errorf("max %d: got %d and %d bytes", max, len(head), len(tail))
		}
	}
	head, tail, _, _, err := runner.Output(c.folder, 1<<20)
	if err != nil || int64(len(head)+len(tail)) != e.Kept || len(head) != 32<<10 {
		t.Errorf("kept %d: head %d, tail %d, %v", e.Kept, len(head), len(tail), err)
	}
}

// An output that fits is returned whole and unchanged, whatever its bytes are. Behaviour 14.
func TestBinaryOutput(t *testing.T) {
	c := newCall(t, `printf '\377\376\000\001\r\n\033[31m\200'`)
	c.ended()
	want := "\xff\xfe\x00\x01\r\n\x1b[31m\x80"
	head, tail, total, truncated, err := runner.Output(c.folder, int64(len(want)))
	if err != nil || string(head) != want || len(tail) != 0 || total != int64(len(want)) || truncated {
		t.Errorf("%q %q %d %v %v", head, tail, total, truncated, err)
	}
	if head, tail, _, truncated, err = runner.Output(c.folder, 4); err != nil || string(head) != want[:2] || string(tail) != want[len(want)-2:] || !truncated {
		t.Errorf("in part: %q %q %v %v", head, tail, truncated, err)
	}
}

// A spool that changed after its record was made is said to be damaged.
func TestDamagedSpool(t *testing.T) {
	c := newCall(t, "echo hello")
	c.ended()
	if err := os.WriteFile(filepath.Join(c.folder, "out"), []byte("hallo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, _, err := runner.Output(c.folder, 100); !errors.Is(err, runner.ErrSpoolDamaged) {
		t.Errorf("error %v", err)
	}
}

// A command that closes its output goes on until it ends. Behaviour 14.
func TestClosedOutput(t *testing.T) {
	c := newCall(t, "echo before; exec >&- 2>&-; echo > here; read x < go; exit 5")
	here, gate := c.fifo("here"), c.fifo("go")
	c.start()
	c.read(here)
	if s := c.look(); s.State != runner.Running {
		t.Errorf("%+v", s)
	}
	c.let(gate)
	if e := c.end(); e.Status != 5 || e.Output != 7 {
		t.Errorf("exit record %+v", e)
	}
}

// Output is shown while the command runs, from any offset, until the call's end.
func TestFollow(t *testing.T) {
	c := newCall(t, "echo one; echo > here; read x < go; echo two")
	here, gate := c.fifo("here"), c.fifo("go")
	c.start()
	c.read(here)
	type result struct {
		at  int64
		err error
	}
	shown, done := make(chan string, 10), make(chan result, 1)
	go func() {
		at, err := runner.Follow(deadline(t), c.folder, 1, func(b []byte) { shown <- string(b) })
		done <- result{at, err}
		close(shown)
	}()
	if got := <-shown; got != "ne\n" {
		t.Errorf("while it runs: %q", got)
	}
	c.let(gate)
	if got := <-shown; got != "two\n" {
		t.Errorf("then: %q", got)
	}
	if r := <-done; r.at != 8 || r.err != nil {
		t.Errorf("ended at %d, %v", r.at, r.err)
	}
	if more, ok := <-shown; ok {
		t.Errorf("shown twice: %q", more)
	}
	var late strings.Builder
	at, err := runner.Follow(context.Background(), c.folder, 0, func(b []byte) { late.Write(b) })
	if err != nil || at != 8 || late.String() != "one\ntwo\n" {
		t.Errorf("after the end: %q to %d, %v", late.String(), at, err)
	}
}

// What is not kept of a long output is said where it is missing.
func TestFollowSaysWhatIsMissing(t *testing.T) {
	c := newCall(t, "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done")
	c.spec.Keep = 8000
	e := c.ended()
	var shown strings.Builder
	at, err := runner.Follow(context.Background(), c.folder, 0, func(b []byte) { shown.Write(b) })
	if err != nil || at != e.Output {
		t.Errorf("to %d of %d, %v", at, e.Output, err)
	}
	if want := fmt.Sprintf("\n[%d bytes of output are not kept]\n", e.Output-e.Kept); !strings.Contains(shown.String(), want) {
		t.Errorf("no %q", want)
	}
	if !strings.HasPrefix(shown.String(), "line 1\n") || !strings.HasSuffix(shown.String(), "line 3000\n") {
		t.Error("head or tail are missing")
	}
}

// tinyDisk mounts a small file system for the call's folder.
func (c *call) tinyDisk(size string) (root string) {
	c.t.Helper()
	root = c.t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		c.t.Skipf("no small file system to fill: mount tmpfs: %v", err)
	}
	c.t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			c.t.Error(err)
		}
	})
	c.folder = c.spec.Identity.Folder(filepath.Join(root, "calls"))
	return root
}

// fill takes all but the given bytes of a small disk, and returns how to give them back.
func fill(t *testing.T, root string, leave int64) (free func()) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(root, &s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "ballast")
	if err := os.WriteFile(path, make([]byte, int64(s.Bfree)*s.Bsize-leave), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that fills up under the spool truncates the record of the output and says so. The command
// and the record of its end are not touched by it. Behaviour 9.
func TestFullSpool(t *testing.T) {
	c := newCall(t, "head -c 1000000 /dev/zero; echo done > effect; exit 3")
	c.tinyDisk("256k")
	e := c.ended()
	if e.Status != 3 || e.Cause != runner.CauseExited || e.Output != 1_000_000 || !e.Truncated || e.Kept >= 256<<10 || e.Kept == 0 {
		t.Errorf("exit record %+v", e)
	}
	if !strings.Contains(e.Message, "no space left") {
		t.Errorf("message %q", e.Message)
	}
	if _, err := os.Stat(filepath.Join(c.work, "effect")); err != nil {
		t.Error(err)
	}
	if _, _, total, truncated, err := runner.Output(c.folder, 8<<20); err != nil || !truncated || total != 1_000_000 {
		t.Errorf("output: %d, %v, %v", total, truncated, err)
	}
}

// A disk that is full before the start can be recorded means that nothing starts, and the reason is
// found. Behaviour 9.
func TestFullDiskBeforeTheStart(t *testing.T) {
	for _, leave := range []int64{0, 4096} { // nothing; room for exit and none for began
		t.Run(fmt.Sprint(leave), func(t *testing.T) {
			c := newCall(t, "echo x > effect")
			root := c.tinyDisk("256k")
			j := c.prepare()
			free := fill(t, root, leave)
			if err := j.Start(os.Args[0], nil); err != nil {
				t.Fatal(err)
			}
			s := c.wait()
			if s.State != runner.NeverStarted || !strings.Contains(s.Why, "no space left") {
				t.Errorf("%+v", s)
			}
			if _, err := os.Stat(filepath.Join(c.work, "effect")); err == nil {
				t.Error("the command ran without its record")
			}
			free()
			// A next attempt is another call; the same one is prepared anew only because it never
			// started.
			if e := c.ended(); e.Status != 0 {
				t.Errorf("exit record %+v", e)
			}
		})
	}
}

// A cancel needs no room on the disk.
func TestCancelOnAFullDisk(t *testing.T) {
	c := newCall(t, "echo > here; sleep 1000")
	here := c.fifo("here")
	root := c.tinyDisk("256k")
	c.start()
	c.read(here)
	fill(t, root, 0)
	if err := runner.Cancel(c.folder, "a person said so"); err != nil {
		t.Fatal(err)
	}
	if e := c.end(); e.Cause != runner.CauseCancelled {
		t.Errorf("exit record %+v", e)
	}
}
