package seal

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"agent/host/pack"
	"agent/host/witness/line"
)

// Version is that of the form of an entry.
const Version = 1

const (
	longest    = line.Longest + 1<<20 // of an entry that was opened: a line, and who wrote it
	headerSize = 1 << 10
)

// Entry is what a place of a log holds.
type Entry struct {
	V       int           `json:"v"`
	By      string        `json:"by"`    // the host
	Epoch   int64         `json:"epoch"` // of the root run
	At      time.Time     `json:"at"`    // by the host's clock, for people
	Why     string        `json:"why"`
	Over    bool          `json:"over,omitempty"`    // of a fence: nobody goes on with the run any more
	Digest  []byte        `json:"digest"`            // of the records
	Records []pack.Record `json:"records,omitempty"` // none in a fence
}

// Fence says whether an entry only keeps others from going on.
func (e *Entry) Fence() bool { return len(e.Records) == 0 }

// Digest is the SHA-256 of records as JSON.
func Digest(records []pack.Record) ([]byte, error) {
	b, err := json.Marshal(records)
	if err != nil {
		return nil, fmt.Errorf("take the digest of records: %w", err)
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}

type header struct {
	Version int    `json:"agent_fleet_log"`
	Fleet   string `json:"fleet"`
}

// DamageError says that an entry is not as it was written.
type DamageError struct {
	Root  string
	Place int64
	What  string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("place %d of the log of run %s: %s", e.Place, e.Root, e.What)
}

// ForeignError says that an entry was sealed with another fleet's key.
type ForeignError struct {
	Root         string
	Place        int64
	Fleet, Yours string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("place %d of the log of run %s: it belongs to another fleet (%s; this key is of %s); name the log and the key of one fleet",
		e.Place, e.Root, e.Fleet, e.Yours)
}

// Sealer seals and opens the entries of one log.
type Sealer struct {
	fleet, root string
	aead        cipher.AEAD
	packers     *Packers
}

// Packers make entries small. One takes a megabyte and more time than all the rest of an entry, so
// they are kept for the next one.
type Packers struct{ free sync.Pool }

// pack makes content small.
func (p *Packers) pack(content []byte) ([]byte, error) {
	var small bytes.Buffer
	w, ok := p.free.Get().(*flate.Writer)
	if ok {
		w.Reset(&small)
	} else {
		var err error
		if w, err = flate.NewWriter(&small, flate.BestSpeed); err != nil {
			return nil, err
		}
	}
	defer p.free.Put(w)
	_, err := w.Write(content)
	err = errors.Join(err, w.Close())
	return small.Bytes(), err
}

// Sealer is for the log of a root run.
func (k Key) Sealer(namespace, root string) *Sealer {
	s := &Sealer{fleet: k.Fleet(), root: root, packers: new(Packers)}
	block, err := aes.NewCipher(k.Derive("agent-fleet log " + namespace + " " + root))
	if err == nil {
		s.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic(err) // the key has the right length
	}
	return s
}

// With has the sealer use packers that it shares with others.
func (s *Sealer) With(p *Packers) *Sealer {
	s.packers = p
	return s
}

// Root is the run whose log it is.
func (s *Sealer) Root() string { return s.root }

// Seal gives the bytes of an entry for a place. It sets the version and the digest.
func (s *Sealer) Seal(place int64, e Entry) ([]byte, error) {
	var err error
	e.V = Version
	if e.Digest, err = Digest(e.Records); err != nil {
		return nil, err
	}
	content, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("seal an entry: %w", err)
	}
	if len(content) > longest {
		return nil, fmt.Errorf("seal an entry: it has %d bytes, and may have %d", len(content), longest)
	}
	head, err := json.Marshal(header{Version, s.fleet})
	if err != nil {
		return nil, fmt.Errorf("seal an entry: %w", err)
	}
	small, err := s.packers.pack(content)
	if err != nil {
		return nil, fmt.Errorf("seal an entry: %w", err)
	}
	out := append(head, '\n')
	bound := s.bound(out, place)
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce) // never fails: crypto/rand ends the process instead
	return s.aead.Seal(append(out, nonce...), nonce, small, bound), nil
}

// bound is what an entry is bound to.
func (s *Sealer) bound(head []byte, place int64) []byte {
	return fmt.Appendf(nil, "%s%s %d", head, s.root, place)
}

// Open reads the entry at a place: a [DamageError] or a [ForeignError] says that it is not one that
// was sealed for it.
func (s *Sealer) Open(place int64, data []byte) (e Entry, err error) {
	damaged := func(what string) (Entry, error) { return Entry{}, &DamageError{s.root, place, what} }
	end := bytes.IndexByte(data[:min(len(data), headerSize)], '\n')
	var h header
	if end < 0 || json.Unmarshal(data[:end], &h) != nil || h.Version < 1 {
		return damaged("it is no entry of a fleet's log")
	}
	if h.Version > Version {
		return damaged(fmt.Sprintf("a newer agent-fleet wrote it (%d of the form; this one knows %d)", h.Version, Version))
	}
	if h.Fleet != s.fleet {
		return Entry{}, &ForeignError{s.root, place, printable(h.Fleet), s.fleet}
	}
	head, sealed := data[:end+1], data[end+1:]
	if len(sealed) < s.aead.NonceSize() {
		return damaged("it is cut off")
	}
	nonce, sealed := sealed[:s.aead.NonceSize()], sealed[s.aead.NonceSize():]
	small, err := s.aead.Open(nil, nonce, sealed, s.bound(head, place))
	if err != nil {
		return damaged("it was changed, or was written for another place, run or namespace")
	}
	content, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(small)), longest+1))
	if err != nil || len(content) > longest {
		return damaged("its content cannot be unpacked")
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil || e.V != Version {
		return damaged("its content is not known to this version")
	}
	if sum, err := Digest(e.Records); err != nil || !bytes.Equal(sum, e.Digest) {
		return damaged("its records are not those of its digest")
	}
	return e, nil
}

// printable makes what a stranger wrote fit for a line of text.
func printable(text string) string {
	if len(text) > 40 {
		text = text[:40]
	}
	quoted := fmt.Sprintf("%+q", text)
	return quoted[1 : len(quoted)-1]
}
