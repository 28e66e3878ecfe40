package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/model/catalog"
	"agent/host/model/runbook"
)

// recordFlag is the flag of every command that may ask a model for a run.
func recordFlag() cli.Flag {
	return &cli.StringFlag{Name: "record", Usage: "record provider traffic in `FILE`, without keys and secrets, for --model replay:FILE"}
}

// readRecord is the absolute name of --record; "" when it is not given.
func readRecord(c *cli.Command) (string, error) {
	name := c.String("record")
	if name == "" {
		return "", nil
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("--record %s: %v", name, err)
	}
	return abs, nil
}

// recordOn takes --record for a run that goes on, and refuses it where nothing would be asked.
func (s *session) recordOn(ctx context.Context, c *cli.Command, run string) error {
	var err error
	if s.app.Record, err = readRecord(c); err != nil || s.app.Record == "" {
		return err
	}
	for _, flag := range []string{"dry-run", "no-resume"} {
		if c.Bool(flag) {
			return app.Usage(fmt.Errorf("--record %s: with --%s no model is asked", c.String("record"), flag))
		}
	}
	row, err := s.Store.Run(ctx, run)
	if err != nil {
		return err
	}
	if row.Model == runbook.Name || strings.HasPrefix(row.Model, catalog.Replay) {
		return app.Usage(fmt.Errorf("--record %s: the model %s asks no provider", c.String("record"), row.Model))
	}
	return nil
}
