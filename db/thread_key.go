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
	err := s.read(context.Background(), "read thread "+thread, func(q *dbsqlc.Queries) error {
		row, err := q.GetThread(context.Background(), thread)
		if errors.Is(err, sql.ErrNoRows) {
			known = false
			return nil
		}
		of = row.KeyOf
		return err
	})
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, s.key, nil, "fingerprints of "+of, sha256.Size)
	if err == nil && known {
		s.threadKeys.Store(thread, key)
	}
	return key, err
}
