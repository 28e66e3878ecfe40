package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/config"
	"agent/host/model/catalog"
	"agent/host/model/runbook"
	"agent/recovery/journal"
)

// Settings are the configuration with what is known by name.
type Settings struct {
	config.Config
	Catalog *catalog.Catalog
	Path    string // the person's file, which need not be there
}

// Settings reads the configuration: the person's, and the workspace's where a folder is given. What
// is wrong is wrong usage.
func (a *App) Settings(folder string) (*Settings, error) {
	conf, user, err := a.config(folder)
	if err != nil {
		return nil, err
	}
	providers, models := map[string]catalog.Provider{}, map[string]catalog.Model{}
	for name, p := range conf.Providers {
		providers[name] = catalog.Provider{Protocol: p.Kind, BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, KeyCmd: p.KeyCmd, AllowHTTP: p.AllowHTTP}
	}
	for name, m := range conf.Models {
		models[name] = catalog.Model(m)
	}
	s := &Settings{Config: conf, Catalog: catalog.New(a.Env, providers, models), Path: user}
	for _, p := range s.Catalog.Providers() {
		if err := config.CheckURL(p.BaseURL); err != nil && p.From == p.URLEnv {
			return nil, Usage(fmt.Errorf("%s: %v", p.URLEnv, err))
		}
	}
	return s, nil
}

// Choice is the model that a run asks, and how.
type Choice struct {
	Name  string
	Why   string
	Setup journal.Setup
}

// Wish is what a person says of the model that a run asks. Zero and nil are not given.
type Wish struct {
	Model     string
	Runbook   string // what names the prompt a runbook; "" when nothing does
	BaseURL   string
	Effort    journal.Effort
	NoCompact bool
	Images    []journal.Image
	Prompt    string // where the thread was one of runbooks: prose goes to another model; "" is not known
}

// Asked is a request as a person gave it, before anything is chosen for it. thread is the one that
// was named, "" for none; newest is the wish to go on with the folder's newest one.
func Asked(req host.StartRequest, w Wish, l config.Limits, thread string, newest bool) host.Asked {
	a := host.Asked{
		Prompt: req.Prompt, Task: req.Task, Input: req.Input, Folder: req.Folder, Thread: thread, Model: w.Model, BaseURL: w.BaseURL, Effort: w.Effort,
		NoCompact: w.NoCompact, Mode: l.Mode, MaxTurns: l.MaxTurns, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost, Timeout: l.Timeout,
		Expire: req.Expire, Rules: req.Rules, OutputSchema: req.OutputSchema, Dirs: req.Dirs,
	}
	if newest {
		a.Thread = host.AskedNewest
	}
	if w.Runbook != "" {
		a.Model = runbook.Name
	}
	for _, m := range w.Images {
		sum := sha256.Sum256(m.Data)
		a.Images = append(a.Images, hex.EncodeToString(sum[:]))
	}
	return a
}

// Previous is the run of a thread that a new one follows; the zero value is none.
type Previous struct {
	model, url string
	Effort     journal.Effort
}

// lastOf is what the thread's last run was asked with.
func (s *Folder) lastOf(ctx context.Context, row db.RunRow) (Previous, error) {
	l := Previous{model: row.Model}
	for e, err := range s.Store.Load(ctx, row.ID, 0) {
		if err != nil {
			return Previous{}, err
		}
		switch b := e.Body.(type) {
		case journal.RunCreated:
			l = Previous{b.Model, b.Setup.BaseURL, b.Setup.Effort}
		case journal.RunClaimed:
			if b.Model != nil {
				l = Previous{b.Model.Name, b.Model.BaseURL, b.Model.Effort}
			}
		}
		if l.model == row.Model {
			break // a change of the address alone is not followed, as ever
		}
	}
	return l, nil
}

// ChooseModel decides which model a new run asks: --model, else the thread's, else the
// configuration's, else the first whose key is found, else an Ollama on this machine; runbook only
// where it is named. It refuses one that cannot be asked. thread is the run that the new one
// follows; nil when there is none.
func (s *Folder) ChooseModel(ctx context.Context, f Wish, thread *db.RunRow, conf *Settings) (Choice, error) {
	var before Previous
	if thread != nil {
		var err error
		if before, err = s.lastOf(ctx, *thread); err != nil {
			return Choice{}, err
		}
	}
	if before.model == runbook.Name && f.Prompt != "" && !runbook.Takes(f.Prompt) {
		before = Previous{}
	}
	return s.app.Choose(ctx, conf, f, before)
}

