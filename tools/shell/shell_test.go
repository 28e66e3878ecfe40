//go:build linux

package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
	"agent/tools/runner"
	"agent/tools/toolstest"
)

func TestShellResults(t *testing.T) {
	for name, tt := range map[string]struct {
		args    args
		outcome journal.Outcome
		applied journal.Applied
		want    string
	}{
		"output":         {args{"command": "echo out; echo err >&2"}, journal.OutcomeOK, journal.AppliedYes, "out\nerr\n"},
		"silence":        {args{"command": ":"}, journal.OutcomeOK, journal.AppliedYes, "[no output]"},
		"exit status":    {args{"command": "echo x; exit 3"}, journal.OutcomeError, journal.AppliedYes, "x\nexit status 3"},
		"first failure":  {args{"command": "false\necho never"}, journal.OutcomeError, journal.AppliedYes, "exit status 1"},
		"empty input":    {args{"command": "wc -c"}, journal.OutcomeOK, journal.AppliedYes, "0\n"},
		"no newline":     {args{"command": "printf x; exit 1"}, journal.OutcomeError, journal.AppliedYes, "x\nexit status 1"},
		"signal":         {args{"command": "kill -9 $$"}, journal.OutcomeUnknown, journal.AppliedUnknown, "killed by signal SIGKILL"},
		"not UTF-8":      {args{"command": `printf 'a\377b'`}, journal.OutcomeOK, journal.AppliedYes, "a\ufffdb\n[bytes that are not UTF-8 are shown as \ufffd]"},
		"pipe in sh":     {args{"command": "false | true"}, journal.OutcomeOK, journal.AppliedYes, "[no output]"},
		"pipe in bash":   {args{"command": "false | true", "shell": "bash"}, journal.OutcomeError, journal.AppliedYes, "exit status 1"},
		"bash":           {args{"command": "a=(1 2); echo ${a[1]}", "shell": "bash"}, journal.OutcomeOK, journal.AppliedYes, "2\n"},
		"in good time":   {args{"command": "echo x", "timeout": 60}, journal.OutcomeOK, journal.AppliedYes, "x\n"},
		"environment":    {args{"command": `echo "$SECRET_TOKEN$HOME"`}, journal.OutcomeOK, journal.AppliedYes, "/nowhere\n"},
		"part of a name": {args{"command": `false "$MY_SECRET_TOKEN"`}, journal.OutcomeError, journal.AppliedYes, "exit status 1"},
		"not given": {args{"command": `false "$SECRET_TOKEN"`}, journal.OutcomeError, journal.AppliedYes,
			"exit status 1\n[not in a command's environment, because they are secrets: SECRET_TOKEN; the person can let them through: agent help secrets]"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r, err := b.Run("shell", tt.args)
			if err != nil || r.Outcome != tt.outcome || r.Applied != tt.applied || r.Content != tt.want || r.How != journal.HowExecuted {
				t.Errorf("%v, %+v", err, r)
			}
		})
	}
}

func TestShellFolderAndData(t *testing.T) {
	b := newBench(t)
	r, err := b.Run("shell", args{"command": "pwd; exit 2"})
	if err != nil || r.Content != b.Dir+"\nexit status 2" {
		t.Fatalf("%v, %+v", err, r)
	}
	var d ran
	if err := json.Unmarshal(r.Data, &d); err != nil || d.Status != 2 || d.Cause != string(runner.CauseExited) || d.Bytes != int64(len(b.Dir)+1) {
		t.Errorf("%s, %v", r.Data, err)
	}
	if b.Shown.String() != b.Dir+"\n" {
		t.Errorf("shown while it ran: %q", b.Shown.String())
	}
	if r.Full != nil {
		t.Error("a short output is kept twice")
	}
	b.Dir = b.Path("gone")
	toolstest.Contains(t, b.Refused("shell", args{"command": ":"}), "no such file")
	b.Dir = b.State
	toolstest.Contains(t, b.Refused("shell", args{"command": ":"}), "state folder")
}

// The shell is given what was read: words in quotes, which no alias of the script changes. What has
// no such form it is given as it stands.
func TestShellIsGivenWhatWasRead(t *testing.T) {
	for command, want := range map[string]string{
		"alias echo='printf raw'\necho read":                "read\n",
		"alias echo='printf raw'\necho $((1)) as it stands": "raw",
	} {
		if r, err := newBench(t).Run("shell", args{"command": command}); err != nil || r.Content != want {
			t.Errorf("%q: %v, %q, want %q", command, err, r.Content, want)
		}
	}
}

