package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/recovery"
	"agent/recovery/journal"
)

// chunk is how many facts are read at once: a reader never holds the log back for longer than that
// takes. The first stretches are shorter, so that decoding begins early.
const (
	chunk      = 512
	firstChunk = 64
	ahead      = 3 // stretches that are read, decoded or handed out at a time

	holdFor = 5 * time.Millisecond // how long the reader keeps its connection while all of them are in use
)

// Journal reads what was recorded, and proves it by its digests.
type Journal struct{ *core }

// Load reads a run's facts after the one numbered from, in order; 0 reads all. Every row is
// compared with its digest and every body with its hash; the first thing that does not match ends
// the reading with *CorruptError. While the caller is busy with one fact, the next ones are read
// and decoded. Secrets are placeholders.
func (s Journal) Load(ctx context.Context, run string, from int64) iter.Seq2[journal.Event, error] {
	return s.load(ctx, run, from, nil)
}

// Restored is Load for who drives the run, with the secrets in their places, to the byte. A secret
// that cannot be given back stays a placeholder, and lost is called with it.
func (s Journal) Restored(ctx context.Context, run string, from int64, lost func(Unrecoverable)) iter.Seq2[journal.Event, error] {
	return s.load(ctx, run, from, lost)
}

// load restores what it reads where lost is not nil.
func (s Journal) load(ctx context.Context, run string, from int64, lost func(Unrecoverable)) iter.Seq2[journal.Event, error] {
	return func(yield func(journal.Event, error) bool) {
		h, err := s.Head(ctx, run)
		if err != nil {
			yield(journal.Event{}, err)
			return
		}
		c := &cursor{s: s, head: h, seq: max(0, from), lost: lost}
		if err := c.start(ctx); err != nil {
			yield(journal.Event{}, err)
			return
		}
		ctx, stop := context.WithCancel(ctx)
		parts, free := make(chan *part, ahead), make(chan *part, ahead)
		for range ahead {
			free <- &part{}
		}
		go s.readAhead(ctx, h, c.seq, free, parts, lost != nil)
		defer func() {
			stop()
			for p := range parts {
				<-p.decoded
			}
		}()
		for p := range parts {
			if !c.walk(p, yield) {
				return
			}
			free <- p
		}
	}
}

// row is a row of a journal.
type row struct {
	dbsqlc.Journal
	foreign bool // a value is of another type than its column's
}

// part is a stretch of a journal, read in one go and decoded beside the reader. It is used again
// for a later stretch.
type part struct {
	rows    []row
	bodies  []string // of rows
	facts   []decoded
	room    []byte // of the decoder
	err     error  // instead of facts
	decoded chan struct{}
}

// journalRows is Facts of the generated queries, for read.
const (
	journalRows    = "SELECT id, turn, kind, v, time, body, body_hash, digest FROM journal WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
	journalColumns = 8
)

// read reads the next rows.
func (p *part) read(ctx context.Context, from *sqlitefile.Prepared, after, upto, most int64) error {
	p.rows, p.bodies = p.rows[:0], p.bodies[:0]
	return from.Rows(ctx, p.add,
		driver.NamedValue{Ordinal: 1, Value: after}, driver.NamedValue{Ordinal: 2, Value: upto}, driver.NamedValue{Ordinal: 3, Value: most})
}

// add takes the values of one row. A value of another type than its column's comes from a damaged
// file.
func (p *part) add(v []driver.Value) {
	var r row
	for i, n := range [...]*int64{&r.ID, &r.Turn, &r.Kind, &r.V, &r.Time} {
		is := false
		*n, is = v[i].(int64)
		r.foreign = r.foreign || !is
	}
	text, body := v[5].(string)
	if body {
		p.bodies = append(p.bodies, text)
		r.Body = &p.bodies[len(p.bodies)-1]
	}
	var hash, digest bool
	r.BodyHash, hash = v[6].([]byte)
	r.Digest, digest = v[7].([]byte)
	r.foreign = r.foreign || !body && v[5] != nil || !hash && v[6] != nil || !digest
	p.rows = append(p.rows, r)
}

type decoded struct {
	body journal.Body
	hash []byte // nil when the body could not be read
	sum  [sha256.Size]byte
	bad  string          // the body is not what was stored
	err  error           // the body could not be read, or is not for this binary
	lost []Unrecoverable // secrets that the body names and that could not be put back
	size int             // bytes of the body as it is stored
}

