//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite"

	"agent/db"
	"agent/host"
	"agent/host/model"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/scripts/bench/bare"
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

// bytesOf reads them from the journal, of the second turn of a run that asked for so many calls a
// turn.
func (p *inProcess) bytesOf(ctx context.Context, calls int) (bare.Turn, error) {
	var out bare.Turn
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
			out.Answer += size
		default:
			out.Results += size
		}
	}
	if n != 3+2*calls {
		err = fmt.Errorf("a turn with %d calls has %d facts and not %d", calls, n, 3+2*calls)
	}
	return out, errors.Join(err, rows.Err(), rows.Close(), pool.Close())
}

// openBare makes a database that is a limit; its Close ends it.
func (b *bench) openBare(ctx context.Context) (*bare.DB, error) {
	dir, err := b.folder("bare")
	if err != nil {
		return nil, err
	}
	return bare.Open(ctx, dir)
}
