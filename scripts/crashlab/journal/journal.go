//go:build linux

// Package journal reads the product's database by SQL alone, from a copy, with a reading of its own
// of what a row holds. It shares no code with the product: what the product misreads is not misread
// here.
package journal

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver that reads the copy
)

// The numbers under which kinds of facts are stored.
const (
	Created     = 1
	Claimed     = 2
	Interrupted = 3
	Completed   = 6
	Failed      = 7
	Cancelled   = 8
	Answered    = 10
	Judged      = 11
	Started     = 12
	Settled     = 13
	Resolved    = 14
	Opened      = 16
	Replied     = 17
	Closed      = 18
	Added       = 22
	PhaseBegan  = 23
	PhaseEnded  = 24
	Rewound     = 27
	Parked      = 28
	CommitSeen  = 31
	Exported    = 33
	LastKind    = 34
)

// Fact is one row of the journal.
type Fact struct {
	Seq, Turn, Kind, Version, Time int64
	Body                           []byte // JSON
	Hash, Digest                   []byte
	ID                             int64
}

type Run struct {
	No                        int64
	ID, Status, model, folder string
	LastSeq                   int64
}

type Call struct {
	Run, Turn, Index, attempt                   int64
	ID, Tool, Phase, Outcome, Applied, resolved string
	Proposed, Started, Settled                  int64
}

type Request struct {
	Run              int64
	ID, Kind, Status string
	Answer           string // JSON; "" for none
	Opened           int64
	Consumed         int64 // the fact that took the answer; 0 for none
}

// Record is what a database says.
type Record struct {
	Runs     []Run
	Facts    map[int64][]Fact
	Calls    []Call
	Requests []Request
	Missing  []string // outputs that results name and that are not there
}

