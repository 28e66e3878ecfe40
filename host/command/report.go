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
	"agent/recovery"
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
	code := outcomeCode(out)
	if !c.Bool("json") {
		s.print(out)
	}
	if err != nil {
		if failed := s.app.exit(err); code != exitInterrupted {
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
		a.say(a.Err, "run %s completed%s: %s", out.Run, besides(out), tally(out))
	case recovery.StatusFailed:
		if words != "" && !s.show.spokeLast(out.Run) {
			a.say(a.Err, "%s", words)
		}
		a.say(a.Err, "run %s failed%s: %s (%s)", out.Run, besides(out), out.Text, tally(out))
		if next := s.onward(out); next != "" {
			a.say(a.Err, "go on with it:  %s", next)
		}
	case recovery.StatusCancelled:
		a.say(a.Err, "run %s was cancelled%s: %s (%s)", out.Run, besides(out), out.Text, tally(out))
	case recovery.StatusWaiting:
		s.printWaiting(out)
	case recovery.StatusInterrupted:
		s.printInterrupted(out)
	default:
		a.say(a.Err, "run %s was %s when this process left it; how far it came: agent show %s", out.Run, out.Status, out.Run)
	}
	for _, u := range unknownViews(out.Undecided) {
		line := u.line()
		if r := out.Request; r != nil && r.About == u.ID {
			line += executes(r)
		}
		a.say(a.Err, "%s", line)
	}
}

// besides is what a run's last line says beside how it ended.
func besides(o host.Outcome) string {
	words := ""
	if n := len(o.Undecided); n > 0 {
		words += fmt.Sprintf(", and the outcome of %s is unknown", count(n, "call"))
	}
	if n := len(o.Denied); n == 1 {
		words += ", and 1 call was refused"
	} else if n > 1 {
		words += fmt.Sprintf(", and %d calls were refused", n)
	}
	return words
}

