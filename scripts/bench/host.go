//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"agent/db"
	"agent/host"
	"agent/host/model"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/process"
)

// kib is a result of 1 KiB.
func kib() string { return strings.Repeat("0123456789abcdef", 64) }

// instant is a tool that takes no time and says the same every time.
type instant struct {
	name   string
	effect journal.Effect
	says   string
}

func (t instant) Spec() tools.Spec {
	return tools.Spec{Name: t.name, Description: "takes no time", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (t instant) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: t.effect}
}

func (t instant) Call(context.Context, tools.Call) (journal.Result, error) {
	return journal.Result{Outcome: journal.OutcomeOK, Content: t.says}, nil
}

// The instant tools: one with a side effect, and one that only reads.
const (
	writesAtOnce = "write_at_once"
	readsAtOnce  = "read_at_once"
)

// looping is a model that asks for the same calls in every turn.
type looping struct {
	turns int
	calls []journal.CallBlock
	asked func(turn int) // is called when it is asked, with how many turns are settled; may be nil
}

func (m looping) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		turn := (len(req.Messages) - 1) / 2
		if m.asked != nil {
			m.asked(turn)
		}
		a := &model.Answer{Stop: journal.AnswerEnd, Blocks: []journal.Block{{Kind: journal.BlockText, Text: "done"}}}
		if turn < m.turns {
			a.Blocks, a.Stop = nil, journal.AnswerCalls
			for _, c := range m.calls {
				a.Blocks = append(a.Blocks, journal.Block{Kind: journal.BlockCall, Call: &c})
			}
		}
		yield(model.Delta{Answer: a}, nil)
	}
}

// instantCalls are the calls of a turn: one with a side effect, or several reads.
func instantCalls(reads int) []journal.CallBlock {
	if reads == 0 {
		return []journal.CallBlock{{Tool: writesAtOnce, Args: json.RawMessage(`{"command":"make test"}`)}}
	}
	var out []journal.CallBlock
	for i := range reads {
		out = append(out, journal.CallBlock{Tool: readsAtOnce, Args: json.RawMessage(fmt.Sprintf(`{"path":"file-%d"}`, i))})
	}
	return out
}

// inProcess is a host in this process over a state folder of its own.
type inProcess struct {
	store   *db.Store
	home    string       // the state folder
	folder  string       // where its runs work
	commits atomic.Int64 // so far
}

// openHost makes the state folder; close ends it.
func (b *bench) openHost(ctx context.Context) (*inProcess, error) {
	home, err := b.folder("state")
	if err != nil {
		return nil, err
	}
	folder, err := b.folder("work")
	if err != nil {
		return nil, err
	}
	p := &inProcess{home: home, folder: folder}
	p.store, err = db.Open(ctx, home, db.Options{NoBallast: true, Hit: func(point fault.Point) {
		if point == fault.AfterCommit {
			p.commits.Add(1)
		}
	}})
	return p, err
}

func (p *inProcess) close() error { return p.store.Close() }

// host has the model, and the instant tools.
func (p *inProcess) host(m model.Model) (*host.Host, error) {
	reg, err := tools.NewRegistry(instant{writesAtOnce, journal.EffectWriteLocal, kib()}, instant{readsAtOnce, journal.EffectRead, kib()})
	if err != nil {
		return nil, err
	}
	return &host.Host{Process: host.Process{
		Store: p.store, Home: p.store.Dir(), Hub: stream.NewHub(), Now: time.Now, Version: "bench", Self: process.Self(),
		Who: "bench",
		Env: host.Env{Tools: reg, Model: func(journal.RunCreated, *tools.Registry) (model.Model, error) { return m, nil }},
	}}, nil
}

// carryOut drives a new run to its end.
func (p *inProcess) carryOut(ctx context.Context, h *host.Host) error {
	out, err := h.Start(ctx, host.StartRequest{Prompt: "go", Folder: p.folder, Model: "looping", Mode: journal.ModeYolo})
	if err == nil && out.Status != recovery.StatusCompleted {
		err = fmt.Errorf("run %s is %s: %s", out.Run, out.Status, out.Detail)
	}
	return err
}

