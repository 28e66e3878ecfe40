package drive

import (
	"context"
	"encoding/json"
	"iter"

	"agent/db"
	"agent/recovery"
	"agent/recovery/journal"
)

// folding reads a run's journal as who drives it sees it. lost are secrets that cannot be given
// back.
type folding func(ctx context.Context, run string) (s *recovery.State, lost []db.Unrecoverable, err error)

// reading is how the facts of a run are read: as others may see them, or with the secrets in their
// places.
type reading func(run string) iter.Seq2[journal.Event, error]

// State reads a run's journal and folds it, with what the thread's earlier runs said: as others may
// see it, with placeholders for its secrets.
func (p *Process) State(ctx context.Context, run string) (*recovery.State, error) {
	return p.reader().whole(ctx, run, p.reader().shown(ctx))
}

// unredacted is State for who drives the run: with its secrets. lost are those that cannot be given
// back.
func (p *Process) unredacted(ctx context.Context, run string) (s *recovery.State, lost []db.Unrecoverable, err error) {
	r := p.reader()
	s, err = r.whole(ctx, run, r.restored(ctx, func(l db.Unrecoverable) { lost = append(lost, l) }))
	return s, lost, err
}

// ownState is unredacted without what the thread said before, for who asks the model nothing:
// damage there is no obstacle.
func (p *Process) ownState(ctx context.Context, run string) (s *recovery.State, lost []db.Unrecoverable, err error) {
	r := p.reader()
	s, err = r.fold(run, r.restored(ctx, func(l db.Unrecoverable) { lost = append(lost, l) }), nil)
	return s, lost, err
}

// Verify reads a run's journal and folds it; a fact that does not match or cannot follow is a
// *db.CorruptError. lost are secrets that cannot be given back.
func (p *Process) Verify(ctx context.Context, run string, lost func(db.Unrecoverable)) error {
	r := p.reader()
	_, err := r.fold(run, r.restored(ctx, lost), nil)
	return err
}

// ThreadTranscript is what all runs of a thread said, with their secrets.
func (p *Process) ThreadTranscript(ctx context.Context, thread string) ([]journal.Message, error) {
	r := p.reader()
	return r.transcript(ctx, thread, "", r.restored(ctx, ignoreLost))
}

// reader folds the journals of runs. acting is what of a call acts, for the twin guard.
type reader struct {
	store  *db.Store
	acting func(tool string, args json.RawMessage, folder string) recovery.Acts
}

func (p *Process) reader() reader { return reader{p.Store, p.judge().acting} }

func (r reader) shown(ctx context.Context) reading {
	return func(run string) iter.Seq2[journal.Event, error] { return r.store.Load(ctx, run, 0) }
}

func (r reader) restored(ctx context.Context, lost func(db.Unrecoverable)) reading {
	return func(run string) iter.Seq2[journal.Event, error] { return r.store.Restored(ctx, run, 0, lost) }
}

func ignoreLost(db.Unrecoverable) {}

func (r reader) whole(ctx context.Context, run string, read reading) (*recovery.State, error) {
	return r.fold(run, read, func(c journal.RunCreated) ([]journal.Message, error) {
		if c.Previous == "" {
			return nil, nil
		}
		return r.transcript(ctx, c.Thread, c.Run, read)
	})
}

// fold reads and folds facts. What the thread said before is known once the run's first fact is,
// and before its second.
func (r reader) fold(run string, read reading, earlier func(journal.RunCreated) ([]journal.Message, error)) (*recovery.State, error) {
	s := &recovery.State{Acting: r.acting}
	for e, err := range read(run) {
		if err != nil {
			return nil, err
		}
		if err := s.Apply(e); err != nil {
			return nil, &db.CorruptError{Run: run, Seq: e.Seq, What: err.Error()}
		}
		if e.Seq == 1 && earlier != nil {
			if s.Earlier, err = earlier(s.Created); err != nil {
				return nil, err
			}
		}
	}
	if s.Status == recovery.StatusNone {
		return nil, &db.CorruptError{Run: run, Seq: 1, What: "the journal is empty"}
	}
	return s, nil
}

// transcript is what the runs of a thread said, up to but without the run named until.
func (r reader) transcript(ctx context.Context, thread, until string, read reading) ([]journal.Message, error) {
	rows, err := r.store.ThreadRuns(ctx, thread)
	if err != nil {
		return nil, err
	}
	var out []journal.Message
	for _, row := range rows {
		if row.ID == until {
			break
		}
		s, err := r.fold(row.ID, read, nil)
		if err != nil {
			return nil, err
		}
		said, alone := s.Transcript()
		if alone {
			out = nil
		}
		out = append(out, said...)
	}
	return out, nil
}
