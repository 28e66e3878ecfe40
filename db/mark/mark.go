// Package mark keeps the small file that says how far a store had come.
//
// A mark names the last fact that was durable when it was written. It is written after the commit
// of that fact and never synced: after a power cut it may be older than the store, or missing, and
// it is never newer. So a store that does not have the fact that its mark names went back in time:
// an older copy of the database was put in its place, or its write-ahead log was lost.
//
// One format serves beside the database and outside the state folder. A file is Size bytes: a
// checksum (CRC-32 of IEEE 802.3, eight hexadecimal digits), a space, one JSON object, spaces up to
// the last byte, a line feed. It is written with a single write in place, so a reader sees the old
// mark, the new one, or, for an instant or after a power cut, one whose checksum does not match:
// that one counts as missing.
//
// Processes that drive different runs write the same file. Two commits in the same moment may leave
// the mark of the earlier one: it is older than it could be, and still true.
package mark

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Size of the file, bytes.
const Size = 512

// Version of the format. A reader takes a newer one for damaged.
const Version = 1

// Mark is a position of a store.
type Mark struct {
	Version int    `json:"version"`
	Store   string `json:"store"` // identity of the store: what is kept of its key, shortened
	// Runs is the highest number of a run that the writer knew of. It never goes down while the
	// store goes forward.
	Runs   int64     `json:"runs"`
	Run    string    `json:"run,omitempty"`    // the run of the last fact; empty in a store without runs
	No     int64     `json:"no,omitempty"`     // its number in the store
	Seq    int64     `json:"seq,omitempty"`    // of the last fact in that run
	Digest string    `json:"digest,omitempty"` // of that fact, which covers all facts of the run before it; hexadecimal
	At     time.Time `json:"at"`               // when it was written, UTC
	// Decided is when a person last decided that the store counts although it was behind a mark;
	// zero: never. What lies in the folder and is older belongs to what was abandoned then.
	Decided time.Time `json:"decided,omitzero"`
}

// Errors of Read.
var (
	ErrNone    = errors.New("there is no mark")
	ErrDamaged = errors.New("the mark is damaged")
)

// tries is how often a mark that does not match its checksum is read again: it may be in the middle
// of being written.
const tries = 5

// Read reads the mark at path.
func Read(path string) (Mark, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Mark{}, ErrNone
	case errors.Is(err, syscall.ENOTDIR), err == nil && !info.Mode().IsRegular():
		return Mark{}, ErrDamaged // something else has its name
	case err != nil:
		return Mark{}, fmt.Errorf("read mark: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return Mark{}, fmt.Errorf("read mark: %w", err)
	}
	defer f.Close()
	return ReadFrom(f)
}

// ReadFrom reads the mark in an open file.
func ReadFrom(f io.ReaderAt) (Mark, error) {
	b := make([]byte, Size)
	for try := 1; ; try++ {
		n, err := f.ReadAt(b, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return Mark{}, fmt.Errorf("read mark: %w", err)
		}
		if n == 0 {
			return Mark{}, ErrNone // made, and never written or never on disk
		}
		m, ok := parse(b[:n])
		if ok {
			return m, nil
		}
		if try == tries {
			return Mark{}, ErrDamaged
		}
	}
}

func parse(b []byte) (Mark, bool) {
	var m Mark
	if len(b) != Size || b[Size-1] != '\n' {
		return m, false
	}
	text := bytes.TrimRight(b[head:Size-1], " ")
	if want := fmt.Sprintf("%08x ", crc32.ChecksumIEEE(text)); string(b[:head]) != want {
		return m, false
	}
	err := json.Unmarshal(text, &m)
	return m, err == nil && m.Version == Version
}

// head is the length of the checksum and the blank behind it.
const head = 9

// appendTo adds the mark as JSON. It is written after every commit: by hand, this takes a tenth of
// the time of encoding/json.
func (m Mark) appendTo(b []byte) []byte {
	quoted := func(name, s string) {
		b = append(append(append(b, name...), '"'), s...)
		b = append(b, '"')
	}
	number := func(name string, n int64) { b = strconv.AppendInt(append(b, name...), n, 10) }
	date := func(name string, t time.Time) {
		b = append(t.AppendFormat(append(append(b, name...), '"'), time.RFC3339Nano), '"')
	}
	number(`{"version":`, int64(m.Version))
	quoted(`,"store":`, m.Store)
	number(`,"runs":`, m.Runs)
	if m.Run != "" {
		quoted(`,"run":`, m.Run)
		number(`,"no":`, m.No)
		number(`,"seq":`, m.Seq)
		quoted(`,"digest":`, m.Digest)
	}
	date(`,"at":`, m.At)
	if !m.Decided.IsZero() {
		date(`,"decided":`, m.Decided)
	}
	return append(b, '}')
}

// Write writes the mark into an open file, with one write in place. It is durable when the caller
// syncs the file.
func Write(f io.WriterAt, m Mark) error {
	m.Version = Version
	for _, s := range []string{m.Store, m.Run, m.Digest} {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
			return fmt.Errorf("write mark: %q is no id", s)
		}
	}
	for _, t := range []time.Time{m.At, m.Decided} {
		if y := t.Year(); y < 0 || y > 9999 {
			return fmt.Errorf("write mark: year %d has no place in a date of JSON", y)
		}
	}
	b := m.appendTo(make([]byte, head, Size))
	if len(b) >= Size {
		return fmt.Errorf("write mark of run %s: it takes %d bytes and there is room for %d", m.Run, len(b), Size-1)
	}
	sum := crc32.ChecksumIEEE(b[head:])
	hex.Encode(b, binary.BigEndian.AppendUint32(nil, sum))
	b[head-1] = ' '
	for len(b) < Size-1 {
		b = append(b, ' ')
	}
	if _, err := f.WriteAt(append(b, '\n'), 0); err != nil {
		return fmt.Errorf("write mark: %w", err)
	}
	return nil
}
