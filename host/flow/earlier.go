package flow

import (
	"context"
	"fmt"

	"agent/db"
	"agent/host/drive"
	"agent/host/drive/fold"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// before are the flows that the thread of a flow had before it.
type before struct {
	sought bool
	runs   []string      // not read yet, the newest last
	flows  []*flow.State // those that were read, the newest first
}

// earlier is the newest flow of the thread before this one in which an instance was at work for the
// same task; nil where there is none.
func (f *carrying) earlier(ctx context.Context, p *drive.Process, x *flow.Instance) (*flow.State, error) {
	if f.s.Run.Created.Previous == "" {
		return nil, nil
	}
	for i := 0; ; i++ {
		if i == len(f.past.flows) {
			s, err := f.past.read(ctx, p, f.s.Run.Created)
			if err != nil || s == nil {
				return nil, err
			}
			f.past.flows = append(f.past.flows, s)
		}
		if flow.Worked(f.past.flows[i], f.s, x) {
			return f.past.flows[i], nil
		}
	}
}

// read folds one more flow; nil where there is none.
func (b *before) read(ctx context.Context, p *drive.Process, c journal.RunCreated) (*flow.State, error) {
	if !b.sought {
		rows, err := p.Store.ThreadRuns(ctx, c.Thread)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.ID == c.Run {
				break
			}
			b.runs = append(b.runs, row.ID)
		}
		b.sought = true
	}
	for len(b.runs) > 0 {
		run := b.runs[len(b.runs)-1]
		b.runs = b.runs[:len(b.runs)-1]
		first, err := Recorded(ctx, p.Store, run)
		if err != nil {
			return nil, err
		}
		if first == nil {
			continue
		}
		def, err := flow.Defined(*first)
		if err != nil {
			return nil, err
		}
		facts, err := fold.Facts(p.Store.Restored(ctx, run, 0, func(db.Unrecoverable) {}))
		if err != nil {
			return nil, err
		}
		s, err := flow.Fold(def, facts)
		if err != nil {
			return nil, fmt.Errorf("read the flow of run %s: %w", run, err)
		}
		return s, nil
	}
	return nil, nil
}

// repeats compares work that may begin with what an earlier flow of the thread did and did not
// bring to its end. It is asked about, unless it is decided: then the part says so, or fact is its
// end.
func repeats(ctx context.Context, f *carrying, p *drive.Process, part *flow.Part, looks []flow.Look) (asks bool, fact journal.Body, err error) {
	if part.Part != journal.PartWork || part.Why != journal.WhyFirst || !flow.Begins(f.s, *part, looks) {
		return false, nil, nil
	}
	x := part.Instance
	was, err := f.earlier(ctx, p, x)
	if err != nil || was == nil || !flow.Acted(was, x) {
		return false, nil, err
	}
	in := found(looks)
	switch flow.Decided(x, in) {
	case flow.DecidedRedo:
		flow.Repeat(was, part)
		return false, nil, nil
	case flow.DecidedKeep:
		out, wrong, err := standing(ctx, f, x)
		return false, flow.Keep(was, x, in, out, wrong), err
	}
	_, wrong, err := standing(ctx, f, x)
	if err != nil {
		return false, nil, err
	}
	if f.asks == nil {
		f.asks = map[string]*journal.Request{}
	}
	f.asks[x.Name()] = flow.AskRepeat(was, f.s, x, in, wrong == "")
	return true, nil, nil
}

// standing takes the outputs of an instance as they lie there; wrong says why one may not count.
func standing(ctx context.Context, f *carrying, x *flow.Instance) (out []journal.Artifact, wrong string, err error) {
	for _, o := range x.Outputs() {
		t, err := f.folder.Take(ctx, o, f.copies)
		if err != nil {
			return nil, "", err
		}
		if t.Invalid != "" {
			return nil, o.Path + ": " + t.Invalid, nil
		}
		out = append(out, t.Artifact)
	}
	return out, "", nil
}

// found is what looks found.
func found(looks []flow.Look) []journal.Artifact {
	out := make([]journal.Artifact, len(looks))
	for i, l := range looks {
		out[i] = l.Artifact
	}
	return out
}
