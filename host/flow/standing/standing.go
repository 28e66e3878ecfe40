// Package standing reads how a flow stands, again and again as its journal grows: what is under way
// of it is read of the runs that carry it out.
package standing

import (
	"context"

	"agent/host"
	"agent/host/flow/table"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// Fold is a flow whose journal is read fact by fact. The zero Fold is before the first.
type Fold struct {
	state *flow.State
	err   error
	below map[string]*recovery.State // of the runs that carry out what is under way
	files map[string]looked          // of each run below
}

// Take adds a fact. Of a run that is no flow nothing is kept.
func (f *Fold) Take(e journal.Event) {
	if b, ok := e.Body.(journal.RunCreated); ok {
		var def *flow.Definition
		if def, f.err = flow.Defined(b); def != nil {
			f.state, f.err = flow.New(def)
		}
	}
	if f.state != nil && f.err == nil {
		f.err = f.state.Apply(e)
	}
}

// Table is how the flow stands, given the runs right below it, each with those below that; nil for
// a run that is no flow. The error says why its facts cannot be folded. A run whose own journal
// cannot be read counts as one that used nothing so far: doctor names it.
func (f *Fold) Table(h *host.Host, children []view.Run) (*table.Table, error) {
	if f.state == nil || f.err != nil {
		return nil, f.err
	}
	out, below := map[string]table.Child{}, map[string]*recovery.State{}
	for _, run := range table.Open(f.state) {
		for _, v := range children {
			if v.ID != run {
				continue
			}
			c := table.Child{Status: v.Status, Driven: v.Owner != nil, Request: questionIn(v)}
			if s, err := h.Reader().Further(context.Background(), run, f.below[run]); err == nil {
				below[run] = s
				used := h.Finished(s)
				c.Tokens, c.Cost, c.Took = view.Spent(used).Usage.Tokens(), used.Cost, used.Took
				if c.Driven {
					c.Took = s.Spent(h.Now())
				}
			}
			out[run] = c
		}
	}
	f.below = below
	t := table.New(f.state, out)
	f.count(h, t, children)
	return t, nil
}

// questionIn is the id of the question that a run waits for: its own, else one of a run below it.
func questionIn(v view.Run) string {
	if v.Request != nil {
		return v.Request.ID
	}
	for _, below := range v.Children {
		if id := questionIn(below); id != "" {
			return id
		}
	}
	return ""
}
