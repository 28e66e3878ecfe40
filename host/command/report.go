package command

import (
	"context"
	"errors"
	"io"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/fork"
	"agent/host/report"
	"agent/host/view"
	"agent/recovery"
)

// report shows how far a run came, closes the session, and returns the exit code.
func (s *session) report(c *cli.Command, out host.Outcome, err error) error {
	if err != nil && out.Run == "" {
		return errors.Join(err, s.close())
	}
	s.app.drove = true
	s.app.Desk.End() // first: what is taken is shown
	s.Hub.Close()
	s.show.Wait() // activity comes before the answer
	s.settle()
	code := outcomeCode(c, out)
	if out.Status == recovery.StatusCompleted {
		err = errors.Join(err, s.app.answer.Write(out.Text))
	}
	if !c.Bool("json") {
		s.print(out)
		err = errors.Join(err, s.offerStop(out))
	}
	if err != nil {
		if failed := s.app.exit(err); code != view.ExitInterrupted {
			code = failed
		}
	}
	if c.Bool("json") {
		if v := s.Folder.Outcome(out, code); s.tree == nil {
			s.app.PrintJSON(v)
		} else {
			s.app.PrintJSON(fork.Outcome{Outcome: v, Worktree: s.tree})
		}
	}
	return errors.Join(withCode(code), s.close())
}

// failOnRefusal is the flag by which a run counts as failed of which a call was refused.
const failOnRefusal = "fail-on-refusal"

// outcomeCode is the exit code of a run that the command drove.
func outcomeCode(c *cli.Command, out host.Outcome) int {
	code := view.OutcomeCode(out)
	if code == view.ExitDone && len(out.Denied) > 0 && c.Bool(failOnRefusal) {
		return view.ExitFailed
	}
	return code
}

// outputFlag has the answer of a run written to a file too.
func outputFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the answer to `FILE` too, once the run has completed"}
}

func planFlag() cli.Flag {
	return &cli.BoolFlag{Name: "ask-plan", Usage: "in mode plan, end with the question whether the plan is carried out (default: where the terminal can be asked)", HideDefault: true}
}

func refusalFlag() cli.Flag {
	return &cli.BoolFlag{Name: failOnRefusal, Usage: "exit with 1 if a rule, the mode or a person refused a call"}
}

// settle waits until all that happened is shown, and takes the line of progress away.
func (s *session) settle() {
	// The context never ends, so neither does this without everything shown.
	_ = s.show.CaughtUp(context.Background())
	s.show.Idle()
}

// print writes how far a run came.
func (s *session) print(out host.Outcome) {
	report.Reporter{Terminal: &s.app.Terminal, Folder: s.Folder, Shown: s.show, Several: s.several}.Outcome(out)
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