// A command stopped on its way may have done anything: that is unknown, and the twin guard sees it.
func TestShellTimeout(t *testing.T) {
	b := newBench(t)
	r, err := b.Run("shell", args{"command": "echo begun; sleep 600 & wait", "timeout": 0.3})
	if err != nil || r.Outcome != journal.OutcomeUnknown || r.Applied != journal.AppliedUnknown {
		t.Fatalf("%v, %+v", err, r)
	}
	toolstest.Contains(t, r.Content, "begun\ntimed out: ", "300ms")
}

func TestShellLongOutput(t *testing.T) {
	b := newBench(t)
	r, err := b.Run("shell", args{"command": `i=0; while [ $i -lt 9000 ]; do echo "line $i é"; i=$((i+1)); done`})
	if err != nil || r.Outcome != journal.OutcomeOK {
		t.Fatalf("%v, %+v", err, r)
	}
	var whole strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&whole, "line %d é\n", i)
	}
	if string(r.Full) != whole.String() || r.Size != int64(whole.Len()) {
		t.Errorf("kept %d of %d bytes, size %d", len(r.Full), whole.Len(), r.Size)
	}
	if len(r.Content) > excerpt.MaxOutput+200 || !strings.HasPrefix(r.Content, "line 0 é\n") || !strings.HasSuffix(r.Content, "line 8999 é\n") {
		t.Errorf("%d bytes shown to the model", len(r.Content))
	}
	toolstest.Contains(t, r.Content, "bytes are left out here; read_output with call c-test reads them]")
	if strings.Contains(r.Content, "\ufffd") {
		t.Error("a character was cut in two")
	}
	if b.Shown.String() != whole.String() {
		t.Errorf("%d of %d bytes were shown while it ran", b.Shown.Len(), whole.Len())
	}
}

// More than can be kept: the beginning and the end are kept, and what is missing is said.
func TestShellOutputBeyondWhatIsKept(t *testing.T) {
	b := newBench(t)
	r, err := b.Run("shell", args{"command": "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo last"})
	if err != nil || r.Outcome != journal.OutcomeOK || r.Size != 20_000_011 {
		t.Fatalf("%v, %s %d", err, r.Outcome, r.Size)
	}
	if len(r.Full) > runner.DefaultKeep+100 || !strings.HasPrefix(string(r.Full), "first\n") || !strings.HasSuffix(string(r.Full), "xlast\n") {
		t.Errorf("%d bytes are kept", len(r.Full))
	}
	toolstest.Contains(t, string(r.Full), "bytes of output are not kept]")
	toolstest.Contains(t, r.Content, "of 20000011 bytes are left out here; ")
	toolstest.Contains(t, r.Content, " of those are not kept; read_output with call c-test reads the others]")
}

