package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agent/db"
	"agent/db/backup"
	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/recovery/fault"
)

const (
	slice = 4 * time.Millisecond // of work in one transaction, before it is made durable
	pause = 3 * time.Millisecond // at least, in which others write: who waits tries again sooner
	chunk = 64                   // runs that are on their way at once
	most  = 128                  // runs that are hidden at once
)

// Hands do what is not of the database.
type Hands struct {
	// Hold takes the lock of a run; nil where a process drives it, or a command of it still runs.
	Hold func(run string) (Lock, error)

	// Files removes what lies in the state folder under the name of a run, but for its lock.
	Files func(run string) error

	// Named lists the contents that a list of files names (package host/workspace).
	Named func(manifest []byte) ([]string, error)

	// Show hears how far it is; nil for nobody.
	Show func(text string)

	// Enough says that the rest may wait for another time; nil for never.
	Enough func() bool
}

// Lock is the lock of a run while it is removed.
type Lock interface {
	Remove() error // removes its file, and lets go of it
	Close() error
}

// Report is what a removal did.
type Report struct {
	Threads, Runs int
	Contents      int   // contents, bodies and environments
	Freed         int64 // bytes that the database and files gave back
	Stay          []Staying
	Later         string // why something waits for the next time; "" where nothing does
}

type remover struct {
	s      *db.Store
	hands  Hands
	held   map[string]Lock
	report Report
	rested time.Time // when the last rest ended
}

// Remove removes threads of a plan, and what an earlier removal has left. Others may read and write
// the store meanwhile. A thread that is needed by now stays. backup.ErrBusy says that a backup is
// being made, or another process prunes.
func Remove(ctx context.Context, s *db.Store, threads []Thread, hands Hands) (Report, error) {
	files, err := backup.LockFiles(s.Dir(), true)
	if err != nil {
		return Report{}, err
	}
	r := &remover{s: s, hands: hands, held: map[string]Lock{}, rested: time.Now()}
	if r.hands.Show == nil {
		r.hands.Show = func(string) {}
	}
	if r.hands.Enough == nil {
		r.hands.Enough = func() bool { return false }
	}
	err = r.all(ctx, threads)
	for _, l := range r.held {
		err = errors.Join(err, l.Close())
	}
	return r.report, errors.Join(err, files.Close())
}

func (r *remover) all(ctx context.Context, threads []Thread) error {
	r.rest(ctx)
	before, err := r.size(ctx)
	if err != nil {
		return err
	}
	if err := r.mergeDeleted(ctx, 0); err != nil {
		return err
	}
	if err := r.hidden(ctx); err != nil { // of a process that was killed
		return err
	}
	for len(threads) > 0 && !r.enough() {
		n, runs := 0, 0
		for n < len(threads) && (n == 0 || runs+len(threads[n].Runs) <= chunk) {
			runs += len(threads[n].Runs)
			n++
		}
		if err := r.hide(ctx, threads[:n]); err != nil {
			return err
		}
		fault.Hit(fault.PruneHidden)
		if err := r.hidden(ctx); err != nil {
			return err
		}
		threads = threads[n:]
		r.hands.Show(fmt.Sprintf("removed %d runs", r.report.Runs))
	}
	if !r.enough() {
		if err := errors.Join(r.index(ctx), r.contents(ctx)); err != nil {
			return err
		}
	}
	if !r.enough() {
		r.hands.Show("giving the space back")
		if err := r.giveBack(ctx); err != nil {
			return err
		}
	}
	after, err := r.size(ctx)
	r.report.Freed += max(0, before-after)
	return err
}

func (r *remover) enough() bool {
	if r.report.Later == "" && r.hands.Enough() {
		r.report.Later = "the rest follows another time"
	}
	return r.report.Later != "" && r.hands.Enough()
}

// size is how many bytes the database has that are not free.
func (r *remover) size(ctx context.Context) (int64, error) {
	pages, err := r.pragma(ctx, "page_count")
	if err != nil {
		return 0, err
	}
	size, err := r.pragma(ctx, "page_size")
	return pages * size, err
}

