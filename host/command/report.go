package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/stream"
	"agent/recovery"
)

// report shows how far a run came, closes the session, and returns the exit code.
func (s *session) report(c *cli.Command, out host.Outcome, err error) error {
	if err != nil && out.Run == "" {
		return errors.Join(err, s.close())
	}
	s.Hub.Close()
	s.show.wait() // activity comes before the answer
	code := s.print(c, out)
	if err != nil {
		return errors.Join(err, s.close())
	}
	return errors.Join(withCode(code), s.close())
}

// print writes the outcome: the answer on stdout, everything else on stderr, with the exact next command.
func (s *session) print(c *cli.Command, out host.Outcome) int {
	code := outcomeCode(out)
	if c.Bool("json") {
		s.app.printJSON(outcomeView(out, code))
		return code
	}
	a := s.app
	switch out.Status {
	case recovery.StatusCompleted:
		a.say(a.Out, "%s", out.Text)
	case recovery.StatusFailed:
		a.say(a.Err, "run %s failed: %s", out.Run, out.Text)
	case recovery.StatusCancelled:
		a.say(a.Err, "run %s was cancelled: %s", out.Run, out.Text)
	case recovery.StatusWaiting:
		a.say(a.Err, "%s", question(out.Request))
		a.say(a.Err, "run %s waits for you: agent answer %s%s", out.Run, out.Request.ID, choices(out.Request))
	default:
		a.say(a.Err, "run %s is interrupted (%s: %s)", out.Run, out.Cause, out.Detail)
		for _, id := range out.Running {
			a.say(a.Err, "call %s goes on without this process", id)
		}
		a.say(a.Err, "go on with: agent resume %s    end it: agent cancel %s", out.Run, out.Run)
	}
	return code
}

// say writes one sanitized text. A reader that went away stops showing, not running.
func (a *app) say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintln(w, stream.Sanitize(fmt.Sprintf(format, args...)))
}

func question(r *recovery.Request) string {
	text := "? " + r.Message
	for i, c := range r.Choices {
		if i < len(r.Hints) {
			text += fmt.Sprintf("\n    %-9s %s", c, r.Hints[i])
		}
	}
	return text
}

func choices(r *recovery.Request) string {
	text := ""
	for i, c := range r.Choices {
		if i > 0 {
			text += "|"
		}
		text += c
	}
	if text == "" {
		return ` "TEXT"`
	}
	return " " + text
}

// outcomeJSON is what run, resume and answer print with --json. Fields are only ever added.
type outcomeJSON struct {
	Version    int               `json:"version"`
	RunID      string            `json:"run_id"`
	ThreadID   string            `json:"thread_id,omitempty"`
	Reused     bool              `json:"reused"`
	Submitted  bool              `json:"submitted"`
	Status     recovery.Status   `json:"status"`
	ExitCode   int               `json:"exit_code"`
	Result     string            `json:"result"`
	Cause      recovery.Cause    `json:"cause,omitempty"`
	Detail     string            `json:"detail,omitempty"`
	Turns      int               `json:"num_turns"`
	Calls      int               `json:"num_calls"`
	DurationMS int64             `json:"duration_ms"`
	Usage      recovery.Usage    `json:"usage"`
	Request    *recovery.Request `json:"pending_request,omitempty"`
	Next       []string          `json:"next"`
}

func outcomeView(o host.Outcome, code int) outcomeJSON {
	v := outcomeJSON{
		Version: 1, RunID: o.Run, ThreadID: o.Thread, Reused: o.Reused, Submitted: o.Submitted, Status: o.Status, ExitCode: code,
		Result: o.Text, Cause: o.Cause, Detail: o.Detail, Turns: o.Turns, Calls: o.Calls,
		DurationMS: o.Took.Milliseconds(), Usage: o.Usage, Request: o.Request, Next: []string{},
	}
	switch {
	case o.Request != nil:
		v.Next = []string{"agent answer " + o.Request.ID + choices(o.Request)}
	case code == exitInterrupted:
		v.Next = []string{"agent resume " + o.Run}
	}
	return v
}

func (a *app) printJSON(v any) {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		fmt.Fprintf(a.Err, "agent: write JSON: %v\n", err)
	}
}

// showPlan prints what is replayed before a resumed run goes on.
func (s *session) showPlan(p host.Plan) {
	s.planHead(s.app.Err, p)
	for _, step := range p.Steps {
		s.planStep(s.app.Err, step)
	}
}

func (s *session) printPlan(w io.Writer, p host.Plan) {
	s.planHead(w, p)
	for _, n := range p.Notes {
		s.app.say(w, "! %s", n)
	}
	for _, step := range p.Steps {
		s.planStep(w, step)
	}
	s.app.say(w, "then: %s", p.Then)
}

func (s *session) planHead(w io.Writer, p host.Plan) {
	from := "its beginning"
	if p.Checkpoint != "" {
		from = "checkpoint " + p.Checkpoint
	}
	s.app.say(w, "resume run %s from %s: %d finished calls are replayed from the record, not executed", p.Run, from, p.Replayed)
}

func (s *session) planStep(w io.Writer, step host.PlanStep) {
	s.app.say(w, "~ %s %s: %s: %s (%s)", step.Place, step.Tool, step.Words, step.Verdict, step.Reason)
}
