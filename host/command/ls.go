package command

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
)

const lsHelp = `Lists runs from the newest to the oldest: without a flag the 20 newest and
everything interrupted or waiting. Each line ends with the command that
brings the run forward. Questions are compared with their digests; what else
stands here comes from the list of runs, which agent doctor compares with the
record.

EXAMPLE
   agent ls
   agent ls --interrupted
   agent ls --dir .
   agent ls --all --json

EXIT STATUS
   0 listed, also when there is nothing; 1 the state folder cannot be used;
   2 wrong usage`

func (a *commandLine) lsCommand() *cli.Command {
	return &cli.Command{
		Name:        "ls",
		Usage:       "list runs",
		Description: lsHelp,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "interrupted", Usage: "only runs that can be resumed"},
			&cli.BoolFlag{Name: "waiting", Usage: "only runs that wait for a person"},
			&cli.BoolFlag{Name: "all", Usage: "every run"},
			jsonFlag(),
		},
		Action: a.ls,
	}
}

func (a *commandLine) ls(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	f := app.Filter{Interrupted: c.Bool("interrupted"), Waiting: c.Bool("waiting"), All: c.Bool("all")}
	if f.All && (f.Interrupted || f.Waiting) {
		return app.Usage(errors.New("give --all, or --interrupted and --waiting"))
	}
	v := view.Runs{Version: 1, Runs: []view.Run{}}
	s, err := a.open(ctx, app.Read)
	switch {
	case errors.Is(err, app.ErrNoState):
		a.printRuns(c, v, `no runs yet: agent run "prompt" starts one`)
		return nil
	case err != nil:
		return err
	}
	if v.Runs, err = s.list(ctx, f); err == nil {
		v.Older = s.older
		if b := s.Store.Behind(); b != nil {
			v.Behind = b.What
		}
		nothing := a.nothingListed(f)
		if v.Behind != "" {
			nothing = "no such run is in this database"
		}
		a.printRuns(c, v, nothing)
	}
	return errors.Join(err, s.unlessBehind(), s.close())
}

func (a *commandLine) nothingListed(f app.Filter) string {
	where := a.inFolder()
	switch {
	case f.Interrupted && f.Waiting:
		return "no run is interrupted or waiting" + where
	case f.Interrupted:
		return "no run is interrupted" + where
	case f.Waiting:
		return "no run waits for a person" + where
	case where != "":
		return "no run was started" + where
	}
	return `no runs yet: agent run "prompt" starts one`
}

// list reads the rows and completes them with what only the locks know: who drives a run, and which runs nobody does.
func (s *session) list(ctx context.Context, f app.Filter) ([]view.Run, error) {
	rows, older, err := s.runsHere(ctx, f)
	if err != nil {
		return nil, err
	}
	s.older = older
	marks := map[string]host.Mark{}
	if !s.CanWrite() || len(s.Lost) > 0 { // what could not be marked is only shown
		if rows, err = s.unmarked(ctx, f, rows, marks); err != nil {
			return nil, err
		}
	}
	out := make([]view.Run, 0, len(rows))
	later := map[string]bool{} // threads of which a newer run was listed
	for _, row := range rows {
		v := view.NewRun(row, fault.Now())
		if m, ok := marks[row.ID]; ok {
			v.Status, v.Cause, v.Detail, v.Unmarked = recovery.StatusInterrupted, m.Cause, m.Detail, true
		}
		if err := s.owned(&v); err != nil {
			return nil, err
		}
		v.Unknown = s.undecided(ctx, row.Undecided)
		v.Next = view.Next(v, !later[v.Thread], fault.Now())
		later[v.Thread] = true
		out = append(out, v)
	}
	return out, nil
}

// unmarked adds the runs that lost their owner to a list in which they belong.
func (s *session) unmarked(ctx context.Context, f app.Filter, rows []app.RunRow, marks map[string]host.Mark) ([]app.RunRow, error) {
	lost, err := s.Look(ctx, false)
	if err != nil {
		return nil, err
	}
	only, err := s.app.only()
	if err != nil {
		return nil, err
	}
	for _, m := range lost {
		marks[m.Run] = m
		there := slices.ContainsFunc(rows, func(r app.RunRow) bool { return r.ID == m.Run })
		if there || (f.Waiting && !f.Interrupted) {
			continue
		}
		row, err := s.Store.Run(ctx, m.Run)
		if err != nil {
			return nil, err
		}
		if only == "" || row.Folder == s.Store.Clean(only) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b app.RunRow) int { return int(b.No - a.No) })
	return rows, nil
}

// owned fills in who drives the run.
func (s *session) owned(v *view.Run) error {
	if v.Status.Terminal() {
		return nil
	}
	who, ok, err := s.Owner(v.ID)
	if err == nil && ok {
		v.Owner = &view.Owner{PID: who.PID, Host: who.Host}
	}
	return err
}

func (a *commandLine) printRuns(c *cli.Command, v view.Runs, nothing string) {
	if c.Bool("json") {
		a.PrintJSON(v)
		return
	}
	if len(v.Runs) == 0 {
		a.Say(a.Err, "%s", nothing)
		return
	}
	t := terminal.Table{
		Fit:  a.Width(),
		Head: []string{"RUN", "STATUS", "AGE", "FOLDER", "PLACE", "PROMPT", "NEXT"},
		Most: []int{0, 0, 0, 28, 28, 32, 0},
	}
	now := fault.Now()
	for _, r := range v.Runs {
		next := ""
		if len(r.Next) > 0 {
			next = r.Next[0]
		}
		switch {
		case r.Request != nil && len(r.Next) > 1:
			next = view.AnswerCommand(r.Request.ID)
		case r.Status == recovery.StatusCompleted && len(r.Unknown) > 0:
			next = view.AnswerCommand(r.Unknown[0].ID)
		}
		t.Add(r.ID, r.StatusText(now), view.Age(now, r.Created), a.Tilde(r.Folder), r.PlaceText(), view.PromptStart(r.Prompt), next)
	}
	t.Write(a.Out)
	if v.Older > 0 {
		a.Say(a.Out, "%s: agent ls --all", view.Count(v.Older, "older run"))
	}
}