// readAhead reads a journal stretch by stretch, as far as it went at the start, and ends after an
// error.
func (s Journal) readAhead(ctx context.Context, h Head, after int64, free <-chan *part, parts chan<- *part, restore bool) {
	defer close(parts)
	own, err := s.names.read(ctx, s.core)
	if err != nil {
		parts <- failed(<-free, err)
		return
	}
	from := s.file.Prepared(journalRows, journalColumns)
	defer from.Release()
	for most := int64(firstChunk); after < h.Seq; most = min(2*most, chunk) {
		p := nextFree(ctx, free, from.Release)
		if p == nil {
			return
		}
		p.decoded = make(chan struct{})
		p.err = s.read(ctx, "read run "+h.Run, func(*dbsqlc.Queries) error {
			return p.read(ctx, from, FactID(h.No, after), FactID(h.No, h.Seq), most)
		})
		if p.err == nil && len(p.rows) == 0 {
			p.err = s.corrupt(h.Run, after+1, fmt.Sprintf("it is missing: the run has %d facts", h.Seq), nil)
		}
		if p.err != nil {
			close(p.decoded)
			parts <- p
			return
		}
		after = p.rows[len(p.rows)-1].ID & MaxSeq
		go s.decodePart(ctx, p, restore, own)
		parts <- p // there is room for all that are ahead
	}
}

func (s Journal) decodePart(ctx context.Context, p *part, restore bool, own *foreignNames) {
	defer close(p.decoded)
	p.facts = slices.Grow(p.facts[:0], len(p.rows))[:len(p.rows)]
	d := decoder{s: s, q: dbsqlc.New(s.file.Readers()), restore: restore, own: own, room: p.room}
	for i := range p.rows {
		if err := ctx.Err(); err != nil {
			p.err = fmt.Errorf("read journal: %w", err)
			return
		}
		if p.rows[i].foreign {
			p.facts[i] = decoded{bad: "a value of it is of another type than it was"}
			continue
		}
		d.decode(ctx, &p.rows[i].Journal, &p.facts[i])
	}
	p.room = d.room
}

// decoder reads the bodies of rows, one after the other.
type decoder struct {
	s       Journal
	q       *dbsqlc.Queries
	restore bool
	own     *foreignNames // of contents
	room    []byte        // for a body until it is decoded, which copies what it keeps
}

func (d *decoder) decode(ctx context.Context, r *dbsqlc.Journal, out *decoded) {
	*out = decoded{}
	data, err := d.read(ctx, r, out)
	if err != nil {
		if bad := (blob.DamageError{}); errors.As(err, &bad) {
			out.bad = bad.What
		} else {
			out.err = d.s.file.Explain(err)
		}
		return
	}
	out.size = len(data)
	kind, err := KindOf(r.Kind)
	if err != nil {
		out.err = err
		return
	}
	if d.restore {
		if data, out.err = d.s.vault.Restore(ctx, data, &out.lost); out.err != nil {
			return
		}
	}
	out.body, out.err = journal.Decode(kind, int(r.V), d.own.put(kind, data))
}

// read gives a row's body, wherever it lies, until the next one is read, and leaves its hash in
// out.
func (d *decoder) read(ctx context.Context, r *dbsqlc.Journal, out *decoded) (body []byte, err error) {
	if r.BodyHash == nil {
		if r.Body == nil {
			return nil, blob.DamageError{What: "its body is missing"}
		}
		body = append(d.room[:0], *r.Body...)
		d.room = body
		out.sum = sha256.Sum256(body)
		out.hash = out.sum[:]
		return body, nil
	}
	b, err := d.q.GetBlob(ctx, r.BodyHash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, blob.DamageError{What: fmt.Sprintf("its body %x is missing", r.BodyHash[:min(6, len(r.BodyHash))])}
	}
	if err == nil {
		body, err = d.s.Bodies().Open(b.Hash, b.Size, b.Encoding, b.Data)
	}
	if err == nil {
		out.hash = r.BodyHash
	}
	return body, err
}

// cursor walks through a run's rows and checks that they follow each other.
type cursor struct {
	s      Journal
	head   Head
	seq    int64 // of the last fact that was read
	digest [digestSize]byte
	lost   func(Unrecoverable)

	unknown bool // a fact that this binary does not know comes without its body, instead of an error
}

// start finds the digest that the first row is chained to.
func (c *cursor) start(ctx context.Context) error {
	if c.seq == 0 {
		return nil
	}
	return c.s.read(ctx, "read run "+c.head.Run, func(q *dbsqlc.Queries) error {
		before, err := q.GetDigest(ctx, FactID(c.head.No, c.seq))
		if errors.Is(err, sql.ErrNoRows) {
			return c.s.corrupt(c.head.Run, c.seq, "it is missing", nil)
		}
		copy(c.digest[:], before)
		return err
	})
}

