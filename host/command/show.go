package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/db"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
)

const showHelp = `Shows a run from its record: its status and place, what was asked, what the
model answered, each call with its outcome, every decision of recovery with
its reason, questions and answers. With --follow it continues with what
happens now, until the run ends, or waits and nobody drives it; Ctrl-C ends
the watching, never the run.

last is the newest run of all folders, whatever became of it. Given a call
(c-…), it shows that call and its whole output.
--follow goes alone: with --calls or --json it is refused.

EXAMPLE
   agent show last
   agent show r-7k2m --follow
   agent show r-7k2m --calls
   agent show c-81kd

EXIT STATUS
   0 shown; 1 refused; 2 wrong usage; with --follow that of the run: 0 done,
   1 failed, 3 waiting for an answer, 4 interrupted, 5 a call's outcome is
   unknown and nobody has decided on it, 6 cancelled`

func (a *app) showCommand() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "show a run, or watch it",
		ArgsUsage:   "<run> | last | <call> | <pending-id>",
		Description: showHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Usage: "continue with what happens now"},
			a.thinkingFlag(),
			&cli.BoolFlag{Name: "calls", Usage: "each call with its arguments, attempts, result and evidence"},
			jsonFlag(),
		},
		Action: a.showAction,
	}
}

func (a *app) showAction(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 {
		return &usageError{errors.New("name one run: agent show last")}
	}
	if c.Bool("follow") && (c.Bool("json") || c.Bool("calls")) {
		return &usageError{errors.New("give --follow alone: what it shows has no end yet")}
	}
	s, err := a.open(ctx, useRead)
	if err != nil {
		return noState(err, "show "+c.Args().First())
	}
	kind, id, err := s.find(ctx, c.Args().First(), 'r', 'c', 'p')
	switch {
	case err != nil:
	case kind == 'c':
		err = s.showOneCall(ctx, c, id)
	case kind == 'p':
		err = s.showRequest(ctx, c, id)
	case c.Bool("json"):
		err = s.showJSON(ctx, id)
	case c.Bool("follow"):
		err = s.follow(ctx, id)
	case c.Bool("calls"):
		err = s.showCalls(ctx, id)
	default:
		err = s.showStory(ctx, id)
	}
	return errors.Join(err, s.close())
}

// showStory prints a run from its record.
func (s *session) showStory(ctx context.Context, run string) error {
	t := s.storyTeller()
	v, err := s.head(ctx, t, run)
	if err != nil {
		return err
	}
	for e, err := range s.Store.Load(ctx, run, 0) {
		if err != nil {
			return err
		}
		t.fact(run, e)
	}
	kept, err := s.Store.Answered(ctx, run)
	if err != nil {
		return err
	}
	if kept != nil {
		t.line(bold, "?", view.KeptText(view.NewRequest(*kept, fault.Now())))
	}
	t.next(v)
	return nil
}

// storyTeller tells everything on stdout.
func (s *session) storyTeller() *teller {
	t := s.app.newTeller(s.app.Out)
	t.whole = true
	return t
}

// next prints the commands that bring the run forward; not the one that was just given.
func (t *teller) next(v view.Run) {
	for _, c := range v.Next {
		if c != "agent show "+v.ID {
			t.line(bold, "next:", c)
		}
	}
}

// head prints where a run stands and under which rules it goes, and returns its row.
func (s *session) head(ctx context.Context, t *teller, run string) (view.Run, error) {
	v, err := s.runNow(ctx, run)
	if err != nil {
		return v, err
	}
	t.line(bold, "run", v.ID+"  "+v.StatusText(fault.Now()))
	if v.Detail != "" {
		t.pair("why", v.Detail)
	} else if v.StopReason != "" {
		t.pair("why", v.StopReason)
	}
	t.pair("place", v.PlaceText())
	for e, err := range s.Store.Load(ctx, run, 0) {
		if err != nil {
			return v, err
		}
		if b, ok := e.Body.(recovery.RunCreated); ok {
			s.rules(ctx, t, v, b)
		}
		break
	}
	return v, nil
}

