//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv("DISK_SERVES") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// served is a disk in a process of its own, as it must be.
type served struct {
	t         *testing.T
	in        io.WriteCloser
	out       *bufio.Scanner
	back, dir string
}

func serve(t *testing.T, files map[string]string) *served {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("a file system is mounted by root where there is /dev/fuse")
	}
	top := t.TempDir()
	s := &served{t: t, back: filepath.Join(top, "back"), dir: filepath.Join(top, "mount")}
	for _, d := range []string{s.back, s.dir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		s.write(filepath.Join(s.back, name), text)
	}
	c := exec.Command(os.Args[0], "-back", s.back, "-mount", s.dir)
	c.Env = append(os.Environ(), "DISK_SERVES=1")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() }) // one that is gone is as good
	s.out = bufio.NewScanner(out)
	s.out.Buffer(nil, 1<<20)
	t.Cleanup(func() {
		err := errors.Join(s.in.Close(), c.Wait())
		late.Stop()
		if err != nil {
			t.Errorf("the disk ends: %v", err)
		}
		if entries, err := os.ReadDir(s.dir); err != nil || len(entries) > 0 {
			t.Errorf("it is still mounted: %v, %v", entries, err)
		}
	})
	s.ask(`{"do":"index"}`)
	return s
}

func (s *served) write(path, text string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) ask(format string, args ...any) answer {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, format+"\n", args...); err != nil {
		s.t.Fatal(err)
	}
	if !s.out.Scan() {
		s.t.Fatalf("no answer: %v", s.out.Err())
	}
	var a answer
	if err := json.Unmarshal(s.out.Bytes(), &a); err != nil || a.Error != "" {
		s.t.Fatalf("%s: %s %v", fmt.Sprintf(format, args...), a.Error, err)
	}
	return a
}

// trace is all that was done, one word each.
func (s *served) trace() string {
	s.t.Helper()
	n := *s.ask(`{"do":"index"}`).Index
	var words []string
	for _, op := range s.ask(`{"do":"ops","from":1,"to":%d}`, n).Ops {
		words = append(words, strings.TrimSpace(op.Op+" "+op.Path+" "+op.To))
	}
	return strings.Join(words, ", ")
}

// state is what a cut leaves: names and what they hold.
func (s *served) state(at int, model string) map[string]string {
	s.t.Helper()
	into := filepath.Join(filepath.Dir(s.dir), fmt.Sprintf("state-%d-%s", at, model))
	s.ask(`{"do":"state","at":%d,"model":%q,"seed":1,"into":%q}`, at, model, into)
	return read(s.t, into)
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// replace writes a file as one does that must survive.
func replace(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, ".new"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(filepath.Join(dir, ".new"), filepath.Join(dir, name))
	}
	d, e := os.Open(dir)
	if e != nil {
		return errors.Join(err, e)
	}
	return errors.Join(err, d.Sync(), d.Close())
}

