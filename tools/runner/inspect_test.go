//go:build linux

package runner_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"agent/tools/ofd"
	"agent/tools/runner"
)

// A record counts only for the call that it names.
func TestAnotherCallIsNoEvidence(t *testing.T) {
	c, never := newCall(t, "true"), newCall(t, "true")
	c.ended()
	never.hostProcess("prepare")()
	for name, change := range map[string]func(*runner.Identity){
		"run":         func(id *runner.Identity) { id.Run = "r-other" },
		"turn":        func(id *runner.Identity) { id.Turn++ },
		"index":       func(id *runner.Identity) { id.Index++ },
		"attempt":     func(id *runner.Identity) { id.Attempt++ },
		"fingerprint": func(id *runner.Identity) { id.Fingerprint = "other" },
	} {
		id := c.spec.Identity
		change(&id)
		s, err := runner.Inspect(c.folder, id)
		if err != nil || s.State != runner.NoEvidence || s.Exit != nil {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		s, err = runner.Inspect(never.folder, id)
		if err != nil || s.State != runner.NoEvidence {
			t.Errorf("%s: never started: %+v, %v", name, s, err)
		}
		s, err = runner.Wait(deadline(t), c.folder, id)
		if err != nil || s.State != runner.NoEvidence {
			t.Errorf("%s: waited: %+v, %v", name, s, err)
		}
	}
	s, err := runner.Inspect(c.folder+"x", c.spec.Identity)
	if err != nil || s.State != runner.NoEvidence {
		t.Errorf("no folder: %+v, %v", s, err)
	}
}

// What cannot be read is never taken for a call that did not start.
func TestDamagedRecords(t *testing.T) {
	for _, damage := range []struct {
		name, file, content string
		want                runner.State
	}{
		{"empty began", "began", "", runner.Unknown},
		{"torn began", "began", `{"run":"r`, runner.Unknown},
		{"began of zeros", "began", "\x00\x00\x00", runner.Unknown},
		{"huge began", "began", string(make([]byte, 1<<20)), runner.Unknown},
		{"began of another", "began", `{"run":"r-other"}`, runner.NoEvidence},
		{"torn exit", "exit", `{"run":`, runner.Unknown},
		{"empty exit", "exit", "", runner.Unknown},
		{"exit of another", "exit", `{"run":"r-other","status":0}`, runner.NoEvidence},
		{"empty lock", "lock", "", runner.NoEvidence},
		{"torn lock", "lock", `{"run":"r-o`, runner.NoEvidence},
	} {
		t.Run(damage.name, func(t *testing.T) {
			c := newCall(t, "true")
			kill := c.hostProcess("prepare")
			kill()
			if s := c.look(); s.State != runner.NeverStarted {
				t.Fatalf("before: %+v", s)
			}
			if err := os.WriteFile(filepath.Join(c.folder, damage.file), []byte(damage.content), 0o600); err != nil {
				t.Fatal(err)
			}
			s := c.look()
			if s.State != damage.want || s.Exit != nil {
				t.Errorf("%+v, want %s", s, damage.want)
			}
			if s.State == runner.Unknown && (s.Began == nil || s.Began.Identity != c.spec.Identity) {
				t.Errorf("nothing to sweep by: %+v", s.Began)
			}
		})
	}
}

// Looking takes no lock: any number of lookers disturb neither each other nor the call.
func TestLookTakesNoLock(t *testing.T) {
	c := newCall(t, "echo > here; read x < go")
	here, gate := c.fifo("here"), c.fifo("go")
	c.start()
	c.read(here)
	look := func(want runner.State) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 200 {
					s, err := runner.Inspect(c.folder, c.spec.Identity)
					if err != nil || s.State != want {
						t.Errorf("%+v, %v", s, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	look(runner.Running)
	c.let(gate)
	c.end()
	look(runner.Ended)
}

// A server that a command leaves behind keeps neither the call open nor its lock, and goes on, also
// when it prints. Behaviour 15.
func TestBackgroundServer(t *testing.T) {
	c := newCall(t, `sh -c 'read x < go; echo printed; echo printed again; echo alive > done; read x < go' & echo $! > here; echo started`)
	here, gate, done := c.fifo("here"), c.fifo("go"), c.fifo("done")
	c.start()
	server := c.process(c.read(here))
	if e := c.end(); e.Status != 0 {
		t.Errorf("exit record %+v", e)
	}
	held, err := ofd.Held(filepath.Join(c.folder, "lock"))
	if err != nil || held {
		t.Errorf("lock held %v, %v while the server lives", held, err)
	}
	if !server.alive() {
		t.Fatal("the server did not outlive its call")
	}
	if got := c.output(); got != "started\n" {
		t.Errorf("output %q", got)
	}
	if err := runner.Discard(c.folder); err != nil {
		t.Error(err)
	}
	// The call's folder and pipe are gone; printing must not kill it.
	c.let(gate)
	if got := c.read(done); got != "alive" {
		t.Errorf("the server says %q", got)
	}
	c.let(gate)
	server.gone()
}

// What is left behind may still print for a moment, and that is kept. It is at work when the
// command ends: how long a busy machine takes to start it is no part of that moment.
func TestOutputAfterTheEnd(t *testing.T) {
	c := newCall(t, "mkfifo gate; (trap '' HUP; echo > gate; echo one; echo two) & read x < gate; exit 0")
	c.ended()
	if got := c.output(); got != "one\ntwo\n" {
		t.Errorf("output %q", got)
	}
}

// The folder goes when its result is kept, and not before the call's end. An abandoned one leaves
// nothing.
func TestDiscardAndLeftovers(t *testing.T) {
	c := newCall(t, "echo > here; read x < go")
	here, gate := c.fifo("here"), c.fifo("go")
	root := filepath.Dir(filepath.Dir(c.folder))
	leftovers := func(want int) {
		t.Helper()
		left, err := runner.Leftovers(root)
		if err != nil || len(left) != want {
			t.Errorf("leftovers %v, %v, want %d", left, err, want)
		}
	}
	if err := c.prepare().Abandon(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(c.folder)); !os.IsNotExist(err) {
		t.Errorf("abandoned, and the run's folder is there: %v", err)
	}
	leftovers(0)
	c.start()
	c.read(here)
	leftovers(0)
	if err := runner.Discard(c.folder); err == nil {
		t.Error("discarded a running call")
	}
	c.let(gate)
	c.end()
	leftovers(1)
	for range 2 {
		if err := runner.Discard(c.folder); err != nil {
			t.Error(err)
		}
	}
	leftovers(0)
	if s := c.look(); s.State != runner.NoEvidence {
		t.Errorf("after discarding: %+v", s)
	}
}

// Started by anyone but a host, the runner does nothing.
func TestRunnerWithoutItsLock(t *testing.T) {
	c := newCall(t, "echo x > effect")
	kill := c.hostProcess("prepare")
	kill()
	if code := runByHand(t, c.folder); code != 2 {
		t.Errorf("exit code %d", code)
	}
	if s := c.look(); s.State != runner.NeverStarted {
		t.Errorf("%+v", s)
	}
}