// Load reads a copy: a reader of the file itself could take part in a recovery that is the
// product's to make. Nobody may write meanwhile. No database is no record.
func Load(state, scratch string) (*Record, error) {
	db := filepath.Join(scratch, "copy.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(filepath.Join(state, "agent.db"+end))
		if errors.Is(err, os.ErrNotExist) {
			if end == "" {
				return &Record{Facts: map[int64][]Fact{}}, nil
			}
			err = os.RemoveAll(db + end)
		} else if err == nil {
			err = os.WriteFile(db+end, b, 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("copy the database: %v", err)
		}
	}
	return LoadFile(db, state)
}

// LoadChanged reads the record after a change to its copy.
func LoadChanged(state, scratch, change string) (*Record, error) {
	if _, err := Load(state, scratch); err != nil {
		return nil, err
	}
	path := filepath.Join(scratch, "copy.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(change)
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	return LoadFile(path, state)
}

// LoadFile reads a database itself, and files of bodies from the state folder.
func LoadFile(db, state string) (r *Record, err error) {
	if err := os.RemoveAll(db + "-shm"); err != nil {
		return nil, err
	}
	c, err := sql.Open("sqlite", "file:"+db)
	if err != nil {
		return nil, fmt.Errorf("open the copy: %v", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	r = &Record{Facts: map[int64][]Fact{}}
	var tables int
	if err := c.QueryRow(`SELECT count(*) FROM sqlite_master WHERE name = 'journal'`).Scan(&tables); err != nil {
		return nil, fmt.Errorf("read the copy: %v", err)
	}
	if tables == 0 {
		return r, nil // killed before its tables were made
	}
	for _, part := range []func(*sql.DB, *Record, string) error{loadRuns, loadFacts, loadCalls, loadRequests, findCopies} {
		if err := part(c, r, state); err != nil {
			return nil, fmt.Errorf("read the copy: %v", err)
		}
	}
	return r, nil
}

// Each calls row for every row of a query.
func Each(c *sql.DB, query string, row func(*sql.Rows) error) error {
	rows, err := c.Query(query)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := row(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

func loadRuns(c *sql.DB, r *Record, _ string) error {
	return Each(c, `SELECT no, id, status, model, folder, last_seq FROM runs ORDER BY no`, func(rows *sql.Rows) error {
		var x Run
		err := rows.Scan(&x.No, &x.ID, &x.Status, &x.model, &x.folder, &x.LastSeq)
		r.Runs = append(r.Runs, x)
		return err
	})
}

func loadCalls(c *sql.DB, r *Record, _ string) error {
	return Each(c, `SELECT run_no, turn, idx, attempt, id, tool, phase, outcome, applied, resolved, proposed_seq, started_seq, settled_seq
		FROM tool_executions ORDER BY run_no, turn, idx`, func(rows *sql.Rows) error {
		var x Call
		err := rows.Scan(&x.Run, &x.Turn, &x.Index, &x.attempt, &x.ID, &x.Tool, &x.Phase, &x.Outcome, &x.Applied, &x.resolved,
			&x.Proposed, &x.Started, &x.Settled)
		r.Calls = append(r.Calls, x)
		return err
	})
}

func loadRequests(c *sql.DB, r *Record, _ string) error {
	return Each(c, `SELECT run_no, id, kind, status, answer, opened_seq, consumed_seq FROM pending_requests ORDER BY no`, func(rows *sql.Rows) error {
		var x Request
		var answer sql.NullString
		var consumed sql.NullInt64
		err := rows.Scan(&x.Run, &x.ID, &x.Kind, &x.Status, &answer, &x.Opened, &consumed)
		x.Answer, x.Consumed = answer.String, consumed.Int64
		r.Requests = append(r.Requests, x)
		return err
	})
}

func loadFacts(c *sql.DB, r *Record, state string) error {
	type row struct {
		Fact
		text     sql.NullString
		external []byte
	}
	var all []row
	err := Each(c, `SELECT id, turn, kind, v, time, body, body_hash, digest FROM journal ORDER BY id`, func(rows *sql.Rows) error {
		var x row
		err := rows.Scan(&x.ID, &x.Turn, &x.Kind, &x.Version, &x.Time, &x.text, &x.external, &x.Digest)
		all = append(all, x)
		return err
	})
	if err != nil {
		return err
	}
	for _, x := range all {
		x.Seq = x.ID & (1<<24 - 1)
		if x.Hash = x.external; x.external != nil {
			x.Body, err = blob(c, state, x.external)
		} else {
			x.Body = []byte(x.text.String)
			sum := sha256.Sum256(x.Body)
			x.Hash = sum[:]
		}
		if err != nil {
			return fmt.Errorf("fact %d of run number %d: %v", x.Seq, x.ID>>24, err)
		}
		r.Facts[x.ID>>24] = append(r.Facts[x.ID>>24], x.Fact)
		if x.Kind == Settled {
			r.findOutput(c, state, x.Fact)
		}
	}
	return nil
}

// findOutput looks for the whole output of a result that holds a part of it.
func (r *Record) findOutput(c *sql.DB, state string, x Fact) {
	b, err := x.Decode()
	if err != nil || b.Result.Blob == "" {
		return // what cannot be read is reported by who follows the facts
	}
	hash, err := hex.DecodeString(b.Result.Blob)
	if err == nil {
		_, err = blob(c, state, hash)
	}
	if err != nil {
		r.Missing = append(r.Missing, fmt.Sprintf("run number %d: the whole output of call %d.%d: %v", x.ID>>24, b.Turn, b.Index, err))
	}
}

// blob reads a body that has left its row.
func blob(c *sql.DB, state string, hash []byte) ([]byte, error) {
	var encoding string
	var data []byte
	if err := c.QueryRow(`SELECT encoding, data FROM blobs WHERE hash = ?`, hash).Scan(&encoding, &data); err != nil {
		return nil, fmt.Errorf("its body: %v", err)
	}
	var err error
	if encoding == "file" {
		name := hex.EncodeToString(hash)
		data, err = os.ReadFile(filepath.Join(state, "blobs", name[:2], name))
	}
	if encoding == "deflate" {
		data, err = io.ReadAll(flate.NewReader(bytes.NewReader(data)))
	}
	if sum := sha256.Sum256(data); err == nil && !bytes.Equal(sum[:], hash) {
		err = errors.New("its body is not what its hash says")
	}
	return data, err
}

// Digest is what a row's digest must be, from the digest of the row before it.
func Digest(prev []byte, f Fact) []byte {
	b := make([]byte, 16, 16+5*8+32)
	copy(b, prev)
	for _, n := range []int64{f.ID, f.Kind, f.Version, f.Turn, f.Time} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	sum := sha256.Sum256(append(b, f.Hash...))
	return sum[:16]
}

// Body is what facts say, as far as the lab asks.
type Body struct {
	Turn, Index, Attempt int64
	Verdict, Reason      string
	Cause                string // of an interruption
	Word                 string
	ID                   string
	Answer               json.RawMessage
	PID                  int
	Prompt               string
	Parent, Role         string // of a run below another: that one, and what it is there for
	Child                string // the run that carries a call out
	Vars                 []string
	Text                 string
	Result               struct {
		Outcome, Applied, How, Content, Blob string
	}
	Calls []struct {
		ID   string
		Tool string
		Args json.RawMessage
	}
	Request struct {
		ID      string
		Kind    string
		Message string
		Choices []string
		Call    *struct{ Turn, Index int64 }
		About   string
		Phase   *struct { // of a flow, that it is about
			About, Phase string
			Item         *struct{ Name string }
		}
	}
}

// Decode reads a fact. What a flow does again is read by nobody here, and its request is another
// thing than a question.
func (f Fact) Decode() (b Body, err error) {
	if f.Kind == Rewound {
		return b, nil
	}
	if err := json.Unmarshal(f.Body, &b); err != nil {
		return b, fmt.Errorf("fact %d (kind %d) is not JSON: %v", f.Seq, f.Kind, err)
	}
	return b, nil
}
