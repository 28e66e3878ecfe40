package db

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/db/vault"
	"agent/recovery"
	"agent/recovery/journal"
)

// Stored is one fact as it lies in a store, without what only that store knows: the number of its
// run, and the digest, in which that number is.
type Stored struct {
	Turn int64
	Kind int64 // by its number
	V    int64
	Time int64  // microseconds since 1970
	Body []byte // JSON, with placeholders for secrets
	Long bool   // it is too long for its row
}

// EachStored reads the facts of a run behind one, 0 for all, up to another, and proves them by
// their digests. Body is valid until the next one is read.
func EachStored(ctx context.Context, s *Store, run string, from, upto int64, take func(Stored) error) error {
	h, err := s.Head(ctx, run)
	if err != nil {
		return err
	}
	c := &cursor{s: s.Journal, head: h, seq: from}
	if err := c.start(ctx); err != nil {
		return err
	}
	for c.seq < upto {
		err := s.read(ctx, "read run "+run, func(q *dbsqlc.Queries) error {
			rows, err := q.Facts(ctx, FactID(h.No, c.seq), FactID(h.No, upto), chunk)
			if err == nil && len(rows) == 0 {
				return s.corrupt(run, c.seq+1, fmt.Sprintf("it is missing: the run has %d facts", upto), nil)
			}
			for i := 0; i < len(rows) && err == nil; i++ {
				err = eachRow(ctx, c, q, &rows[i], take)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func eachRow(ctx context.Context, c *cursor, q *dbsqlc.Queries, row *dbsqlc.Journal, take func(Stored) error) error {
	d, found := &decoder{s: c.s, q: q}, decoded{}
	d.decode(ctx, row, &found)
	if _, err := c.next(row, &found); err != nil {
		return err
	}
	body, err := d.read(ctx, row, &found)
	if err != nil {
		return err
	}
	return take(Stored{Turn: row.Turn, Kind: row.Kind, V: row.V, Time: row.Time, Body: body, Long: row.BodyHash != nil})
}

// Adopted is a run of another store, ready to be written here.
type Adopted struct {
	Created journal.RunCreated
	State   *recovery.State

	facts  []fact
	bodies []blob.Row
	end    int // how many facts there are up to the one that ended it; 0: it has not ended
}

// NewAdopted reads the facts of a run. Facts that no run of this binary could have are refused.
func NewAdopted(s *Store, facts []Stored) (*Adopted, error) {
	a := &Adopted{State: &recovery.State{}}
	for _, f := range facts {
		kind, err := KindOf(f.Kind)
		if err != nil {
			return nil, err
		}
		body, err := journal.Decode(kind, int(f.V), f.Body)
		if err != nil {
			return nil, err
		}
		row := dbsqlc.Journal{Turn: f.Turn, Kind: f.Kind, V: f.V, Time: f.Time}
		if err := a.add(s, row, body, f.Body); err != nil {
			return nil, err
		}
	}
	if len(a.facts) == 0 || a.Created.Run == "" {
		return nil, errors.New("it does not say how the run was created")
	}
	return a, nil
}

func (a *Adopted) add(s *Store, row dbsqlc.Journal, body journal.Body, data []byte) error {
	f := fact{seq: int64(len(a.facts)) + 1, row: row, body: body}
	if len(data) > inlineLimit {
		f.external = blob.New(bytes.Clone(data))
		f.row.BodyHash = f.external.Hash
	} else {
		text := string(data)
		f.row.Body, f.hash = &text, sha256.Sum256(data)
	}
	rows, err := s.stage([]fact{f})
	if err != nil {
		return err
	}
	f.external = nil // it is staged
	if err := a.State.Apply(journal.Event{Seq: f.seq, Turn: int(row.Turn), Time: timeOf(row.Time), Body: body}); err != nil {
		return err
	}
	if c, ok := body.(journal.RunCreated); ok {
		a.Created = c
	}
	a.facts, a.bodies = append(a.facts, f), append(a.bodies, rows...)
	if a.end == 0 && a.State.Status.Terminal() {
		a.end = len(a.facts)
	}
	return nil
}

// Append adds a fact of this store behind those of the other one.
func (a *Adopted) Append(s *Store, b journal.Body) error {
	n := int64(len(a.facts))
	facts, err := s.prepare(Head{Run: a.Created.Run, Seq: n}, []journal.Event{{Turn: len(a.State.Turns), Body: b}})
	if err != nil {
		return err
	}
	f := facts[0]
	if err := a.State.Apply(journal.Event{Seq: f.seq, Turn: int(f.row.Turn), Time: timeOf(f.row.Time), Body: f.body}); err != nil {
		return err
	}
	a.facts = append(a.facts, f)
	return nil
}

// HistoryError says that a run is here with another history.
type HistoryError struct {
	Run string
	Seq int64 // of the first fact that differs
}

func (e *HistoryError) Error() string {
	return fmt.Sprintf("run %s is here, and from fact %d on its history is another one: it went on here and there", e.Run, e.Seq)
}

// Adopt writes runs of another store, in the order in which they began, in one transaction: all of
// them or none. begin writes what they name, in the same transaction, and may refuse; with again it
// is not known whether a try before was kept. A run of which all is here stays as it is, and of one
// that has gone on since the rest is added. *HistoryError says that one of them went another way,
// *StartKeyError that its start key is that of another run.
func Adopt(ctx context.Context, s *Store, runs []*Adopted, begin func(q *dbsqlc.Queries, again bool) error) error {
	if !s.file.Writable() {
		return fmt.Errorf("take runs in: %w", ErrReadOnly)
	}
	s.file.KeepBallast()
	err := s.write(ctx, func(t *tx) error {
		if err := begin(t.q, t.Again); err != nil {
			return err
		}
		for _, a := range runs {
			if err := s.adopt(t, a); err != nil {
				return fmt.Errorf("run %s: %w", a.Created.Run, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take runs in: %w", err)
	}
	return nil
}

func (s *Store) adopt(t *tx, a *Adopted) error {
	ctx := context.Background()
	r, err := t.q.GetRun(ctx, a.Created.Run)
	if errors.Is(err, sql.ErrNoRows) {
		r, err = s.adoptRow(t, a)
	}
	if err != nil {
		return err
	}
	if err := a.compare(t, r); err != nil {
		return err
	}
	if r.LastSeq >= int64(len(a.facts)) || r.EndedAt != nil {
		return nil // all of it is here
	}
	if err := blob.Add(ctx, t.q, a.bodies); err != nil {
		return err
	}
	h := Head{No: r.No, Run: r.ID, Thread: r.Thread, Epoch: r.Epoch, Seq: r.LastSeq, Turns: int(r.Turns), Status: recovery.Status(r.Status)}
	st := &recovery.State{}
	var prev []byte
	for i := range a.facts {
		f := a.facts[i]
		prev = f.chain(r.No, prev)
		if err := st.Apply(journal.Event{Seq: f.seq, Turn: int(f.row.Turn), Time: timeOf(f.row.Time), Body: f.body}); err != nil {
			return err
		}
		if f.seq <= r.LastSeq {
			continue
		}
		if h, err = s.appendFacts(t, h, batch{facts: []fact{f}}, AppendOptions{State: st}); err != nil {
			return err
		}
	}
	return ended(s, t, h)
}

// adoptRow makes the row of a run that is not here. Its thread is.
func (s *Store) adoptRow(t *tx, a *Adopted) (dbsqlc.Run, error) {
	ctx := context.Background()
	if r, err := startedWith(ctx, t.q, a.Created.StartKey); err != nil {
		return dbsqlc.Run{}, err
	} else if r != nil {
		return dbsqlc.Run{}, &StartKeyError{Run: r.ID}
	}
	row, err := runParams(ctx, t.q, a.Created, a.facts[0].row.Time)
	if err != nil {
		return dbsqlc.Run{}, err
	}
	if _, err := t.q.CreateRun(ctx, row); sqlitefile.IsTaken(err) {
		return dbsqlc.Run{}, ErrIDTaken
	} else if err != nil {
		return dbsqlc.Run{}, err
	}
	return t.q.GetRun(ctx, a.Created.Run)
}

// compare refuses facts that are not those which are here. What came after the end of a run, such
// as a commit that was seen, need not be the same.
func (a *Adopted) compare(t *tx, r dbsqlc.Run) error {
	upto := min(r.LastSeq, int64(len(a.facts)))
	if r.EndedAt != nil && a.end > 0 {
		upto = min(upto, int64(a.end))
	} else if r.EndedAt != nil {
		upto = r.LastSeq // it has not ended elsewhere
	}
	for seq := int64(0); seq < upto; {
		rows, err := t.q.Facts(context.Background(), FactID(r.No, seq), FactID(r.No, upto), chunk)
		if err != nil {
			return err
		}
		for i := range rows {
			seq++
			if seq > int64(len(a.facts)) || !a.facts[seq-1].same(&rows[i]) {
				return &HistoryError{r.ID, seq}
			}
		}
		if len(rows) == 0 {
			return &HistoryError{r.ID, seq + 1}
		}
	}
	return nil
}

// same says whether a row holds the fact.
func (f *fact) same(row *dbsqlc.Journal) bool {
	r := &f.row
	if r.Kind != row.Kind || r.V != row.V || r.Turn != row.Turn || r.Time != row.Time || !bytes.Equal(r.BodyHash, row.BodyHash) {
		return false
	}
	return r.Body == nil && row.Body == nil || r.Body != nil && row.Body != nil && *r.Body == *row.Body
}

// LineageKey is the key with which the calls of a thread are recognised. It goes with its runs.
func LineageKey(s *Store, thread string) ([]byte, error) { return s.threadKey(thread) }

// lineageBox seals the keys of threads that came from another store.
func (s *core) lineageBox() (*vault.Box, error) { return vault.NewBox(s.key, "agent: keys of threads") }

// SealLineageKey is how the key of a thread is kept that came from another store.
func SealLineageKey(s *Store, thread string, key []byte) ([]byte, error) {
	if len(key) != sha256.Size {
		return nil, fmt.Errorf("keep the key of thread %s: it has %d bytes and not %d", thread, len(key), sha256.Size)
	}
	box, err := s.lineageBox()
	if err != nil {
		return nil, err
	}
	return box.Seal([]byte(thread), key), nil
}

// PackKey opens what was sealed to this store, as it is until a copy of it is declared to be a
// store of its own; nil where the store was opened for reading.
func PackKey(ctx context.Context, s *Store) (key *ecdh.PrivateKey, id string, incarnation int64, err error) {
	row, err := s.row(ctx)
	if err != nil {
		return nil, "", 0, err
	}
	if s.key == nil {
		return nil, row.ID, row.Incarnation, nil
	}
	b, err := hkdf.Key(sha256.New, s.key, nil, fmt.Sprintf("agent: packs for %s %d", row.ID, row.Incarnation), 32)
	if err == nil {
		key, err = ecdh.X25519().NewPrivateKey(b)
	}
	if err != nil {
		return nil, "", 0, fmt.Errorf("work out the key for packs: %w", err)
	}
	return key, row.ID, row.Incarnation, nil
}

// Secret is what a placeholder with an id stands for; not ok where it cannot be opened.
func Secret(ctx context.Context, s *Store, id string) (rule string, raw []byte, ok bool, err error) {
	return s.vault.Value(ctx, id)
}

// SealSecret seals a secret of another store under the id that it has there.
func SealSecret(s *Store, id, rule string, raw []byte) (vault.Row, error) {
	return s.vault.RowAs(id, rule, raw)
}

// AddSecrets inserts secrets. vault.ErrNameTaken says that one of them is another one here.
func AddSecrets(s *Store, q *dbsqlc.Queries, rows []vault.Row) error { return s.vault.Add(q, rows) }

// SealEnvironment seals variables of another store under the id that they have there.
func SealEnvironment(s *Store, id string, variables []string) (vault.EnvironmentRow, error) {
	keys, err := vault.NewEnvironments(s.file.Dir(), s.key)
	if err != nil {
		return vault.EnvironmentRow{}, err
	}
	return keys.SealAs(id, variables)
}

// SameLineageKey says whether two keys of a thread are the same, as they are kept; nil is this
// store's own.
func SameLineageKey(s *Store, of string, a, b []byte) (bool, error) {
	x, err := s.lineageKey(of, a)
	if err != nil {
		return false, err
	}
	y, err := s.lineageKey(of, b)
	return err == nil && hmac.Equal(x, y), err
}

// Bodies are what its facts say, in order.
func (a *Adopted) Bodies() []journal.Body {
	out := make([]journal.Body, len(a.facts))
	for i := range a.facts {
		out[i] = a.facts[i].body
	}
	return out
}

// StageBody makes an output ready to be inserted.
func StageBody(s *Store, data []byte) (blob.Row, error) { return s.Bodies().Stage(blob.New(data)) }
