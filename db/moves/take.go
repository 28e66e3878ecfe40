package moves

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/keep"
	"agent/db/vault"
	"agent/recovery/fault"
)

// Arrival is what comes from another store.
type Arrival struct {
	Pack    string
	Move    bool   // it was sealed to this store, and goes on here alone
	From    string // the store
	Thread  string
	Threads []ArrivedThread
	Runs    []*db.Adopted // in the order in which they began

	Secrets      []vault.Row
	Environments []vault.EnvironmentRow
	Renamed      map[string]string // contents by the names that they had there
	Bodies       []blob.Row        // of outputs

	Brought *Names // what it brings
	Named   *Names // what its facts name
	Now     time.Time
}

// ArrivedThread is a thread of it.
type ArrivedThread struct {
	db.ThreadRow
	Key    []byte // sealed with this store's key; nil where it did not come
	Source bool
}

// RefusedError says that runs of another store are not taken in, and why. Nothing was changed.
type RefusedError struct{ What string }

func (e *RefusedError) Error() string { return e.What }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Take writes an arrival, all of it or nothing. A pack of runs that move is taken once: taken says
// that it was before, and when.
func Take(ctx context.Context, s *db.Store, a *Arrival) (taken time.Time, err error) {
	fault.Hit(fault.PackRead)
	var before time.Time
	err = db.Adopt(ctx, s, a.Runs, func(q *dbsqlc.Queries, again bool) error {
		before = time.Time{}
		p, err := q.GetPack(ctx, a.Pack)
		if err == nil && !again {
			before = time.UnixMicro(p.TakenAt)
			return errTaken
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return a.begin(ctx, s, q)
	})
	if errors.Is(err, errTaken) {
		return before, nil
	}
	if errors.Is(err, vault.ErrNameTaken) {
		err = refused("a secret of it has the name of another one here")
	}
	if err == nil {
		fault.Hit(fault.PackTaken)
	}
	return before, err
}

// TakenAt is when a pack was taken; zero for never.
func TakenAt(ctx context.Context, s *db.Store, pack string) (at time.Time, err error) {
	err = db.Read(ctx, s, "look for pack "+pack, func(q *dbsqlc.Queries) error {
		p, err := q.GetPack(ctx, pack)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		at = time.UnixMicro(p.TakenAt)
		return err
	})
	return at, err
}

var errTaken = errors.New("it was taken before")

// begin writes what the runs name.
func (a *Arrival) begin(ctx context.Context, s *db.Store, q *dbsqlc.Queries) error {
	if err := a.owns(ctx, q); err != nil {
		return err
	}
	for _, r := range a.Runs {
		if err := q.DropTombstone(ctx, r.Created.Run); err != nil { // it is here again
			return err
		}
	}
	for _, t := range a.Threads {
		if err := a.thread(ctx, s, q, t); err != nil {
			return err
		}
	}
	if err := db.AddSecrets(s, q, a.Secrets); err != nil {
		return err
	}
	for _, e := range a.Environments {
		if err := q.AddEnvironment(ctx, e.ID, e.Sealed); err != nil {
			return err
		}
	}
	if err := a.names(ctx, q); err != nil {
		return err
	}
	if err := blob.Add(ctx, q, a.Bodies); err != nil {
		return err
	}
	if !a.Move {
		return nil
	}
	if _, err := q.GetPack(ctx, a.Pack); !errors.Is(err, sql.ErrNoRows) {
		return err // it is noted already: a try before was kept
	}
	return q.AddPack(ctx, a.Pack, a.Thread, a.Now.UnixMicro())
}

// names notes what the contents are called here.
func (a *Arrival) names(ctx context.Context, q *dbsqlc.Queries) error {
	for there, here := range a.Renamed {
		name, err := hex.DecodeString(there)
		if err != nil || len(name) != 16 {
			return refused("a content of it has the name %.40q", there)
		}
		id, err := hex.DecodeString(here)
		if err != nil {
			return fmt.Errorf("read the name of a content: %v", err)
		}
		if taken, err := q.HasKept(ctx, name); err != nil || taken {
			return errors.Join(err, refused("a content of it has the name of another one here"))
		}
		if err := q.AddKeptName(ctx, name, id); err != nil {
			return err
		}
		if have, err := q.KeptName(ctx, name); err != nil || !bytes.Equal(have, id) {
			return errors.Join(err, refused("a content of it has the name of another one here"))
		}
	}
	return nil
}

// owns refuses facts that name what is here and did not come with them.
func (a *Arrival) owns(ctx context.Context, q *dbsqlc.Queries) error {
	for id := range a.Named.Secrets {
		if _, err := q.GetSecret(ctx, id); err == nil && !a.Brought.Secrets[id] {
			return refused("it names secret %s of this store, and does not bring it", id)
		} else if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	for id := range a.Named.Environments {
		if _, err := q.GetEnvironment(ctx, id); err == nil && !a.Brought.Environments[id] {
			return refused("it names environment %.12s of this store, and does not bring it", id)
		} else if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	for name := range a.Named.Kept {
		id, err := hex.DecodeString(name)
		if err != nil {
			continue // it is the name of none
		}
		if there, err := q.HasKept(ctx, id); err != nil {
			return err
		} else if there && !a.Brought.Kept[name] {
			return refused("it names content %.12s of this store, and does not bring it", name)
		}
	}
	return nil
}

// thread makes the row of a thread, or sees that the one here is the same one.
func (a *Arrival) thread(ctx context.Context, s *db.Store, q *dbsqlc.Queries, t ArrivedThread) error {
	have, err := q.GetThread(ctx, t.ID)
	isNew := errors.Is(err, sql.ErrNoRows)
	switch {
	case isNew:
		if err := a.key(ctx, s, q, t); err != nil {
			return err
		}
		err = q.CreateThread(ctx, t.ID, t.KeyOf, t.Folder, t.Created.UnixMicro())
	case err == nil && have.KeyOf != t.KeyOf:
		return refused("thread %s is here, and is another one", t.ID)
	}
	if err != nil {
		return err
	}
	if a.Move && !t.Source {
		return q.DropCustody(ctx, t.ID)
	}
	if !isNew {
		return nil // it was here, whatever it is
	}
	rekeyed := int64(0)
	if t.Key == nil {
		rekeyed = 1
	}
	return q.SetCustody(ctx, dbsqlc.SetCustodyParams{Thread: t.ID, Word: db.Copy, Store: a.From, Rekeyed: rekeyed, At: a.Now.UnixMicro()})
}

// key keeps the key of a thread that is new here. One of this store's own threads has its own.
func (a *Arrival) key(ctx context.Context, s *db.Store, q *dbsqlc.Queries, t ArrivedThread) error {
	if t.Key == nil {
		return nil
	}
	own, err := q.ThreadsOfKey(ctx, t.KeyOf)
	if err != nil {
		return err
	}
	have, err := q.GetThreadKey(ctx, t.KeyOf)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if errors.Is(err, sql.ErrNoRows) && len(own) == 0 {
		return q.AddThreadKey(ctx, t.KeyOf, t.Key)
	}
	same, err := db.SameLineageKey(s, t.KeyOf, have, t.Key)
	if err == nil && !same {
		return refused("threads of %s are here with another key", t.KeyOf)
	}
	return err
}

// Ahead stores a content before the facts come that name it.
func Ahead(ctx context.Context, s *db.Store, row keep.Row, now time.Time) error {
	return db.Write(ctx, s, func(q *dbsqlc.Queries) error { return keep.AddAhead(ctx, q, []keep.Row{row}, now) })
}
