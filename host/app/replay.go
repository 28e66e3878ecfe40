package app

import (
	"fmt"

	"agent/host/model"
	"agent/host/model/catalog"
	"agent/host/model/transport"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// recorder is where the exchanges of a run are written, where --record says so. A model that is
// only looked at, before there is a run, records nothing.
func (a *App) recorder(created journal.RunCreated, p catalog.Provider) (*transport.Recorder, error) {
	if a.Record == "" || created.Run == "" || a.recording != nil {
		return a.recording, nil
	}
	r, err := transport.NewRecorder(a.Record, transport.Header{
		Run: created.Run, Model: created.Model, Provider: p.Protocol, BaseURL: p.BaseURL, Created: fault.Now(),
	})
	if err != nil {
		return nil, Usage(err)
	}
	a.recording = r
	return r, nil
}

// replaySetup is what a recording is asked with: as what was recorded, and nothing is paid.
func (a *App) replaySetup(conf *Settings, path string) (journal.Setup, error) {
	r, err := transport.OpenReplay(path)
	if err != nil {
		return journal.Setup{}, err
	}
	h := r.Header()
	out := journal.Setup{Provider: h.Provider}
	if name, of, err := conf.Catalog.Parse(h.Model); err == nil && name != "" {
		p, _ := conf.Catalog.Provider(name) // Parse has found it
		known := conf.Catalog.Setup(p, of)
		out.Window, out.MaxOutput = known.Window, known.MaxOutput
	}
	return out, checkProtocol(h, path)
}

// replayModel plays a recording back through the provider's protocol, without a network.
func (a *App) replayModel(path string, setup journal.Setup) (model.Model, error) {
	r, err := transport.OpenReplay(path)
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
	return provided(p, h.Model, &keySource{p: p}, transport.Client(transport.Options{Base: r.Transport()})), nil
}

func checkProtocol(h transport.Header, path string) error {
	switch h.Provider {
	case catalog.Anthropic, catalog.Responses, catalog.Chat:
		return nil
	}
	return fmt.Errorf("replay %s: it was recorded with %q, which this agent does not speak", path, h.Provider)
}
