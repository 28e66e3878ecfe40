//go:build linux && portable

package runner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/tools/ofd"
)

// A long script of which only a part arrives, because its runner was killed, is not carried out at
// all, wherever it is cut off.
func TestScriptCutOff(t *testing.T) {
	dir := t.TempDir()
	s := Spec{Shell: []string{"/bin/sh", "-e"}, Script: "echo x >>effect\n# " + strings.Repeat("end-x", 1000) + "\n"}
	run := func(cut int) (code int, effect bool) {
		t.Helper()
		c := &command{cmd: &exec.Cmd{Dir: dir}}
		if err := c.pipeScript(s); err != nil {
			t.Fatal(err)
		}
		if cut < 0 {
			cut = len(c.text)
		}
		c.cmd.Path, c.cmd.ExtraFiles = s.Shell[0], []*os.File{c.script}
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, err := c.feed.WriteString(c.text[:cut])
		if err = errors.Join(err, c.feed.Close(), c.script.Close()); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait() // how it ended is looked at
		err = os.Remove(filepath.Join(dir, "effect"))
		return c.cmd.ProcessState.ExitCode(), err == nil
	}
	for _, cut := range []int{0, 1, 16, 17, 100, len(s.Script) - 1, len(s.Script), len(s.Script) + 1, len(s.Script) + 67} {
		if code, effect := run(cut); code != 126 || effect {
			t.Errorf("cut off at %d of %d: exit status %d, carried out %v", cut, len(s.Script), code, effect)
		}
	}
	if code, effect := run(-1); code != 0 || !effect {
		t.Errorf("whole: exit status %d, carried out %v", code, effect)
	}
}

// A runner that gets a part of its specification, because the host was killed, starts nothing and
// leaves the proof of that.
func TestSpecificationCutOff(t *testing.T) {
	work := t.TempDir()
	s := Spec{
		Identity: Identity{Run: "r-cut", Turn: 1, Attempt: 1, Fingerprint: "f"}, Script: "echo x >effect", Shell: []string{"/bin/sh", "-e"}, Dir: work,
	}
	whole, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		folder := s.Folder(filepath.Join(t.TempDir(), "calls"))
		j, err := Prepare(folder, s)
		if err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], Command, folder)
		cmd.ExtraFiles = []*os.File{j.lock.File(), r}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(whole[:cut])
		if err = errors.Join(err, w.Close(), r.Close(), j.Close()); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its code is for people
		if e, err := Inspect(folder, s.Identity); err != nil || e.State != NeverStarted || !e.Refused {
			t.Errorf("cut off at %d of %d: %+v, %v", cut, len(whole), e, err)
		}
		if _, err := os.Stat(filepath.Join(work, "effect")); err == nil {
			t.Error("the command ran")
		}
	}
}

// What is held by a process that lives, another than the recorded one, is not killed by its number.
func TestKillRunnerWithoutRecord(t *testing.T) {
	folder := t.TempDir()
	lock, err := ofd.Open(filepath.Join(folder, lockName))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	bystander := exec.Command("sleep", "1000")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	b := Began{Identity: Identity{Run: "r"}, Runner: Process{Pid: bystander.Process.Pid}, At: time.Unix(1, 0)}
	if err := KillRunner(folder, b); err == nil {
		t.Error("killed without a record of the runner")
	}
	if err := errors.Join(lock.Close(), bystander.Process.Kill()); err != nil {
		t.Error(err)
	}
	_ = bystander.Wait() // it was killed here
}
