package command

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/terminal"
	"agent/host/view"
)

const checkpointsHelp = `Lists the checkpoints of a run from the oldest to the newest: one for every
settled turn. A resume goes on from the last.

EXAMPLE
   agent checkpoints last
   agent checkpoints r-7k2m --json

EXIT STATUS
   0 listed, 1 there is no such run, 2 wrong usage`

func (a *commandLine) checkpointsCommand() *cli.Command {
	return &cli.Command{
		Name:        "checkpoints",
		Usage:       "list the checkpoints of a run",
		ArgsUsage:   "<run> | last",
		Description: checkpointsHelp,
		Flags:       []cli.Flag{jsonFlag()},
		Action:      a.checkpoints,
	}
}

func (a *commandLine) checkpoints(ctx context.Context, c *cli.Command) error {
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
	a.printCheckpoints(c, v)
	return s.close()
}

func (a *commandLine) printCheckpoints(c *cli.Command, v view.Checkpoints) {
	if c.Bool("json") {
		a.PrintJSON(v)
		return
	}
	if len(v.Checkpoints) == 0 {
		a.Say(a.Err, "run %s has no checkpoint yet: no turn of it is settled", v.Run)
		return
	}
	t := terminal.Table{Head: []string{"CHECKPOINT", "TURN", "FACT", "TURNS LEFT", "TIME", "DIGEST"}}
	for _, p := range v.Checkpoints {
		left := "no limit"
		if p.TurnsLeft != nil {
			left = fmt.Sprint(*p.TurnsLeft)
		}
		t.Add(p.ID, fmt.Sprint(p.Turn), fmt.Sprint(p.Seq), left, p.Time.Local().Format(time.DateTime), p.Digest[:min(12, len(p.Digest))])
	}
	t.Write(a.Out)
}
