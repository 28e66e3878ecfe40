package command

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

// report shows how far a run came, closes the session, and returns the exit code.
func (s *session) report(c *cli.Command, out host.Outcome, err error) error {
	if err != nil && out.Run == "" {
		return errors.Join(err, s.close())
	}
	s.app.drove = true
	s.Hub.Close()
	s.show.Wait() // activity comes before the answer
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
		s.app.PrintJSON(s.Folder.Outcome(out, code))
	}
	return errors.Join(withCode(code), s.close())
}

// settle waits until all that happened is shown, and takes the line of progress away.
func (s *session) settle() {
	// The context never ends, so neither does this without everything shown.
	_ = s.show.CaughtUp(context.Background())
	s.show.Idle()
}

// print writes the outcome: the answer on stdout, everything else on stderr, with the exact next
// command.
func (s *session) print(out host.Outcome) {
	a, words := s.app, s.LastWords(out)
	switch out.Status {
	case recovery.StatusCompleted:
		switch {
		case strings.TrimSpace(out.Text) == "":
			a.Say(a.Err, "the model's answer is empty")
		case !s.show.AnswerShown(out.Run) || !a.SameTerminal():
			if s.several {
				a.Say(a.Out, "run %s:", out.Run)
			}
			a.PrintAnswer(out.Text)
		}
		a.Say(a.Err, "run %s completed%s: %s", out.Run, view.BesidesText(out), view.TallyText(out))
	case recovery.StatusFailed:
		if words != "" && !s.show.AnswerShown(out.Run) {
			a.Say(a.Err, "%s", words)
		}
		a.Say(a.Err, "run %s failed%s: %s (%s)", out.Run, view.BesidesText(out), out.Text, view.TallyText(out))
		if next := s.Onward(out); next != "" {
			a.Say(a.Err, "go on with it:  %s", next)
		}
	case recovery.StatusCancelled:
		a.Say(a.Err, "run %s was cancelled%s: %s (%s)", out.Run, view.BesidesText(out), out.Text, view.TallyText(out))
	case recovery.StatusWaiting:
		s.printWaiting(out)
	case recovery.StatusInterrupted:
		s.printInterrupted(out)
	default:
		a.Say(a.Err, "%s", view.LeftText(out))
	}
	for _, u := range view.NewUnknowns(out.Undecided) {
		line := u.Line()
		if r := out.Request; r != nil && r.About == u.ID {
			line += view.ExecutesText(r)
		}
		a.Say(a.Err, "%s", line)
	}
}

func (s *session) printWaiting(out host.Outcome) {
	a, r := s.app, out.Request
	if r == nil {
		a.Say(a.Err, "run %s has its answer and can go on: agent resume %s", out.Run, out.Run)
		return
	}
	if !s.show.QuestionShown(r.ID) {
		a.Say(a.Err, "%s", view.QuestionText(r))
	}
	a.Say(a.Err, "run %s waits for your answer:", out.Run)
	a.Say(a.Err, "    %s", strings.Join(view.AnswerCommands(r), "\n    "))
	about := func(c host.NamedCall) bool { return c.ID == r.About }
	if r.About != "" && !slices.ContainsFunc(out.Undecided, about) { // the line about the call says it
		known := "whose outcome is unknown"
		call, err := s.Store.Call(context.Background(), r.About)
		switch {
		case err != nil: // without it the run's own words hold
		case call.Resolved.Settles():
			known = "of which a person said: " + string(call.Resolved)
		case call.Resolved != "":
			known = "whose outcome a person left unknown"
		}
		a.Say(a.Err, "it is about call %s, %s%s", r.About, known, view.ExecutesText(r))
	}
}

func (s *session) printInterrupted(out host.Outcome) {
	a, onward := s.app, "go on with it: "
	model, b := s.LastFault(out)
	if b != nil {
		a.Say(a.Err, "run %s is interrupted: %s: %s", out.Run, model, view.FaultText(model, *b))
		if b.Remedy != "" {
			a.Say(a.Err, "fix it first:   %s", b.Remedy)
			onward = "then go on:    "
		}
	} else {
		a.Say(a.Err, "run %s is interrupted (%s)", out.Run, view.CauseText(out.Cause, out.Detail))
	}
	for _, id := range out.Running {
		row, err := s.Store.Call(context.Background(), id)
		if err != nil || row.Effect == journal.EffectRead {
			continue // a read that was cut short is simply done again
		}
		a.Say(a.Err, "call %s (%s) goes on without this process: a resume picks it up, a cancel stops it", id, view.CallName(row.Tool, row.Proposal.Args))
	}
	a.Say(a.Err, "%s agent resume %s", onward, out.Run)
	if b != nil {
		a.sayElsewhere(out, b.Fault)
	}
	a.Say(a.Err, "end it:         agent cancel %s", out.Run)
}

// sayElsewhere prints how a resume asks elsewhere: by itself it keeps its model, and asks where it
// asked before.
func (a *commandLine) sayElsewhere(out host.Outcome, f journal.Fault) {
	switch f {
	case journal.FaultRequest, journal.FaultGarbage, journal.FaultNetwork, journal.FaultNoModel:
		a.Say(a.Err, "with another address:  agent resume --base-url URL %s", out.Run)
	}
	switch f {
	case journal.FaultRequest, journal.FaultNoModel, journal.FaultCredit, journal.FaultRateLimit, journal.FaultOverloaded:
		a.Say(a.Err, "with another model:    agent resume --model MODEL %s", out.Run)
	}
}

// showPlan prints what is replayed before a resumed run goes on.
func (s *session) showPlan(p host.Plan) {
	// The context never ends, and so there is no error.
	release, _ := s.show.Alone(context.Background())
	defer release()
	s.show.Planned(view.NewPlan(p))
}

// printPlan prints what a resume would do, in the words in which a resume says it.
func (s *session) printPlan(w io.Writer, p host.Plan) {
	s.app.Printer(w).Plan(view.NewPlan(p))
}
