package vault

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"agent/db/sqlitefile"
	"agent/tools/durable"
)

const (
	KeyName = "key" // of the file in the state folder
	KeySize = 32
)

const keyRemedy = "put the key back that was made with the database, or restore a backup of the whole folder"

// OpenKey reads the key of the fingerprints, or makes it for a database that is about to be made. A
// key that is gone cannot be made again: no recorded call could be recognised with another one.
func OpenKey(dir string, fresh bool) ([]byte, error) {
	path := filepath.Join(dir, KeyName)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && fresh {
		if err := makeKey(dir, path); err != nil {
			return nil, err
		}
		key, err = os.ReadFile(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &sqlitefile.CorruptError{Path: path, What: "the key that belongs to the database is missing", Remedy: keyRemedy}
	case err != nil:
		return nil, fmt.Errorf("read key: %w", err)
	case len(key) != KeySize:
		return nil, &sqlitefile.CorruptError{Path: path, What: fmt.Sprintf("the key has %d bytes and not %d", len(key), KeySize), Remedy: keyRemedy}
	}
	return key, nil
}

// KeyMAC is what is kept of the key in the database, from which nobody gets it back.
func KeyMAC(key []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("agent: the key that belongs to this database")) // a hash takes everything without an error
	return m.Sum(nil)
}

// CheckKey compares a key with what the database at a path keeps of the one that it was made with.
func CheckKey(dir, database string, key, mac []byte) error {
	if hmac.Equal(mac, KeyMAC(key)) {
		return nil
	}
	return &sqlitefile.CorruptError{Path: filepath.Join(dir, KeyName), What: "the key is not the one that belongs to " + database, Remedy: keyRemedy}
}

// makeKey writes a new key under another name first, so that half a key is never found. Of several
// makers one wins.
func makeKey(dir, path string) error {
	key := make([]byte, KeySize)
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
