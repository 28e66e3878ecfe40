package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
)

// report shows how far a run came, closes the session, and returns the exit code.
func (s *session) report(c *cli.Command, out host.Outcome, err error) error {
	if err != nil && out.Run == "" {
		return errors.Join(err, s.close())
	}
	s.app.drove = true
	s.Hub.Close()
	s.show.wait() // activity comes before the answer
	s.settle()
	code := view.OutcomeCode(out)
	if !c.Bool("json") {
		s.print(out)
	}
	if err != nil {
		if failed := s.app.exit(err); code != view.ExitInterrupted {
			code = failed
		}
	}
	if c.Bool("json") {
		s.app.printJSON(s.outcomeView(out, code))
	}
	return errors.Join(withCode(code), s.close())
}

// settle waits until all that happened is shown, and takes the line of progress away.
func (s *session) settle() {
	// The context never ends, so neither does this without everything shown.
	_ = s.show.caughtUp(context.Background())
	s.show.rest()
}

// print writes the outcome: the answer on stdout, everything else on stderr, with the exact next command.
func (s *session) print(out host.Outcome) {
	a, words := s.app, s.lastWords(out)
	switch out.Status {
	case recovery.StatusCompleted:
		switch {
		case strings.TrimSpace(out.Text) == "":
			a.say(a.Err, "the model's answer is empty")
		case !s.show.spokeLast(out.Run) || !a.oneTerminal():
			if s.several {
				a.say(a.Out, "run %s:", out.Run)
			}
			a.printAnswer(out.Text)
		}
		a.say(a.Err, "run %s completed%s: %s", out.Run, view.BesidesText(out), view.TallyText(out))
	case recovery.StatusFailed:
		if words != "" && !s.show.spokeLast(out.Run) {
			a.say(a.Err, "%s", words)
		}
		a.say(a.Err, "run %s failed%s: %s (%s)", out.Run, view.BesidesText(out), out.Text, view.TallyText(out))
		if next := s.onward(out); next != "" {
			a.say(a.Err, "go on with it:  %s", next)
		}
	case recovery.StatusCancelled:
		a.say(a.Err, "run %s was cancelled%s: %s (%s)", out.Run, view.BesidesText(out), out.Text, view.TallyText(out))
	case recovery.StatusWaiting:
		s.printWaiting(out)
	case recovery.StatusInterrupted:
		s.printInterrupted(out)
	default:
		a.say(a.Err, "run %s was %s when this process left it; how far it came: agent show %s", out.Run, out.Status, out.Run)
	}
	for _, u := range view.NewUnknowns(out.Undecided) {
		line := u.Line()
		if r := out.Request; r != nil && r.About == u.ID {
			line += view.ExecutesText(r)
		}
		a.say(a.Err, "%s", line)
	}
}

// onward is the command that goes on after a run that failed; empty where there is none.
func (s *session) onward(out host.Outcome) string {
	v, err := s.runNow(context.Background(), out.Run)
	if err != nil || v.Status != recovery.StatusFailed || !v.Continues(true) || len(v.Next) == 0 || v.Next[0] != v.ContinueWith() {
		return "" // the run can be shown: its id stands in the line above
	}
	return v.Next[0]
}

// oneTerminal says whether stdout and stderr are one terminal: what is on it need not be written twice.
func (a *app) oneTerminal() bool {
	out, ok := terminalFile(a.Out)
	if !ok {
		return false
	}
	err, ok := terminalFile(a.Err)
	if !ok {
		return false
	}
	outInfo, e1 := out.Stat()
	errInfo, e2 := err.Stat()
	return e1 == nil && e2 == nil && os.SameFile(outInfo, errInfo)
}

// lastWords is what the model said last in a run that failed: the reason is only its first line.
func (s *session) lastWords(out host.Outcome) string {
	if out.Status != recovery.StatusFailed {
		return ""
	}
	ctx := context.Background()
	head, err := s.Store.Head(ctx, out.Run)
	if err != nil {
		return "" // the reason stands in the outcome
	}
	for from := head.Seq - 1; from >= 0; from-- {
		for e, err := range s.Store.Load(ctx, out.Run, from) {
			if err != nil {
				return "" // as above
			}
			if b, ok := e.Body.(recovery.RunFailed); ok {
				return b.Text
			}
			break // a word on a call that came after the end
		}
	}
	return ""
}

func (s *session) printWaiting(out host.Outcome) {
	a, r := s.app, out.Request
	if r == nil {
		a.say(a.Err, "run %s has its answer and can go on: agent resume %s", out.Run, out.Run)
		return
	}
	if !s.show.wasPut(r.ID) {
		a.say(a.Err, "%s", view.QuestionText(r))
	}
	a.say(a.Err, "run %s waits for your answer:", out.Run)
	a.say(a.Err, "    %s", strings.Join(view.AnswerCommands(r), "\n    "))
	about := func(c host.NamedCall) bool { return c.ID == r.About }
	if r.About != "" && !slices.ContainsFunc(out.Undecided, about) { // the line about the call says it
		a.say(a.Err, "it is about call %s, whose outcome is unknown%s", r.About, view.ExecutesText(r))
	}
}

