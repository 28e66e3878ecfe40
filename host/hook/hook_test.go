package hook

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
)

// What a hook reads is one line that no text of a model can break out of, and that fits a pipe
// whatever a model writes.
func TestEventIsClean(t *testing.T) {
	e := newEvent("waiting", db.RunRow{ID: "r-1", Status: recovery.StatusRunning, Prompt: "say\x1b]0;title\a hello\nyou", Folder: "/a\x1b[2Jb"})
	e.asks(journal.Request{ID: "p-1", Question: journal.Question{Kind: journal.RequestPermission, Message: "run\x1b[31m this?\u202e\n" + strings.Repeat("\x01ü\"", 1<<20), Choices: []string{"yes\x07", "no"}}})
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 32<<10 {
		t.Errorf("%d bytes", len(text))
	}
	for _, part := range []string{e.Prompt, e.Message, e.Folder, e.Asked.Message, e.Asked.Choices[0]} {
		if strings.ContainsFunc(part, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' }) {
			t.Errorf("%.80q", part)
		}
	}
	if e.Prompt != "say hello you" || !strings.HasPrefix(e.Message, "run r-1 waits for an answer: run this?") || strings.Contains(e.Message, "\n") {
		t.Errorf("%q, %.80q", e.Prompt, e.Message)
	}
}

// Left alone is what stopped for a reason that is still there, or makes no progress; not what a
// person stopped, nor what goes on.
func TestAlone(t *testing.T) {
	row := func(status recovery.Status, c journal.Cause, fruitless int) db.RunRow {
		return db.RunRow{Status: status, Cause: c, Fruitless: fruitless}
	}
	for _, c := range []journal.Cause{journal.CauseModel, journal.CauseFailing, journal.CauseCorrupt, journal.CauseTools} {
		if !alone(row(recovery.StatusInterrupted, c, 0)) {
			t.Errorf("%s goes on", c)
		}
	}
	for _, c := range []journal.Cause{journal.CauseCrash, journal.CauseShutdown, journal.CauseReboot, journal.CauseTakeover, journal.CauseAnswered} {
		if alone(row(recovery.StatusInterrupted, c, 2)) {
			t.Errorf("%s is left alone", c)
		}
	}
	if !alone(row(recovery.StatusInterrupted, journal.CauseCrash, 3)) || alone(row(recovery.StatusRunning, "", 3)) || alone(row(recovery.StatusCompleted, "", 3)) {
		t.Error("three resumes without progress")
	}
}

// Of all who learn that a run is left alone, one calls; once more when it went on in between.
func TestMarkOnce(t *testing.T) {
	home := t.TempDir()
	for _, seq := range []int64{7, 12} {
		row := db.RunRow{ID: "r-1", LastSeq: seq}
		var first atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if ok, err := mark(home, row); err != nil {
					t.Error(err)
				} else if ok {
					first.Add(1)
				}
			})
		}
		all.Wait()
		if first.Load() != 1 || !marked(home, row) {
			t.Errorf("fact %d: %d were first", seq, first.Load())
		}
	}
	if marked(home, db.RunRow{ID: "r-1", LastSeq: 7}) {
		t.Error("the older file is there still")
	}
}

// A hook's environment is a list of what it may have.
func TestEnviron(t *testing.T) {
	got := Environ([]string{"PATH=/bin", "OPENAI_API_KEY=sk", "LC_ALL=C", "DISPLAY=:0", "AGENT_FAULT=x", "AGENT_HOME=/else", "https_proxy=http://u:p@h"}, "/state")
	if want := []string{"PATH=/bin", "LC_ALL=C", "DISPLAY=:0", "AGENT_HOME=/state"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// The beginning of what a hook prints is kept, and all of it is taken.
func TestHead(t *testing.T) {
	var h head
	for range 100 {
		if n, err := h.Write([]byte(strings.Repeat("x", 1000))); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if text := h.String(); !strings.HasPrefix(text, strings.Repeat("x", kept)+" …") || len(text) > kept+100 {
		t.Errorf("%d bytes", len(text))
	}
}

// Nothing is called for a run that nobody missed for a week.
func TestForgotten(t *testing.T) {
	c := &Caller{o: Options{Home: t.TempDir()}} // without hooks to ask for: to ask would panic
	c.LeftAlone(db.RunRow{ID: "r-1", Status: recovery.StatusInterrupted, Cause: journal.CauseModel, Updated: time.Now().Add(-8 * 24 * time.Hour)}, "")
	(*Caller)(nil).LeftAlone(db.RunRow{}, "why")
}
