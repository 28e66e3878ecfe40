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
	"time"

	"agent/db/dbsqlc"
	"agent/db/lastlog"
	marks "agent/db/mark"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// BehindError says that the database is older than the folder around it, or gone from it: an older
// copy was put in its place, or its write-ahead log was lost. What it says can be read; nothing is
// driven until a person decides that it counts.
type BehindError struct {
	Dir     string
	What    string // how that was seen
	Missing bool   // there is no database
}

func (e *BehindError) Error() string {
	if e.Missing {
		return fmt.Sprintf("the database is missing from %s, where runs were recorded: %s", e.Dir, e.What)
	}
	return fmt.Sprintf("the database in %s is older than the folder around it, so nothing is driven: %s", e.Dir, e.What)
}

// MayDrive says whether the store may drive runs: nil, or why not, as *BehindError. It is asked at
// every claim; what else may forbid it one day belongs here.
func (s *Store) MayDrive(ctx context.Context) error {
	if err := s.compareMark(ctx); err != nil {
		return err
	}
	if behind := s.behind.Load(); behind != nil {
		return behind
	}
	return nil
}

// Behind says why the store may not drive, as it was found last; nil when it may.
func (s *Store) Behind() *BehindError { return s.behind.Load() }

// Mark reads the mark of the folder.
func (s *Store) Mark() (marks.Mark, error) { return marks.Read(marks.Path(s.file.Dir())) }

// compareMark looks for the fact that the folder's mark names. The mark is read first: what is
// committed meanwhile can only bring the store further.
func (s *Store) compareMark(ctx context.Context) error {
	m, err := s.Mark()
	var what string
	switch {
	case errors.Is(err, marks.ErrNone), errors.Is(err, marks.ErrDamaged):
		what, err = s.withoutMark(ctx)
	case err == nil:
		what, err = s.behindMark(ctx, m)
	}
	if err != nil {
		return fmt.Errorf("compare %s with the mark beside it: %w", s.file.Path(), err)
	}
	if what == "" {
		s.behind.Store(nil)
		return nil
	}
	s.behind.Store(&BehindError{Dir: s.file.Dir(), What: what})
	return nil
}

// seeBehind is compareMark for whoever opens the store: one that is too damaged to be compared can
// be looked at, and drives nothing for that reason.
func (s *Store) seeBehind(ctx context.Context) error {
	err := s.compareMark(ctx)
	if errors.As(err, new(*CorruptError)) {
		return nil
	}
	return err
}

// behindMark says what the mark names and the database does not have; "" when it has it.
func (s *Store) behindMark(ctx context.Context, m marks.Mark) (what string, err error) {
	if m.Store != s.identity {
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
func (s *Store) withoutMark(ctx context.Context) (what string, err error) {
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
func (s *Store) LogAhead(ctx context.Context, since time.Time) (map[string]string, error) {
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
func (s *Store) missing(path string) error {
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

// RestoreHere lets the store drive although it was behind its mark: a person decided so. Every run
// that has not ended gets the fact that says so, and the mark is that of the store from then on,
// durably. Nobody may drive a run meanwhile; runs are those that were found without an owner under
// their locks.
func (s *Store) RestoreHere(ctx context.Context, runs []string, reason, by string) error {
	if !s.file.Writable() {
		return fmt.Errorf("restore %s: %w", s.file.Path(), ErrReadOnly)
	}
	for _, run := range runs {
		h, err := s.Head(ctx, run)
		if err != nil {
			return err
		}
		events := []journal.Event{{Turn: h.Turns, Time: s.now(), Body: journal.RunRestored{Reason: reason, By: by}}}
		if _, err := s.Append(ctx, h, events, AppendOptions{}); err != nil {
			return err
		}
	}
	return s.markHere(ctx)
}

// markHere writes the mark of the newest run, and makes it durable.
func (s *Store) markHere(ctx context.Context) error {
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
	return s.file.Between(func(*sqlitefile.Statements) error {
		m.Store, m.At = s.identity, s.now()
		if err := s.mark.Decide(m); err != nil {
			return err
		}
		s.unmarked = false
		s.behind.Store(nil)
		return nil
	})
}

// markOf names the last fact of a job: it is the mark of the store once that is committed.
func markOf(h Head) *marks.Mark {
	return &marks.Mark{Run: h.Run, No: h.No, Seq: h.Seq, Digest: hex.EncodeToString(h.Digest)}
}

// committed writes the mark of a transaction that is durable, whose note is the last fact of it.
// That it fails costs no fact. A store that is behind keeps the mark that says so.
func (s *Store) committed(note any) {
	m, ok := note.(*marks.Mark)
	if !ok || s.unmarked || s.behind.Load() != nil {
		return
	}
	m.Store, m.At = s.identity, s.now()
	if err := s.mark.Leave(*m); err != nil {
		s.unmarked = true
		s.file.Notice("the mark beside %s cannot be written (%v): an older database in its place would not be noticed", s.file.Path(), err)
	}
}
