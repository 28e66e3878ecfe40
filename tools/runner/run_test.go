//go:build linux

package runner_test

import (
	"strings"
	"testing"

	"agent/tools/runner"
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