func (r *remover) pragma(ctx context.Context, name string) (n int64, err error) {
	err = r.s.File().Read(ctx, func() error {
		return r.s.File().Readers().QueryRowContext(ctx, "PRAGMA "+name).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("prune: %w", r.s.File().Explain(err))
	}
	return n, nil
}

// hide is step 1 of threads. Those that are small share a transaction.
func (r *remover) hide(ctx context.Context, threads []Thread) error {
	var small []Thread
	for _, t := range threads {
		stay, err := r.holdAll(t)
		switch {
		case err != nil:
			return err
		case stay != nil:
			r.report.Stay = append(r.report.Stay, *stay)
		case len(t.Runs) > most:
			if err := r.hideLarge(ctx, t); err != nil {
				return fmt.Errorf("prune thread %s: %w", t.ID, err)
			}
		default:
			small = append(small, t)
		}
	}
	for len(small) > 0 {
		done := 0
		var moved []Thread
		err := r.s.File().Write(ctx, func(tx *sqlitefile.Tx) error {
			began := time.Now()
			for done, moved = 0, nil; done < len(small) && (done == 0 || time.Since(began) < slice); done++ {
				err := r.hideRuns(tx, small[done], small[done].Runs, true)
				if errors.Is(err, errMoved) {
					moved = append(moved, small[done])
				} else if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("prune: %w", err)
		}
		for _, t := range moved {
			r.moved(t)
		}
		r.report.Threads += done - len(moved)
		small = small[done:]
		r.rest(ctx)
	}
	return nil
}

func (r *remover) moved(t Thread) {
	r.report.Stay = append(r.report.Stay, Staying{Thread: t.ID, Why: Moved, Words: t.Words})
}

// holdAll takes the locks of the roots of a thread, without which nobody drives any run of it.
func (r *remover) holdAll(t Thread) (*Staying, error) {
	for _, run := range t.Runs {
		if !run.root {
			continue
		}
		ok, err := r.hold(run.ID)
		if err != nil {
			return nil, err
		}
		if !ok {
			return &Staying{Thread: t.ID, Why: Driven, Run: run.ID, Words: t.Words}, nil
		}
	}
	return nil, nil
}

func (r *remover) hold(run string) (bool, error) {
	if r.held[run] != nil {
		return true, nil
	}
	l, err := r.hands.Hold(run)
	if err != nil || l == nil {
		return false, err
	}
	r.held[run] = l
	return true, nil
}

// errMoved says that what was looked at is not what is there.
var errMoved = errors.New("a run came into the thread meanwhile")

// hideLarge hides the runs of a family that is too large for one transaction. The runs below others
// go before, so that none is ever without those above it.
func (r *remover) hideLarge(ctx context.Context, t Thread) error {
	runs := slices.Clone(t.Runs)
	slices.SortFunc(runs, func(a, b Run) int {
		if a.root != b.root {
			return cmp.Compare(toInt(a.root), toInt(b.root))
		}
		return cmp.Compare(b.no, a.no)
	})
	for len(runs) > 0 {
		n := min(len(runs), most)
		part, last := runs[:n], n == len(runs)
		var moved bool
		err := r.s.File().Write(ctx, func(tx *sqlitefile.Tx) error {
			err := r.hideRuns(tx, t, part, last)
			if moved = errors.Is(err, errMoved); moved {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if moved {
			r.moved(t)
			return nil
		}
		runs = runs[n:]
		r.rest(ctx)
	}
	r.report.Threads++
	return nil
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hideRuns hides runs of a thread, or none and gives errMoved. With the last ones the thread goes.
func (r *remover) hideRuns(tx *sqlitefile.Tx, t Thread, runs []Run, last bool) error {
	if err := tx.Once("SAVEPOINT hiding"); err != nil {
		return err
	}
	err := r.hideIn(dbsqlc.New(tx.Statements), t, runs, last)
	if errors.Is(err, errMoved) {
		if undo := tx.Once("ROLLBACK TO hiding"); undo != nil {
			return undo
		}
	} else if err != nil {
		return err
	}
	if release := tx.Once("RELEASE hiding"); release != nil {
		return release
	}
	return err
}

func (r *remover) hideIn(q *dbsqlc.Queries, t Thread, runs []Run, last bool) error {
	ctx := context.Background()
	grew, err := q.ThreadGrew(ctx, t.newer, t.keyOf, t.ID)
	if err != nil {
		return err
	}
	if grew {
		return errMoved
	}
	if err := q.AddPrunedThread(ctx); err != nil {
		return err
	}
	for _, run := range runs {
		n, err := q.AddTombstone(ctx, db.Now(r.s).UnixMicro(), run.no, run.lastSeq)
		if err != nil {
			return err
		}
		if n == 0 {
			return errMoved
		}
		if err := q.HideRun(ctx, run.no); err != nil {
			return err
		}
	}
	if !last {
		return nil
	}
	for _, id := range t.threads {
		if err := q.DropThread(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// rest brings in what was written, so that nobody else has to, and lets others write for as long as
// all that took: a busy disk is given time.
func (r *remover) rest(ctx context.Context) {
	sqlitefile.CopyLog(r.s.File())
	now := time.Now()
	late := time.NewTimer(min(max(pause, now.Sub(r.rested)), 10*pause))
	defer func() { r.rested = time.Now() }()
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	}
}
