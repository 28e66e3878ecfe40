package drive

import (
	"context"

	"agent/db"
	"agent/host/drive/fold"
	"agent/host/drive/lineage"
	"agent/recovery"
	"agent/recovery/journal"
)

// folding reads a run's journal as who drives it sees it. lost are secrets that cannot be given
// back.
type folding func(ctx context.Context, run string) (s *recovery.State, lost []db.Unrecoverable, err error)

// State reads a run's journal and folds it, with what the thread's earlier runs said: as others may
// see it, with placeholders for its secrets.
func (p *Process) State(ctx context.Context, run string) (*recovery.State, error) {
	return p.Reader().Whole(ctx, run, p.Reader().Shown(ctx))
}

// unredacted is State for who drives the run: with its secrets. lost are those that cannot be given
// back.
func (p *Process) unredacted(ctx context.Context, run string) (s *recovery.State, lost []db.Unrecoverable, err error) {
	r := p.Reader()
	s, err = r.Whole(ctx, run, r.Restored(ctx, func(l db.Unrecoverable) { lost = append(lost, l) }))
	return s, lost, err
}

// ownState is unredacted without what the thread said before, for who asks the model nothing:
// damage there is no obstacle.
func (p *Process) ownState(ctx context.Context, run string) (s *recovery.State, lost []db.Unrecoverable, err error) {
	r := p.Reader()
	s, err = r.Alone(run, r.Restored(ctx, func(l db.Unrecoverable) { lost = append(lost, l) }))
	return s, lost, err
}

// Alone reads a run's journal and folds it with its secrets, as who drives it does, without what
// its thread said before.
func Alone(ctx context.Context, p *Process, run string) (*recovery.State, error) {
	s, _, err := p.ownState(ctx, run) // what is lost was reported at its claims
	return s, err
}

// Verify reads a run's journal and folds it; a fact that does not match or cannot follow is a
// *db.CorruptError. lost are secrets that cannot be given back.
func (p *Process) Verify(ctx context.Context, run string, lost func(db.Unrecoverable)) error {
	r := p.Reader()
	_, err := r.Alone(run, r.Restored(ctx, lost))
	return err
}

// ThreadTranscript is what all runs of a thread said, with their secrets.
func (p *Process) ThreadTranscript(ctx context.Context, thread string) ([]journal.Message, error) {
	r := p.Reader()
	return r.Transcript(ctx, thread, r.Restored(ctx, ignoreLost))
}

// Conversation is what was said up to a position, with its secrets.
func (p *Process) Conversation(ctx context.Context, at journal.Position) ([]journal.Message, error) {
	r := p.Reader()
	return r.Conversation(at, r.Restored(ctx, ignoreLost))
}

// Reader folds the journals of runs.
func (p *Process) Reader() fold.Reader { return fold.Reader{Store: p.Store, Acting: p.judge().acting} }

// Doubts lists the calls that the twin guard of a run compares with.
func (p *Process) Doubts(ctx context.Context, c journal.RunCreated) ([]journal.Unknown, error) {
	return lineage.Doubts(ctx, p.Reader(), c)
}

func ignoreLost(db.Unrecoverable) {}
