package lab_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/lab"
)

// Somebody deletes the state folder in the middle of a call, and everything on the host goes on.
func TestADeletedHomeLosesAtMostOneCall(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "deleted", []string{"true", "sleep 4", "true"})
	h.DeleteHome()
	r := l.Until(id, "waiting or ended", 3*time.Minute, lab.Run.Rests)
	asked := r.Asks()
	if r = l.Settle(id, 3*time.Minute); r.Status != "completed" || len(r.Unknown) > 1 {
		t.Errorf("it ended as %+v", r)
	}
	if len(r.Unknown) == 1 != asked {
		t.Errorf("it asked: %t; it ended as %+v", asked, r)
	}
	l.Once("deleted", 1, 2, 3)
	l.Stays("deleted", 4, 5*time.Second) // time for what must not be done
	l.Once("deleted", 1, 2, 3)
	later := l.Begin("later", []string{"true"})
	if r := l.Until(later, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" {
		t.Errorf("a run that came after it ended as %+v", r)
	}
}

// Somebody deletes the state folder while a run waits for its answer, which is taken.
func TestAnAnswerIsTakenAfterTheHomeWasDeleted(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.Begin("answered", []string{"true", "?Publish", "true"})
	r := l.Until(id, "waiting", time.Minute, lab.Run.Asks)
	h.DeleteHome()
	l.Do("answer", r.Asked.ID, "yes")
	asked := r.Asked.ID
	r = l.Until(id, "ended", 3*time.Minute, func(r lab.Run) bool { return r.Ended() || r.Asks() && r.Asked.ID != asked })
	if r.Status != "completed" || r.Exit != 0 {
		t.Errorf("it ended as %+v", r)
	}
	l.Once("answered", 1, 3)
}

// A second worker of a living one's name is refused, and takes nothing from it.
func TestTwoWorkersOfOneName(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.InStep(2, "first", []string{"true", "sleep 3", "true"})
	home := filepath.Join(l.Dir, "other")
	text, code := h.Refused("--home", home, "--work", home+"-work")
	if code != 1 || !strings.Contains(text, "another worker is named h-01") || !strings.Contains(text, h.Home()) || !strings.Contains(text, "--host") {
		t.Errorf("exit %d: %s", code, text)
	}
	later := l.Begin("later", []string{"true"})
	for _, run := range []string{id, later} {
		if r := l.Until(run, "ended", time.Minute, lab.Run.Ended); r.Status != "completed" || r.Exit != 0 || r.Host != "h-01" {
			t.Errorf("it ended as %+v", r)
		}
	}
	l.Once("first", 1, 2, 3)
	l.Once("later", 1)
	for _, name := range []string{home + "/locks/r-*", home + "-work/r-*"} {
		if taken, _ := filepath.Glob(name); len(taken) > 0 {
			t.Errorf("the second worker has %v", taken)
		}
	}
	if first, _ := filepath.Glob(h.Home() + "/locks/r-*"); len(first) != 2 {
		t.Errorf("the search finds %v of the first one", first)
	}
}

// The files of a workspace are lost with its host: the next one says which are not as the run left
// them.
func TestTheNextHostSaysWhichFilesAreBehind(t *testing.T) {
	l, h := lab.OneHost(t)
	id := l.Begin("behind", []string{"echo kept > made.txt", "?Go on", "true"})
	r := l.Until(id, "waiting", time.Minute, lab.Run.Asks)
	h.Lose()
	next := l.Host("h-02")
	l.Do("move", id, "--host-is-gone")
	l.Do("answer", r.Asked.ID, "yes")
	if r = l.Settle(id, 2*time.Minute); r.Status != "completed" || r.Host != "h-02" {
		t.Errorf("it ended as %+v", r)
	}
	if n := next.Facts(id)["workspace.behind"]; n != 1 {
		t.Errorf("%d facts say that the workspace is behind: %v", n, next.Facts(id))
	}
	if text := next.Agent("show", id); !strings.Contains(text, "as the run left them: made.txt") {
		t.Errorf("agent show says %s", text)
	}
	l.Once("behind", 1, 3)
}
