package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/commits"
	"agent/host/diff"
	"agent/host/flow/standing"
	"agent/host/lines"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

const showHelp = `Shows a run from its record: its status and place, what was asked, what the
model answered, each call with its outcome, every decision of recovery with
its reason, questions and answers. With --follow it continues with what
happens now, until the run ends, or waits and nobody drives it; Ctrl-C ends
the watching, never the run. Of a flow it shows where it was interrupted,
what was found of its files and done about it, and a table: each phase with
its status, try, run, time and cost, how many files its runs changed (FILES:
~ changed, + made, - removed), and what it made.

last is the newest run of all folders, whatever became of it. Given a call
(c-…), it shows that call and its whole output. Given the id of a commit, or
HEAD~1, it shows the runs whose work the commit holds: agent log.
--follow goes alone: with --calls or --json it is refused. For programs it
prints an event a line, with --output-format stream-json: agent help
scripting. A run that waits for an answer is then followed on.

EXAMPLE
   agent show last
   agent show r-7k2m --follow
   agent show r-7k2m --follow --output-format stream-json --since 0
   agent show r-7k2m --calls
   agent show c-81kd

EXIT STATUS
   0 shown; 1 refused; 2 wrong usage; with --follow that of the run: 0 done,
   1 failed, 3 waiting for an answer, 4 interrupted, 5 a call's outcome is
   unknown and nobody has decided on it, 6 cancelled`

type showCommand struct{ *commandLine }

func (a showCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "show a run, or watch it",
		ArgsUsage:   "<run> | last | <call> | <pending-id> | <commit>",
		Description: showHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Usage: "continue with what happens now"},
			a.thinkingFlag(),
			&cli.BoolFlag{Name: "calls", Usage: "each call with its arguments, attempts, result and evidence"},
			jsonFlag(),
			lines.Flag(),
			lines.SinceFlag(),
		},
		Action: a.run,
	}
}

func (a showCommand) run(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 {
		return app.Usage(errors.New("name one run: agent show last"))
	}
	since, err := lines.Since(c)
	if err != nil {
		return err
	}
	opened, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "show "+c.Args().First())
	}
	s := showing{opened, c}
	kinds := []byte("rcp")
	if a.lines != nil {
		kinds = []byte("r")
	}
	kind, id, err := s.find(ctx, c.Args().First(), kinds...)
	if name := c.Args().First(); err != nil && a.lines == nil && maybeCommit(name) {
		is := s.commit(ctx, name)
		unknown := errors.As(is, new(*commits.RevisionError)) || errors.As(is, new(*commits.NoRepositoryError))
		if !unknown || strings.HasPrefix(name, "HEAD") { // else the run is what is missed
			return errors.Join(is, s.close())
		}
	}
	switch {
	case err != nil:
	case a.lines != nil:
		err = s.lines(ctx, id, since)
	case kind == 'c':
		err = s.call(ctx, id)
	case kind == 'p':
		err = s.request(ctx, id)
	case c.Bool("json"):
		err = s.json(ctx, id)
	case c.Bool("follow"):
		err = s.follow(ctx, id, nil)
	case c.Bool("calls"):
		err = s.calls(ctx, id)
	default:
		err = s.story(ctx, id)
	}
	return errors.Join(err, s.close())
}

// showing prints what is on record of a run, a call or a question.
type showing struct {
	*session
	c *cli.Command
}

// story prints a run from its record.
func (s showing) story(ctx context.Context, run string) error {
	t := s.printer()
	v, err := s.head(ctx, t, run)
	if err != nil {
		return err
	}
	var f standing.Fold
	flow := false
	for e, err := range s.Store.Load(ctx, run, 0) {
		if err != nil {
			return err
		}
		if b, ok := e.Body.(journal.RunCreated); ok {
			flow = len(b.Flow) > 0
		}
		if f.Take(e); !flow || besideTable(e.Body) {
			t.Fact(run, e)
		}
	}
	kept, err := s.Store.Answered(ctx, run)
	if err != nil {
		return err
	}
	if kept != nil {
		t.Line(terminal.Bold, "?", view.KeptText(view.NewRequest(*kept, fault.Now())))
	}
	if err := s.family(ctx, v, &f); err != nil {
		return err
	}
	t.Next(v)
	return nil
}

// besideTable says whether a fact of a flow is about what the table of its phases does not show:
// where it was interrupted and went on, what its artifacts were found to be, and what was done
// about them.
func besideTable(b journal.Body) bool {
	switch b.(type) {
	case journal.RunInterrupted, journal.RunClaimed, journal.ArtifactsChecked, journal.ArtifactRestored, journal.PhaseRewound, journal.RequestAnswered:
		return true
	}
	return false
}

// family prints the runs below a run; of a flow, the table of its phases.
func (s showing) family(ctx context.Context, v view.Run, f *standing.Fold) error {
	runs := []view.Run{v}
	if err := app.AddChildren(ctx, s.Folder, runs, true); err != nil {
		return err
	}
	table, err := f.Table(s.Host, runs[0].Children)
	switch {
	case err != nil:
		return fmt.Errorf("show flow %s: %w", v.ID, err)
	case table != nil:
		s.app.Flow(table)
	case v.NumChildren > 0:
		s.app.Say(s.app.Out, "runs below it:")
		s.app.Family(runs[0].Children, "  ")
	}
	return nil
}

