package terminal

import (
	"fmt"
	"strings"

	"agent/host/view"
	"agent/recovery/journal"
)

// Models lists providers, models, and what a new run would use. The configuration would lie at
// path; unpriced says that a provider's models cost there what nobody knows.
func (t *Terminal) Models(v view.Models, path string, unpriced func(provider string) bool) {
	table := Table{Head: []string{"PROVIDER", "KIND", "ASKED AT", "KEY"}}
	for _, p := range v.Providers {
		at := p.BaseURL
		if p.From != "" {
			at += " (" + p.From + ")"
		}
		table.Add(p.Name, p.Kind, at, view.KeyText(p))
	}
	table.Write(t.Out)
	t.Say(t.Out, "")
	table = Table{Head: []string{"MODEL", "WINDOW", "ANSWER", "INPUT", "CACHED", "OUTPUT", "KEY"}}
	for _, m := range v.Models {
		in, cached, out, key := "-", "-", "-", "no"
		if m.Price != nil {
			in, cached, out = journal.Dollars(m.Price.Input), journal.Dollars(m.Price.Cached), journal.Dollars(m.Price.Output)
		}
		if m.Usable {
			key = "yes"
		}
		table.Add(m.Name, view.Tokens(m.Window), view.Tokens(m.MaxOutput), in, cached, out, key)
	}
	table.Write(t.Out)
	t.Say(t.Out, "prices are for a million tokens; other models work too, without a known window and price")
	for _, p := range v.Providers {
		if p.From != "" && unpriced(p.Name) {
			t.Say(t.Out, "what %s's models cost at %s is not known: its list prices hold at its own address only", p.Name, p.BaseURL)
		}
	}
	t.Say(t.Out, "\nconfiguration:  %s", t.files(v.Files, path))
	if v.Use.Model == "" {
		t.Say(t.Out, "a new run uses: none; %s", v.Use.Error)
		return
	}
	t.Say(t.Out, "a new run uses: %s (%s)", v.Use.Model, v.Use.Why)
	if v.Use.Error != "" {
		t.Say(t.Out, "which it cannot: %s", v.Use.Error)
	}
}

// files names the files of the configuration, or the one that it would be.
func (t *Terminal) files(there []string, path string) string {
	if len(there) == 0 {
		return "none; it would be " + t.Tilde(path)
	}
	var all []string
	for _, f := range there {
		all = append(all, t.Tilde(f))
	}
	return strings.Join(all, ", ")
}

// ModelCheck prints how a model answered one small question; p is the provider that was asked, and
// nil where it is not known.
func (t *Terminal) ModelCheck(v view.Check, p *view.Provider) {
	row := func(name, format string, args ...any) {
		t.Say(t.Out, "%-10s %s", name, fmt.Sprintf(format, args...))
	}
	row("model", "%s (%s)", v.Model, v.Why)
	if v.Kind == "" {
		row("asked at", "nowhere: it needs no network")
		return
	}
	row("asked at", "%s, %s", v.BaseURL, v.Kind)
	if p != nil {
		row("key", "%s", view.KeyText(*p))
	}
	if v.Fault != "" || !v.OK && v.Usage == nil && v.Served == "" && v.Pieces == 0 {
		row("failed", "after %s: %s", view.Milliseconds(v.Whole), v.Error)
	} else {
		checkAnswered(v, row)
	}
	if v.Remedy != "" {
		row("remedy", "%s", v.Remedy)
	}
}

func checkAnswered(v view.Check, row func(name, format string, args ...any)) {
	if v.Served != "" && v.Served != v.Model[strings.IndexByte(v.Model, '/')+1:] {
		row("served by", "%s", v.Served)
	}
	row("answered", "first byte after %s, whole after %s", view.Milliseconds(v.FirstByte), view.Milliseconds(v.Whole))
	switch {
	case v.Streams:
		row("streams", "yes: the text came in %s, the first after %s", view.Count(v.Pieces, "piece"), view.Milliseconds(v.FirstWord))
	case v.Pieces == 1:
		row("streams", "no: the text came in one piece")
	default:
		row("streams", "not seen: no text came beside the call")
	}
	if v.Tools {
		row("tools", "yes: it called the tool")
	} else {
		row("tools", "no: %s", v.Error)
	}
	if u := v.Usage; u == nil {
		row("usage", "the server does not say; tokens are estimated")
	} else {
		row("usage", "%d tokens read, %d written%s", u.Input, u.Output, view.CostText(v.Cost))
	}
}
