package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/stream"
	"agent/recovery/journal"
)

// Request is a pending request as pending shows it. Fields are only ever added.
type Request struct {
	ID       string              `json:"id"`
	Run      string              `json:"run_id"`
	Thread   string              `json:"thread_id"`
	Kind     journal.RequestKind `json:"kind"`
	Status   string              `json:"status"`
	Message  string              `json:"message"`
	Schema   json.RawMessage     `json:"schema"`
	Choices  []string            `json:"choices"`
	Hints    []string            `json:"hints"`                   // what each choice does
	About    string              `json:"about_call_id,omitempty"` // the call of unknown outcome that it is about
	Call     string              `json:"call_id,omitempty"`       // the call that it belongs to
	Place    *journal.Place      `json:"place,omitempty"`         // of that call
	Tool     string              `json:"tool,omitempty"`
	Args     json.RawMessage     `json:"arguments,omitempty"` // of the call that waits for permission
	Rules    map[string]string   `json:"rules,omitempty"`     // what an answer adds to the configuration, by the answer
	Opened   time.Time           `json:"opened_at"`
	Expires  *time.Time          `json:"expires_at,omitempty"`
	Closed   *time.Time          `json:"closed_at,omitempty"`
	Answer   json.RawMessage     `json:"answer,omitempty"`
	By       string              `json:"answered_by,omitempty"`
	Consumed bool                `json:"taken_by_owner"`
	Damage   string              `json:"damage,omitempty"` // why what is asked cannot be shown
	Next     []string            `json:"next"`
	Role     string              `json:"role,omitempty"`        // of a run below another: what it is there for
	Root     string              `json:"root_run_id,omitempty"` // and the run at the top
	Task     string              `json:"-"`                     // the beginning of its prompt
}

// Requests is what pending prints with --json. Fields are only ever added.
type Requests struct {
	Version  int       `json:"version"`
	Requests []Request `json:"requests"`
}

// NewRequest shows a row of requests as it is now.
func NewRequest(r db.PendingRow, now time.Time) Request {
	v := Request{
		ID: r.ID, Run: r.Run, Thread: r.Thread, Kind: r.Kind, Status: r.Status, Message: r.Request.Message, Schema: r.Request.Schema,
		Choices: append([]string{}, r.Request.Choices...), Hints: append([]string{}, r.Request.Hints...), About: r.Request.About,
		Call: r.Request.CallID, Place: r.Request.Call, Tool: r.Request.Tool, Args: r.Request.Args, Rules: r.Request.Rules, Opened: r.Opened, Answer: r.Answer, By: r.By, Consumed: r.ConsumedSeq > 0, Next: []string{},
	}
	if !r.Expires.IsZero() {
		v.Expires = &r.Expires
	}
	if !r.Closed.IsZero() {
		v.Closed = &r.Closed
	}
	switch {
	case r.Damaged != nil:
		v.Damage, v.Next = r.Damaged.Error(), []string{"agent doctor"}
	case r.Status != db.RequestOpen:
	case r.Expires.IsZero() || now.Before(r.Expires):
		v.Next = AnswerCommands(&r.Request)
	default: // its run closes it when it goes on
		v.Status = db.RequestExpired
		v.Next = []string{"agent resume " + r.Run}
	}
	return v
}

// openRow is the open question of an outcome as its row says it.
func openRow(o host.Outcome) db.PendingRow {
	row := db.PendingRow{ID: o.Request.ID, Run: o.Run, Thread: o.Thread, Kind: o.Request.Kind, Status: db.RequestOpen, Request: *o.Request, Opened: o.Request.Opened}
	if o.Request.Expires != nil {
		row.Expires = *o.Request.Expires
	}
	return row
}

// Text is one request for people: a head, the message whole, what each choice does, and the
// command.
func (r Request) Text(now time.Time) string {
	var b strings.Builder
	of := r.Run
	if r.Root != "" {
		of += " (" + r.Role + ", below run " + r.Root + ")"
	}
	task := ""
	if r.Root != "" && !strings.Contains(r.Role, "#") && r.Task != "" { // a phase has a name, a task has only its words
		task = "\n    its task: " + stream.Visible(wordsOf(PromptStart(r.Task)))
	}
	fmt.Fprintf(&b, "%s  %s of run %s, asked %s", r.ID, r.Kind, of, Ago(now, r.Opened))
	switch {
	case r.Closed != nil:
		fmt.Fprintf(&b, ", %s %s", r.Status, Ago(now, *r.Closed))
	case r.Expires != nil && r.Status == db.RequestExpired:
		fmt.Fprintf(&b, ", expired on %s", r.Expires.Local().Format(time.DateTime))
	case r.Expires != nil:
		fmt.Fprintf(&b, ", open until %s", r.Expires.Local().Format(time.DateTime))
	}
	message := r.Message
	if r.Damage != "" {
		message = "what it asks is not shown, and cannot be answered: " + r.Damage
	}
	b.WriteString(task + "\n    " + strings.ReplaceAll(strings.TrimRight(message, "\n"), "\n", "\n    "))
	width := 9
	for _, choice := range r.Choices {
		width = max(width, len(choice))
	}
	for i, choice := range r.Choices {
		if i < len(r.Hints) {
			fmt.Fprintf(&b, "\n      %-*s %s", width, choice, strings.ReplaceAll(stream.Visible(r.Hints[i]), "\n", "\n      "))
		}
	}
	if len(r.Answer) > 0 {
		fmt.Fprintf(&b, "\n  answer: %s (by %s)", journal.Text(r.Answer), r.By)
	}
	for _, n := range r.Next {
		b.WriteString("\n  " + n)
	}
	return b.String()
}

// KeptText says what ended a question that the run has not heard of yet.
func KeptText(r Request) string {
	end := r.Status // expired
	switch r.Status {
	case db.RequestResolved:
		end = "answered by " + OrPerson(r.By)
	case db.RequestCancelled:
		end = "withdrawn by " + OrPerson(r.By)
	}
	if r.Closed != nil {
		end += " on " + Stamp(*r.Closed)
	}
	if len(r.Answer) > 0 {
		end += ": " + journal.Text(r.Answer)
	}
	return fmt.Sprintf("%s %s (kept, not in the journal yet; the run takes it when it goes on)", r.ID, end)
}

// wordsOf is the beginning of a text, for a line beside others.
func wordsOf(text string) string {
	if all := []rune(text); len(all) > 60 {
		return string(all[:59]) + "…"
	}
	return text
}
