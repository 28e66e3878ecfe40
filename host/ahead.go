package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/recovery/journal"
	"agent/tools/runner"
)

// Ahead is something that the state folder knows and its database does not.
type Ahead struct {
	Run  string `json:"run_id"`
	What string `json:"what"`
}

// Ahead lists what shows that the database is older than the folder around it: commands that began
// and whose start it does not have, and facts that the log names. Each was written after the commit
// that it rests on. What is older than the last decision of a person about that is left out.
func (h *Host) Ahead(ctx context.Context) ([]Ahead, error) {
	rows, err := h.Store.Runs(ctx, db.Filter{All: true, Children: true})
	if err != nil {
		return nil, err
	}
	known := map[string]db.RunRow{}
	for _, r := range rows {
		known[r.ID] = r
	}
	since := h.Decided()
	calls, err := h.callsAhead(ctx, known, since)
	if err != nil {
		return nil, err
	}
	logged, err := h.Store.LogAhead(ctx, since)
	for _, run := range slices.Sorted(maps.Keys(logged)) {
		calls = append(calls, Ahead{run, logged[run]})
	}
	return calls, err
}

// callsAhead looks into the folders of calls: a runner writes `began` only after the start of its
// call is durable.
func (h *Host) callsAhead(ctx context.Context, known map[string]db.RunRow, since time.Time) ([]Ahead, error) {
	began, err := filepath.Glob(filepath.Join(h.CallsDir(), "*", "*", "began"))
	if err != nil {
		return nil, fmt.Errorf("list the folders of calls: %v", err)
	}
	var out []Ahead
	for _, path := range began {
		id, ok := runner.IdentityOf(filepath.Dir(path))
		run, p := id.Run, journal.Place{Turn: id.Turn, Index: id.Index, Attempt: id.Attempt}
		if at, err := db.Pruned(ctx, h.Store, run); err != nil {
			return nil, err
		} else if !at.IsZero() {
			continue // it goes with the run, or at the next agent prune
		}
		if info, err := os.Stat(path); !ok || err != nil || !info.ModTime().After(since) {
			continue // not ours, gone meanwhile, or decided about
		}
		what := fmt.Sprintf("call %s began on %s, and its run is not in the database", p, drive.TimeOfFile(path))
		if _, there := known[run]; there {
			at, err := h.recorded(ctx, run, p)
			if err != nil {
				return nil, err
			}
			if at >= p.Attempt {
				continue
			}
			what = fmt.Sprintf("call %s began (attempt %d) on %s, and its start is not in the database", p, p.Attempt, drive.TimeOfFile(path))
		}
		out = append(out, Ahead{run, what})
	}
	return out, nil
}

// recorded is the newest attempt of a call that the database knows of; 0 for none.
func (h *Host) recorded(ctx context.Context, run string, p journal.Place) (int, error) {
	rows, err := h.Store.Calls(ctx, run)
	for _, c := range rows {
		if c.Turn == p.Turn && c.Index == p.Index {
			return c.Attempt, nil
		}
	}
	if errors.As(err, new(*db.CorruptError)) {
		return p.Attempt, nil // reported with its journal
	}
	return 0, err
}

// RestoreHere records a person's decision that the database counts although it is behind what the
// folder knows. The runs that have not ended are returned: each is interrupted, and nothing that
// acts starts in it without a yes. A run that a process drives refuses it.
func (h *Host) RestoreHere(ctx context.Context, fact journal.RunRestored) ([]string, error) {
	fact.By = h.Who
	runs, err := withoutOwner(ctx, h, func(runs []string) error { return h.Store.RestoreHere(ctx, runs, fact) })
	return runs, err
}

// withoutOwner does something while nobody drives a run that has not ended, and names these.
func withoutOwner(ctx context.Context, h *Host, do func(runs []string) error) ([]string, error) {
	rows, err := h.Store.Runs(ctx, db.Filter{All: true, Children: true})
	if err != nil {
		return nil, err
	}
	var runs []string
	for _, r := range rows {
		if r.Status.Terminal() {
			continue
		}
		lock, err := h.Locks().Take(r.ID)
		if err != nil {
			return nil, err
		}
		defer func() { _ = lock.Close() }() // dropping a lock cannot be undone or repeated
		runs = append(runs, r.ID)
	}
	return runs, do(runs)
}

// guarded says whether a run that follows another one begins with the guard of a restored run: that
// one has it, or had ended when the store was restored, or when its thread went to another store or
// came from one as a copy, and may have been followed elsewhere.
func guarded(ctx context.Context, h *Host, before string) (bool, error) {
	upTo, err := h.Store.Guarded(ctx)
	if err != nil {
		return false, err
	}
	row, err := h.Store.Run(ctx, before)
	if err != nil {
		return false, err
	}
	c, err := db.CustodyOf(ctx, h.Store, cmp.Or(row.RootThread, row.Thread))
	if err != nil || upTo == 0 && c.Word == "" {
		return false, err
	}
	s, err := h.Reader().Alone(before, h.Reader().Shown(ctx))
	if err != nil {
		return false, err
	}
	elsewhere := c.Word != "" && row.Created.Before(c.At) && s.RestoredAt.Before(c.At)
	return s.Restored || elsewhere || row.No <= upTo && s.RestoredAt.IsZero(), nil
}

// Archive records a person's decision that the store is a copy whose original went on: its runs are
// read, and never driven. A run that a process drives refuses it.
func Archive(ctx context.Context, h *Host, why string) error {
	_, err := withoutOwner(ctx, h, func([]string) error { return h.Store.Archive(ctx, why) })
	return err
}
