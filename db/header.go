package db

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// applicationID marks a database as ours: "agnt" read as a number.
const applicationID = 0x61676e74

const (
	headerSize = 100
	magic      = "SQLite format 3\x00"
)

// checkHeader reads the beginning of the database file, before SQLite sees it: a file that is not ours must not even get
// a log beside it. ErrNoState says that there is no file.
func (s *Store) checkHeader() error {
	info, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.missing(); err != nil {
			return err
		}
		info, err = os.Lstat(s.path)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, err)
	}
	if !info.Mode().IsRegular() {
		return &ForeignError{Path: s.path, What: "it is not a regular file"}
	}
	head, err := readHeader(s.path)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, err)
	}
	if len(head) < headerSize || string(head[:len(magic)]) != magic {
		return &ForeignError{Path: s.path, What: "it is not a database"}
	}
	// Both numbers are in the file from its first moment (createDatabase), so no log can be ahead of them unless a newer
	// agent was ended while it brought the file up to date; verify looks again, through the log.
	stamp := int(binary.BigEndian.Uint32(head[60:]))
	app := int(binary.BigEndian.Uint32(head[68:]))
	return s.checkIdentity(app, stamp)
}

func (s *Store) checkIdentity(app, stamp int) error {
	if app != applicationID {
		return &ForeignError{Path: s.path, What: "it is a database of another program"}
	}
	version, layout := stampParts(stamp)
	if version > schemaVersion() && !slices.Contains(trialLayouts(), layout) {
		return &NewerError{Path: s.path, Have: version, Know: schemaVersion()}
	}
	if version < 1 {
		return &CorruptError{Path: s.path, What: "it says that it is ours and has no format"}
	}
	if version > schemaVersion() || layout != layouts()[version-1] {
		return &ForeignError{Path: s.path, What: "it was made by an unreleased build of agent with another layout"}
	}
	return nil
}

// readHeader opens and closes the file. With locks by open file description that frees none of SQLite's own.
func readHeader(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, headerSize)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // a short file is known by what was read
	}
	return head[:n], errors.Join(err, f.Close())
}

func (s *Store) walEmpty() bool {
	info, err := os.Stat(s.path + "-wal")
	return err != nil || info.Size() == 0
}
