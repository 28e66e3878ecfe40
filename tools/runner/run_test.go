//go:build linux

package runner_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/runner"

	"golang.org/x/sys/unix"
)

func TestNormalRun(t *testing.T) {
	c := newCall(t, "echo out; echo err >&2; pwd; cat")
	e := c.ended()
	if e.Status != 0 || e.Cause != runner.CauseExited || e.Signal != "" || e.Message != "" || e.Truncated {
		t.Errorf("exit record %+v", e)
	}
	if e.Identity != c.spec.Identity || e.Started.IsZero() || e.Ended.Before(e.Started) {
		t.Errorf("exit record %+v", e)
	}
	want := "out\nerr\n" + c.work + "\n"
	if got := c.output(); got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if e.Output != int64(len(want)) || e.Kept != e.Output {
		t.Errorf("sizes %d and %d, want %d", e.Output, e.Kept, len(want))
	}
}

func TestExitCode(t *testing.T) {
	c := newCall(t, "false | true; (exit 7); echo not reached")
	if e := c.ended(); e.Status != 7 || e.Cause != runner.CauseExited {
		t.Errorf("exit record %+v", e)
	}
	if got := c.output(); strings.Contains(got, "not reached") {
		t.Errorf("output %q", got)
	}
}

// A script that no argument can hold is carried out all the same, to its last byte.
func TestLargeScript(t *testing.T) {
	for _, size := range []int{90 << 10, 300 << 10, 2 << 20} {
		c := newCall(t, "echo first\n# "+strings.Repeat("x", size)+"\necho \"$#\"; false; echo not reached")
		if e := c.ended(); e.Status != 1 || e.Cause != runner.CauseExited {
			t.Errorf("%d: exit record %+v", size, e)
		}
		if got := c.output(); got != "first\n0\n" {
			t.Errorf("%d: output %q", size, got)
		}
	}
}

// The command sees its own environment and the mark, nothing of the runner's or the host's, and
// none of their descriptors.
func TestEnvironmentIsExact(t *testing.T) {
	c := newCall(t, "cat /proc/$$/environ | tr '\\0' '\\n'; ls /proc/$$/fd")
	c.spec.Env = []string{"A=1", "BYTES=\xff\xfe", "AGENT_FAULT=host.x:1", "AGENT_FAULT_HITS=hits", "AGENT_CALL=outer/1-1-1", "EMPTY="}
	c.env = []string{"RUNNERS_OWN=1"}
	t.Setenv("HOSTS_OWN", "1")
	stray, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Close()
	if _, err := unix.FcntlInt(stray.Fd(), unix.F_SETFD, 0); err != nil { // as a careless shell would leave it
		t.Fatal(err)
	}
	c.ended()
	want := "A=1\nBYTES=\xff\xfe\nEMPTY=\nAGENT_CALL=" + c.spec.Mark() + "\n" + inherited
	if got := c.output(); got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

// What cannot be started is a result too: it says why, and that nothing ran.
func TestStartError(t *testing.T) {
	for name, change := range map[string]func(*runner.Spec){
		"no folder": func(s *runner.Spec) { s.Dir += "/gone" },
		"no shell":  func(s *runner.Spec) { s.Shell = []string{"/no/such/shell"} },
		"nul byte":  func(s *runner.Spec) { s.Script = "echo \x00" },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t, "echo ran")
			change(&c.spec)
			e := c.ended()
			if e.Cause != runner.CauseStartError || e.Message == "" || !e.Started.IsZero() || e.Status != -1 {
				t.Errorf("exit record %+v", e)
			}
			if got := c.output(); got != "" {
				t.Errorf("output %q", got)
			}
		})
	}
}

// A specification that no runner could carry out is refused before anything is recorded.
func TestPrepareRefuses(t *testing.T) {
	for name, change := range map[string]func(*call){
		"shell":    func(c *call) { c.spec.Shell = []string{"sh"} },
		"no shell": func(c *call) { c.spec.Shell = nil },
		"folder":   func(c *call) { c.spec.Dir = "." },
		"identity": func(c *call) { c.spec.Fingerprint = strings.Repeat("f", 5000) },
		"place":    func(c *call) { c.folder = "calls/x" },
	} {
		c := newCall(t, "true")
		change(c)
		if _, err := runner.Prepare(c.folder, c.spec); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := os.Stat(c.folder); err == nil {
			t.Errorf("%s: left a folder", name)
		}
	}
}

// If the runner itself cannot be started the call is still the caller's to abandon, and nothing
// ran.
func TestNoRunner(t *testing.T) {
	c := newCall(t, "true")
	j := c.prepare()
	if err := j.Start("/no/such/program", nil); err == nil {
		t.Fatal("started")
	}
	if s := c.look(); s.State != runner.Running {
		t.Errorf("%+v", s)
	}
	if err := j.Abandon(); err != nil {
		t.Error(err)
	}
}

// Everything at rest is for its owner alone, and neither script nor environment is there.
func TestFilesAtRest(t *testing.T) {
	c := newCall(t, "secret=in-script; echo hi; echo > here; read x < go")
	here, gate := c.fifo("here"), c.fifo("go")
	c.spec.Env = append(c.spec.Env, "KEY=in-environment")
	c.start()
	c.read(here)
	err := filepath.WalkDir(filepath.Dir(filepath.Dir(c.folder)), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %s, %v", path, info.Mode(), err)
		}
		if d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("in-")) {
			t.Errorf("%s holds %q", path, b)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	c.let(gate)
	c.end()
}
