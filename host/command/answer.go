package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/carry"
	"agent/host/flags"
	"agent/host/launch"
	"agent/host/lines"
	"agent/host/pick"
	"agent/host/report"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

const answerHelp = `Answers a question of a run, once, and continues the run in this process
unless its owner does. No other process needs to be alive. Without an id it
is the one open question; without an answer it is asked on the terminal. With
--detach the run continues in the background.

To a question about permission, yes approves the call once and no denies it;
behind a no, the model gets your reason. The answers that begin with always,
and never, hold for similar calls too: the question shows for which, and ?
shows the rules. They must be written in full. See agent help permissions.

Given a call whose outcome is unknown (c-…), it records what you know of it:
happened or leave. Until then its run ends with 5. Where a run asks about
that call, happened answers it, and the run continues. See agent help
recovery.

When a call would do again what a call of unknown outcome may have done, you
are asked: happened (it is not run), run (once more; its success settles the
first) or leave (neither). Asked about it once more in the same run,
stop-asking takes the place of leave: it is not run, and nobody is asked
about it again in that run.

EXAMPLE
   agent answer yes
   agent answer p-3f9x always-write
   agent answer p-3f9x no "use the test database"
   agent answer --dir . yes
   agent answer p-3f9x "the second one"
   agent answer p-3f9x --value '{"port": 8080}'
   agent answer c-81kd happened

EXIT STATUS
   that of the run that goes on (see agent resume --help); 0 when the answer
   was only recorded, or its owner took it; 1 refused: it has an answer
   already, the answer does not fit, there is no such id; 2 wrong usage, or
   several questions are open; 3 or 5 it was left open; with --detach 0 once
   the run is going`

type answerCommand struct{ *commandLine }

func (a answerCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "answer",
		Usage:       "approve, deny or answer; decide on an unknown outcome",
		ArgsUsage:   "[<pending-id> | <call> | last] [yes | no | TEXT]",
		Description: answerHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "value", Usage: "the answer as `JSON`"},
			&cli.BoolFlag{Name: "no-resume", Usage: "only record the answer"},
			outputFlag(),
			refusalFlag(),
			detachFlag(),
			noRecoverFlag(),
			flags.Record(),
			a.thinkingFlag(),
			jsonFlag(),
			lines.Flag(),
		},
		Action: a.run,
	}
}

// answering is an answer on its way from the command line to the run that asks.
type answering struct {
	*session
	c *cli.Command
}

// reply is an answer as it was given on the command line; neither text nor value when it is to be
// asked for.
type reply struct {
	text  string
	value json.RawMessage
	given bool
}

func (a answerCommand) run(ctx context.Context, c *cli.Command) error {
	id, r, err := answerArguments(c)
	if err != nil {
		return err
	}
	if c.Bool("detach") && c.Bool("no-resume") {
		return app.Usage(errors.New("give --detach or --no-resume, not both"))
	}
	opened, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "answer")
	}
	s := answering{opened, c}
	s.askHere(c)
	row, call, err := s.answered(ctx, id, &r)
	if a.about = row.Run; call != nil {
		a.about = call.Run
	}
	if err == nil {
		err = s.MustWrite("answer")
	}
	if err == nil {
		err = s.recordOn(ctx, c, a.about)
	}
	if err == nil && !c.Bool("no-resume") {
		err = s.carryOn(ctx, c, func(r app.RunRow) bool { return r.ID == a.about })
	}
	switch {
	case err != nil:
		return errors.Join(err, s.close())
	case call != nil:
		return s.decide(ctx, *call, r)
	}
	raw, err := s.reply(ctx, row, r)
	if err != nil {
		return errors.Join(err, s.close())
	}
	return s.give(ctx, row, raw)
}

func answerArguments(c *cli.Command) (id string, r reply, err error) {
	args := becauseArguments(c.Args().Slice())
	if len(args) > 2 {
		return "", r, app.Usage(errors.New(`give the answer as one argument: put it in quotes`))
	}
	if c.IsSet("value") {
		if len(args) == 2 {
			return "", r, app.Usage(errors.New("give the answer as an argument or with --value, not both"))
		}
		r.value, r.given = json.RawMessage(c.String("value")), true
		if !json.Valid(r.value) {
			return "", r, app.Usage(fmt.Errorf("--value %s: this is not JSON", c.String("value")))
		}
	}
	if len(args) == 2 {
		r.text, r.given = args[1], true
	}
	if len(args) > 0 {
		id = args[0]
	}
	return id, r, nil
}

// becauseArguments takes what stands behind a no as a part of the answer, its reason: agent answer
// p-3f9x no use the test database.
func becauseArguments(args []string) []string {
	for i := range min(len(args), 2) {
		if word := strings.TrimRight(args[i], ",:;"); word == journal.AnswerNo && i+1 < len(args) {
			return append(slices.Clone(args[:i]), strings.Join(args[i:], " "))
		}
	}
	return args
}

