package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/flags"
	"agent/host/model/catalog"
	"agent/host/model/runbook"
)

// recordOn takes --record for a run that goes on, and refuses it where nothing would be asked.
func (s *session) recordOn(ctx context.Context, c *cli.Command, run string) error {
	var err error
	if s.app.Record, err = flags.ReadRecord(c); err != nil || s.app.Record == "" {
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
