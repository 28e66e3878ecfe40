package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"agent/db/dbsqlc"
	"agent/db/identity"
	marks "agent/db/mark"
	"agent/recovery/journal"
)

// row is what the database says of the store.
func (s *Standing) row(ctx context.Context) (row dbsqlc.Store, err error) {
	err = s.read(ctx, "read what store this is", func(q *dbsqlc.Queries) error {
		row, err = q.GetStore(ctx)
		return err
	})
	if err != nil && !s.file.Writable() && strings.Contains(err.Error(), "no such column") {
		return dbsqlc.Store{}, nil // one of an older format that cannot be brought up to date says nothing of copies
	}
	return row, err
}

func fileOf(row dbsqlc.Store) identity.File {
	return identity.File{Inode: row.Inode, Born: row.Born, Machine: row.Machine}
}

// noteFile finds the place of the mark outside, and notes the file of a store that was made when
// that was not noted yet.
func (s *Standing) noteFile(ctx context.Context) error {
	row, err := s.row(ctx)
	if s.outer.Path = s.outerPath(row); err != nil || fileOf(row).Known() {
		return err
	}
	now, err := identity.Of(s.file.Path())
	if err != nil || !now.Known() {
		return err
	}
	err = s.write(ctx, func(t *tx) error { return t.q.SetStoreFile(ctx, now.Inode, now.Born, now.Machine) })
	if errors.Is(err, ErrDiskFull) {
		return nil // the next one who opens it notes it
	}
	return err
}

// outerPath is where the mark outside of the folder lies; "" for nowhere.
func (s *Standing) outerPath(row dbsqlc.Store) string {
	if s.o.Marks == "" {
		return ""
	}
	return filepath.Join(s.o.Marks, fmt.Sprintf("%s-%d", row.ID, row.Incarnation))
}

// behindOuter compares with the mark outside of the folder: it is older than the one beside the
// database, but no copy of the folder brings an older one with it. One that is missing or damaged
// says nothing.
func (s *Standing) behindOuter(ctx context.Context, row dbsqlc.Store) (what string, err error) {
	path := s.outerPath(row)
	if path == "" {
		return "", nil
	}
	m, err := marks.Read(path)
	if err != nil { // whoever cannot read it does not know of it
		return "", nil
	}
	what, err = s.behindMark(ctx, m)
	if what != "" {
		what += ", as " + path + " knows"
	}
	return what, err
}

// RestoreHere lets the store drive although it was behind its mark, or is a copy: a person decided
// so. Every run that has not ended gets the fact that says so, then the store is one of its own,
// and the mark is that of it from then on, durably. Nobody may drive a run meanwhile; runs are
// those that were found without an owner under their locks.
func (s *Store) RestoreHere(ctx context.Context, runs []string, fact journal.RunRestored) error {
	if !s.file.Writable() {
		return fmt.Errorf("restore %s: %w", s.file.Path(), ErrReadOnly)
	}
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	fact.Incarnation = row.Incarnation + 1
	for _, run := range runs {
		h, err := s.Head(ctx, run)
		if err != nil {
			return err
		}
		events := []journal.Event{{Turn: h.Turns, Time: s.now(), Body: fact}}
		if _, err := s.Append(ctx, h, events, AppendOptions{}); err != nil {
			return err
		}
	}
	if err := s.declare(ctx, "", !fact.Nothing); err != nil {
		return err
	}
	return s.markHere(ctx)
}

// Archive has the store only read from here on: it is a copy whose original went on.
func (s *Standing) Archive(ctx context.Context, why string) error {
	if !s.file.Writable() {
		return fmt.Errorf("restore %s: %w", s.file.Path(), ErrReadOnly)
	}
	if err := s.declare(ctx, why, false); err != nil {
		return err
	}
	return s.compareMark(ctx)
}

// declare makes the store one of its own, whatever it was copied from. What guards its runs stays.
func (s *Standing) declare(ctx context.Context, archive string, guards bool) error {
	now, err := identity.Of(s.file.Path())
	if err != nil {
		return err
	}
	err = s.write(ctx, func(t *tx) error {
		err := t.q.SetStoreCopy(ctx, dbsqlc.SetStoreCopyParams{
			ID: newStoreID(), Archive: archive, Inode: now.Inode, Born: now.Born, Machine: now.Machine,
		})
		if err == nil && guards {
			err = t.q.SetStoreGuarded(ctx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("declare %s a store of its own: %w", s.file.Path(), err)
	}
	return nil
}

// Guarded says up to which number runs may have gone further elsewhere than the store says, and
// what comes into their threads too; 0 for none.
func (s *Standing) Guarded(ctx context.Context) (int64, error) {
	row, err := s.row(ctx)
	return row.Guarded, err
}

// Rekeyed says that older calls were recorded with another key than the store has now.
func (s *Standing) Rekeyed(ctx context.Context) (bool, error) {
	row, err := s.row(ctx)
	return row.Rekeyed != 0, err
}

// NoteBackup notes that a backup was made, and when.
func (s *Standing) NoteBackup(ctx context.Context, at time.Time) error {
	if err := s.write(ctx, func(t *tx) error { return t.q.SetStoreBackedUp(ctx, at.UnixMicro()) }); err != nil {
		return fmt.Errorf("note the backup: %w", err)
	}
	return nil
}

// About is how a store stands to copies of it.
type About struct {
	Incarnation int64     // how many copies were declared to be stores of their own on the way to it
	BackedUp    time.Time // zero for never
	Outside     string    // where its mark outside of the folder lies; "" where no such place is known
	Unmarked    error     // why there is none
}

// About is what the database and the mark outside of the folder say of that.
func (s *Standing) About(ctx context.Context) (About, error) {
	row, err := s.row(ctx)
	a := About{Incarnation: row.Incarnation, Outside: s.outerPath(row)}
	if row.BackedUp > 0 {
		a.BackedUp = time.UnixMicro(row.BackedUp)
	}
	_, a.Unmarked = marks.Read(a.Outside)
	return a, err
}
