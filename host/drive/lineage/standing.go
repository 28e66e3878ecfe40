package lineage

import (
	"context"
	"math"
	"slices"
	"unicode/utf8"

	"agent/db"
	"agent/db/family"
	"agent/host/drive/fold"
	"agent/recovery/journal"
)

// Rewinds is the model of the runs that take others back.
const Rewinds = "rewind"

// standing lists the calls of the threads that acted outside and are no part of the conversation of
// a run. Most threads have none: nothing was ever taken out of their conversation.
func standing(ctx context.Context, r fold.Reader, c journal.RunCreated, threads []string) ([]journal.Unknown, error) {
	if c.Rewind != nil {
		return nil, nil
	}
	var roots []db.RunRow
	cut := len(threads) > 1
	for _, t := range threads {
		rows, err := r.Store.ThreadRuns(ctx, t)
		if err != nil {
			return nil, err
		}
		cut = cut || slices.ContainsFunc(rows, func(r db.RunRow) bool { return r.Model == Rewinds })
		roots = append(roots, rows...)
	}
	if !cut {
		return nil, nil
	}
	slices.SortFunc(roots, func(a, b db.RunRow) int { return int(a.No - b.No) })
	said, err := conversation(ctx, r, c)
	if err != nil {
		return nil, err
	}
	s := standings{Reader: r, said: said}
	for _, row := range roots {
		if err := s.family(ctx, row); err != nil {
			return nil, err
		}
	}
	return s.out, nil
}

// conversation is the last turn of each run that belongs to the conversation of the family of a
// run.
func conversation(ctx context.Context, r fold.Reader, c journal.RunCreated) (map[string]int, error) {
	root := c
	if c.Root != "" {
		var err error
		if root, err = first(ctx, r.Store, c.Root); err != nil {
			return nil, err
		}
	}
	line, err := r.Line(root, r.Shown(ctx))
	said := map[string]int{root.Run: math.MaxInt}
	for _, p := range line {
		said[p.Run] = p.Turn
	}
	return said, err
}

// standings collects what stands, run by run.
type standings struct {
	fold.Reader
	said map[string]int // of each run, the last turn that the model knows of
	out  []journal.Unknown
}

// family takes in a root and the runs below it. What is below belongs to the turn whose call made
// it; of a flow it is all or nothing.
func (s *standings) family(ctx context.Context, root db.RunRow) error {
	if err := s.run(ctx, root.ID); err != nil {
		return err
	}
	below, err := family.Below(ctx, s.Store, root.ID)
	if err != nil {
		return err
	}
	for _, row := range below {
		if _, known := s.said[row.ID]; !known && s.said[root.ID] == math.MaxInt {
			s.said[row.ID] = math.MaxInt
		}
		if err := s.run(ctx, row.ID); err != nil {
			return err
		}
	}
	return nil
}

// run takes in one run. A call of the conversation that did the same later is what the model knows
// of it.
func (s *standings) run(ctx context.Context, run string) error {
	facts, err := fold.Facts(s.Restored(ctx, func(db.Unrecoverable) {})(run)) // its fingerprint is what counts
	if err != nil {
		return err
	}
	made, started := map[journal.Place]journal.Proposal{}, map[journal.Place]journal.Event{}
	for _, e := range facts {
		switch b := e.Body.(type) {
		case journal.ModelAnswered:
			for i, c := range b.Calls {
				made[journal.Place{Turn: e.Turn, Index: i}] = c
			}
		case journal.CallStarted:
			started[place(b.Place)] = e
			if b.Child != "" {
				if e.Turn <= s.said[run] {
					s.said[b.Child] = math.MaxInt
				} else {
					s.said[b.Child] = 0
				}
			}
		case journal.CallSettled:
			c := made[place(b.Place)]
			if c.Effect != journal.EffectWriteExternal || b.Result.Applied != journal.AppliedYes || b.Result.Child != nil {
				continue
			}
			u := journal.Unknown{
				Run: run, ID: c.ID, Place: b.Place, Tool: c.Tool, Args: c.Args, Fingerprint: c.Fingerprint,
				StartedAt: started[place(b.Place)].Time, Done: true, Outcome: b.Result.Outcome, Content: beginning(b.Result.Content),
			}
			s.take(u, e.Turn <= s.said[run])
		}
	}
	return nil
}

func place(p journal.Place) journal.Place {
	p.Attempt = 0
	return p
}

// take takes in a call that acted outside. known says that it is a part of the conversation.
func (s *standings) take(u journal.Unknown, known bool) {
	if !known {
		s.out = append(s.out, u)
		return
	}
	s.out = slices.DeleteFunc(s.out, func(o journal.Unknown) bool {
		return o.Tool == u.Tool && o.Fingerprint == u.Fingerprint && !u.StartedAt.Before(o.StartedAt)
	})
}

// kept bounds what a claim repeats of a result, in bytes.
const kept = 4 << 10

// beginning is what a claim repeats of a result.
func beginning(text string) string {
	if len(text) <= kept {
		return text
	}
	cut := kept
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "\n... (its beginning; agent show has all of it)"
}
