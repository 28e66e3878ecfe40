package command

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/commits"
	"agent/host/undo"
	"agent/host/view"
)

const checkpointsHelp = `Lists the positions of a run from the oldest to the newest: @0 before it, and
one for every settled turn, with what the turn changed of files, the commits
that hold it (agent log), and what it did outside, which stands. A resume
goes on from the last; agent rewind, diff and fork take each.

EXAMPLE
   agent checkpoints last
   agent checkpoints r-7k2m --json

EXIT STATUS
   0 listed, 1 there is no such run, 2 wrong usage`

type checkpointsCommand struct{ *commandLine }

func (a checkpointsCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "checkpoints",
		Usage:       "list the checkpoints of a run",
		ArgsUsage:   "<run> | last",
		Description: checkpointsHelp,
		Flags:       []cli.Flag{jsonFlag()},
		Action:      a.run,
	}
}

func (a checkpointsCommand) run(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 1 {
		return app.Usage(errors.New("name one run: agent checkpoints last"))
	}
	s, err := a.open(ctx, app.Read)
	if err != nil {
		return noState(err, "list checkpoints of run "+c.Args().First())
	}
	_, run, err := s.find(ctx, c.Args().First(), 'r')
	if err != nil {
		return errors.Join(err, s.close())
	}
	rows, err := s.Store.Checkpoints(ctx, run)
	if err != nil {
		return errors.Join(err, s.close())
	}
	v := view.Checkpoints{Version: 1, Run: run, Checkpoints: []view.Checkpoint{}}
	work, err := a.work(ctx, s, run, &v)
	if err != nil {
		return errors.Join(err, s.close())
	}
	made, err := commits.OfRun(ctx, s.Store, run)
	if err != nil {
		return errors.Join(err, s.close())
	}
	for _, r := range rows {
		p := view.Checkpoint{ID: r.ID, Seq: r.Seq, Turn: r.Turn, Time: r.Time, Digest: hex.EncodeToString(r.Digest)}
		if r.TurnsLeft >= 0 {
			p.TurnsLeft = &r.TurnsLeft
		}
		p.Files, p.Stands = work[r.Turn].View(s.Store.Redact)
		for _, m := range made {
			if m.Turn == r.Turn {
				p.Commits = append(p.Commits, view.CheckpointCommit{ID: m.ID, Checkpoint: m.Checkpoint, Final: m.Final})
			}
		}
		v.Checkpoints = append(v.Checkpoints, p)
	}
	a.print(c, v, func() { a.Checkpoints(v) })
	return s.close()
}

// work is what each turn of a run did. The place before the first is the first of the list; a part
// of another run has none of its own.
func (a checkpointsCommand) work(ctx context.Context, s *session, run string, v *view.Checkpoints) (map[int]undo.Work, error) {
	row, err := s.Store.Run(ctx, run)
	if err != nil || row.Root != "" {
		return nil, err
	}
	h, err := undo.Alone(ctx, &s.Process, row)
	if err != nil {
		return nil, err
	}
	v.Checkpoints = append(v.Checkpoints, view.Checkpoint{ID: h.At.String(), Time: row.Created})
	return h.Runs[0].Work, nil
}
