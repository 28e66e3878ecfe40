package undo

import (
	"context"
	"fmt"
	"slices"

	"agent/host/drive"
	"agent/host/view"
	"agent/host/workspace"
	"agent/recovery/journal"
	pure "agent/recovery/workspace"
)

// ForkError says that no thread can begin at a position, and what to do instead.
type ForkError struct{ RefusedError }

// NewForkError is the refusal of a fork.
func NewForkError(at journal.Position, why string, next ...view.Fix) *ForkError {
	return &ForkError{RefusedError{at, why, next}}
}

func (e *ForkError) Error() string { return fmt.Sprintf("fork %s: %s", e.At, e.Why) }

// Forkable refuses a position at which no other thread can begin: one of a part of a run, of a flow
// or of a rewind, and one that no settled turn ends at.
func Forkable(ctx context.Context, p *drive.Process, at journal.Position) error {
	refused := func(why string, next ...view.Fix) error { return NewForkError(at, why, next...) }
	row, err := p.Store.Run(ctx, at.Run)
	if err != nil {
		return err
	}
	if row.Root != "" {
		return refused(fmt.Sprintf("run %s is a part of run %s, and only the whole has positions", row.ID, row.Root),
			view.Fix{Does: "list those of the whole", Command: "agent checkpoints " + row.Root})
	}
	s, err := drive.Alone(ctx, p, at.Run)
	if err != nil {
		return err
	}
	points, err := p.Store.Checkpoints(ctx, at.Run)
	if err != nil {
		return err
	}
	settled := 0
	for _, c := range points {
		settled = max(settled, c.Turn)
	}
	switch c := s.Created; {
	case c.Flow != nil:
		return refused("a flow has no conversation to go on with",
			view.Fix{Does: "do one phase again", Command: "agent resume --redo NAME " + at.Run},
			view.Fix{Does: "carry it out anew", Command: "agent run -f " + view.ShellWord(c.Source)})
	case c.Rewind != nil:
		return refused("it is a rewind, and nothing was said in it",
			view.Fix{Does: "fork where it went to", Command: "agent fork " + c.Rewind.To.String()})
	case at.Turn > settled:
		return refused(fmt.Sprintf("the run has %s", view.Count(settled, "settled turn")),
			view.Fix{Does: "list its positions", Command: "agent checkpoints " + at.Run})
	}
	return nil
}

// Around reads what one root did up to a position and behind it, with the runs below it, and
// nothing of what came after it in its thread.
func Around(ctx context.Context, p *drive.Process, at journal.Position) (*History, error) {
	row, err := p.Store.Run(ctx, at.Run)
	if err != nil {
		return nil, err
	}
	h := &History{At: at, Thread: row.Thread}
	return h, h.add(ctx, p, row, at.Turn)
}

// Versions is what was at each path at the position, of those that a look saw changed before or
// since.
func (h *History) Versions() map[string]*journal.FileVersion {
	out := pure.Versions(h.Steps[:h.Before])
	for _, s := range slices.Backward(h.Steps[h.Before:]) {
		out[s.Change.Name()] = s.Change.Before
	}
	return out
}

// Differing lists the paths that are on disk now otherwise than they were at the position, as far
// as a look saw them change.
func (h *History) Differing(p *drive.Process) ([]string, error) {
	was := h.Versions()
	paths := make([]string, 0, len(was))
	for name := range was {
		paths = append(paths, name)
	}
	slices.Sort(paths)
	contents, err := workspace.NewContents(p, h.Folder)
	if err != nil {
		return nil, err
	}
	disk, err := contents.Disk(h.Folder, paths)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(paths, func(name string) bool { return pure.Same(was[name], disk[name]) }), nil
}
