package db

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"agent/db/dbsqlc"
	"agent/db/fingerprint"
	"agent/recovery"
	"agent/recovery/journal"
)

// Fingerprint is that of package fingerprint, keyed for the thread and those that come from it.
func (s *Store) Fingerprint(thread, tool string, args json.RawMessage) (string, error) {
	key, err := s.threadKey(thread)
	if err != nil {
		return "", fmt.Errorf("fingerprint a call of %s: %w", tool, err)
	}
	return fingerprint.Of(key, tool, args), nil
}

// threadKey is worked out from the store's key for the thread that key_of names, so that a copy of
// one conversation can be given away without the key of the others.
func (s *Store) threadKey(thread string) ([]byte, error) {
	if s.key == nil {
		return nil, errors.New("the key is not open (the store was opened for reading)")
	}
	if key, ok := s.threadKeys.Load(thread); ok {
		return key.([]byte), nil
	}
	of, known := thread, true // that of a thread which is not recorded yet is its own
	var came []byte           // sealed: it came from another store
	err := s.read(context.Background(), "read thread "+thread, func(q *dbsqlc.Queries) error {
		row, err := q.GetThread(context.Background(), thread)
		if errors.Is(err, sql.ErrNoRows) {
			known = false
			return nil
		}
		if err != nil {
			return err
		}
		of = row.KeyOf
		if came, err = q.GetThreadKey(context.Background(), of); errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	key, err := s.lineageKey(of, came)
	if err == nil && known {
		s.threadKeys.Store(thread, key)
	}
	return key, err
}

// lineageKey opens a key that came from another store, or works out the store's own.
func (s *Store) lineageKey(of string, came []byte) ([]byte, error) {
	if came == nil {
		return hkdf.Key(sha256.New, s.key, nil, "fingerprints of "+of, sha256.Size)
	}
	box, err := s.lineageBox()
	if err != nil {
		return nil, err
	}
	key, err := box.Open([]byte(of), came)
	if err != nil {
		return nil, fmt.Errorf("open the key of thread %s: %w", of, err)
	}
	return key, nil
}

// keyOf is the thread with whose key the calls of a new thread are recognised that begins with the
// run: its own. In a family it is the one of the root's thread, and in a fork the one of the thread
// that it comes from.
func keyOf(ctx context.Context, q *dbsqlc.Queries, c journal.RunCreated) (string, error) {
	of := c.FamilyThread()
	if of == c.Thread && (c.From == nil || c.Previous != "") {
		return of, nil
	}
	if of == c.Thread {
		r, err := q.GetRun(ctx, c.From.Run)
		if errors.Is(err, sql.ErrNoRows) {
			return "", &UnknownIDError{Kind: 'r', Text: c.From.Run}
		}
		if err != nil {
			return "", err
		}
		of = r.Thread
	}
	t, err := q.GetThread(ctx, of)
	if errors.Is(err, sql.ErrNoRows) {
		return of, nil
	}
	return t.KeyOf, err
}

// openThread creates the thread that begins with the run, or refuses one in which a run has not
// ended.
func (s *Store) openThread(t *tx, ref ThreadRef, c journal.RunCreated, now int64) error {
	ctx := context.Background()
	if ref.New {
		of, err := keyOf(ctx, t.q, c)
		if err != nil {
			return err
		}
		return t.q.CreateThread(ctx, ref.ID, of, ref.Folder, now)
	}
	r, err := t.q.UnfinishedOfThread(ctx, ref.ID)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err := t.q.GetThread(ctx, ref.ID); errors.Is(err, sql.ErrNoRows) {
			return &UnknownIDError{Kind: 't', Text: ref.ID}
		} else if err != nil {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	busy := &ThreadBusyError{Thread: ref.ID, Run: r.ID, Status: recovery.Status(r.Status)}
	open, err := openRequests(ctx, t.q, []int64{r.No})
	if err != nil {
		return err
	}
	if len(open) > 0 {
		busy.Pending = open[0].ID
	}
	return busy
}
