package watch

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agent/db"
	"agent/recovery/journal"
)

// Cursor is an observer's place in a run: all facts up to it were seen. The text of a cursor holds
// that place; what was seen of live text and output is lost with the observer, and comes again from
// the start. A cursor is used by one goroutine.
type Cursor struct {
	seq    int64  // of the last fact that was seen; 0 before the first
	sum    string // the first 8 hex digits of the journal's digest up to there; "" where it is taken on trust
	known  bool   // sum was compared with the journal
	state  int64  // the state that was seen
	text   mark
	mind   mark
	output map[journal.Place]mark
}

// mark is what an observer has of a live text.
type mark struct{ gen, end int64 }

// ErrCursor says that a cursor is none.
var ErrCursor = errors.New("not a cursor")

// CursorError says that a cursor does not belong to the run's journal: the journal has no such fact
// yet, or another one stands there, as after the database was put back from a copy.
type CursorError struct {
	Run    string
	Cursor string
	Last   int64 // fact of the run
}

// Error says which of the two it is.
func (e *CursorError) Error() string {
	return fmt.Sprintf("watch run %s from %s: its journal, %d facts long, has no such place; begin again without a cursor", e.Run, e.Cursor, e.Last)
}

const sumDigits = 8

// ParseCursor reads what String wrote: "41-1a2b3c4d", or "41" for a place that is taken on trust;
// "" is before the first fact.
func ParseCursor(text string) (*Cursor, error) {
	if text == "" {
		return &Cursor{}, nil
	}
	number, sum, chained := strings.Cut(text, "-")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 0 || strconv.FormatInt(seq, 10) != number || chained && (!isSum(sum) || seq == 0) {
		return nil, fmt.Errorf("%q: %w", text, ErrCursor)
	}
	return &Cursor{seq: seq, sum: sum}, nil
}

func isSum(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == sumDigits && strings.ToLower(s) == s
}

// Here is the place behind a run's last fact.
func Here(ctx context.Context, s *db.Store, run string) (*Cursor, error) {
	h, err := headOf(ctx, s, run)
	if err != nil {
		return nil, err
	}
	return &Cursor{seq: h.Seq, sum: sumOf(h.Digest), known: true}, nil
}

// headOf is where a run stands, if its last fact is there.
func headOf(ctx context.Context, s *db.Store, run string) (db.Head, error) {
	h, err := s.Head(ctx, run)
	if err == nil && len(h.Digest) < sumDigits/2 {
		err = missing(s, run, h.Seq)
	}
	return h, err
}

// missing says that the journal lacks a fact that others follow, or that the run's row counts.
func missing(s *db.Store, run string, seq int64) error {
	return &db.CorruptError{Path: s.Files()[0], Run: run, Seq: seq, What: "it is missing"}
}

// After is the place behind one fact, taken on trust; 0 is before the first.
func After(seq int64) *Cursor { return &Cursor{seq: seq} }

// String is the place as text.
func (c *Cursor) String() string { return cursorText(c.seq, c.sum) }

// Seq is the number of the last fact that was seen.
func (c *Cursor) Seq() int64 { return c.seq }

func cursorText(seq int64, sum string) string {
	if sum == "" {
		return strconv.FormatInt(seq, 10)
	}
	return strconv.FormatInt(seq, 10) + "-" + sum
}

func sumOf(digest []byte) string { return hex.EncodeToString(digest[:sumDigits/2]) }

// Check compares a cursor with the run's journal, once: *CursorError says that it belongs to
// another history.
func (c *Cursor) Check(ctx context.Context, s *db.Store, run string) error {
	if c.known || c.seq == 0 {
		return nil
	}
	digest, found, err := db.DigestAt(ctx, s, run, c.seq)
	if err != nil {
		return err
	}
	if !found || c.sum != "" && c.sum != sumOf(digest) {
		h, err := s.Head(ctx, run)
		return errors.Join(&CursorError{Run: run, Cursor: c.String(), Last: h.Seq}, err)
	}
	c.known, c.sum = true, sumOf(digest)
	return nil
}
