package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/view"
	"agent/recovery"
)

// here gives a command the flag that leaves out what belongs to other folders.
func (a *commandLine) here(c *cli.Command, usage string) *cli.Command {
	f := &cli.StringFlag{Name: "dir", Usage: usage, Destination: &a.dir}
	c.Flags = slices.Insert(c.Flags, len(c.Flags)-1, cli.Flag(f)) // before --json, which is the last
	return c
}

// only is the folder that --dir names; "" without it. A folder that is gone can be named too: its runs are still there.
func (a *commandLine) only() (string, error) {
	if a.dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(a.dir)
	if err != nil {
		return "", fmt.Errorf("look for runs of %s: %v", a.dir, err)
	}
	if there, err := filepath.EvalSymlinks(abs); err == nil {
		abs = there
	}
	return abs, nil
}

// inFolder names the folder of --dir at the end of a sentence; empty without the flag.
func (a *commandLine) inFolder() string {
	only, err := a.only()
	if err != nil || only == "" {
		return ""
	}
	return " in " + a.Tilde(only)
}

// newestHere is the newest run of the folder that --dir names. With the flag nothing else but last can be meant.
func (s *session) newestHere(ctx context.Context, text string) (string, error) {
	if text != "last" {
		return "", app.Usage(fmt.Errorf("--dir goes with last: %s says itself which one is meant", text))
	}
	only, err := s.app.only()
	if err != nil {
		return "", err
	}
	row, err := s.Store.LatestRun(ctx, only)
	if err == nil && row == nil {
		err = fmt.Errorf("no run was started%s; all are listed by: agent ls --all", s.app.inFolder())
	}
	if err != nil {
		return "", err
	}
	return row.ID, nil
}

// runsHere lists runs as the store does, without those of other folders than --dir names. left counts what a plain list
// leaves out.
func (s *session) runsHere(ctx context.Context, f app.Filter) (rows []app.RunRow, left int, err error) {
	only, err := s.app.only()
	if err != nil {
		return nil, 0, err
	}
	if only == "" {
		rows, err = s.Store.Runs(ctx, f)
		if len(rows) > 0 && f == (app.Filter{}) {
			left = int(rows[0].No) - len(rows) // runs are numbered without gaps, the newest comes first
		}
		return rows, left, err
	}
	all, err := s.Store.Runs(ctx, app.Filter{Folder: only})
	for i, row := range all {
		interrupted, waiting := row.Status == recovery.StatusInterrupted, row.Status == recovery.StatusWaiting
		plain := f == (app.Filter{}) && (i < app.NewestShown || interrupted || waiting)
		if f.All || plain || f.Interrupted && interrupted || f.Waiting && waiting {
			rows = append(rows, row)
		}
	}
	if f == (app.Filter{}) {
		left = len(all) - len(rows)
	}
	return rows, left, err
}

// pendingHere lists questions without those of runs in other folders than --dir names.
func (s *session) pendingHere(ctx context.Context, all bool) ([]app.PendingRow, error) {
	only, err := s.app.only()
	if err != nil {
		return nil, err
	}
	rows, err := s.Store.Pending(ctx, all)
	if err != nil || only == "" {
		return rows, err
	}
	var errs []error
	rows = slices.DeleteFunc(rows, func(p app.PendingRow) bool {
		run, err := s.Store.Run(ctx, p.Run)
		errs = append(errs, err)
		return run.Folder != s.Store.Clean(only)
	})
	return rows, errors.Join(errs...)
}

// lostHere lists the runs that were found without their owner and not marked, without those of other folders.
func (s *session) lostHere(ctx context.Context) ([]string, error) {
	only, err := s.app.only()
	if err != nil || only == "" {
		return s.Lost, err
	}
	var lost []string
	for _, id := range s.Lost {
		row, err := s.Store.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		if row.Folder == s.Store.Clean(only) {
			lost = append(lost, id)
		}
	}
	return lost, nil
}

// undecided completes rows of undecided calls with what their arguments say. A list must stand where the journal is damaged.
func (s *session) undecided(ctx context.Context, rows []app.CallRow) []view.Unknown {
	out := []view.Unknown{}
	for _, row := range rows {
		summary := ""
		if call, err := s.Store.Call(ctx, row.ID); err == nil { // doctor reports what cannot be read
			summary = host.Words(call.Tool, call.Proposal.Args)
		}
		out = append(out, view.NewUnknown(row.ID, row.Tool, summary, row.Started))
	}
	return out
}