// onward is the command that goes on after a run that failed; empty where there is none.
func (s *session) onward(out host.Outcome) string {
	v, err := s.runNow(context.Background(), out.Run)
	if err != nil || v.Status != recovery.StatusFailed || !v.continues(true) || len(v.Next) == 0 || v.Next[0] != v.continueWith() {
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

// tally is what a run took.
func tally(o host.Outcome) string {
	return fmt.Sprintf("%s, %s, driven for %s%s", count(o.Turns, "turn"), count(o.Calls, "call"), duration(o.Took), after(spent(o).words()))
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
		a.say(a.Err, "%s", question(r))
	}
	a.say(a.Err, "run %s waits for your answer:", out.Run)
	a.say(a.Err, "    %s", strings.Join(answers(r), "\n    "))
	about := func(c host.NamedCall) bool { return c.ID == r.About }
	if r.About != "" && !slices.ContainsFunc(out.Undecided, about) { // the line about the call says it
		a.say(a.Err, "it is about call %s, whose outcome is unknown%s", r.About, executes(r))
	}
}

// executes says what a question about a call of unknown outcome may lead to.
func executes(r *recovery.Request) string {
	if r.Kind == recovery.RequestTwin && slices.Contains(r.Choices, string(recovery.WordRun)) {
		return "; only the answer run executes it once more"
	}
	return "; no answer to this question executes it again"
}

func (s *session) printInterrupted(out host.Outcome) {
	a, onward := s.app, "go on with it: "
	model, b := s.lastFault(out)
	if b != nil {
		a.say(a.Err, "run %s is interrupted: %s: %s", out.Run, model, faultText(model, *b))
		if b.Remedy != "" {
			a.say(a.Err, "fix it first:   %s", b.Remedy)
			onward = "then go on:    "
		}
	} else {
		a.say(a.Err, "run %s is interrupted (%s)", out.Run, causeWords(out.Cause, out.Detail))
	}
	for _, id := range out.Running {
		row, err := s.Store.Call(context.Background(), id)
		if err != nil || row.Effect == recovery.EffectRead {
			continue // a read that was given up is simply done again
		}
		a.say(a.Err, "call %s (%s) goes on without this process: a resume picks it up, a cancel stops it", id, callName(row.Tool, row.Proposal.Args))
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

// outcomeJSON is what run, resume and answer print with --json. Fields are only ever added.
type outcomeJSON struct {
	Version    int             `json:"version"`
	RunID      string          `json:"run_id"`
	ThreadID   string          `json:"thread_id,omitempty"`
	Reused     bool            `json:"reused"`
	Submitted  bool            `json:"submitted"`
	Status     recovery.Status `json:"status"`
	ExitCode   int             `json:"exit_code"`
	Result     string          `json:"result"`
	Cause      recovery.Cause  `json:"cause,omitempty"`
	Detail     string          `json:"detail,omitempty"`
	Turns      int             `json:"num_turns"`
	Calls      int             `json:"num_calls"`
	DurationMS int64           `json:"duration_ms"`
	Usage      usageJSON       `json:"usage"`
	CostUSD    *json.Number    `json:"cost_usd"` // null where no price is known
	Request    *requestJSON    `json:"pending_request,omitempty"`
	Unknown    []unknownJSON   `json:"unknown"` // calls on whose unknown outcome no person has decided
	Denied     []deniedJSON    `json:"denied"`  // calls that a rule, the mode or a person refused
	Next       []string        `json:"next"`
	LastWords  string          `json:"last_words,omitempty"` // of the model, when the run failed; result is the reason
	Fault      recovery.Fault  `json:"fault,omitempty"`      // of the model, when that interrupted the run
	Remedy     string          `json:"remedy,omitempty"`     // what mends it
}

func (s *session) outcomeView(o host.Outcome, code int) outcomeJSON {
	v := outcomeJSON{
		Version: 1, RunID: o.Run, ThreadID: o.Thread, Reused: o.Reused, Submitted: o.Submitted, Status: o.Status, ExitCode: code,
		Result: o.Text, Cause: o.Cause, Detail: o.Detail, Turns: o.Turns, Calls: o.Calls,
		DurationMS: o.Took.Milliseconds(), Usage: spent(o).view(), CostUSD: spent(o).dollars(), Next: []string{},
		LastWords: s.lastWords(o), Unknown: unknownViews(o.Undecided), Denied: deniedViews(o.Denied),
	}
	if _, b := s.lastFault(o); b != nil {
		v.Fault, v.Remedy = b.Fault, b.Remedy
	}
	switch {
	case o.Request != nil:
		asked := requestView(openRow(o))
		v.Request, v.Next = &asked, answers(o.Request)
	case code == exitInterrupted:
		v.Next = []string{"agent resume " + o.Run}
	default:
		if next := s.onward(o); next != "" {
			v.Next = []string{next}
		}
	}
	v.Next = append(v.Next, commandsOn(v.Unknown)...)
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
		p.Run, from, count(p.Replayed, "finished call"), verb))
	if p.Prompt != "" {
		t.line(dim, " ", "prompt: "+promptWords(p.Prompt))
	}
}

func planSteps(t *teller, p host.Plan) {
	for _, step := range p.Steps {
		t.line(yellow, "~", verdictLine(step.Place, step.Tool+": "+step.Words, step.Verdict, step.Reason))
	}
}

// planJSON is what resume --dry-run prints with --json. Fields are only ever added.
type planJSON struct {
	Version    int            `json:"version"`
	RunID      string         `json:"run_id"`
	Prompt     string         `json:"prompt"` // its beginning
	Checkpoint string         `json:"checkpoint,omitempty"`
	Replayed   int            `json:"replayed"`
	Steps      []planStepJSON `json:"steps"`
	Then       string         `json:"then"`
	Notes      []string       `json:"notes"`
}

type planStepJSON struct {
	Call    string           `json:"call_id"`
	Turn    int              `json:"turn"`
	Index   int              `json:"index"`
	Tool    string           `json:"tool"`
	Summary string           `json:"summary"` // of its arguments
	Verdict recovery.Verdict `json:"verdict"`
	Reason  string           `json:"reason"`
}

func planView(p host.Plan) planJSON {
	v := planJSON{
		Version: 1, RunID: p.Run, Prompt: p.Prompt, Checkpoint: p.Checkpoint, Replayed: p.Replayed, Then: p.Then, Steps: []planStepJSON{},
		Notes: append([]string{}, p.Notes...),
	}
	for _, s := range p.Steps {
		v.Steps = append(v.Steps, planStepJSON{
			Call: s.ID, Turn: s.Place.Turn, Index: s.Place.Index, Tool: s.Tool, Summary: s.Words, Verdict: s.Verdict, Reason: s.Reason,
		})
	}
	return v
}