// turnBytes are what the two commits of a turn add to the journal: bodies and digests.
type turnBytes struct{ answer, results int }

// bytesOf reads them from the journal, of the second turn of a run that asked for so many calls a
// turn.
func (p *inProcess) bytesOf(ctx context.Context, calls int) (turnBytes, error) {
	var out turnBytes
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(p.home, "agent.db")+"?mode=ro")
	if err != nil {
		return out, err
	}
	rows, err := pool.QueryContext(ctx, `SELECT length(body) + length(digest) FROM journal
		WHERE turn = 2 AND id >> 24 = (SELECT max(id) >> 24 FROM journal) ORDER BY id`)
	if err != nil {
		return out, errors.Join(err, pool.Close())
	}
	n := 0
	for ; rows.Next(); n++ {
		var size int
		if err := rows.Scan(&size); err != nil {
			return out, errors.Join(err, rows.Close(), pool.Close())
		}
		switch { // request, answer, a start for each call, a result for each, the end of the turn
		case n > 0 && n <= 1+calls:
			out.answer += size
		default:
			out.results += size
		}
	}
	if n != 3+2*calls {
		err = fmt.Errorf("a turn with %d calls has %d facts and not %d", calls, n, 3+2*calls)
	}
	return out, errors.Join(err, rows.Err(), rows.Close(), pool.Close())
}

// bare is the limit of what SQLite makes durable: rows through the same driver with the same
// settings, and nothing else.
type bare struct {
	pool   *sql.DB
	conn   *sql.Conn
	insert *sql.Stmt
}

func (b *bench) openBare(ctx context.Context) (_ *bare, err error) {
	dir, err := b.folder("bare")
	if err != nil {
		return nil, err
	}
	if _, err := sqlite.OFDLocking(true); err != nil && !sqlite.OFDLockingEnabled() {
		return nil, fmt.Errorf("lock the database by open file description: %v", err) // as the store does
	}
	l := &bare{}
	if l.pool, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate"); err != nil {
		return nil, err
	}
	if l.conn, err = l.pool.Conn(ctx); err != nil {
		return nil, errors.Join(err, l.pool.Close())
	}
	if _, err = l.conn.ExecContext(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)"); err == nil {
		l.insert, err = l.conn.PrepareContext(ctx, "INSERT INTO t (body) VALUES (?)")
	}
	if err != nil {
		return nil, errors.Join(err, l.conn.Close(), l.pool.Close())
	}
	return l, nil
}

func (l *bare) close() error { return errors.Join(l.insert.Close(), l.conn.Close(), l.pool.Close()) }

// commit makes one row durable. Its context cannot be cancelled: the driver may report an error for
// what it has committed.
func (l *bare) commit(row []byte) error {
	ctx := context.Background()
	if _, err := l.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if _, err := l.insert.ExecContext(ctx, row); err != nil {
		return err
	}
	_, err := l.conn.ExecContext(ctx, "COMMIT")
	return err
}

// turn is the two commits of a turn.
func (l *bare) turn(size turnBytes) error {
	if err := l.commit(make([]byte, size.answer)); err != nil {
		return err
	}
	return l.commit(make([]byte, size.results))
}

// synced is the limit of the disk: the same bytes appended to a file, with an fsync where the other
// has a commit.
type synced struct{ file *os.File }

func (b *bench) openSynced() (*synced, error) {
	f, err := os.CreateTemp(b.dir, "synced-")
	return &synced{f}, err
}

func (l *synced) close() error { return l.file.Close() }

func (l *synced) turn(size turnBytes) error {
	for _, n := range []int{size.answer, size.results} {
		if _, err := l.file.Write(make([]byte, n)); err != nil {
			return err
		}
		if err := l.file.Sync(); err != nil {
			return err
		}
	}
	return nil
}
