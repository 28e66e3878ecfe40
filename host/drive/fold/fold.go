// Package fold reads the journals of runs and folds them: one run alone, or with what its thread
// said before.
package fold

import (
	"context"
	"encoding/json"
	"iter"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
)

// Reading is how the facts of a run are read: as others may see them, or with the secrets in their
// places.
type Reading func(run string) iter.Seq2[journal.Event, error]

// Reader folds the journals of runs. Acting is what of a call acts, for the twin guard.
type Reader struct {
	Store  *db.Store
	Acting func(tool string, args json.RawMessage, folder string) recovery.Acts
}

// Shown reads facts as others may see them.
func (r Reader) Shown(ctx context.Context) Reading {
	return func(run string) iter.Seq2[journal.Event, error] { return r.Store.Load(ctx, run, 0) }
}

// Restored reads facts with their secrets; lost gets those that cannot be given back.
func (r Reader) Restored(ctx context.Context, lost func(db.Unrecoverable)) Reading {
	return func(run string) iter.Seq2[journal.Event, error] { return r.Store.Restored(ctx, run, 0, lost) }
}

// Facts collects what a reading gives.
func Facts(facts iter.Seq2[journal.Event, error]) ([]journal.Event, error) {
	var out []journal.Event
	for e, err := range facts {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Whole folds a run with what the thread's earlier runs said.
func (r Reader) Whole(ctx context.Context, run string, read Reading) (*recovery.State, error) {
	return r.fold(run, read, func(c journal.RunCreated) ([]journal.Message, error) { return r.before(c, read) })
}

// Alone folds a run without what the thread said before.
func (r Reader) Alone(run string, read Reading) (*recovery.State, error) {
	return r.fold(run, read, nil)
}

// Further folds what the journal of a run has beyond s, as others may see it. A nil s is before the
// first fact; then with what the thread's earlier runs said. After an error the state is of no use.
func (r Reader) Further(ctx context.Context, run string, s *recovery.State) (*recovery.State, error) {
	read := r.Shown(ctx)
	if s == nil {
		return r.Whole(ctx, run, read)
	}
	return s, r.apply(s, run, r.Store.Load(ctx, run, s.Seq), nil)
}

// fold reads and folds facts. What the thread said before is known once the run's first fact is,
// and before its second.
func (r Reader) fold(run string, read Reading, earlier func(journal.RunCreated) ([]journal.Message, error)) (*recovery.State, error) {
	s := &recovery.State{Acting: r.Acting}
	if err := r.apply(s, run, read(run), earlier); err != nil {
		return nil, err
	}
	if s.Status == recovery.StatusNone {
		return nil, &db.CorruptError{Run: run, Seq: 1, What: "the journal is empty"}
	}
	return s, nil
}

func (r Reader) apply(s *recovery.State, run string, facts iter.Seq2[journal.Event, error], earlier func(journal.RunCreated) ([]journal.Message, error)) error {
	for e, err := range facts {
		if err != nil {
			return err
		}
		if err := s.Apply(e); err != nil {
			return &db.CorruptError{Run: run, Seq: e.Seq, What: err.Error()}
		}
		if e.Seq == 1 && earlier != nil {
			if s.Earlier, err = earlier(s.Created); err != nil {
				return err
			}
		}
	}
	return nil
}

// Transcript is what the runs of a thread said.
func (r Reader) Transcript(ctx context.Context, thread string, read Reading) ([]journal.Message, error) {
	rows, err := r.Store.ThreadRuns(ctx, thread)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return r.upTo(&journal.Position{Run: rows[len(rows)-1].ID, Turn: whole}, read)
}
