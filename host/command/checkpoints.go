package command

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/view"
)

const checkpointsHelp = `Lists the checkpoints of a run from the oldest to the newest: one for every
settled turn. A resume goes on from the last.

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
	for _, r := range rows {
		p := view.Checkpoint{ID: r.ID, Seq: r.Seq, Turn: r.Turn, Time: r.Time, Digest: hex.EncodeToString(r.Digest)}
		if r.TurnsLeft >= 0 {
			p.TurnsLeft = &r.TurnsLeft
		}
		v.Checkpoints = append(v.Checkpoints, p)
	}
	a.print(c, v, func() { a.Checkpoints(v) })
	return s.close()
}
