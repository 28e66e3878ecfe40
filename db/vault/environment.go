package vault

import (
	"crypto/hkdf"
	"crypto/hmac"
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
	box   *Box   // nil without the key: nothing is sealed and nothing opened
	names []byte // key of the ids
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
	box, err := NewBox(key, "agent: sealed environments")
	if err != nil {
		return nil, err
	}
	return &Environments{box: box, names: names}, nil
}

// environmentForm is the form of what is sealed: variables, each with a NUL byte before it, which
// none can hold.
const environmentForm = "1"

// Seal makes the row of variables, each "NAME=value".
func (e *Environments) Seal(variables []string) (EnvironmentRow, error) {
	if e.box == nil {
		return EnvironmentRow{}, errors.New("seal an environment: there is no key")
	}
	content := []byte(strings.Join(append([]string{environmentForm}, variables...), "\x00"))
	m := hmac.New(sha256.New, e.names)
	m.Write(content) // a hash takes everything without an error
	id := hex.EncodeToString(m.Sum(nil))
	return EnvironmentRow{id, e.box.Seal([]byte(id), content)}, nil
}

// Open gives the variables of a row back.
func (e *Environments) Open(r EnvironmentRow) ([]string, error) {
	if e.box == nil {
		return nil, errors.New("there is no key")
	}
	content, err := e.box.Open([]byte(r.ID), r.Sealed)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(string(content), "\x00")
	if parts[0] != environmentForm {
		return nil, fmt.Errorf("it has the form %q, which this binary does not know", parts[0])
	}
	return parts[1:], nil
}

// SealAs makes the row of variables that came from another store, under the id that they have
// there.
func (e *Environments) SealAs(id string, variables []string) (EnvironmentRow, error) {
	if e.box == nil {
		return EnvironmentRow{}, errors.New("seal an environment: there is no key")
	}
	content := strings.Join(append([]string{environmentForm}, variables...), "\x00")
	return EnvironmentRow{id, e.box.Seal([]byte(id), []byte(content))}, nil
}
