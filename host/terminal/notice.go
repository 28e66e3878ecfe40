package terminal

import (
	"strings"
	"time"

	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// How a terminal calls a person.
const (
	noticeOff  = "off"
	noticeBell = "bell"
	noticeOSC9 = "osc9"
)

// noticeAfter is for how long nothing was asked and nothing answered before a person may have
// turned away: who has just pressed the key needs no bell.
const noticeAfter = 5 * time.Second

// mostNotice bounds the text of a notification; bytes.
const mostNotice = 160

// notifier calls the person at a terminal when a run waits or has ended.
type notifier struct {
	bell, osc9 bool
	there      time.Time // when the person was last known to be at the terminal
}

// Notify calls the person from now on when a run waits or has ended: how is off, bell, osc9 or
// both, which is the default. It does nothing where the output is no terminal, or one that obeys no
// control sequence.
func (r *Renderer) Notify(how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if how == noticeOff || !r.out.moves {
		return
	}
	r.notice = &notifier{bell: how != noticeOSC9, osc9: how != noticeBell && r.out.notifies, there: fault.Now()}
}

// Call calls the person for a fact that is shown elsewhere, as Take does for one that it shows.
func (r *Renderer) Call(run string, e journal.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notify(run, e)
}

// notify calls the person, if they may have turned away.
func (r *Renderer) notify(run string, e journal.Event) {
	n := r.notice
	if n == nil {
		return
	}
	what := ""
	switch b := e.Body.(type) {
	case journal.RequestAnswered, journal.RequestClosed:
		n.there = e.Time
	case journal.RequestOpened:
		what = "waits for an answer: " + b.Request.Message
	case journal.RunCompleted:
		if r.of(run).child {
			return // its parent goes on
		}
		what = "completed"
	case journal.RunFailed:
		what = "failed: " + b.Reason
	case journal.RunInterrupted:
		if b.Cause != journal.CauseShutdown { // whoever stopped it is there
			what = "was interrupted (" + view.CauseText(b.Cause, b.Detail) + ")"
		}
	}
	if what == "" || e.Time.Sub(n.there) < noticeAfter {
		return
	}
	n.there = e.Time // one call is enough for what follows at once
	if n.osc9 {
		r.out.signal("\x1b]9;" + noticeText("agent: run "+run+" "+what) + "\x1b\\")
	}
	if n.bell {
		r.out.signal("\a")
	}
}

// noticeText is a text that cannot end the control sequence that it stands in, nor begin another:
// one line, without a control character.
func noticeText(text string) string {
	text = strings.Join(strings.Fields(stream.Sanitize(text)), " ")
	if len(text) > mostNotice {
		text = strings.ToValidUTF8(text[:mostNotice], "") + "…"
	}
	return text
}

// showsNotices says whether a terminal may show a notification. tmux and screen drop it, unless
// they are set up to pass it on; they mark the window that rings. The console of Linux prints it.
func showsNotices(getenv func(string) string) bool {
	term := getenv("TERM")
	for _, prefix := range []string{"screen", "tmux", "linux"} {
		if strings.HasPrefix(term, prefix) {
			return false
		}
	}
	return getenv("TMUX") == "" && getenv("STY") == ""
}

// signal writes what moves nothing on the terminal.
func (s *Screen) signal(sequence string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(sequence)
}
