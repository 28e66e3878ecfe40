package db

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"agent/db/dbsqlc"
	"agent/db/identity"
	"agent/db/lastlog"
	marks "agent/db/mark"
	"agent/db/sqlitefile"
)

// BehindError says that what a state folder records may not be all that happened: the database is
// older than the folder around it, or gone from it, or the folder is a copy of another one. What it
// says can be read; nothing is driven until a person decides that it counts.
type BehindError struct {
	Dir     string
	What    string // how that was seen
	Missing bool   // there is no database
	Copied  bool   // the folder is a copy that nobody has declared to be one
	Archive bool   // a person decided that it is a copy whose original went on
}

func (e *BehindError) Error() string {
	switch {
	case e.Missing:
		return fmt.Sprintf("the database is missing from %s, where runs were recorded: %s", e.Dir, e.What)
	case e.Copied:
		return fmt.Sprintf("the state folder %s is a copy, so nothing is driven: %s", e.Dir, e.What)
	case e.Archive:
		return fmt.Sprintf("the state folder %s is an archive, so nothing is driven: %s", e.Dir, e.What)
	}
	return fmt.Sprintf("the database in %s is older than the folder around it, so nothing is driven: %s", e.Dir, e.What)
}

// Standing is what a store is among others: the one that was made here, a copy, an older one.
type Standing struct {
	*core
	mark     marks.File                  // only the writer uses it
	outer    marks.File                  // likewise: the one outside of the folder
	unmarked bool                        // the mark could not be written, which was reported
	marked   string                      // what the mark calls the store
	behind   atomic.Pointer[BehindError] // why nothing may be driven
}

// MayDrive says whether the store may drive runs: nil, or why not, as *BehindError. It is asked at
// every claim; what else may forbid it one day belongs here.
func (s *Standing) MayDrive(ctx context.Context) error {
	if err := s.compareMark(ctx); err != nil {
		return err
	}
	if behind := s.behind.Load(); behind != nil {
		return behind
	}
	return nil
}

// Behind says why the store may not drive, as it was found last; nil when it may.
func (s *Standing) Behind() *BehindError { return s.behind.Load() }

// Mark reads the mark of the folder.
func (s *Standing) Mark() (marks.Mark, error) { return marks.Read(marks.Path(s.file.Dir())) }

// compareMark looks whether the store is the one that it was made as, and for the facts that its
// marks name. A mark is read first: what is committed meanwhile can only bring the store further.
func (s *Standing) compareMark(ctx context.Context) error {
	behind, err := s.findBehind(ctx)
	if err != nil {
		return fmt.Errorf("compare %s with the mark beside it: %w", s.file.Path(), err)
	}
	if behind != nil {
		behind.Dir = s.file.Dir()
	}
	s.behind.Store(behind)
	return nil
}