// printer prints everything on stdout.
func (s showing) printer() *terminal.Printer {
	t := s.app.Printer(s.app.Out)
	t.Whole, t.Diffs = true, diff.NewLive(&s.Process)
	return t
}

// head prints where a run stands and under which rules it goes, and returns its row.
func (s showing) head(ctx context.Context, t *terminal.Printer, run string) (view.Run, error) {
	v, err := s.Now(ctx, run)
	if err != nil {
		return v, err
	}
	t.Line(terminal.Bold, "run", v.ID+"  "+v.StatusText(fault.Now()))
	if v.Detail != "" {
		t.Pair("why", v.Detail)
	} else if v.StopReason != "" {
		t.Pair("why", v.StopReason)
	}
	t.Pair("place", v.PlaceText())
	for e, err := range s.Store.Load(ctx, run, 0) {
		if err != nil {
			return v, err
		}
		if b, ok := e.Body.(journal.RunCreated); ok {
			s.rules(ctx, t, v, b)
		}
		break
	}
	return v, nil
}

// rules prints how the run was started.
func (s showing) rules(ctx context.Context, t *terminal.Printer, v view.Run, b journal.RunCreated) {
	thread := b.Thread
	if b.Previous != "" {
		thread += ", after run " + b.Previous
	}
	mode := string(b.Mode)
	if v.Mode != b.Mode {
		mode = fmt.Sprintf("%s, tightened to %s", b.Mode, v.Mode)
	}
	until := "written " + view.Stamp(v.Updated)
	if v.Ended != nil {
		until = "ended " + view.Stamp(*v.Ended)
	}
	so := v.DidText()
	if v.NumUnknown > 0 {
		so += fmt.Sprintf(", %d with an unknown outcome", v.NumUnknown)
	}
	if v.Parent != "" {
		above := v.Parent
		if v.Root != v.Parent {
			above += ", below run " + v.Root
		}
		t.Pair("below", fmt.Sprintf("run %s, as %s", above, v.Role))
	}
	if v.Name != "" {
		t.Pair("name", v.Name)
	}
	t.Pair("thread", thread)
	t.Pair("folder", s.app.Tilde(b.Folder))
	t.Pair("model", view.ModelText(b)+view.ProviderText(b.Setup.Provider))
	s.setup(t, b)
	t.Pair("mode", mode+", "+view.LimitText(b.Limits))
	t.Pair("started", fmt.Sprintf("%s by %s with agent %s", view.Stamp(v.Created), view.OrPerson(b.By), b.Version))
	word, at, _ := strings.Cut(until, " ")
	t.Pair(word, at)
	t.Pair("so far", so)
	if used, ok := s.Used(ctx, b); ok && used.Text() != "" {
		t.Pair("used", used.Text())
	}
	if b.Source != "" {
		t.Pair("from", s.app.Tilde(b.Source))
	}
	t.Pair("prompt", "")
	t.Block(view.Excerpt(b.Prompt, 12, 3, ": agent show "+b.Run+" --json"))
	if b.Input != "" {
		t.Pair("piped in", view.Bytes(int64(len(b.Input))))
		t.Block(view.Excerpt(b.Input, 6, 3, ": agent show "+b.Run+" --json"))
	}
}

// call prints one call and the whole of its output.
func (s showing) call(ctx context.Context, id string) error {
	row, err := s.Store.Call(ctx, id)
	if err != nil {
		return err
	}
	if s.c.Bool("follow") || s.c.Bool("calls") {
		return app.Usage(fmt.Errorf("show %s: --follow and --calls take a run, and this is a call of run %s", id, row.Run))
	}
	found, err := view.Decisions(row.Run, s.Store.Load(ctx, row.Run, 0))
	if err != nil {
		return err
	}
	if s.c.Bool("json") {
		return s.callJSON(ctx, row, found[row.Place.String()])
	}
	t := s.printer()
	t.CallHead(view.NewCallDetail(row, found[row.Place.String()]))
	if row.Result == nil {
		return nil
	}
	return s.printOutput(ctx, row)
}

// request prints one question, with the run whose question it is.
func (s showing) request(ctx context.Context, id string) error {
	row, err := s.Store.PendingByID(ctx, id)
	if err != nil {
		return err
	}
	v := view.Requests{Version: 1, Requests: []view.Request{view.NewRequest(row, fault.Now())}}
	s.app.print(s.c, v, func() { s.app.Requests(v, "") })
	return nil
}

// printOutput writes the whole output of a call. Control sequences are taken out.
func (s showing) printOutput(ctx context.Context, row app.CallRow) error {
	r, size, err := s.Store.Output(ctx, row.ID)
	if err != nil {
		return err
	}
	s.app.Say(s.app.Out, "  output    %s", view.Bytes(size))
	return s.app.CopyText(r, size)
}
