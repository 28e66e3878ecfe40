package undo

import (
	"context"
	"fmt"
	"math"

	"agent/db"
	"agent/db/family"
	"agent/host/drive"
	"agent/host/view"
	"agent/recovery/journal"
)

// ToEnd is the position behind all that a run did.
const ToEnd = math.MaxInt

// Single reads one run, with the runs below it, from a position to a turn. Steps are those between
// the two alone; those of others are among them, and are not to be taken. The run may be a part of
// another.
func Single(ctx context.Context, p *drive.Process, at journal.Position, until int) (*History, error) {
	row, err := p.Store.Run(ctx, at.Run)
	if err != nil {
		return nil, err
	}
	s, err := drive.Alone(ctx, p, row.ID)
	if err != nil {
		return nil, err
	}
	h := &History{At: at, Thread: row.Thread, Folder: s.Created.Folder}
	r := reading{History: h, run: Run{
		ID: row.ID, Prompt: row.Prompt, Status: s.Status, Rewind: s.Created.Rewind != nil, Flow: s.Created.Flow != nil, Turns: len(s.Turns),
		Work: map[int]Work{},
	}, after: at.Turn, until: until, only: true, turns: map[string]int{}}
	if err := r.between(); err != nil {
		return nil, err
	}
	if err := r.take(ctx, p, row.ID, 0); err != nil {
		return nil, err
	}
	return h, r.below(ctx, p, row)
}

// between refuses positions that the run has not.
func (r *reading) between() error {
	fix := []view.Fix{{Does: "its positions", Command: "agent checkpoints " + r.run.ID}}
	turn := r.after
	if r.until != ToEnd {
		turn = max(turn, r.until)
	}
	switch {
	case r.run.Flow && (r.after > 0 || r.until != ToEnd):
		return &PositionError{r.run.ID, "a flow has only the positions @0 and its end", []view.Fix{{Does: "see all of it", Command: "agent diff " + r.run.ID}}}
	case turn > r.run.Turns:
		return &PositionError{fmt.Sprintf("%s@%d", r.run.ID, turn), "the run has " + view.Count(r.run.Turns, "turn"), fix}
	}
	return nil
}

// below takes in the runs below the run. Each stands behind the one whose call made it.
func (r *reading) below(ctx context.Context, p *drive.Process, row db.RunRow) error {
	root := row.Root
	if root == "" {
		root = row.ID
	}
	all, err := family.Below(ctx, p.Store, root)
	if err != nil {
		return err
	}
	for _, b := range all {
		turn, made := r.turns[b.ID]
		if !made && row.Root != "" {
			continue // it is a part of the root, and not of this run
		}
		r.phase(b)
		if err := r.take(ctx, p, b.ID, turn); err != nil {
			return err
		}
	}
	r.end()
	return nil
}

// PositionError says that a run has no such position.
type PositionError struct {
	At, Why string
	Next    []view.Fix
}

func (e *PositionError) Error() string { return fmt.Sprintf("look at %s: %s", e.At, e.Why) }

// Fixes is what there is to do instead.
func (e *PositionError) Fixes() []view.Fix { return e.Next }