func (s *Standing) findBehind(ctx context.Context) (*BehindError, error) {
	row, err := s.row(ctx)
	if err != nil {
		return nil, err
	}
	if row.Archive != "" {
		return &BehindError{What: row.Archive, Archive: true}, nil
	}
	what := ""
	m, err := s.Mark()
	switch {
	case errors.Is(err, marks.ErrNone), errors.Is(err, marks.ErrDamaged):
		what, err = s.withoutMark(ctx)
	case err == nil:
		what, err = s.behindMark(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	if what != "" {
		return &BehindError{What: what}, nil
	}
	now, err := identity.Of(s.file.Path())
	if err != nil {
		return nil, err
	}
	if what = fileOf(row).Differs(now); what != "" {
		return &BehindError{What: what, Copied: true}, nil
	}
	if what, err = s.behindOuter(ctx, row); err != nil || what == "" {
		return nil, err
	}
	return &BehindError{What: what}, nil
}

// seeBehind is compareMark for whoever opens the store: one that is too damaged to be compared can
// be looked at, and drives nothing for that reason.
func (s *Standing) seeBehind(ctx context.Context) error {
	err := s.compareMark(ctx)
	if errors.As(err, new(*CorruptError)) {
		return nil
	}
	return err
}

// behindMark says what the mark names and the database does not have; "" when it has it.
func (s *Standing) behindMark(ctx context.Context, m marks.Mark) (what string, err error) {
	if m.Store != s.marked {
		return "its mark is that of another store", nil
	}
	if m.No == 0 {
		return "", nil
	}
	err = s.read(ctx, "read the fact of the mark", func(q *dbsqlc.Queries) error {
		have, err := q.GetDigest(ctx, m.No<<24|m.Seq)
		if err == nil && hex.EncodeToString(have) == m.Digest {
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if at, goneErr := pruned(ctx, q, m.Run); goneErr != nil || !at.IsZero() {
			return goneErr // it had all of the run, and removed it
		}
		r, rowErr := q.GetRun(ctx, m.Run)
		at := m.At.Local().Format(time.DateTime)
		switch {
		case errors.Is(rowErr, sql.ErrNoRows):
			what = fmt.Sprintf("run %s, written on %s, is not in it", m.Run, at)
		case rowErr != nil:
			return rowErr
		case err != nil:
			what = fmt.Sprintf("run %s had %d facts on %s and has %d in it", m.Run, m.Seq, at, r.LastSeq)
		default:
			what = fmt.Sprintf("fact %d of run %s is not the one that was written on %s", m.Seq, m.Run, at)
		}
		return nil
	})
	return what, err
}

// withoutMark is for a folder whose mark is missing or damaged. The files of a command's call are
// made after its run was recorded, so there must be a run for each; and the log names what was
// recorded.
func (s *Standing) withoutMark(ctx context.Context) (what string, err error) {
	logged, err := s.LogAhead(ctx, time.Time{})
	if err != nil {
		return "", err
	}
	if len(logged) > 0 {
		run := slices.Sorted(maps.Keys(logged))[0]
		return "run " + run + ": " + logged[run], nil
	}
	err = s.read(ctx, "look for the runs of calls", func(q *dbsqlc.Queries) error {
		for _, run := range runsNamed(s.file.Dir(), "calls") {
			_, err := q.GetRun(ctx, run)
			if errors.Is(err, sql.ErrNoRows) {
				at, err := pruned(ctx, q, run)
				if err != nil {
					return err
				} else if !at.IsZero() {
					continue
				}
				what = "calls of run " + run + " were carried out, and it is not in it"
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return what, err
}

// LogAhead says by run what the log beside the database knows of it and the database does not.
// Lines up to since are left out.
func (s *Standing) LogAhead(ctx context.Context, since time.Time) (map[string]string, error) {
	last, err := lastlog.Read(s.file.Dir(), since)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	err = s.read(ctx, "look for the runs of the log", func(q *dbsqlc.Queries) error {
		for run, l := range last {
			r, err := q.GetRun(ctx, run)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if at, err := pruned(ctx, q, run); err != nil {
				return err
			} else if !at.IsZero() {
				continue
			}
			if ahead := l.Ahead(r.LastSeq, int(r.Turns)); ahead != "" {
				out[run] = ahead
			}
		}
		return nil
	})
	return out, err
}

// runsNamed lists the runs after which files in a folder of the state folder are named.
func runsNamed(dir, sub string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, sub))
	if err != nil {
		return nil // there is none, or its files could not be read by whoever drives either
	}
	var runs []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "r-") {
			runs = append(runs, e.Name())
		}
	}
	return runs
}

// missing is for a folder without a database: *BehindError where runs were recorded in it, else
// ErrNoState. The database is made before any of what tells that.
func (s *Standing) missing(path string) error {
	none, dir := fmt.Errorf("open %s: %w", path, ErrNoState), filepath.Dir(path)
	if s.o.Anew {
		return none
	}
	what := ""
	if m, err := marks.Read(marks.Path(dir)); err == nil && m.No > 0 {
		what = "run " + m.Run + " was the last"
	}
	for _, sub := range []string{"calls", "locks"} {
		if runs := runsNamed(dir, sub); what == "" && len(runs) > 0 {
			what = fmt.Sprintf("%s names run %s", filepath.Join(dir, sub), runs[0])
		}
	}
	if last, err := lastlog.Read(dir, time.Time{}); what == "" && err == nil && len(last) > 0 { // a log that cannot be read tells nothing
		what = "the log names run " + slices.Sorted(maps.Keys(last))[0]
	}
	if what == "" {
		return none
	}
	if _, err := os.Lstat(path); err == nil {
		return nil // it was made meanwhile
	}
	return &BehindError{Dir: dir, What: what, Missing: true}
}

// NoState says of a folder without a database whether one is missing from it: *BehindError, or
// ErrNoState.
func NoState(dir string) error {
	s := newStore(Options{ReadOnly: true})
	f, err := sqlitefile.At(dir, s.format(), s.fileOptions())
	if err != nil {
		return err
	}
	return s.missing(f.Path())
}

// markHere writes the mark of the newest run, and makes it durable.
func (s *Standing) markHere(ctx context.Context) error {
	m := marks.Mark{Decided: s.now()}
	err := s.read(ctx, "read the newest run", func(q *dbsqlc.Queries) error {
		rows, err := q.NewestRuns(ctx, 1)
		if err != nil || len(rows) == 0 {
			return err
		}
		m.Run, m.No, m.Seq = rows[0].ID, rows[0].No, rows[0].LastSeq
		digest, err := q.GetDigest(ctx, m.No<<24|m.Seq)
		m.Digest = hex.EncodeToString(digest)
		return err
	})
	if err != nil {
		return err
	}
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	return s.file.Between(func(*sqlitefile.Statements) error {
		m.Store, m.At = s.marked, s.now()
		if err := s.mark.Decide(m); err != nil {
			return err
		}
		_ = s.outer.Close() // it is that of the store before
		s.outer = marks.File{Path: s.outerPath(row)}
		s.leaveOuter(m)
		s.unmarked = false
		s.behind.Store(nil)
		return nil
	})
}

// marking is the note of a transaction: its last fact, and whether the mark outside is to have it.
type marking struct {
	marks.Mark
	outside bool
}

// markOf names the last fact of a job: it is the mark of the store once that is committed.
func markOf(h Head, outside bool) *marking {
	return &marking{marks.Mark{Run: h.Run, No: h.No, Seq: h.Seq, Digest: hex.EncodeToString(h.Digest)}, outside}
}

// committed writes the mark of a transaction that is durable, whose note is the last fact of it.
// That it fails costs no fact. A store that is behind keeps the mark that says so.
func (s *Standing) committed(note any) {
	m, ok := note.(*marking)
	if !ok || s.unmarked || s.behind.Load() != nil {
		return
	}
	m.Store, m.At = s.marked, s.now()
	if err := s.mark.Leave(m.Mark); err != nil {
		s.unmarked = true
		s.file.Notice("the mark beside %s cannot be written (%v): an older database in its place would not be noticed", s.file.Path(), err)
	}
	if m.outside {
		s.leaveOuter(m.Mark)
	}
}

// leaveOuter writes the mark outside of the folder, where there is a place for it. Without one less
// is noticed, which doctor says.
func (s *Standing) leaveOuter(m marks.Mark) {
	if s.outer.Path != "" && (os.MkdirAll(s.o.Marks, 0o700) != nil || s.outer.Leave(m) != nil) {
		s.outer.Path = "" // there is none
	}
}
