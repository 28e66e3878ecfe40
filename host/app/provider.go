package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"agent/host/model"
	"agent/host/model/anthropic"
	"agent/host/model/catalog"
	"agent/host/model/openai"
	"agent/host/model/rewind"
	"agent/host/model/runbook"
	"agent/host/model/transport"
	"agent/recovery/journal"
	"agent/tools"
)

// newModel makes the model that a run was created with. What the run recorded about it holds,
// whatever the configuration says now; where it is asked and with which key is the configuration's,
// unless a flag said where.
func (a *App) newModel(created journal.RunCreated, reg *tools.Registry) (model.Model, error) {
	if created.Model == runbook.Name {
		m := runbook.New()
		m.Check = reg.Read // a step whose arguments do not fit is refused before the run is recorded
		return m, nil
	}
	if created.Rewind != nil {
		return rewind.New(*created.Rewind), nil
	}
	if path, ok := strings.CutPrefix(created.Model, catalog.Replay); ok {
		return a.replayModel(path, created.Setup)
	}
	conf, err := a.Settings("")
	if err != nil {
		return nil, err
	}
	name, of, err := conf.Catalog.Parse(created.Model)
	if err != nil {
		return nil, Usage(err)
	}
	p := conf.asked(name, created.Setup)
	recorder, err := a.recorder(created, p)
	if err != nil {
		return nil, err
	}
	key := a.key(p)
	client := transport.Client(transport.Options{Agent: "agent/" + a.Version, Idle: a.idle(conf, p), Secrets: unsaid(key), Find: lookalikes(), Recorder: recorder})
	return provided(p, of, key, client), nil
}

// asked is a provider as a run asks it.
func (s *Settings) asked(name string, setup journal.Setup) catalog.Provider {
	p, _ := s.Catalog.Provider(name) // Parse has found it
	if setup.BaseURL != "" {
		p = p.At(setup.BaseURL)
	}
	if setup.Provider != "" {
		p.Protocol = setup.Provider
	}
	return p
}

// FetchKey gets the key of a chosen model: without one nothing can be asked, so a run need not
// begin.
func (a *App) FetchKey(ctx context.Context, conf *Settings, ch Choice) error {
	name, _, err := conf.Catalog.Parse(ch.Name)
	if err != nil || name == "" {
		return err
	}
	p := conf.asked(name, ch.Setup)
	_, err = a.key(p).get(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// idleHere is how long a model on this machine may be silent: it may read a long conversation
// before its first word.
const idleHere = 10 * time.Minute

// idle is how long a model may be silent: --idle, else the configuration's; 0 leaves it to the
// client.
func (a *App) idle(conf *Settings, p catalog.Provider) time.Duration {
	switch {
	case a.Idle > 0:
		return a.Idle
	case conf.Idle == 0 && catalog.Loopback(p.BaseURL):
		return idleHere
	}
	return conf.Idle
}

// unsaid are the values that stand in no recording and in no error: the key, and what the
// environment holds that looks like one.
func unsaid(key *keySource) func() []string {
	others := transport.EnvSecrets(os.Environ())
	return func() []string { return append(key.secrets(), others...) }
}

// provided is a provider's model over the provider's protocol.
func provided(p catalog.Provider, of string, key *keySource, client *http.Client) model.Model {
	m := remedied{p: p, of: of, key: key}
	if p.Protocol == catalog.Anthropic {
		m.Model = anthropic.New(anthropic.Options{Model: of, BaseURL: p.BaseURL, Key: key.get, HTTP: client, Secrets: key.secrets})
		return m
	}
	m.Model = openai.New(openai.Options{
		Model: of, BaseURL: p.BaseURL, Protocol: openai.Protocol(p.Protocol), Key: key.get, HTTP: client, Secrets: key.secrets,
	})
	return m
}

// remedied says what a person can do about a fault in words of the provider, and drops a key that
// is not accepted, so that the next request asks for it anew.
type remedied struct {
	model.Model
	p   catalog.Provider
	of  string
	key *keySource
}

// Stream passes everything on; names that the server gives lose their secrets: one that echoes the
// key would have it recorded.
func (m remedied) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for d, err := range m.Model.Stream(ctx, req) {
			if d.Answer != nil {
				named, secrets := *d.Answer, unsaid(m.key)()
				named.Served, named.Origin = transport.Name(named.Served, secrets), transport.Name(named.Origin, secrets)
				d.Answer = &named
			}
			if !yield(d, m.remedy(err)) {
				return
			}
		}
	}
}

func (m remedied) remedy(err error) error {
	var fault *model.Error
	if !errors.As(err, &fault) {
		return err
	}
	if fault.Fault == journal.FaultKey {
		m.key.forget()
	}
	out := *fault
	out.Origin = transport.Name(out.Origin, unsaid(m.key)())
	if _, ok := errors.AsType[*keylessError](err); ok {
		out.Fault = journal.FaultNoKey
	}
	if r := providerRemedy(m.p, m.of, out.Fault); r != "" {
		out.Remedy = r
	}
	return &out
}

// providerRemedy is what a person can do about a fault; "" when nothing but waiting helps.
func providerRemedy(p catalog.Provider, of string, f journal.Fault) string {
	switch f {
	case journal.FaultKey, journal.FaultNoKey:
		switch {
		case p.Exposed():
			return fmt.Sprintf("use an https address, or write %s below [providers.%s] in config.toml", allowHTTP, p.Name)
		case len(p.KeyCmd) > 0:
			return fmt.Sprintf("see to the command that prints the key: api_key_cmd of [providers.%s] in config.toml (%s)", p.Name, commandName(p.KeyCmd))
		case p.KeyEnv != "":
			return "set " + p.KeyEnv + " to a key that is accepted"
		}
		return fmt.Sprintf("name the variable of the key in config.toml: api_key_env of [providers.%s]", p.Name)
	case journal.FaultCredit:
		if p.Billing != "" && !slices.Contains([]string{"--base-url", p.URLEnv}, p.From) {
			return "add credit at " + p.Billing
		}
		return "see to what is paid for at " + hostOf(p.BaseURL)
	case journal.FaultNoModel:
		if p.Name == "ollama" {
			return "get it with: ollama pull " + of
		}
		return "see which models are known with: agent models; and ask one with: agent models --check MODEL"
	case journal.FaultNetwork:
		if p.Start != "" && catalog.Loopback(p.BaseURL) {
			return "start it with: " + p.Start
		}
		return "see to it that " + hostOf(p.BaseURL) + " can be reached from here"
	case journal.FaultStalled:
		return "give it longer with --idle, or idle in config.toml"
	case journal.FaultGarbage:
		if p.From != "" {
			return fmt.Sprintf("see to it that %s is the base address of an API of kind %s (%s says so)", p.BaseURL, p.Protocol, p.From)
		}
	case journal.FaultContext:
		return fmt.Sprintf("say how much it takes in config.toml: window of [models.%q]", p.Name+"/"+of)
	}
	return ""
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
}