// answered finds what is to be answered: a request, or a call. A lone argument that cannot be an id
// is the answer to the one open request.
func (s answering) answered(ctx context.Context, text string, r *reply) (app.PendingRow, *app.CallRow, error) {
	a, err := pick.ToAnswer(ctx, s.Folder, text, r.given)
	if a.Text {
		r.text, r.given = text, true
	}
	return a.Request, a.Call, err
}

// reply makes the answer to a request: what was given, or what is asked for on the terminal.
func (s answering) reply(ctx context.Context, row app.PendingRow, r reply) (json.RawMessage, error) {
	if row.Damaged != nil {
		return nil, fmt.Errorf("answer %s: %w", row.ID, row.Damaged)
	}
	if row.Status != app.RequestOpen {
		return nil, &app.ConflictError{First: row}
	}
	q := row.Request.Question
	if r.text == "?" && len(row.Request.Rules) > 0 {
		s.app.Say(s.app.Err, "%s", view.QuestionText(&row.Request)+"\n"+strings.TrimSuffix(view.RulesText(&row.Request), "\n"))
		return nil, withCode(view.ExitWaiting)
	}
	if !r.given {
		return s.askFor(ctx, row.Run, row.Request, view.AnswerCommands(&row.Request))
	}
	raw, err := r.value, error(nil)
	if raw == nil {
		raw, err = view.ParseAnswer(q, r.text)
	} else {
		err = view.CheckAnswer(q, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("answer %s: %w; the question stays open", row.ID, err)
	}
	return raw, nil
}

// askFor puts a question to the terminal, or says how to answer it where there is none.
func (s answering) askFor(ctx context.Context, run string, r journal.Request, commands []string) (json.RawMessage, error) {
	if s.Env.Ask == nil {
		s.app.Say(s.app.Err, "%s", view.QuestionText(&r))
		return nil, app.Usage(fmt.Errorf("answer: there is no terminal to ask on; give the answer:\n    %s", strings.Join(commands, "\n    ")))
	}
	raw, err := s.Env.Ask(ctx, run, r)
	if errors.Is(err, host.ErrLeftOpen) || (err != nil && ctx.Err() != nil) {
		s.app.Say(s.app.Err, "the question stays open:\n    %s", strings.Join(commands, "\n    "))
		st, err := s.State(context.WithoutCancel(ctx), run)
		if err != nil {
			return nil, err
		}
		out := s.Finished(st)
		out.Status = recovery.StatusWaiting
		return nil, withCode(view.OutcomeCode(out))
	}
	return raw, err
}

// goOn is what has the run go on that has its answer; at is set where that is another process.
func (s answering) goOn(at **launch.Accepted) (host.GoOn, error) {
	switch {
	case s.c.Bool("no-resume"):
		return nil, nil
	case s.c.Bool("detach"):
		carrier, err := s.carrier()
		return carrier.GoOn(at), err
	}
	return s.GoOnHere, nil
}

// give records the answer and sees to it that somebody takes it. It closes the session.
func (s answering) give(ctx context.Context, row app.PendingRow, raw json.RawMessage) error {
	var at *launch.Accepted
	on, err := s.goOn(&at)
	if err != nil {
		return errors.Join(err, s.close())
	}
	taken, err := s.Answer(ctx, row.ID, raw, on)
	if at != nil {
		s.app.printDetached(s.c.Bool("json"), *at)
		return errors.Join(err, s.close())
	}
	if taken.Drove {
		if errors.As(err, new(*carry.EndedError)) { // whose words were passed on
			s.app.Say(s.app.Err, "agent: the answer to %s is kept", row.ID)
		}
		return s.report(s.c, taken.Outcome, err)
	}
	if errors.As(err, new(*host.OutdatedError)) {
		err = app.Usage(err)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	run, err := s.Store.Run(ctx, row.Run)
	if err != nil {
		return errors.Join(err, s.close())
	}
	v := view.Answered{
		Version: 1, Request: row.ID, Run: row.Run, Answer: raw, State: "taken", Owner: taken.Owner, Status: run.Status, Next: []string{},
	}
	switch {
	case s.c.Bool("no-resume"):
		v.State = "recorded"
	case taken.Owner != "":
		v.State = "kept"
	}
	if s.app.Record != "" {
		s.app.Say(s.app.Err, "nothing goes to %s: another process drives the run", s.app.Record)
	}
	switch {
	case run.Pending != nil && run.Pending.Damaged == nil: // it asked the next one already
		v.Next = view.AnswerCommands(&run.Pending.Request)
	case run.Status == recovery.StatusInterrupted:
		v.Next = []string{"agent resume " + row.Run}
	case !run.Status.Terminal():
		v.Next = []string{"agent show --follow " + row.Run}
	}
	s.printAnswered(v)
	return s.close()
}

func (s answering) printAnswered(v view.Answered) {
	s.settleOutput()
	s.app.print(s.c, v, func() { report.Answered(&s.app.Terminal, v) })
}