// rules prints how the run was started.
func (s *session) rules(ctx context.Context, t *teller, v view.Run, b recovery.RunCreated) {
	thread := b.Thread
	if b.Previous != "" {
		thread += ", after run " + b.Previous
	}
	mode := string(b.Mode)
	if v.Mode != b.Mode {
		mode = fmt.Sprintf("%s, tightened to %s", b.Mode, v.Mode)
	}
	until := "last written " + view.Stamp(v.Updated)
	if v.Ended != nil {
		until = "ended " + view.Stamp(*v.Ended)
	}
	so := fmt.Sprintf("%s, %s", view.Count(v.Turns, "turn"), view.Count(v.Calls, "call"))
	if v.NumUnknown > 0 {
		so += fmt.Sprintf(", %d with an unknown outcome", v.NumUnknown)
	}
	t.pair("thread", thread)
	t.pair("folder", s.app.tilde(b.Folder))
	t.pair("model", view.ModelText(b)+view.ProviderText(b.Setup.Provider))
	s.setup(t, b)
	t.pair("mode", mode+", "+view.LimitText(b.Limits))
	t.pair("started", fmt.Sprintf("%s by %s with agent %s, %s", view.Stamp(v.Created), view.OrPerson(b.By), b.Version, until))
	t.pair("so far", so)
	if used, ok := s.used(ctx, b); ok && used.Text() != "" {
		t.pair("used", used.Text())
	}
	if b.Source != "" {
		t.pair("from", s.app.tilde(b.Source))
	}
	t.pair("prompt", "")
	t.block(view.Excerpt(b.Prompt, 12, 3, ": agent show "+b.Run+" --json"))
	if b.Input != "" {
		t.pair("piped in", view.Bytes(int64(len(b.Input))))
		t.block(view.Excerpt(b.Input, 6, 3, ": agent show "+b.Run+" --json"))
	}
}

// pair prints a name and a value.
func (t *teller) pair(name, value string) {
	value = strings.ReplaceAll(stream.Sanitize(value), "\n", "\n"+strings.Repeat(" ", 12))
	t.out.print(strings.TrimRight(t.out.paint(dim, fmt.Sprintf("  %-8s", name))+"  "+value, " "))
}

// runNow is a run's row, completed with what only the locks know.
func (s *session) runNow(ctx context.Context, run string) (view.Run, error) {
	row, err := s.Store.Run(ctx, run)
	if err != nil {
		return view.Run{}, err
	}
	v := view.NewRun(row, fault.Now())
	if s.lock == nil { // the state folder cannot be written: a lost owner is seen, and not marked
		marks, err := s.Reconcile(ctx, false)
		if err != nil {
			return v, err
		}
		for _, m := range marks {
			if m.Run == run {
				v.Status, v.Cause, v.Detail, v.Unmarked = recovery.StatusInterrupted, m.Cause, m.Detail, true
			}
		}
	}
	if err := s.owned(&v); err != nil {
		return v, err
	}
	v.Unknown = s.undecided(ctx, row.Undecided)
	newest := false
	if v.Continues(true) {
		rows, err := s.Store.ThreadRuns(ctx, v.Thread)
		if err != nil {
			return v, err
		}
		newest = rows[len(rows)-1].ID == v.ID
	}
	v.Next = view.Next(v, newest, fault.Now())
	return v, nil
}

// showOneCall prints one call and the whole of its output.
func (s *session) showOneCall(ctx context.Context, c *cli.Command, id string) error {
	row, err := s.Store.Call(ctx, id)
	if err != nil {
		return err
	}
	if c.Bool("follow") || c.Bool("calls") {
		return &usageError{fmt.Errorf("show %s: --follow and --calls take a run, and this is a call of run %s", id, row.Run)}
	}
	found, err := view.Decisions(row.Run, s.Store.Load(ctx, row.Run, 0))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return s.showCallJSON(ctx, row, found[row.Place.String()])
	}
	t := s.storyTeller()
	t.callHead(row, found[row.Place.String()])
	if row.Result == nil {
		return nil
	}
	return s.printOutput(ctx, row)
}

// showRequest prints one question, with the run whose question it is.
func (s *session) showRequest(ctx context.Context, c *cli.Command, id string) error {
	row, err := s.Store.PendingByID(ctx, id)
	if err != nil {
		return err
	}
	s.app.printPending(c, view.Requests{Version: 1, Requests: []view.Request{view.NewRequest(row, fault.Now())}})
	return nil
}

// printOutput writes the whole output of a call. Control sequences are taken out.
func (s *session) printOutput(ctx context.Context, row db.CallRow) error {
	r, size, err := s.Store.Output(ctx, row.ID)
	if err != nil {
		return err
	}
	s.app.say(s.app.Out, "  output    %s", view.Bytes(size))
	return s.app.copyText(r, size)
}
