package prune

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agent/db"
	"agent/db/dbsqlc"
	"agent/recovery"
	"agent/recovery/journal"
)

// Want says which threads shall go. Those that are needed stay all the same.
type Want struct {
	Older time.Duration // all whose last fact is older; 0 for any age
	Keep  int           // but for those of the newest runs, so many
	Runs  []string      // the threads of these runs, whatever their age; nil for all
	Now   time.Time
}

// Reason is why a thread stays.
type Reason string

// The reasons, in the order in which they are named.
const (
	Unfinished Reason = "unfinished" // a run has not ended
	Question   Reason = "question"   // a question is open
	Unknown    Reason = "unknown"    // nobody has decided on a call whose outcome is unknown
	Forked     Reason = "forked"     // a thread that stays was forked from it
	Driven     Reason = "driven"     // a process holds the lock of a run
	Moved      Reason = "moved"      // a run came into it meanwhile
)

// Run is one of a thread that goes.
type Run struct {
	ID string

	no, lastSeq int64
	root        bool
}

// Thread is one that goes, with all runs in it and below them.
type Thread struct {
	ID    string
	Words string // the beginning of its first prompt
	Runs  []Run
	Last  time.Time // of its last fact
	Facts int64
	Bytes int64 // of its facts

	threads []string // it, and those of the runs below its runs
	keyOf   string
	newer   int64 // runs with higher numbers came after the look
}

// Staying is a thread that was wanted and stays.
type Staying struct {
	Thread string
	Why    Reason
	Run    string // that has not ended, whose call it is, which was forked, or which is driven
	Need   string // the open question or the call
	Words  string
}

// Plan is what a look finds.
type Plan struct {
	Go    []Thread
	Stay  []Staying
	Left  int // threads that nobody wants to go
	Found int // runs that an earlier removal has hidden, and not removed
}

// Runs counts the runs that go.
func (p Plan) Runs() (n int) {
	for _, t := range p.Go {
		n += len(t.Runs)
	}
	return n
}

// Bytes adds up what the facts take that go.
func (p Plan) Bytes() (n int64) {
	for _, t := range p.Go {
		n += t.Bytes
	}
	return n
}

// group is a thread that persons know, with the runs below its runs.
type group struct {
	id    string
	rows  []dbsqlc.PrunableRunsRow
	last  int64
	stays *Staying
	from  string // the group that it was forked from
}

// look is what is known of all runs while a plan is made.
type look struct {
	groups map[string]*group
	order  []*group // by their first runs
	keyOf  map[string]string
	ids    map[int64]string
	of     map[int64]*group
	newest int64 // number of the newest run
}

// Look finds what may go. It changes nothing.
func Look(ctx context.Context, s *db.Store, w Want) (p Plan, err error) {
	l := &look{groups: map[string]*group{}, keyOf: map[string]string{}, ids: map[int64]string{}, of: map[int64]*group{}}
	err = db.Read(ctx, s, "look for what may be pruned", func(q *dbsqlc.Queries) error {
		rows, err := q.PrunableRuns(ctx)
		if err != nil {
			return err
		}
		l.take(rows)
		if err := l.needed(ctx, q); err != nil {
			return err
		}
		hidden, err := q.HiddenRuns(ctx, 0, 1<<20)
		p.Found = len(hidden)
		return err
	})
	if err == nil {
		err = l.forks(ctx, s)
	}
	if err != nil {
		return p, err
	}
	goes := l.wanted(w)
	l.propagate(goes)
	for _, g := range l.order {
		switch {
		case !goes[g]:
			p.Left++
		case g.stays != nil:
			p.Stay = append(p.Stay, *g.stays)
		default:
			p.Go = append(p.Go, l.thread(g))
		}
	}
	return p, measure(ctx, s, p.Go)
}

// take sorts the runs by the threads that persons know.
func (l *look) take(rows []dbsqlc.PrunableRunsRow) {
	for _, r := range rows {
		id := cmp.Or(r.RootThread, r.Thread)
		g := l.groups[id]
		if g == nil {
			g = &group{id: id}
			l.groups[id], l.order = g, append(l.order, g)
		}
		g.rows, g.last = append(g.rows, r), max(g.last, r.UpdatedAt)
		l.ids[r.No], l.of[r.No], l.newest = r.ID, g, r.No
		if r.Cause != string(journal.CauseMoved) && (r.EndedAt == nil || !recovery.Status(r.Status).Terminal()) {
			g.stay(Unfinished, r.ID, "")
		}
	}
}

func (g *group) stay(why Reason, run, need string) {
	if g.stays == nil || why == Question && g.stays.Why == Unfinished {
		g.stays = &Staying{Thread: g.id, Why: why, Run: run, Need: need, Words: g.rows[0].Words}
	}
}

