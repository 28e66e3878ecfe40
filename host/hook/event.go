package hook

import (
	"fmt"
	"strings"
	"time"

	"agent/db"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Event is what a hook reads: one object, in one line. Fields are only ever added. Its texts have
// passed redaction, and hold no control character but the newlines of a question.
type Event struct {
	Version  int             `json:"version"`
	Event    string          `json:"event"` // waiting, ended or left_alone
	Time     time.Time       `json:"time"`
	Run      string          `json:"run_id"`
	Thread   string          `json:"thread_id"`
	Status   recovery.Status `json:"status"`
	Cause    journal.Cause   `json:"cause,omitempty"` // of an interruption
	Detached bool            `json:"detached"`        // it is driven in the background
	Folder   string          `json:"folder"`
	Prompt   string          `json:"prompt"`  // its beginning, in one line
	Message  string          `json:"message"` // all of it for a person, in one line
	Asked    *Question       `json:"pending_request,omitempty"`
	Next     []string        `json:"next"` // commands that bring the run forward, or show it
}

// Question is what a run waits for.
type Question struct {
	ID      string              `json:"id"`
	Kind    journal.RequestKind `json:"kind"`
	Tool    string              `json:"tool,omitempty"`
	Message string              `json:"message"`
	Choices []string            `json:"choices"`
	Expires *time.Time          `json:"expires_at,omitempty"`
}

// How much of a text is passed on; bytes. What a command is given on its standard input then fits a
// pipe, so that one that does not read it holds up nothing.
const (
	mostLine = 200
	mostText = 4 << 10
)

func newEvent(on string, row db.RunRow) Event {
	e := Event{
		Version: 1, Event: on, Time: fault.Now(), Run: row.ID, Thread: row.Thread, Status: row.Status, Cause: row.Cause, Detached: row.Detached,
		Folder: clean(row.Folder), Prompt: oneLine(view.PromptStart(row.Prompt)), Next: []string{"agent show " + row.ID},
	}
	e.Message = fmt.Sprintf("run %s is %s", e.Run, e.Status)
	if row.StopReason != "" {
		e.Message += ": " + oneLine(row.StopReason)
	}
	e.about()
	return e
}

// about ends the line for a person with what the run is about.
func (e *Event) about() {
	if e.Prompt != "" {
		e.Message += " (" + e.Prompt + ")"
	}
}

// asks adds the question that the run waits for.
func (e *Event) asks(r journal.Request) {
	e.Status, e.Cause = recovery.StatusWaiting, ""
	e.Asked = &Question{ID: r.ID, Kind: r.Kind, Tool: clean(r.Tool), Message: cut(clean(view.AskText(&r)), mostText), Choices: []string{}, Expires: r.Expires}
	for _, c := range r.Choices {
		e.Asked.Choices = append(e.Asked.Choices, oneLine(c))
	}
	e.Message = fmt.Sprintf("run %s waits for an answer: %s", e.Run, oneLine(r.Message))
	e.about()
	e.Next = []string{view.AnswerCommand(r.ID)}
}

// alone adds why nothing has the run go on.
func (e *Event) alone(row db.RunRow, why string) {
	e.Status, e.Next = recovery.StatusInterrupted, []string{"agent resume " + row.ID}
	switch {
	case why != "":
	case row.Fruitless > 0 && view.LeftAlone(row) != nil:
		why = fmt.Sprintf("%d resumes in a row made no progress", row.Fruitless)
	default:
		why = view.CauseText(row.Cause, row.Detail)
	}
	e.Message = fmt.Sprintf("run %s is left alone: %s", e.Run, oneLine(why))
	e.about()
}

// forgotten is how long ago a run's last fact may be for a call: what nobody missed for so long is
// nothing to call about.
const forgotten = 7 * 24 * time.Hour

// alone says whether nothing has a run go on by itself, though nobody stopped it.
func alone(row db.RunRow) bool {
	return row.Status == recovery.StatusInterrupted && (view.LeftAlone(row) != nil || stuck(row.Cause))
}

// stuck says whether a run would stop again for the same reason: until a person has done something
// about it, nothing has it go on.
func stuck(c journal.Cause) bool {
	switch c {
	case journal.CauseModel, journal.CauseCorrupt, journal.CauseFailing, journal.CauseTools:
		return true
	}
	return false
}

func clean(text string) string { return strings.TrimSpace(stream.Sanitize(text)) }

func oneLine(text string) string {
	return cut(strings.Join(strings.Fields(clean(text)), " "), mostLine)
}

// cut shortens a text to at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
