package carry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/host"
	"agent/host/app"
	"agent/host/launch"
	"agent/recovery"
)

// The lock of a process that has just ended is none of another process: it is let go in a moment.
func TestOther(t *testing.T) {
	h := &host.Host{}
	h.Home, h.Self.PID = t.TempDir(), 4711
	c := Carrier{Folder: &app.Folder{Host: h}}
	if got := c.other("r-1", 7); got != nil {
		t.Errorf("nobody drives it: %v", got)
	}
	lock, err := h.Locks().Take("r-1")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got := c.other("r-1", 4711); got != nil {
		t.Errorf("it has ended: %v", got)
	}
	if got := c.other("r-1", 7); got == nil || got.Run != "r-1" || got.Holder.PID != 4711 {
		t.Errorf("another process drives it: %v", got)
	}
}

// What a person learns of a run that goes on by itself, or does not.
func TestLine(t *testing.T) {
	for want, r := range map[string]Result{
		"run r-1 goes on in the background (its process died): agent attach r-1":       {Run: "r-1", Why: "its process died", Goes: true},
		"run r-1 is ended in the background, as somebody asked before: agent show r-1": {Run: "r-1", Why: "its process died", Goes: true, Ends: true},
		"run r-1 could not go on in the background (no room): agent resume r-1":        {Run: "r-1", Failed: "no room"},
		"": {Run: "r-1"},
	} {
		if got := r.Line(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What has a result is reported as it comes; how many have none is said once it is late.
func TestReport(t *testing.T) {
	late := make(chan time.Time, 1)
	late <- time.Time{}
	for want, c := range map[string]struct {
		lines []string
		n     int
		late  <-chan time.Time
	}{
		"agent: a|agent: b": {lines: []string{"a", "", "b"}, n: 3},
		"agent: 2 runs are still being started in the background: agent ls": {n: 2, late: late},
	} {
		lines := make(chan string, c.n)
		for _, line := range c.lines {
			lines <- line
		}
		var said []string
		Carrier{Say: func(line string) { said = append(said, line) }}.report(lines, c.n, c.late)
		if got := strings.Join(said, "|"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	late <- time.Time{}
	var said []string
	Carrier{Say: func(line string) { said = append(said, line) }}.report(nil, 1, late)
	if want := []string{"agent: 1 run is still being started in the background: agent ls"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}

// The reason why nothing is driven is that of the process which was to drive.
func TestWhyNot(t *testing.T) {
	for want, c := range map[string]struct {
		answer launch.Answer
		err    error
	}{
		"no key":                   {launch.Answer{Notes: []string{"warning: x", "agent: no key", "agent: later"}}, errors.New("it ended")},
		"it ended":                 {launch.Answer{Notes: []string{"no prefix"}}, errors.New("it ended")},
		launch.ErrNoAnswer.Error(): {},
	} {
		if got := whyNot(c.answer, c.err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A process that was lost is reported with what is to be done about its run.
func TestLostError(t *testing.T) {
	for status, next := range map[recovery.Status]string{recovery.StatusInterrupted: "agent resume r-1", recovery.StatusCompleted: "agent show r-1"} {
		if text := (&LostError{"r-1", status}).Error(); !strings.HasSuffix(text, fmt.Sprintf("the run is %s: %s", status, next)) {
			t.Error(text)
		}
	}
}
