package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/model"
	"agent/host/model/catalog"
	"agent/host/model/runbook"
	"agent/host/model/wire"
	"agent/recovery"
	"agent/recovery/fault"
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
			return usage(fmt.Errorf("--record %s: with --%s no model is asked", c.String("record"), flag))
		}
	}
	row, err := s.Store.Run(ctx, run)
	if err != nil {
		return err
	}
	if row.Model == runbook.Name || strings.HasPrefix(row.Model, catalog.Replay) {
		return usage(fmt.Errorf("--record %s: the model %s asks no provider", c.String("record"), row.Model))
	}
	return nil
}

// recorder is where the exchanges of a run are written, where --record says so. A model that is only looked at, before
// there is a run, records nothing.
func (a *App) recorder(created recovery.RunCreated, p catalog.Provider) (*wire.Recorder, error) {
	if a.Record == "" || created.Run == "" || a.recording != nil {
		return a.recording, nil
	}
	r, err := wire.NewRecorder(a.Record, wire.Header{
		Run: created.Run, Model: created.Model, Provider: p.Protocol, BaseURL: p.BaseURL, Created: fault.Now(),
	})
	if err != nil {
		return nil, usage(err)
	}
	a.recording = r
	return r, nil
}

// replaySetup is what a recording is asked with: as what was recorded, and nothing is paid.
func (a *App) replaySetup(conf *settings, path string) (recovery.Setup, error) {
	r, err := wire.OpenReplay(path)
	if err != nil {
		return recovery.Setup{}, err
	}
	h := r.Header()
	out := recovery.Setup{Provider: h.Provider}
	if name, of, err := conf.models.Parse(h.Model); err == nil && name != "" {
		p, _ := conf.models.Provider(name) // Parse has found it
		known := conf.models.Setup(p, of)
		out.Window, out.MaxOutput = known.Window, known.MaxOutput
	}
	return out, checkProtocol(h, path)
}

// replayModel plays a recording back through the provider's protocol, without a network.
func (a *App) replayModel(path string, setup recovery.Setup) (model.Model, error) {
	r, err := wire.OpenReplay(path)
	if err != nil {
		return nil, err
	}
	h := r.Header()
	if err := checkProtocol(h, path); err != nil {
		return nil, err
	}
	p := catalog.Provider{Name: "the recording", Protocol: h.Provider, BaseURL: h.BaseURL}
	if setup.Provider != "" {
		p.Protocol = setup.Provider
	}
	return provided(p, h.Model, &keeper{p: p}, wire.Client(wire.Options{Base: r.Transport()})), nil
}

func checkProtocol(h wire.Header, path string) error {
	switch h.Provider {
	case catalog.Anthropic, catalog.Responses, catalog.Chat:
		return nil
	}
	return fmt.Errorf("replay %s: it was recorded with %q, which this agent does not speak", path, h.Provider)
}
