// Package report prints what became of a run, once something was done with it: how far it came and
// the exact next command, that it is cancelled, that it has its answer. Answers go to stdout, all
// else to stderr.
package report

import (
	"context"
	"slices"
	"strings"

	"agent/host"
	"agent/host/app"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

// Reporter prints how far runs of one state folder came.
type Reporter struct {
	*terminal.Terminal
	Folder  *app.Folder
	Shown   *terminal.Renderer // knows what was shown of them before
	Several bool               // answers of several runs are printed: each names its run
}

// Outcome writes the outcome: the answer on stdout, everything else on stderr, with the exact next
// command.
func (r Reporter) Outcome(out host.Outcome) {
	switch out.Status {
	case recovery.StatusCompleted:
		r.completed(out)
	case recovery.StatusFailed:
		if words := r.Folder.LastWords(out); words != "" && !r.Shown.AnswerShown(out.Run) {
			r.Say(r.Err, "%s", words)
		}
		r.Say(r.Err, "run %s failed%s: %s (%s)", out.Run, view.BesidesText(out), out.Text, view.TallyText(out))
		if next := r.Folder.Onward(out); next != "" {
			r.Say(r.Err, "go on with it:  %s", next)
		}
	case recovery.StatusCancelled:
		r.Say(r.Err, "run %s was cancelled%s: %s (%s)", out.Run, view.BesidesText(out), out.Text, view.TallyText(out))
	case recovery.StatusWaiting:
		r.waiting(out)
	case recovery.StatusInterrupted:
		r.interrupted(out)
	default:
		r.Say(r.Err, "%s", view.LeftText(out))
	}
	if c := r.Folder.Files(out); c != nil {
		r.Say(r.Err, "files: %s   agent diff %s   agent undo", c.Text(), out.Run)
	}
	for _, u := range view.NewUnknowns(out.Undecided) {
		line := u.Line()
		if asked := out.Request; asked != nil && asked.About == u.ID {
			line += view.ExecutesText(asked)
		}
		r.Say(r.Err, "%s", line)
	}
}

func (r Reporter) completed(out host.Outcome) {
	switch {
	case strings.TrimSpace(out.Text) == "" && out.Flow: // its last phase has no answer to give
	case strings.TrimSpace(out.Text) == "":
		r.Say(r.Err, "the model's answer is empty")
	case !r.Shown.AnswerShown(out.Run) || !r.SameTerminal():
		if r.Several {
			r.Say(r.Out, "run %s:", out.Run)
		}
		r.PrintAnswer(out.Text)
	}
	r.Say(r.Err, "run %s completed%s: %s", out.Run, view.BesidesText(out), view.TallyText(out))
	if out.Plan {
		r.Say(r.Err, "carry it out:  %s", view.CarryOut(out))
	}
}

func (r Reporter) waiting(out host.Outcome) {
	asked := out.Request
	if asked == nil {
		r.Say(r.Err, "run %s has its answer and can go on: agent resume %s", out.Run, out.Run)
		return
	}
	if !r.Shown.QuestionShown(asked.ID) {
		r.Say(r.Err, "%s", view.QuestionText(asked))
	}
	r.Say(r.Err, "run %s waits for your answer:", out.Run)
	r.Say(r.Err, "    %s", strings.Join(view.AnswerCommands(asked), "\n    "))
	if more := out.Questions - 1; more > 0 {
		r.Say(r.Err, "%s of runs below it: agent pending", view.Count(more, "more question"))
	}
	about := func(c host.NamedCall) bool { return c.ID == asked.About }
	if asked.About != "" && !slices.ContainsFunc(out.Undecided, about) { // the line about the call says it
		known := "whose outcome is unknown"
		call, err := r.Folder.Store.Call(context.Background(), asked.About)
		switch {
		case err != nil: // without it the run's own words hold
		case call.Resolved.Settles():
			known = "of which a person said: " + string(call.Resolved)
		case call.Resolved != "":
			known = "whose outcome a person left unknown"
		}
		r.Say(r.Err, "it is about call %s, %s%s", asked.About, known, view.ExecutesText(asked))
	}
}

func (r Reporter) interrupted(out host.Outcome) {
	onward := "go on with it: "
	model, b := r.Folder.LastFault(out)
	if b != nil {
		r.Say(r.Err, "run %s is interrupted: %s: %s", out.Run, model, view.FaultText(model, *b))
		if b.Remedy != "" {
			r.Say(r.Err, "fix it first:   %s", b.Remedy)
			onward = "then go on:    "
		}
	} else {
		r.Say(r.Err, "run %s is interrupted (%s)", out.Run, view.CauseText(out.Cause, out.Detail))
	}
	for _, id := range out.Running {
		row, err := r.Folder.Store.Call(context.Background(), id)
		if err != nil || row.Effect == journal.EffectRead {
			continue // a read that was cut short is simply done again
		}
		r.Say(r.Err, "call %s (%s) goes on without this process: a resume picks it up, a cancel stops it", id, view.CallName(row.Tool, row.Proposal.Args))
	}
	if out.Cause == journal.CauseMoved {
		return // nothing of it goes on here
	}
	r.Say(r.Err, "%s agent resume %s", onward, out.Run)
	if b != nil {
		r.elsewhere(out, b.Fault)
	}
	r.Say(r.Err, "end it:         agent cancel %s", out.Run)
}

// elsewhere prints how a resume asks elsewhere: by itself it keeps its model, and asks where it
// asked before.
func (r Reporter) elsewhere(out host.Outcome, f journal.Fault) {
	switch f {
	case journal.FaultRequest, journal.FaultGarbage, journal.FaultNetwork, journal.FaultNoModel:
		r.Say(r.Err, "with another address:  agent resume --base-url URL %s", out.Run)
	}
	switch f {
	case journal.FaultRequest, journal.FaultNoModel, journal.FaultCredit, journal.FaultRateLimit, journal.FaultOverloaded:
		r.Say(r.Err, "with another model:    agent resume --model MODEL %s", out.Run)
	}
}
