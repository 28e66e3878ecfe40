// Package stats adds up what runs used: tokens, money and time, by model and by folder.
package stats

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"agent/host/app"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Stats is what agent stats prints with --json. Each run counts once, with its own usage. Fields
// are only ever added.
type Stats struct {
	Version int        `json:"version"`
	Since   *time.Time `json:"since_at,omitempty"`
	Folder  string     `json:"folder,omitempty"` // whose runs alone are counted
	Total   Sum        `json:"total"`
	Models  []Sum      `json:"models"`
	Folders []Sum      `json:"folders"`
	Unread  []string   `json:"unread_run_ids"` // runs whose record cannot be read; their usage is not counted
}

// Sum is what some runs used. Fields are only ever added.
type Sum struct {
	Model    string       `json:"model,omitempty"`
	Folder   string       `json:"folder,omitempty"`
	Runs     int          `json:"num_runs"`     // that people started
	Children int          `json:"num_children"` // runs below others
	Turns    int          `json:"num_turns"`
	Calls    int          `json:"num_calls"`
	Usage    view.Usage   `json:"usage"`
	CostUSD  *json.Number `json:"cost_usd"`       // null where the price of a part is not known
	KnownUSD json.Number  `json:"known_cost_usd"` // what is known of it
	DrivenMS int64        `json:"driven_ms"`      // in which the runs were driven; by folder and in total those alone that people started

	usage   journal.Usage
	micros  int64
	unknown bool // a part of the cost is
	driven  time.Duration
}

// Wanted says which runs are counted: those that people started since then, with the runs below
// them. Where the folder is open for one workspace alone, only those that work there.
type Wanted struct {
	Since time.Time
	// Progress hears now and then how many journals are read, where that takes its time; nil for
	// nobody.
	Progress func(done, all int)
}

// patience is how long nothing is said while journals are read.
const patience = time.Second

// Read adds up what the runs used. What they used is in their journals alone, so each is read.
func Read(ctx context.Context, s *app.Folder, w Wanted) (Stats, error) {
	v := Stats{Version: 1, Unread: []string{}}
	if !w.Since.IsZero() {
		at := w.Since.UTC()
		v.Since = &at
	}
	v.Folder = s.Only
	rows, roots, err := families(ctx, s, w.Since)
	if err != nil {
		return v, err
	}
	models, folders := map[string]*Sum{}, map[string]*Sum{}
	next := fault.Now().Add(patience)
	for i, row := range rows {
		if ctx.Err() != nil {
			return v, context.Cause(ctx)
		}
		used := Sum{Turns: row.Turns, Calls: row.Calls}
		if read(ctx, s, row, &used) != nil { // doctor says what is wrong with it
			v.Unread = append(v.Unread, row.ID)
		}
		folder := roots[cmp.Or(row.Root, row.ID)]
		of(models, row.Model, Sum{Model: row.Model}).add(used)
		if row.Root != "" {
			used.driven = 0 // the run at the top was driven meanwhile
		}
		of(folders, folder, Sum{Folder: folder}).add(used)
		v.Total.add(used)
		if w.Progress != nil && fault.Now().After(next) {
			w.Progress(i+1, len(rows))
			next = fault.Now().Add(patience)
		}
	}
	v.Total.finish()
	v.Models, v.Folders = sorted(models), sorted(folders)
	return v, nil
}

// Nothing is what no run used.
func Nothing() Stats {
	v := Stats{Version: 1, Models: []Sum{}, Folders: []Sum{}, Unread: []string{}}
	v.Total.finish()
	return v
}

// families lists the runs that are counted, and the folder of each that a person started.
func families(ctx context.Context, s *app.Folder, since time.Time) (rows []app.RunRow, roots map[string]string, err error) {
	all, err := s.Store.Runs(ctx, app.Filter{All: true, Children: true})
	roots = map[string]string{}
	only := ""
	if s.Only != "" {
		only = s.Store.Redact(s.Only)
	}
	for _, row := range all {
		if row.Root == "" && !row.Created.Before(since) && (only == "" || row.Folder == only) {
			roots[row.ID] = row.Folder
		}
	}
	for _, row := range all {
		if _, counted := roots[cmp.Or(row.Root, row.ID)]; counted {
			rows = append(rows, row)
		}
	}
	return rows, roots, err
}

// read adds what the journal of a run says to what its row does.
func read(ctx context.Context, s *app.Folder, row app.RunRow, used *Sum) error {
	used.Runs = 1
	if row.Root != "" {
		used.Runs, used.Children = 0, 1
	}
	st, err := s.Reader().Alone(row.ID, s.Reader().Shown(ctx))
	if err != nil {
		return err
	}
	var known bool
	used.usage, used.Usage.Estimated, used.micros, known = recovery.OwnSpending(st)
	used.unknown, used.driven = !known, st.Spent(fault.Now())
	return nil
}

func of(sums map[string]*Sum, key string, begin Sum) *Sum {
	if sums[key] == nil {
		sums[key] = &begin
	}
	return sums[key]
}

func (s *Sum) add(o Sum) {
	s.Runs, s.Children, s.Turns, s.Calls = s.Runs+o.Runs, s.Children+o.Children, s.Turns+o.Turns, s.Calls+o.Calls
	s.usage.Add(o.usage)
	s.Usage.Estimated = s.Usage.Estimated || o.Usage.Estimated
	s.micros, s.unknown, s.driven = s.micros+o.micros, s.unknown || o.unknown, s.driven+o.driven
}

// finish fills in what is shown of a sum.
func (s *Sum) finish() {
	u := s.usage
	s.Usage = view.Usage{Input: u.Input, Output: u.Output, Cached: u.Cached, Written: u.Written, Reasoning: u.Reasoning, Estimated: s.Usage.Estimated}
	s.KnownUSD = json.Number(strings.TrimPrefix(journal.Dollars(s.micros), "$"))
	if !s.unknown {
		known := s.KnownUSD
		s.CostUSD = &known
	}
	s.DrivenMS = s.driven.Milliseconds()
}

// sorted lists sums by what they cost, then by tokens, then by runs.
func sorted(sums map[string]*Sum) []Sum {
	out := make([]Sum, 0, len(sums))
	for _, s := range sums {
		s.finish()
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.micros, a.micros), cmp.Compare(b.usage.Tokens(), a.usage.Tokens()), cmp.Compare(b.Runs+b.Children, a.Runs+a.Children),
			cmp.Compare(a.Model+a.Folder, b.Model+b.Folder))
	})
	return out
}

// Head names the cells of a sum; the first is whose it is.
func Head(of string) []string {
	return []string{of, "RUNS", "BELOW", "TURNS", "CALLS", "TOKENS IN", "OUT", "COST", "DRIVEN"}
}

// Cells are a sum as a line of a table.
func (s Sum) Cells(of string) []string {
	cost := journal.Dollars(s.micros)
	switch {
	case s.unknown && s.micros == 0:
		cost = "unknown"
	case s.unknown:
		cost += " and unknown"
	case s.Usage.Estimated:
		cost = "about " + cost
	}
	number := func(n int) string { return view.Number(int64(n)) }
	return []string{
		of, number(s.Runs), number(s.Children), number(s.Turns), number(s.Calls), view.Number(s.usage.Input), view.Number(s.usage.Output), cost, view.Duration(s.driven),
	}
}
