package flow

import (
	"context"
	"fmt"
	"math"

	"agent/db"
	"agent/host/drive"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// Free refuses a flow that would make a file which another flow of the folder makes that has not
// ended.
func Free(ctx context.Context, s *db.Store, folder string, def *flow.Definition) error {
	taken, err := takenBy(ctx, s, folder, def, math.MaxInt64)
	if err == nil && taken != "" {
		err = fmt.Errorf("start the flow %s: %s", def.Name, taken)
	}
	return err
}

// takenBy says which of the runs with lower numbers is a flow that makes the same file; "" where
// none is.
func takenBy(ctx context.Context, s *db.Store, folder string, def *flow.Definition, below int64) (string, error) {
	makes := map[string]bool{}
	for _, p := range def.Phases {
		for _, o := range p.All() {
			makes[o.Path] = true
		}
	}
	rows, err := s.Runs(ctx, db.Filter{Folder: folder})
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		there, err := s.RestoreText(ctx, row.Folder)
		if err != nil {
			return "", err
		}
		if there != folder || row.Status.Terminal() || row.No >= below {
			continue
		}
		c, err := Recorded(ctx, s, row.ID)
		if err != nil || c == nil {
			continue // whoever resumes it learns what is wrong with it
		}
		other, err := flow.Defined(*c)
		if err != nil {
			continue // likewise
		}
		for _, p := range other.Phases {
			for _, o := range p.All() {
				if makes[o.Path] {
					return fmt.Sprintf("run %s (%s), which has not ended, makes %s too; finish or cancel it first: agent resume %s, agent cancel %s",
						row.ID, other.Name, o.Path, row.ID, row.ID), nil
				}
			}
		}
	}
	return "", nil
}

// Recorded is the first fact of a run that is a flow; nil of any other run.
func Recorded(ctx context.Context, s *db.Store, run string) (*journal.RunCreated, error) {
	for e, err := range s.Restored(ctx, run, 0, func(db.Unrecoverable) {}) {
		if err != nil {
			return nil, err
		}
		if c, ok := e.Body.(journal.RunCreated); ok && c.Flow != nil {
			return &c, nil
		}
		break
	}
	return nil, nil
}

// reuseGated records what the flow before made of phases about whose beginning a person would be
// asked: there is nothing to begin.
func reuseGated(ctx context.Context, f *carrying, h drive.Hands, a flow.Record) (bool, error) {
	ask, ok := a.Facts[0].(journal.RequestOpened)
	if !ok || ask.Request.Phase == nil || f.s.Run.Created.Previous == "" {
		return false, nil
	}
	if err := f.open(h.Process()); err != nil {
		return false, err
	}
	there := false
	for _, part := range flow.Gated(f.s, ask.Request.Phase) {
		looks, err := lookAt(ctx, f, h.Process(), part.In)
		if err != nil {
			return true, unlessEnded(ctx, err)
		}
		end, ok, err := f.reuse(ctx, h.Process(), part, looks)
		if err != nil {
			return true, unlessEnded(ctx, err)
		}
		if ok {
			f.record(h, end)
			there = true
		}
	}
	return there, nil
}

// reuse is what the flow before made of a part that may begin, where that still holds.
func (f *carrying) reuse(ctx context.Context, p *drive.Process, part flow.Part, looks []flow.Look) (journal.FlowPhaseEnded, bool, error) {
	if part.Why != journal.WhyFirst || part.Part == journal.PartCheck || len(part.Missing) > 0 {
		return journal.FlowPhaseEnded{}, false, nil
	}
	before, err := f.earlier(ctx, p, part.Instance)
	if err != nil || before == nil {
		return journal.FlowPhaseEnded{}, false, err
	}
	end, ok := flow.Reuse(before, f.s, part.Instance, found(looks))
	for _, o := range end.Out {
		if !ok {
			break
		}
		l, err := f.look(ctx, p, o)
		if err != nil {
			return end, false, err
		}
		ok = l.State == journal.ArtifactIntact
	}
	return end, ok, nil
}
