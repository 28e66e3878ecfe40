package terminal

import (
	"strings"
	"testing"
	"time"

	"agent/host/terminal/terminaltest"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// rung is what a terminal gets where a run asks, is answered, and ends, each after a time.
func rung(s *Screen, how string, after ...time.Duration) string {
	out := &terminaltest.Tape{}
	s.w = out
	r := &Renderer{Printer: NewPrinter(s)}
	r.Notify(how)
	at := fault.Now()
	for i, body := range []journal.Body{
		journal.RequestOpened{Request: journal.Request{Question: journal.Question{Message: "Write\x1b\\ \x1b]0;gone\a\u009c\nhere?"}}},
		journal.RequestAnswered{},
		journal.RunCompleted{},
	} {
		at = at.Add(after[i])
		r.notify(testRun, journal.Event{Time: at, Body: body})
	}
	return out.String()
}

// The terminal calls when a run waits or has ended, where the person may have turned away.
func TestNotices(t *testing.T) {
	long, short := 6*time.Second, time.Second
	const asks, ends = "\x1b]9;agent: run r-test waits for an answer: Write here?\x1b\\", "\x1b]9;agent: run r-test completed\x1b\\"
	notifies := func() *Screen { s := live(); s.notifies = true; return s }
	for _, c := range []struct {
		name   string
		screen *Screen
		how    string
		after  []time.Duration
		want   string
	}{
		{"both", notifies(), "", []time.Duration{long, short, long}, asks + "\a" + ends + "\a"},
		{"a bell alone", notifies(), "bell", []time.Duration{long, short, long}, "\a\a"},
		{"a notification alone", notifies(), "osc9", []time.Duration{long, short, long}, asks + ends},
		{"off", notifies(), "off", []time.Duration{long, short, long}, ""},
		{"the person is there", notifies(), "both", []time.Duration{short, long, short}, ""},
		{"tmux", live(), "both", []time.Duration{long, short, short}, "\a"},
		{"no terminal", file(), "both", []time.Duration{long, short, long}, ""},
	} {
		if got := rung(c.screen, c.how, c.after...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// No text ends the sequence that it stands in.
func TestNoticeText(t *testing.T) {
	for _, text := range []string{"a\x1b\\b", "a\ab", "a\u009cb", "a\nb", "a\x1b]52;c;cHduZWQ=\ab", strings.Repeat("ü", 500)} {
		got := noticeText(text)
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) || len(got) > mostNotice+len("…") {
			t.Errorf("%.40q: %q", text, got)
		}
	}
}

// A terminal that would print a notification, or drop it, gets none.
func TestShowsNotices(t *testing.T) {
	for vars, want := range map[string]bool{
		"TERM=xterm-256color": true, "TERM=": true, "TERM=tmux-256color": false, "TERM=screen": false, "TERM=linux": false,
		"TERM=xterm TMUX=x": false, "TERM=xterm STY=1.x": false,
	} {
		getenv := func(name string) string {
			for v := range strings.FieldsSeq(vars) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := showsNotices(getenv); got != want {
			t.Errorf("%s: %t", vars, got)
		}
	}
}