// Choose is chooseModel with what it needs of the thread.
func (a *App) Choose(ctx context.Context, conf *Settings, f Wish, before Previous) (Choice, error) {
	ch, err := conf.Catalog.Choose(catalog.Wish{
		Runbook: f.Runbook, Flag: f.Model, Thread: before.model, Config: conf.Model,
		Local: func() []catalog.LocalModel { return askOllama(ctx, conf.Catalog) },
	})
	var none *catalog.NoModelError
	if errors.As(err, &none) && f.BaseURL != "" {
		none.Remedy = "name the one at " + f.BaseURL + " with --model, such as openai/<model>"
	}
	if err != nil {
		return Choice{}, Usage(err)
	}
	if f.BaseURL == "" && f.Model == "" && f.Runbook == "" && before.model != "" {
		f.BaseURL = before.url // the thread goes on where it was
	}
	if f.Effort == "" {
		f.Effort = before.Effort
	}
	if f.Effort == "" {
		f.Effort = conf.Effort
	}
	out := Choice{Name: ch.Name, Why: ch.Why}
	if out.Setup, err = a.setup(conf, &out, f.BaseURL); err != nil {
		return Choice{}, Usage(err)
	}
	out.Setup.Effort, out.Setup.NoCompact, out.Setup.Images = f.Effort, f.NoCompact, f.Images
	if out.Setup.Provider == "" {
		if len(f.Images) > 0 {
			return Choice{}, Usage(fmt.Errorf("show pictures to %s: it sees none; name another model with --model", ch.Name))
		}
		out.Setup.Effort = ""
	}
	return out, nil
}

// setupFor is how a child of a run asks another model than that one: with its system prompt.
func setupFor(ctx context.Context, a *App, parent journal.RunCreated, model string) (string, journal.Setup, error) {
	conf, err := a.Settings(parent.Folder)
	if err != nil {
		return "", journal.Setup{}, err
	}
	ch, err := a.Choose(ctx, conf, Wish{Model: model, NoCompact: parent.Setup.NoCompact}, Previous{})
	switch {
	case err != nil:
		return "", journal.Setup{}, err
	case ch.Setup.Provider == "":
		return "", journal.Setup{}, fmt.Errorf("%s asks no provider", ch.Name)
	}
	if err := a.FetchKey(ctx, conf, ch); err != nil {
		return "", journal.Setup{}, err
	}
	from := parent.Setup
	ch.Setup.System, ch.Setup.SystemName, ch.Setup.Instructions = from.System, from.SystemName, from.Instructions
	return ch.Name, ch.Setup, nil
}

// setup is what the chosen model is asked with. The name of a recording becomes absolute.
func (a *App) setup(conf *Settings, ch *Choice, baseURL string) (journal.Setup, error) {
	name, model, err := conf.Catalog.Parse(ch.Name)
	if err != nil {
		return journal.Setup{}, err
	}
	if name == "" {
		if baseURL != "" {
			return journal.Setup{}, fmt.Errorf("--base-url %s: %s is not asked over a network; name the model with --model, such as openai/<model>", baseURL, ch.Name)
		}
		if path, ok := strings.CutPrefix(ch.Name, catalog.Replay); ok {
			if path, err = filepath.Abs(path); err != nil {
				return journal.Setup{}, fmt.Errorf("play %s: %v", ch.Name, err)
			}
			ch.Name = catalog.Replay + path
			return a.replaySetup(conf, path)
		}
		return journal.Setup{}, nil
	}
	p, _ := conf.Catalog.Provider(name) // Parse has found it
	if baseURL != "" {
		p = p.At(baseURL)
	}
	if err := noKey(conf, p, ch.Name); err != nil {
		return journal.Setup{}, err
	}
	out := conf.Catalog.Setup(p, model)
	if out.BaseURL = baseURL; out.BaseURL == "" && p.URLEnv != "" && p.From == p.URLEnv {
		out.BaseURL = p.BaseURL // a resume that finds another environment goes on where the run began
	}
	return out, nil
}

