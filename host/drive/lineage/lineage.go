package lineage

import (
	"context"
	"errors"
	"slices"

	"agent/db"
	"agent/host/drive/fold"
	"agent/recovery/journal"
)

// Threads lists the thread of a run's family and those that it was forked from, the nearest first.
func Threads(ctx context.Context, s *db.Store, c journal.RunCreated) ([]string, error) {
	out := []string{c.FamilyThread()}
	if c.Root == "" && c.Previous == "" && c.From != nil { // it may not be on record yet
		return from(ctx, s, out, c.From)
	}
	return further(ctx, s, out)
}

// further follows the newest of the threads to where it was forked from.
func further(ctx context.Context, s *db.Store, out []string) ([]string, error) {
	thread := out[len(out)-1]
	t, err := s.Thread(ctx, thread)
	if errors.As(err, new(*db.UnknownIDError)) || err == nil && t.KeyOf == thread {
		return out, nil // it is new, or no fork
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.ThreadRuns(ctx, thread)
	if err != nil || len(rows) == 0 {
		return out, err
	}
	c, err := first(ctx, s, rows[0].ID)
	if err != nil {
		return nil, err
	}
	return from(ctx, s, out, c.From)
}

func from(ctx context.Context, s *db.Store, out []string, at *journal.Position) ([]string, error) {
	if at == nil {
		return out, nil
	}
	row, err := s.Run(ctx, at.Run)
	if err != nil || slices.Contains(out, row.Thread) {
		return out, err
	}
	return further(ctx, s, append(out, row.Thread))
}

// first is what a run was created with.
func first(ctx context.Context, s *db.Store, run string) (journal.RunCreated, error) {
	for e, err := range s.Load(ctx, run, 0) {
		if err != nil {
			return journal.RunCreated{}, err
		}
		if c, ok := e.Body.(journal.RunCreated); ok {
			return c, nil
		}
		break
	}
	return journal.RunCreated{}, &db.CorruptError{Run: run, Seq: 1, What: "it does not say how the run was created"}
}

// Doubts lists the calls that the twin guard of a run compares with: those of its lineage whose
// outcome is unknown, or was, and those that acted outside and are no part of its conversation.
// What an author has written to be done any number of times, such as a check, is none of them,
// unless it may still be at work.
func Doubts(ctx context.Context, r fold.Reader, c journal.RunCreated) ([]journal.Unknown, error) {
	threads, err := Threads(ctx, r.Store, c)
	if err != nil {
		return nil, err
	}
	var out []journal.Unknown
	for _, t := range slices.Backward(threads) {
		unknown, err := r.Store.Doubts(ctx, t, c.Run)
		if err != nil {
			return nil, err
		}
		for _, u := range unknown {
			again, err := repeats(ctx, r.Store, u)
			if err != nil {
				return nil, err
			}
			if !again {
				out = append(out, u)
			}
		}
	}
	stands, err := standing(ctx, r, c, threads)
	return append(out, stands...), err
}

// repeats says whether an earlier call is one that its author lets happen again.
func repeats(ctx context.Context, s *db.Store, u journal.Unknown) (bool, error) {
	if u.Alive {
		return false, nil
	}
	c, err := first(ctx, s, u.Run)
	return c.Repeat, err
}