func (s *session) printInterrupted(out host.Outcome) {
	a, onward := s.app, "go on with it: "
	model, b := s.lastFault(out)
	if b != nil {
		a.say(a.Err, "run %s is interrupted: %s: %s", out.Run, model, view.FaultText(model, *b))
		if b.Remedy != "" {
			a.say(a.Err, "fix it first:   %s", b.Remedy)
			onward = "then go on:    "
		}
	} else {
		a.say(a.Err, "run %s is interrupted (%s)", out.Run, view.CauseText(out.Cause, out.Detail))
	}
	for _, id := range out.Running {
		row, err := s.Store.Call(context.Background(), id)
		if err != nil || row.Effect == recovery.EffectRead {
			continue // a read that was given up is simply done again
		}
		a.say(a.Err, "call %s (%s) goes on without this process: a resume picks it up, a cancel stops it", id, view.CallName(row.Tool, row.Proposal.Args))
	}
	a.say(a.Err, "%s agent resume %s", onward, out.Run)
	if b != nil {
		a.sayElsewhere(out, b.Fault)
	}
	a.say(a.Err, "end it:         agent cancel %s", out.Run)
}

// sayElsewhere prints how a resume asks elsewhere: by itself it keeps its model, and asks where it asked before.
func (a *app) sayElsewhere(out host.Outcome, f recovery.Fault) {
	switch f {
	case recovery.FaultRequest, recovery.FaultGarbage, recovery.FaultNetwork, recovery.FaultNoModel:
		a.say(a.Err, "with another address:  agent resume --base-url URL %s", out.Run)
	}
	switch f {
	case recovery.FaultRequest, recovery.FaultNoModel, recovery.FaultCredit, recovery.FaultRateLimit, recovery.FaultOverloaded:
		a.say(a.Err, "with another model:    agent resume --model MODEL %s", out.Run)
	}
}

// lastFault is why the model brought no answer, with the model, where that is what interrupted the run; else nil.
func (s *session) lastFault(out host.Outcome) (string, *recovery.ModelFailed) {
	if out.Cause != recovery.CauseModel {
		return "", nil
	}
	ctx := context.Background()
	head, err := s.Store.Head(ctx, out.Run)
	if err != nil {
		return "", nil // the cause stands in the outcome
	}
	var last *recovery.ModelFailed
	for e, err := range s.Store.Load(ctx, out.Run, max(0, head.Seq-3)) {
		if err != nil {
			return "", nil // as above
		}
		if b, ok := e.Body.(recovery.ModelFailed); ok {
			last = &b
		}
	}
	row, err := s.Store.Run(ctx, out.Run)
	if err != nil {
		return "", nil // as above
	}
	return row.Model, last
}

// printAnswer writes a model's answer on stdout: sanitized on a terminal, and as it is into a file or a pipe.
func (a *app) printAnswer(text string) {
	if _, ok := terminalFile(a.Out); ok {
		text = stream.Sanitize(text)
	}
	_, _ = fmt.Fprintln(a.Out, text) // what cannot be written is reported at the end: missed
}

// say writes one sanitized text. A reader that went away stops showing, not running.
func (a *app) say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintln(w, stream.Sanitize(fmt.Sprintf(format, args...)))
}

// outcomeView completes an outcome with what only the record knows.
func (s *session) outcomeView(o host.Outcome, code int) view.Outcome {
	v := view.NewOutcome(o, code, fault.Now())
	v.LastWords = s.lastWords(o)
	if _, b := s.lastFault(o); b != nil {
		v.Fault, v.Remedy = b.Fault, b.Remedy
	}
	if len(v.Next) == 0 {
		if next := s.onward(o); next != "" {
			v.Next = []string{next}
		}
	}
	v.Next = append(v.Next, view.DecideCommands(v.Unknown)...)
	return v
}

func (a *app) printJSON(v any) {
	a.printed = true
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // what cannot be written is said at the end: missed
}

// showPlan prints what is replayed before a resumed run goes on.
func (s *session) showPlan(p host.Plan) {
	// The context never ends, and so there is no error.
	release, _ := s.show.alone(context.Background())
	defer release()
	planHead(s.show.teller, p)
	planSteps(s.show.teller, p)
}

// printPlan prints what a resume would do, in the words in which a resume says it.
func (s *session) printPlan(w io.Writer, p host.Plan) {
	t := s.app.newTeller(w)
	planHead(t, p)
	for _, n := range p.Notes {
		t.line(yellow, "!", n)
	}
	planSteps(t, p)
	t.line(bold, "then:", p.Then)
}

func planHead(t *teller, p host.Plan) {
	if len(p.Steps) == 0 && p.Checkpoint == "" && strings.HasPrefix(p.Then, "nothing: ") {
		t.line(bold, "resume", p.Then)
		return
	}
	from := "its beginning"
	if p.Checkpoint != "" {
		from = "checkpoint " + p.Checkpoint
	}
	verb := "are"
	if p.Replayed == 1 {
		verb = "is"
	}
	t.line(bold, "resume", fmt.Sprintf("run %s from %s: %s %s replayed from the record, not executed",
		p.Run, from, view.Count(p.Replayed, "finished call"), verb))
	if p.Prompt != "" {
		t.line(dim, " ", "prompt: "+view.PromptStart(p.Prompt))
	}
}

func planSteps(t *teller, p host.Plan) {
	for _, step := range p.Steps {
		t.line(yellow, "~", view.VerdictLine(step.Place, step.Tool+": "+step.Words, step.Verdict, step.Reason))
	}
}