// walk hands out a part's facts and says whether to go on.
func (c *cursor) walk(p *part, yield func(journal.Event, error) bool) bool {
	<-p.decoded
	if p.err != nil {
		yield(journal.Event{}, p.err)
		return false
	}
	for i := range p.rows {
		e, err := c.next(&p.rows[i].Journal, &p.facts[i])
		if !yield(e, err) || err != nil {
			return false
		}
	}
	return true
}

// next checks one row.
func (c *cursor) next(r *dbsqlc.Journal, d *decoded) (journal.Event, error) {
	e := journal.Event{Seq: r.ID & MaxSeq, Turn: int(r.Turn), Time: timeOf(r.Time), Body: d.body}
	if e.Seq != c.seq+1 {
		return e, c.s.corrupt(c.head.Run, c.seq+1, fmt.Sprintf("it is missing: fact %d follows", e.Seq), nil)
	}
	if d.bad != "" {
		return e, c.s.corrupt(c.head.Run, e.Seq, d.bad, nil)
	}
	if d.hash == nil {
		return e, fmt.Errorf("read run %s, fact %d: %w", c.head.Run, e.Seq, d.err)
	}
	want := digest(c.digest[:], r.ID, r.Kind, r.V, r.Turn, r.Time, d.hash)
	if !bytes.Equal(want[:], r.Digest) {
		return e, c.s.corrupt(c.head.Run, e.Seq, "it does not match its digest", nil)
	}
	if d.err != nil && !(c.unknown && errors.As(d.err, new(*journal.UnknownFactError))) {
		return e, fmt.Errorf("read run %s, fact %d: %w", c.head.Run, e.Seq, d.err)
	}
	for _, l := range d.lost {
		c.lost(l)
	}
	c.seq, c.digest = e.Seq, want
	return e, nil
}

// bodyAt decodes one fact by its key, and compares it with its digest, which is chained to that of
// the fact before it.
func (s Journal) bodyAt(ctx context.Context, q *dbsqlc.Queries, run string, no, seq int64) (journal.Body, error) {
	r, err := q.GetFact(ctx, FactID(no, seq))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, s.corrupt(run, seq, "it is missing", nil)
	}
	if err != nil {
		return nil, err
	}
	var d decoded
	(&decoder{s: s, q: q}).decode(ctx, &r, &d)
	if d.bad != "" {
		return nil, s.corrupt(run, seq, d.bad, nil)
	}
	if d.hash != nil {
		before, err := s.digestBefore(ctx, q, run, no, seq)
		if err != nil {
			return nil, err
		}
		if want := digest(before, r.ID, r.Kind, r.V, r.Turn, r.Time, d.hash); !bytes.Equal(r.Digest, want[:]) {
			return nil, s.corrupt(run, seq, "it does not match its digest", nil)
		}
	}
	if d.err != nil {
		return nil, fmt.Errorf("run %s, fact %d: %w", run, seq, d.err)
	}
	return d.body, nil
}

// digestBefore is the digest that a fact's own is chained to: none before a run's first.
func (s Journal) digestBefore(ctx context.Context, q *dbsqlc.Queries, run string, no, seq int64) ([]byte, error) {
	if seq == 1 {
		return nil, nil
	}
	before, err := q.GetDigest(ctx, FactID(no, seq-1))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, s.corrupt(run, seq-1, "it is missing", nil)
	}
	return before, err
}

func (s *core) corrupt(run string, seq int64, what string, err error) error {
	return &CorruptError{Path: s.file.Path(), Run: run, Seq: seq, What: what, Err: err}
}

// Head is where a run's journal ends now. A run that does not exist gives *UnknownIDError. That its
// last fact is gone shows when the journal is loaded.
func (s Journal) Head(ctx context.Context, run string) (Head, error) {
	var h Head
	err := s.read(ctx, "read run "+run, func(q *dbsqlc.Queries) error {
		r, err := q.GetHead(ctx, run)
		if errors.Is(err, sql.ErrNoRows) {
			return &UnknownIDError{Kind: 'r', Text: run}
		}
		if err != nil {
			return err
		}
		h = Head{No: r.No, Run: r.ID, Thread: r.Thread, Epoch: r.Epoch, Seq: r.LastSeq, Turns: int(r.Turns), Digest: r.Digest,
			Status: recovery.Status(r.Status)}
		return nil
	})
	return h, err
}
