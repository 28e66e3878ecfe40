package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Environments seals the variables that the commands of a run get. They hold a person's paths and
// names, and must lie nowhere in the clear.
type Environments struct {
	aead  cipher.AEAD // nil without the key: nothing is sealed and nothing opened
	names []byte      // key of the ids
}

// EnvironmentRow is an environment as it is stored.
type EnvironmentRow struct {
	ID     string // the same for the same variables
	Sealed []byte
}

// NewEnvironments works its keys out from the key of the state folder; nil is read from the folder,
// as far as it is there.
func NewEnvironments(dir string, key []byte) (*Environments, error) {
	if key == nil {
		var err error
		if key, err = os.ReadFile(filepath.Join(dir, KeyName)); err != nil || len(key) != KeySize {
			return &Environments{}, nil
		}
	}
	names, err := hkdf.Key(sha256.New, key, nil, "agent: names of environments", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	sealing, err := hkdf.Key(sha256.New, key, nil, "agent: sealed environments", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, fmt.Errorf("seal environments: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("seal environments: %w", err)
	}
	return &Environments{aead: aead, names: names}, nil
}

// environmentForm is the form of what is sealed: variables, each with a NUL byte before it, which
// none can hold.
const environmentForm = "1"

// Seal makes the row of variables, each "NAME=value".
func (e *Environments) Seal(variables []string) (EnvironmentRow, error) {
	if e.aead == nil {
		return EnvironmentRow{}, errors.New("seal an environment: there is no key")
	}
	content := []byte(strings.Join(append([]string{environmentForm}, variables...), "\x00"))
	m := hmac.New(sha256.New, e.names)
	m.Write(content) // a hash takes everything without an error
	r := EnvironmentRow{ID: hex.EncodeToString(m.Sum(nil))}
	nonce := make([]byte, e.aead.NonceSize(), e.aead.NonceSize()+len(content)+e.aead.Overhead())
	rand.Read(nonce) // never fails: crypto/rand ends the process instead
	r.Sealed = e.aead.Seal(nonce, nonce, content, []byte(r.ID))
	return r, nil
}

// Open gives the variables of a row back.
func (e *Environments) Open(r EnvironmentRow) ([]string, error) {
	if e.aead == nil {
		return nil, errors.New("there is no key")
	}
	n := e.aead.NonceSize()
	if len(r.Sealed) < n {
		return nil, errors.New("it is cut off")
	}
	content, err := e.aead.Open(nil, r.Sealed[:n], r.Sealed[n:], []byte(r.ID))
	if err != nil {
		return nil, errors.New("it was sealed with another key, or changed since")
	}
	parts := strings.Split(string(content), "\x00")
	if parts[0] != environmentForm {
		return nil, fmt.Errorf("it has the form %q, which this binary does not know", parts[0])
	}
	return parts[1:], nil
}
