//go:build linux

package main

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
	created     = 1
	claimed     = 2
	interrupted = 3
	completed   = 6
	failed      = 7
	cancelled   = 8
	answered    = 10
	judged      = 11
	started     = 12
	settled     = 13
	resolved    = 14
	opened      = 16
	replied     = 17
	closed      = 18
	lastKind    = 22 // of those that are numbered without a gap
	restored    = 32
)

// fact is one row of the journal.
type fact struct {
	seq, turn, kind, v, time int64
	body                     []byte // JSON
	hash, digest             []byte
	id                       int64
}

type runRow struct {
	no                        int64
	id, status, model, folder string
	lastSeq                   int64
}

type callRow struct {
	run, turn, index, attempt                   int64
	id, tool, phase, outcome, applied, resolved string
	proposed, started, settled                  int64
}

type requestRow struct {
	run              int64
	id, kind, status string
	answer           sql.NullString
	opened           int64
	consumed         sql.NullInt64
}

// record is what a database says.
type record struct {
	runs     []runRow
	facts    map[int64][]fact
	calls    []callRow
	requests []requestRow
	gone     []string // outputs that results name and that are not there
}

// load reads a copy: a reader of the file itself could take part in a recovery that is the product's to make. Nobody may
// write meanwhile. No database is no record.
func load(state, scratch string) (*record, error) {
	db := filepath.Join(scratch, "copy.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(filepath.Join(state, "agent.db"+end))
		if errors.Is(err, os.ErrNotExist) {
			if end == "" {
				return &record{facts: map[int64][]fact{}}, nil
			}
			err = os.RemoveAll(db + end)
		} else if err == nil {
			err = os.WriteFile(db+end, b, 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("copy the database: %v", err)
		}
	}
	return loadFile(db, state)
}

// loadChanged reads the record after a change to its copy.
func loadChanged(state, scratch, change string) (*record, error) {
	if _, err := load(state, scratch); err != nil {
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
	return loadFile(path, state)
}

// loadFile reads a database itself, and files of bodies from the state folder.
func loadFile(db, state string) (r *record, err error) {
	if err := os.RemoveAll(db + "-shm"); err != nil {
		return nil, err
	}
	c, err := sql.Open("sqlite", "file:"+db)
	if err != nil {
		return nil, fmt.Errorf("open the copy: %v", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	r = &record{facts: map[int64][]fact{}}
	var tables int
	if err := c.QueryRow(`SELECT count(*) FROM sqlite_master WHERE name = 'journal'`).Scan(&tables); err != nil {
		return nil, fmt.Errorf("read the copy: %v", err)
	}
	if tables == 0 {
		return r, nil // killed before its tables were made
	}
	for _, part := range []func(*sql.DB, *record, string) error{loadRuns, loadFacts, loadCalls, loadRequests} {
		if err := part(c, r, state); err != nil {
			return nil, fmt.Errorf("read the copy: %v", err)
		}
	}
	return r, nil
}

// each calls row for every row of a query.
func each(c *sql.DB, query string, row func(*sql.Rows) error) error {
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

func loadRuns(c *sql.DB, r *record, _ string) error {
	return each(c, `SELECT no, id, status, model, folder, last_seq FROM runs ORDER BY no`, func(rows *sql.Rows) error {
		var x runRow
		err := rows.Scan(&x.no, &x.id, &x.status, &x.model, &x.folder, &x.lastSeq)
		r.runs = append(r.runs, x)
		return err
	})
}

func loadCalls(c *sql.DB, r *record, _ string) error {
	return each(c, `SELECT run_no, turn, idx, attempt, id, tool, phase, outcome, applied, resolved, proposed_seq, started_seq, settled_seq
		FROM tool_executions ORDER BY run_no, turn, idx`, func(rows *sql.Rows) error {
		var x callRow
		err := rows.Scan(&x.run, &x.turn, &x.index, &x.attempt, &x.id, &x.tool, &x.phase, &x.outcome, &x.applied, &x.resolved,
			&x.proposed, &x.started, &x.settled)
		r.calls = append(r.calls, x)
		return err
	})
}

func loadRequests(c *sql.DB, r *record, _ string) error {
	return each(c, `SELECT run_no, id, kind, status, answer, opened_seq, consumed_seq FROM pending_requests ORDER BY no`, func(rows *sql.Rows) error {
		var x requestRow
		err := rows.Scan(&x.run, &x.id, &x.kind, &x.status, &x.answer, &x.opened, &x.consumed)
		r.requests = append(r.requests, x)
		return err
	})
}

func loadFacts(c *sql.DB, r *record, state string) error {
	type row struct {
		fact
		text     sql.NullString
		external []byte
	}
	var all []row
	err := each(c, `SELECT id, turn, kind, v, time, body, body_hash, digest FROM journal ORDER BY id`, func(rows *sql.Rows) error {
		var x row
		err := rows.Scan(&x.id, &x.turn, &x.kind, &x.v, &x.time, &x.text, &x.external, &x.digest)
		all = append(all, x)
		return err
	})
	if err != nil {
		return err
	}
	for _, x := range all {
		x.seq = x.id & (1<<24 - 1)
		if x.hash = x.external; x.external != nil {
			x.body, err = blob(c, state, x.external)
		} else {
			x.body = []byte(x.text.String)
			sum := sha256.Sum256(x.body)
			x.hash = sum[:]
		}
		if err != nil {
			return fmt.Errorf("fact %d of run number %d: %v", x.seq, x.id>>24, err)
		}
		r.facts[x.id>>24] = append(r.facts[x.id>>24], x.fact)
		if x.kind == settled {
			r.lookFor(c, state, x.fact)
		}
	}
	return nil
}

// lookFor looks for the whole output of a result that holds a part of it.
func (r *record) lookFor(c *sql.DB, state string, x fact) {
	b, err := x.read()
	if err != nil || b.Result.Blob == "" {
		return // what cannot be read is told by who follows the facts
	}
	hash, err := hex.DecodeString(b.Result.Blob)
	if err == nil {
		_, err = blob(c, state, hash)
	}
	if err != nil {
		r.gone = append(r.gone, fmt.Sprintf("run number %d: the whole output of call %d.%d: %v", x.id>>24, b.Turn, b.Index, err))
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

// digestOf is what a row's digest must be, from the digest of the row before it.
func digestOf(prev []byte, f fact) []byte {
	b := make([]byte, 16, 16+5*8+32)
	copy(b, prev)
	for _, n := range []int64{f.id, f.kind, f.v, f.turn, f.time} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	sum := sha256.Sum256(append(b, f.hash...))
	return sum[:16]
}

// body is what facts say, as far as the lab asks.
type body struct {
	Turn, Index, Attempt int64
	Verdict, Reason      string
	Word                 string
	ID                   string
	Answer               json.RawMessage
	PID                  int
	Prompt               string
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
	}
}

func (f fact) read() (b body, err error) {
	if err := json.Unmarshal(f.body, &b); err != nil {
		return b, fmt.Errorf("fact %d (kind %d) is not JSON: %v", f.seq, f.kind, err)
	}
	return b, nil
}
