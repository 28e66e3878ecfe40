package db

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"agent/db/dbsqlc"
	"agent/durable"
)

const keySize = 32

const keyRemedy = "put the key back that was made with the database, or restore a backup of the whole folder"

// openKey reads the key of the fingerprints, or makes it for a database that is about to be made. A key that is gone
// cannot be made again: no recorded call could be recognised with another one.
func (s *Store) openKey(dir string, fresh bool) error {
	path := filepath.Join(dir, keyName)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && fresh {
		if err := makeKey(dir, path); err != nil {
			return err
		}
		key, err = os.ReadFile(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &CorruptError{Path: path, What: "the key that belongs to the database is missing", Remedy: keyRemedy}
	case err != nil:
		return fmt.Errorf("read key: %w", err)
	case len(key) != keySize:
		return &CorruptError{Path: path, What: fmt.Sprintf("the key has %d bytes and not %d", len(key), keySize), Remedy: keyRemedy}
	}
	s.key = key
	return nil
}

// keyMAC is what is kept of the key in the database, from which nobody gets it back.
func keyMAC(key []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("agent: the key that belongs to this database")) // a hash takes everything without an error
	return m.Sum(nil)
}

// checkKey compares the key with the one that the database was made with. Reading needs none, so there only a key that
// lies beside the database is looked at.
func (s *Store) checkKey(ctx context.Context) error {
	path, key := filepath.Join(s.file.Dir(), keyName), s.key
	if s.o.ReadOnly {
		var err error
		if key, err = os.ReadFile(path); err != nil {
			key = nil // whoever opens the store for writing gets the error
		}
	}
	return s.read(ctx, "open "+s.file.Path(), func(q *dbsqlc.Queries) error {
		store, err := q.GetStore(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return s.corrupt("", 0, "it does not say which key belongs to it", nil)
		}
		want := store.KeyMac
		if err == nil && key != nil && !hmac.Equal(want, keyMAC(key)) {
			return &CorruptError{Path: path, What: "the key is not the one that belongs to " + s.file.Path(), Remedy: keyRemedy}
		}
		s.identity = hex.EncodeToString(want[:min(len(want), 8)])
		return err
	})
}

// makeKey writes a new key under another name first, so that half a key is never found. Of several makers one wins.
func makeKey(dir, path string) error {
	key := make([]byte, keySize)
	if _, err := io.ReadFull(rand.Reader, key); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	temp, err := durable.Temp(dir, ".key-*", 0o600, bytes.NewReader(key))
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	err = os.Link(temp, path)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err := errors.Join(err, os.Remove(temp)); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	return durable.SyncDir(dir)
}