// noKey refuses a model whose key cannot be had, or may not be sent to where the model is asked.
func noKey(conf *Settings, p catalog.Provider, name string) error {
	if p.Exposed() {
		return fmt.Errorf("use model %s: %v; use an https address, or allow it in %s:\n%s",
			name, exposedKey(p), conf.Path, confLines("[providers."+p.Name+"]", allowHTTP))
	}
	if conf.Catalog.HasKey(p) || p.From == "--base-url" && catalog.Loopback(p.BaseURL) {
		return nil
	}
	return fmt.Errorf("use model %s: %s is not set; set it to the key, or name a command that prints it in %s:\n%s",
		name, p.KeyEnv, conf.Path, confLines("[providers."+p.Name+"]", `api_key_cmd = ["pass", "show", "`+p.Name+`"]`))
}

// CheckPriced refuses a limit of cost where nobody knows what the model costs.
func CheckPriced(conf *Settings, ch Choice, limits journal.Limits) error {
	if limits.MaxCost == 0 || ch.Setup.Provider == "" || ch.Setup.Price != nil {
		return nil
	}
	if strings.HasPrefix(ch.Name, catalog.Replay) {
		return nil // nothing is paid
	}
	const unit = "    # US dollars for a million tokens"
	why, lines := "is not known", []string{`input_price = "0.50"` + unit, `output_price = "1.50"`}
	if list := listPrice(conf, ch.Name); list != nil {
		price := func(key string, n int64) string {
			return fmt.Sprintf("%s = %q", key, strings.TrimPrefix(journal.Dollars(n), "$"))
		}
		why = "where it is asked is not known; its provider's own prices are below"
		lines = []string{price("input_price", list.Input) + unit, price("cached_price", list.Cached),
			price("written_price", list.Written), price("output_price", list.Output)}
	}
	return Usage(fmt.Errorf("limit the cost to %s: what %s costs %s; say it in %s:\n%s",
		journal.Dollars(limits.MaxCost), ch.Name, why, conf.Path,
		confLines(append([]string{fmt.Sprintf("[models.%q]", ch.Name)}, lines...)...)))
}

// listPrice is what a model costs at its provider's own address; nil when that is not known.
func listPrice(conf *Settings, name string) *journal.Price {
	provider, model, err := conf.Catalog.Parse(name)
	if err != nil {
		return nil // a name that is refused has no price
	}
	return catalog.ListPrice(provider, model)
}

// confLines are lines of the configuration below an error.
func confLines(text ...string) string { return "           " + strings.Join(text, "\n           ") }

// How long a local Ollama may take to say what it has.
const (
	tagsWait = 200 * time.Millisecond
	showWait = 300 * time.Millisecond
)

// askOllama lists the models of an Ollama, the one used last first. One that does not answer has
// none.
func askOllama(ctx context.Context, models *catalog.Catalog) []catalog.LocalModel {
	p, ok := models.Provider("ollama")
	if !ok {
		return nil
	}
	base := strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")
	var tags struct {
		Models []struct {
			Name         string   `json:"name"`
			Capabilities []string `json:"capabilities"`
		} `json:"models"`
	}
	if err := fetchJSON(ctx, tagsWait, http.MethodGet, base+"/api/tags", nil, &tags); err != nil {
		return nil // whatever is there is no Ollama
	}
	var out []catalog.LocalModel
	all, cancel := context.WithTimeout(ctx, showWait)
	defer cancel()
	for _, m := range tags.Models {
		can := m.Capabilities
		if can == nil && catalog.UsableLocal(out) == "" {
			var shown struct {
				Capabilities []string `json:"capabilities"`
			}
			// One that does not say what it can do is still there.
			if fetchJSON(all, showWait, http.MethodPost, base+"/api/show", map[string]string{"model": m.Name}, &shown) == nil {
				can = shown.Capabilities
			}
		}
		out = append(out, catalog.LocalModel{Name: m.Name, Capabilities: can})
	}
	return out
}

// fetchJSON asks a server nearby, without a proxy.
func fetchJSON(ctx context.Context, wait time.Duration, method, url string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = strings.NewReader(string(text))
	}
	req, err := http.NewRequestWithContext(ctx, method, url, send)
	if err != nil {
		return err
	}
	t := &http.Transport{DisableKeepAlives: true}
	res, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, 4<<20)).Decode(into)
}
