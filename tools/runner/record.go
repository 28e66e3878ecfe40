package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names inside a call's folder.
const (
	lockName   = "lock"
	beganName  = "began"
	exitName   = "exit"
	cancelName = "cancel"
	spoolName  = "out"
	reserved   = "exit.reserved"
)

// recordRoom bounds every record, so that reserving one block is enough.
const recordRoom = 4096

// errTorn says that a record is there and cannot be read.
var errTorn = errors.New("the record cannot be read")

// claim is the first line of the lock file; refusal is a second one, written when a runner ended
// without starting. It needs no new block on a full disk.
type claim struct {
	Identity
	Version int `json:"version"`
}

type refusal struct {
	Refused string `json:"refused"`
	Disk    int    `json:"disk,omitempty"` // the number of the error with which the folder's disk took nothing
}

type cancelRecord struct {
	Reason string `json:"reason"`
}

// clip keeps a message short enough for its record, even if every byte of it has to be escaped.
func clip(s string) string {
	const room = 400
	if len(s) > room {
		s = strings.ToValidUTF8(s[:room], "") + "…"
	}
	return s
}

// readRecord reads one JSON record. An absent one is fs.ErrNotExist, a damaged one errTorn.
func readRecord(folder, name string, into any) error {
	b, err := readBounded(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read %s: %w: %v", filepath.Join(folder, name), errTorn, err)
	}
	return nil
}

// readBounded reads a record file and calls one that is longer than any record damaged.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > recordRoom {
		return nil, fmt.Errorf("read %s: %w: %s of %d bytes", path, errTorn, info.Mode(), info.Size())
	}
	return os.ReadFile(path)
}

// there reports whether name exists in folder. Only a clear "no" is a no.
func there(folder, name string) (bool, error) {
	_, err := os.Lstat(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// encodeRecord is a record as its file holds it.
func encodeRecord(record any) ([]byte, error) {
	b, err := json.Marshal(record)
	if err == nil && len(b) > recordRoom {
		err = fmt.Errorf("the record has %d bytes, room is for %d", len(b), recordRoom)
	}
	return b, err
}
