package follow

import (
	"context"
	"slices"

	"agent/db/family"
	"agent/host/records"
	"agent/host/stream"
	"agent/host/watch"
	"agent/recovery/journal"
)

// kin is a run below the one that is followed.
type kin struct {
	run   string
	seq   int64            // of the last fact that was read; -1: it had ended before, and is not shown
	asked *journal.Request // its question, while it was not put
}

// heard says whether lines may have facts of runs below the run beside them: its own live text has
// none.
func heard(lines []watch.Line) bool {
	return slices.ContainsFunc(lines, func(l watch.Line) bool { return l.Fact != nil || l.State != nil })
}

// below reads what the runs below the run recorded since the last time, in the order of time.
func (f *Follower) below(ctx context.Context) (events []stream.Event, err error) {
	row, err := f.s.Store.Run(ctx, f.run)
	if err != nil {
		return nil, err
	}
	list := family.Below
	if row.Root != "" {
		list = family.Children
	}
	rows, err := list(ctx, f.s.Store, f.run)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		i := slices.IndexFunc(f.kin, func(k *kin) bool { return k.run == r.ID })
		if i < 0 {
			i = len(f.kin)
			f.kin = append(f.kin, &kin{run: r.ID})
			if r.Status.Terminal() && !f.joined {
				f.kin[i].seq = -1
			}
		}
		k := f.kin[i]
		if k.seq < 0 || k.seq >= r.LastSeq {
			continue
		}
		for e, err := range (records.Records{Store: f.s.Store}).Load(ctx, r.ID, k.seq) {
			if err != nil {
				return events, err
			}
			k.seq = e.Seq
			events = append(events, stream.Event{Run: r.ID, Fact: &e})
		}
	}
	f.joined = true
	slices.SortStableFunc(events, func(a, b stream.Event) int { return a.Fact.Time.Compare(b.Fact.Time) })
	return events, nil
}

// show shows lines of the run and what the runs below it recorded, in the order of time.
func (f *Follower) show(ctx context.Context, lines []watch.Line, below []stream.Event) {
	for _, l := range lines {
		for l.Fact != nil && len(below) > 0 && below[0].Fact.Time.Before(l.Fact.Time) {
			f.kinFact(below[0])
			below = below[1:]
		}
		f.line(ctx, l)
	}
	for _, e := range below {
		f.kinFact(e)
	}
}

func (f *Follower) kinFact(e stream.Event) {
	k := f.kin[slices.IndexFunc(f.kin, func(k *kin) bool { return k.run == e.Run })]
	k.asked = standing(k.asked, e.Fact.Body)
	if k.asked != nil && f.asker != nil && e.Fact.Body.Kind() == journal.KindRequestOpened {
		f.r.Call(k.run, *e.Fact)
		return // it is shown where it is put
	}
	f.r.Take(e)
}

// next is the question that is put now: one at a time, the run's own first. It is the run's that
// asks it; nil where none is to be put.
func (f *Follower) next() (run string, r *journal.Request) {
	if f.asker == nil || f.seq < f.past {
		return "", nil
	}
	if f.open != nil {
		r, f.open = f.open, nil
		return f.run, r
	}
	for _, k := range f.kin {
		if k.asked != nil {
			r, k.asked = k.asked, nil
			return k.run, r
		}
	}
	return "", nil
}

// standing is the question that stands open after a fact.
func standing(open *journal.Request, b journal.Body) *journal.Request {
	switch b := b.(type) {
	case journal.RequestOpened:
		return &b.Request
	case journal.RequestAnswered, journal.RequestClosed, journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		return nil
	}
	return open
}
