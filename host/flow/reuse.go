package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"agent/db"
	"agent/host/drive"
	"agent/host/drive/fold"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// Free refuses a flow that would make a file which another flow of the folder makes that has not
// ended.
func Free(ctx context.Context, s *db.Store, folder string, def *flow.Definition) error {
	makes := map[string]bool{}
	for _, p := range def.Phases {
		for _, o := range p.All() {
			makes[o.Path] = true
		}
	}
	rows, err := s.Runs(ctx, db.Filter{Folder: folder}) // the newest, and all that wait or were interrupted
	if err != nil {
		return err
	}
	for _, row := range rows {
		there, err := s.RestoreText(ctx, row.Folder)
		if err != nil {
			return err
		}
		if there != folder || row.Status.Terminal() {
			continue
		}
		c, err := Recorded(ctx, s, row.ID)
		other := &flow.Definition{}
		if err != nil || c == nil || json.Unmarshal(c.Flow, other) != nil {
			continue // whoever resumes it learns what is wrong with it
		}
		for _, p := range other.Phases {
			for _, o := range p.All() {
				if makes[o.Path] {
					return fmt.Errorf("start the flow %s: run %s (%s), which has not ended, makes %s too; finish or cancel it first: agent resume %s, agent cancel %s",
						def.Name, row.ID, other.Name, o.Path, row.ID, row.ID)
				}
			}
		}
	}
	return nil
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

// earlier folds the last flow of the thread before this one; nil where there is none.
func (f *carrying) earlier(ctx context.Context, p *drive.Process) (*flow.State, error) {
	c := f.s.Run.Created
	if f.sought || c.Previous == "" {
		return f.last, nil
	}
	rows, err := p.Store.ThreadRuns(ctx, c.Thread)
	if err != nil {
		return nil, err
	}
	for _, row := range slices.Backward(rows) {
		if row.ID == c.Run {
			continue
		}
		first, err := Recorded(ctx, p.Store, row.ID)
		if err != nil {
			return nil, err
		}
		if first == nil {
			continue
		}
		facts, err := fold.Facts(p.Store.Restored(ctx, row.ID, 0, func(db.Unrecoverable) {}))
		if err != nil {
			return nil, err
		}
		def := &flow.Definition{}
		if err := json.Unmarshal(first.Flow, def); err != nil {
			return nil, fmt.Errorf("read the flow of run %s: %v", row.ID, err)
		}
		if f.last, err = flow.Fold(def, facts); err != nil {
			return nil, fmt.Errorf("read the flow of run %s: %v", row.ID, err)
		}
		break
	}
	f.sought = true
	return f.last, nil
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
	before, err := f.earlier(ctx, p)
	if err != nil || before == nil || part.Why != journal.WhyFirst || part.Part == journal.PartCheck || len(part.Missing) > 0 {
		return journal.FlowPhaseEnded{}, false, err
	}
	in := make([]journal.Artifact, len(looks))
	for i, l := range looks {
		in[i] = l.Artifact
	}
	end, ok := flow.Reuse(before, f.s, part.Instance, in)
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
