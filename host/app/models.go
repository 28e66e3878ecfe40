package app

import (
	"context"
	"errors"
	"maps"
	"slices"

	"agent/host/model/catalog"
	"agent/host/view"
)

// wouldUse is what a new run would ask, and what keeps it from being asked.
func (a *App) wouldUse(ctx context.Context, conf *Settings) view.Use {
	ch, err := conf.Catalog.Choose(catalog.Wish{
		Config: conf.Model, Local: func() []catalog.LocalModel { return askOllama(ctx, conf.Catalog) },
	})
	var none *catalog.NoModelError
	switch {
	case errors.As(err, &none):
		return view.Use{Error: err.Error()}
	case err != nil:
		return view.Use{Model: conf.Model, Why: "the configuration's", Error: err.Error()}
	}
	v := view.Use{Model: ch.Name, Why: ch.Why}
	if _, err := a.setup(conf, &Choice{Name: ch.Name}, ""); err != nil {
		v.Error = err.Error()
	}
	return v
}

// known are the models of which something is known: a person's own first, then those of the table.
func (s *Settings) known() []view.Model {
	names := slices.Sorted(maps.Keys(s.Models))
	for _, m := range catalog.Known() {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	var out []view.Model
	for _, name := range names {
		provider, of, err := s.Catalog.Parse(name)
		if err != nil {
			continue // the configuration was checked, and so is the table
		}
		p, _ := s.Catalog.Provider(provider)
		m := s.Catalog.Model(p, of)
		out = append(out, view.Model{Name: name, Window: m.Window, MaxOutput: m.MaxOutput, Price: m.Price, Usable: s.Catalog.HasKey(p)})
	}
	return out
}

// Unpriced says whether a provider has models whose list price is known and does not hold where
// they are asked.
func (s *Settings) Unpriced(provider string) bool {
	for _, m := range catalog.Known() {
		name, of, err := s.Catalog.Parse(m.Name)
		if p, ok := s.Catalog.Provider(name); err == nil && ok && name == provider && s.Catalog.Model(p, of).Price == nil {
			return true
		}
	}
	return false
}

// ModelNames are the names that --model may have, with what is known of each: usable ones only.
func (s *Settings) ModelNames() [][2]string {
	out := [][2]string{{"runbook", "carries out Markdown"}}
	if s.Model != "" {
		out = append(out, [2]string{s.Model, "the configuration's"})
	}
	for _, m := range s.known() {
		if m.Usable && m.Name != s.Model {
			about := ""
			if m.Window > 0 {
				about = "takes " + view.Tokens(m.Window) + " tokens"
			}
			out = append(out, [2]string{m.Name, about})
		}
	}
	return append(out, [2]string{catalog.Replay, "followed by a file that --record wrote"})
}

// Models shows the models that are known and what a new run would use.
func (a *App) Models(ctx context.Context, conf *Settings) view.Models {
	v := view.Models{Version: 1, Files: append([]string{}, conf.Files...), Use: a.wouldUse(ctx, conf)}
	for _, p := range conf.Catalog.Providers() {
		v.Providers = append(v.Providers, view.Provider{
			Name: p.Name, Kind: p.Protocol, BaseURL: p.BaseURL, From: p.From, KeyEnv: p.KeyEnv, KeyCmd: firstWord(p.KeyCmd),
			HasKey: conf.Catalog.HasKey(p), Start: p.Start,
		})
	}
	v.Models = conf.known()
	return v
}

// firstWord is the command without its arguments.
func firstWord(command []string) []string { return command[:min(1, len(command))] }