func TestWhatIsDoneIsRecordedInOrder(t *testing.T) {
	s := serve(t, map[string]string{"there": "old"})
	if err := replace(s.dir, "there", "new"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.trace(), "create .new, write .new, fsync .new, rename .new there, fsyncdir"; got != want {
		t.Errorf("recorded: %s\nwant:     %s", got, want)
	}
	for at, want := range []string{"old", "old", "old", "old", "old", "new"} {
		if got := s.state(at, synced)["there"]; got != want {
			t.Errorf("after operation %d the file holds %q, want %q", at, got, want)
		}
	}
	if got := s.state(4, everything)["there"]; got != "new" {
		t.Errorf("a process that was killed after the rename leaves %q", got)
	}
	if got := read(t, s.back)["there"]; got != "new" {
		t.Errorf("the folder behind holds %q", got)
	}
}

func TestFileOfManyKinds(t *testing.T) {
	s := serve(t, nil)
	in := func(name string) string { return filepath.Join(s.dir, name) }
	steps := []func() error{
		func() error { return os.Mkdir(in("d"), 0o700) },
		func() error { return os.WriteFile(in("d/a"), []byte("12345678"), 0o600) },
		func() error { return os.Truncate(in("d/a"), 4) },
		func() error { return os.Chmod(in("d/a"), 0o400) },
		func() error { return os.Link(in("d/a"), in("d/b")) },
		func() error { return os.Symlink("a", in("d/c")) },
		func() error { return os.Rename(in("d/b"), in("e")) },
		func() error { return os.Remove(in("d/a")) },
		func() error { return os.WriteFile(in("f"), nil, 0o600) },
		func() error { return os.Remove(in("f")) },
	}
	for i, do := range steps {
		if err := do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	want := "mkdir d, create d/a, write d/a, truncate d/a, chmod d/a, link d/a d/b, symlink d/c, rename d/b e, unlink d/a, create f, unlink f"
	if got := s.trace(); got != want {
		t.Errorf("recorded: %s\nwant:     %s", got, want)
	}
	if err := os.Remove(in("d/c")); err != nil { // it points nowhere now
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.state(12, everything)); got != "map[e:1234]" {
		t.Errorf("in the end there is %s", got)
	}
	if got := s.state(12, synced); len(got) != 0 {
		t.Errorf("nothing was made durable, and %v is", got)
	}
}

func TestOperationsFailOnDemand(t *testing.T) {
	s := serve(t, map[string]string{"log": ""})
	add := func(text string) error {
		f, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		if _, err = f.WriteString(text); err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}
	s.ask(`{"do":"fault","op":"write","path":"log","errno":"ENOSPC","at":2,"torn":true}`)
	s.ask(`{"do":"fault","op":"fsync","path":"other","errno":"EIO","at":1,"sticky":true}`)
	for i, want := range []error{nil, syscall.ENOSPC, nil} {
		if err := add("abcd"); !errors.Is(err, want) {
			t.Errorf("write %d: %v, want %v", i+1, err, want)
		}
	}
	if n := *s.ask(`{"do":"heal"}`).Hit; n != 1 {
		t.Errorf("%d operations failed, want 1", n)
	}
	if got := read(t, s.back)["log"]; got != "abcdababcd" && got != "abcdabcd" {
		t.Errorf("the file holds %q", got)
	}
	s.ask(`{"do":"fault","op":"any","path":"","errno":"EROFS","at":1,"sticky":true}`)
	if err := os.Mkdir(filepath.Join(s.dir, "d"), 0o700); !errors.Is(err, syscall.EROFS) {
		t.Errorf("mkdir on a disk that became read-only: %v", err)
	}
	if err := add("x"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("open to write: %v", err)
	}
	if _, err := os.ReadFile(filepath.Join(s.dir, "log")); err != nil {
		t.Errorf("read: %v", err)
	}
	s.ask(`{"do":"heal"}`)
	if err := add("x"); err != nil {
		t.Errorf("after it was mended: %v", err)
	}
}

func TestSlow(t *testing.T) {
	s := serve(t, nil)
	s.ask(`{"do":"slow","op":"fsync","path":"","ms":30}`)
	began := time.Now()
	if err := replace(s.dir, "a", "text"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 60*time.Millisecond { // time: a slow disk takes no less, however long
		t.Errorf("two fsyncs of 30 ms took %s", took)
	}
}

func TestWrongRequests(t *testing.T) {
	s := &service{trace: newTrace(map[key]uint64{})}
	for _, r := range []request{
		{Do: "fly"}, {Do: "ops", From: 1, To: 1}, {Do: "fault", Op: "write", Errno: "EPERM", At: 1}, {Do: "fault", Op: "read", Errno: "EIO", At: 1},
		{Do: "fault", Op: "write", Errno: "EIO"}, {Do: "slow", Op: "read"}, {Do: "state", At: 1, Into: "x"}, {Do: "state"},
	} {
		if _, err := s.do(r); err == nil {
			t.Errorf("%+v is answered", r)
		}
	}
}