// Shutdown: the host stops watching, the command goes on, and the next host picks it up and gets
// its true end.
func TestShellOutlivesItsHost(t *testing.T) {
	b := newBench(t)
	if err := unix.Mkfifo(b.Path("gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := b.Prepare("shell", b.Call("shell", args{"command": "echo one; read line <gate; echo $line; exit 4"}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	seen := make(chan struct{})
	c.Show = func(p []byte) {
		if strings.Contains(string(p), "one") {
			close(seen)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := b.shell().Call(ctx, c)
		ended <- err
	}()
	<-seen
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	c.Handle = nil
	if s := b.shell().Find(b.Context(), c); s.State != recovery.ProcessRunning {
		t.Fatalf("%+v", s)
	}
	gate, err := os.OpenFile(b.Path("gate"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	if _, err := gate.WriteString("two\n"); err != nil {
		t.Fatal(err)
	}
	c.Show = func(p []byte) { b.Shown.Write(p) }
	r, err := b.shell().Attach(b.Context(), c)
	if err != nil || r.Content != "one\ntwo\nexit status 4" || r.How != journal.HowAttached || b.Shown.String() != "one\ntwo\n" {
		t.Fatalf("%v, %+v, shown %q", err, r, b.Shown.String())
	}
	s := b.shell().Find(b.Context(), c)
	if s.State != recovery.ProcessEnded || s.Result.How != journal.HowAdopted || s.Result.Content != r.Content {
		t.Fatalf("%+v", s)
	}
	if err := b.shell().Discard(c); err != nil {
		t.Fatal(err)
	}
	if s := b.shell().Find(b.Context(), c); s.State != recovery.ProcessNone {
		t.Errorf("%+v", s)
	}
}

func TestShellCancelled(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("shell", b.Call("shell", args{"command": "echo begun; sleep 600 & wait"}))
	if err != nil {
		t.Fatal(err)
	}
	c.Show = func(p []byte) {
		if err := b.shell().Stop(c, "not wanted any more"); err != nil {
			t.Error(err)
		}
	}
	r, err := b.shell().Call(b.Context(), c)
	if err != nil || r.Outcome != journal.OutcomeUnknown || r.Applied != journal.AppliedUnknown {
		t.Fatalf("%v, %+v", err, r)
	}
	toolstest.Contains(t, r.Content, "begun\ncancelled: not wanted any more")
}

// Cancelled between its recorded start and its beginning: it never ran, and that is known.
func TestShellCancelledBeforeItBegan(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("shell", b.Call("shell", args{"command": "echo x >made"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.shell().Stop(c, "too late"); err != nil {
		t.Fatal(err)
	}
	r, err := b.shell().Call(b.Context(), c)
	if r.Applied != journal.AppliedNo || (err == nil && r.Outcome != journal.OutcomeError) {
		t.Fatalf("%v, %+v", err, r)
	}
	if b.Names(".") != "" {
		t.Errorf("it ran: %s", b.Names("."))
	}
}

// The host prepared a call and died before it started anything: provably never started.
func TestShellNeverStarted(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("shell", b.Call("shell", args{"command": ":"}))
	if err != nil {
		t.Fatal(err)
	}
	if s := b.shell().Find(b.Context(), c); s.State != recovery.ProcessRunning {
		t.Errorf("its lock is held: %+v", s)
	}
	if r, err := b.shell().Call(b.Context(), tools.Call{Place: c.Place, Run: c.Run, Args: c.Args, Folder: c.Folder}); err == nil || r.Applied != journal.AppliedNo {
		t.Errorf("without a handle: %v, %+v", err, r)
	}
	if err := c.Handle.(*runner.Job).Abandon(); err != nil {
		t.Fatal(err)
	}
	if s := b.shell().Find(b.Context(), c); s.State != recovery.ProcessNone && s.State != recovery.ProcessNever {
		t.Errorf("%+v", s)
	}
}

// The runner is killed while the host watches: unknown, what is left is ended, and nothing is
// repeated.
func TestShellRunnerKilled(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("shell", b.Call("shell", args{"command": stray + " & echo begun; wait"}))
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	c.Show = func([]byte) {
		once.Do(func() {
			s, err := runner.Inspect(b.shell().callFolder(c), identity(c))
			if err == nil {
				err = unix.Kill(s.Began.Runner.Pid, unix.SIGKILL)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	r, err := b.shell().Call(b.Context(), c)
	if err != nil || r.Outcome != journal.OutcomeUnknown || r.Applied != journal.AppliedUnknown || len(r.Alive) != 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	toolstest.Contains(t, r.Content, "outcome unknown", "was not repeated")
	s := b.shell().Find(b.Context(), c)
	if s.State != recovery.ProcessLost || len(s.Alive) != 0 {
		t.Errorf("%+v", s)
	}
	if left, err := b.shell().Kill(b.Context(), c); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A runner that does not react to a stop is ended by Kill, with all that it started.
func TestShellBuriesAStoppedRunner(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("shell", b.Call("shell", args{"command": "echo begun; sleep 600 & wait"}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan journal.Result, 1)
	frozen := make(chan struct{})
	c.Show = func([]byte) {
		s, err := runner.Inspect(b.shell().callFolder(c), identity(c))
		if err == nil {
			err = unix.Kill(s.Began.Runner.Pid, unix.SIGSTOP)
		}
		if err != nil {
			t.Error(err)
		}
		close(frozen)
	}
	go func() {
		r, err := b.shell().Call(b.Context(), c)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	<-frozen
	if err := b.shell().Stop(c, "stop"); err != nil {
		t.Fatal(err)
	}
	if left, err := b.shell().Kill(b.Context(), c); err != nil || len(left) != 0 {
		t.Fatalf("%v, %v", left, err)
	}
	if r := <-ended; r.Outcome != journal.OutcomeUnknown {
		t.Errorf("%+v", r)
	}
}

// Files of another call, or of another attempt, are no evidence.
func TestShellEvidenceOfAnotherCall(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("shell", b.Call("shell", args{"command": ":"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.shell().Call(b.Context(), c); err != nil {
		t.Fatal(err)
	}
	other := c
	other.Fingerprint = "another"
	if s := b.shell().Find(b.Context(), other); s.State != recovery.ProcessNone {
		t.Errorf("%+v", s)
	}
	other = c
	other.Attempt = 2
	if s := b.shell().Find(b.Context(), other); s.State != recovery.ProcessNone {
		t.Errorf("%+v", s)
	}
	if err := os.RemoveAll(filepath.Join(b.State, "calls")); err != nil {
		t.Fatal(err)
	}
	if r, err := b.shell().Attach(b.Context(), c); err == nil || r.Applied != journal.AppliedUnknown {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestShellWithoutARunner(t *testing.T) {
	b := newBench(t)
	b.Use(New(Options{Calls: filepath.Join(b.State, "calls"), Exe: b.Path("none"), Denied: []string{b.State}}))
	toolstest.Contains(t, b.Refused("shell", args{"command": "echo x >made"}), "start runner")
	if b.Names(".") != "" {
		t.Error("it ran")
	}
}