// needed finds open questions and calls on which nobody has decided.
func (l *look) needed(ctx context.Context, q *dbsqlc.Queries) error {
	asked, err := q.AllOpenRequests(ctx)
	if err != nil {
		return err
	}
	for _, r := range asked {
		if g := l.of[r.RunNo]; g != nil {
			g.stay(Question, l.ids[r.RunNo], r.ID)
		}
	}
	calls, err := q.AllUndecided(ctx)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if g := l.of[c.RunNo]; g != nil {
			g.stay(Unknown, l.ids[c.RunNo], c.ID)
		}
	}
	threads, err := q.DerivedThreads(ctx)
	for _, t := range threads {
		l.keyOf[t.ID] = t.KeyOf
	}
	return err
}

// forks reads where the threads come from that were forked.
func (l *look) forks(ctx context.Context, s *db.Store) error {
	byRun := map[string]*group{}
	for _, g := range l.order {
		for _, r := range g.rows {
			byRun[r.ID] = g
		}
	}
	for id, of := range l.keyOf {
		g := l.groups[id]
		if g == nil {
			continue // it is of a family
		}
		g.from = of // of one whose beginning cannot be read this is known
		c, err := created(ctx, s, g.rows[0].ID)
		if errors.As(err, new(*db.CorruptError)) {
			continue
		}
		if err != nil {
			return err
		}
		if c.From != nil && byRun[c.From.Run] != nil && byRun[c.From.Run] != g {
			g.from = byRun[c.From.Run].id
		}
	}
	return nil
}

// created is what a run was created with.
func created(ctx context.Context, s *db.Store, run string) (c journal.RunCreated, err error) {
	for e, err := range s.Load(ctx, run, 0) {
		if err != nil {
			return c, err
		}
		c, _ = e.Body.(journal.RunCreated)
		break
	}
	return c, nil
}

// wanted says which threads shall go, needed or not.
func (l *look) wanted(w Want) map[*group]bool {
	goes := map[*group]bool{}
	named := map[string]bool{}
	for _, id := range w.Runs {
		named[id] = true
	}
	roots := 0
	newest := map[*group]bool{}
	for no := l.newest; no > 0 && roots < w.Keep; no-- {
		if g := l.of[no]; g != nil && g.isRoot(no) {
			newest[g] = true
			roots++
		}
	}
	for _, g := range l.order {
		if w.Runs != nil {
			goes[g] = slices.ContainsFunc(g.rows, func(r dbsqlc.PrunableRunsRow) bool { return named[r.ID] })
			continue
		}
		goes[g] = !newest[g] && (w.Older == 0 || w.Now.Sub(time.UnixMicro(g.last)) > w.Older)
	}
	return goes
}

func (g *group) isRoot(no int64) bool {
	i, found := slices.BinarySearchFunc(g.rows, no, func(r dbsqlc.PrunableRunsRow, no int64) int { return cmp.Compare(r.No, no) })
	return found && g.rows[i].RootNo == 0
}

// propagate has the threads stay that a staying one was forked from.
func (l *look) propagate(goes map[*group]bool) {
	for again := true; again; {
		again = false
		for _, g := range l.order {
			if from := l.groups[g.from]; from != nil && from != g && from.stays == nil && (!goes[g] || g.stays != nil) {
				from.stay(Forked, g.rows[len(g.rows)-1].ID, "")
				again = true
			}
		}
	}
}

func (l *look) thread(g *group) Thread {
	t := Thread{ID: g.id, Words: g.rows[0].Words, Last: time.UnixMicro(g.last), keyOf: cmp.Or(l.keyOf[g.id], g.id), newer: l.newest}
	for _, r := range g.rows {
		if !slices.Contains(t.threads, r.Thread) {
			t.threads = append(t.threads, r.Thread)
		}
		t.Runs = append(t.Runs, Run{ID: r.ID, no: r.No, lastSeq: r.LastSeq, root: r.RootNo == 0})
	}
	return t
}

// measure adds what the facts of threads take.
func measure(ctx context.Context, s *db.Store, threads []Thread) error {
	return db.Read(ctx, s, "measure what may be pruned", func(q *dbsqlc.Queries) error {
		for i := range threads {
			t := &threads[i]
			t.Facts, t.Bytes = 0, 0
			for _, r := range t.Runs {
				size, err := q.JournalSize(ctx, db.FactID(r.no, 0), db.FactID(r.no, db.MaxSeq))
				if err != nil {
					return err
				}
				t.Facts, t.Bytes = t.Facts+size.Facts, t.Bytes+size.Bytes
			}
		}
		return nil
	})
}

// numbers is a list as queries take it.
func numbers(list []int64) (string, error) {
	if list == nil {
		list = []int64{}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("list runs: %w", err)
	}
	return string(text), nil
}
