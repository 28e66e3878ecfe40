package db

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/vault"
	"agent/recovery/journal"
)

const inlineLimit = 32 << 10 // a longer body leaves its row, bytes

// fact is an event as it is stored.
type fact struct {
	seq      int64
	row      dbsqlc.Journal
	hash     [sha256.Size]byte // of a body in its row
	body     journal.Body      // as an observer will see it: with placeholders
	external *blob.Blob
	output   *blob.Blob // a call's whole output
	secrets  []vault.Row

	environment *vault.EnvironmentRow // that a run's first fact names; nil for none

	projected bool // a fact before it in the batch has seen to it
}

// prepare encodes a batch and chains its digests. It fills in what the caller left open, and
// replaces each body by what was stored of it, placeholders included, so that what is published and
// what is read from the journal cannot differ. A fold of what the caller gave and a fold of what
// Restored reads cannot differ either.
func (s *Store) prepare(h Head, events []journal.Event) ([]fact, error) {
	facts := make([]fact, len(events))
	prev := h.Digest
	now := s.now()
	for i := range events {
		e := &events[i]
		if e.Seq == 0 {
			e.Seq = h.Seq + int64(i) + 1
		}
		if e.Seq != h.Seq+int64(i)+1 {
			return nil, fmt.Errorf("fact %d cannot follow fact %d", e.Seq, h.Seq+int64(i))
		}
		if e.Seq > MaxSeq {
			return nil, fmt.Errorf("run %s has as many facts as a run can have (%d)", h.Run, MaxSeq)
		}
		if e.Time.IsZero() {
			e.Time = now
		}
		e.Time = e.Time.UTC().Truncate(time.Microsecond)
		f, err := s.encodeFact(e)
		if err != nil {
			return nil, fmt.Errorf("encode %s (fact %d): %w", e.Body.Kind(), e.Seq, err)
		}
		facts[i] = f
		if h.No > 0 {
			prev = facts[i].chain(h.No, prev)
		}
	}
	return facts, nil
}

func (s *Store) encodeFact(e *journal.Event) (fact, error) {
	f := fact{seq: e.Seq}
	number, err := numberOf(e.Body.Kind())
	if err != nil {
		return f, err
	}
	if c, ok := e.Body.(journal.CallSettled); ok && len(c.Result.Full) > 0 {
		output, secrets, err := s.vault.EncodeOutput(c.Result.Full)
		if err != nil {
			return f, err
		}
		f.output, f.secrets = blob.New(output), secrets
		c.Result.Blob, c.Result.Size = hex.EncodeToString(f.output.Hash), int64(len(c.Result.Full))
		c.Result.Full = nil
		e.Body = c
	}
	if c, ok := e.Body.(journal.RunCreated); ok {
		if f.environment, err = s.sealEnvironment(&c); err != nil {
			return f, err
		}
		e.Body = c
	}
	data, secrets, err := s.vault.Encode(e.Body)
	if err != nil {
		return f, err
	}
	f.secrets = append(f.secrets, secrets...)
	if len(secrets) > 0 || !survives(e.Body, data) {
		if e.Body, err = journal.Decode(e.Body.Kind(), journal.Version, data); err != nil {
			return f, err
		}
	}
	f.body = e.Body
	f.row = dbsqlc.Journal{Turn: int64(e.Turn), Kind: number, V: journal.Version, Time: e.Time.UnixMicro()}
	if len(data) > inlineLimit {
		f.external = blob.New(data)
		f.row.BodyHash = f.external.Hash
	} else {
		body := string(data)
		f.row.Body, f.hash = &body, sha256.Sum256(data)
	}
	return f, nil
}

// survives says that a body is read back exactly as it is, so that it need not be read back to
// know. It answers for the kinds that every turn writes: without JSON of others inside, only bytes
// that are no UTF-8 are changed on the way.
func survives(b journal.Body, data []byte) bool {
	switch b := b.(type) {
	case journal.ModelRequested, journal.TurnSettled:
	case journal.CallStarted:
		if b.Before != nil {
			return false
		}
	case journal.CallSettled:
		if b.Result.Data != nil || b.Result.Alive != nil {
			return false
		}
	case journal.ModelAnswered:
		if b.Blocks != nil || b.Usage != nil {
			return false
		}
		for _, c := range b.Calls {
			if c.Question != nil || !compact(c.Args) {
				return false
			}
		}
	default:
		return false
	}
	return !bytes.Contains(data, []byte(`\ufffd`))
}

// compact says that JSON is written without a byte too many.
func compact(data json.RawMessage) bool {
	var b bytes.Buffer
	return json.Compact(&b, data) == nil && bytes.Equal(b.Bytes(), data)
}

// chain gives the fact its key and its digest, which covers everything in the row and the digest of
// the row before.
func (f *fact) chain(no int64, prev []byte) []byte {
	f.row.ID = FactID(no, f.seq)
	hash := f.row.BodyHash
	if hash == nil {
		hash = f.hash[:]
	}
	sum := digest(prev, f.row.ID, f.row.Kind, f.row.V, f.row.Turn, f.row.Time, hash)
	f.row.Digest = sum[:]
	return f.row.Digest
}

// digestSize is half of a SHA-256: enough to see a change that nobody made on purpose, and whoever
// can make one on purpose can make a longer digest too.
const digestSize = sha256.Size / 2

func digest(prev []byte, id, kind, v, turn, at int64, bodyHash []byte) (out [digestSize]byte) {
	var b [digestSize + 5*8 + sha256.Size]byte
	copy(b[:], prev) // zero bytes before a run's first fact
	for i, n := range []int64{id, kind, v, turn, at} {
		binary.BigEndian.PutUint64(b[digestSize+8*i:], uint64(n))
	}
	copy(b[digestSize+5*8:], bodyHash)
	sum := sha256.Sum256(b[:])
	copy(out[:], sum[:])
	return out
}

const (
	seqBits = 24
	// MaxSeq is the number of the last fact that a run can have.
	MaxSeq = 1<<seqBits - 1
)

// FactID is a fact's key in the journal.
func FactID(no, seq int64) int64 { return no<<seqBits | seq }

// SplitFactID is the run's number and the fact's in a key of the journal.
func SplitFactID(id int64) (no, seq int64) { return id >> seqBits, id & MaxSeq }

// marshalNumbers is a list for json_each.
func marshalNumbers(numbers []int64) (string, error) {
	b, err := json.Marshal(numbers)
	return string(b), err
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func timeOrZero(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return timeOf(*micros)
}
