package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const keySize = 32

// Key is the key of a fleet: whoever has it can read and write everything of the fleet.
type Key struct{ secret [keySize]byte }

// NewKey makes a key that nobody has.
func NewKey() Key {
	var k Key
	rand.Read(k.secret[:]) // never fails: crypto/rand ends the process instead
	return k
}

// Fleet is the id of the fleet that has this key: anybody may know it.
func (k Key) Fleet() string { return "f-" + hex.EncodeToString(k.MAC("agent-fleet id")[:8]) }

// MAC is the HMAC-SHA-256 of a text under the key.
func (k Key) MAC(text string) []byte {
	h := hmac.New(sha256.New, k.secret[:])
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Derive is a key of 32 bytes for one purpose.
func (k Key) Derive(purpose string) []byte {
	out, err := hkdf.Key(sha256.New, k.secret[:], nil, purpose, keySize)
	if err != nil {
		panic(err) // the length is one that SHA-256 can give
	}
	return out
}

// String keeps the key out of whatever is printed.
func (k Key) String() string { return "key of fleet " + k.Fleet() }

// GoString does so for %#v.
func (k Key) GoString() string { return k.String() }

// MakeFile makes a key and writes it to a file that only its owner can read. A file that is there
// stays as it is.
func MakeFile(path string) (k Key, err error) {
	k = NewKey()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return Key{}, fmt.Errorf("make the key %s: a file is there already; without its key a fleet's log cannot be read, so choose another name", path)
	case errors.Is(err, fs.ErrNotExist):
		return Key{}, fmt.Errorf("make the key %s: there is no folder %s", path, filepath.Dir(path))
	case err != nil:
		return Key{}, fmt.Errorf("make the key: %w", err)
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(k.secret[:]) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return Key{}, fmt.Errorf("make the key %s: %w", path, errors.Join(err, os.Remove(path)))
	}
	return k, nil
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ReadFile reads the key of a fleet. It refuses a file that others than its owner can read.
func ReadFile(path string) (Key, error) {
	f, err := os.Open(path)
	switch {
	case path == "":
		return Key{}, errors.New("read the fleet's key: no file is named; --key-file FILE names it, and agent-fleet key FILE makes one")
	case errors.Is(err, fs.ErrNotExist):
		return Key{}, fmt.Errorf("read the fleet's key: there is no file %s; copy it from a host of the fleet, or begin a fleet with agent-fleet key %s", path, path)
	case err != nil:
		return Key{}, fmt.Errorf("read the fleet's key: %w", err)
	}
	defer f.Close() // it is only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return Key{}, fmt.Errorf("read the fleet's key: %w", err)
	case !info.Mode().IsRegular():
		return Key{}, fmt.Errorf("read the fleet's key: %s is no file", path)
	case info.Mode().Perm()&0o077 != 0:
		return Key{}, fmt.Errorf("read the fleet's key: others can read %s (mode %04o); chmod 600 %s, and where somebody may have read it, begin a new fleet", path, info.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return Key{}, fmt.Errorf("read the fleet's key: %w", err)
	}
	k, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("read the fleet's key: %s: %w", path, err)
	}
	return k, nil
}

// ParseKey reads the content of a key's file.
func ParseKey(text string) (k Key, err error) {
	b, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != keySize {
		return Key{}, errors.New("this is no key: one has 32 bytes in base64, as agent-fleet key FILE writes it")
	}
	copy(k.secret[:], b)
	if k == (Key{}) {
		return Key{}, errors.New("this key has only zeros; agent-fleet key FILE makes one")
	}
	return k, nil
}
