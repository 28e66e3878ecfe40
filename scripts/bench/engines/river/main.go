// Command river carries out chains of durable steps on River with its SQLite driver, for the bench:
//
//	river -dir DIR [-poll 1ms]
//
// It reads from stdin how many steps a chain has and how many bytes a step's request and its
// result, and writes what the chain took:
//
//	{"steps":100,"request":450,"result":1400}  ->  {"ns":627000000}
//
// A step is a job. It records its result, completes, and inserts the next step, in one transaction,
// as River's guide has it.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"
)

func main() {
	dir := flag.String("dir", "", "`folder` for the database")
	poll := flag.Duration("poll", 0, "time between two looks for the next job; 0 is River's own choice")
	flag.Parse()
	if err := run(context.Background(), *dir, *poll); err != nil {
		fmt.Fprintf(os.Stderr, "river: %v\n", err)
		os.Exit(1)
	}
}

// chain is one line of stdin.
type chain struct {
	Steps   int `json:"steps"`
	Request int `json:"request"` // bytes
	Result  int `json:"result"`  // bytes
}

// step is a job: its place in the chain, and what is asked.
type step struct {
	Left   int    `json:"left"` // steps that come after it
	Asked  string `json:"asked"`
	Result int    `json:"result"` // bytes
}

// Kind is the job's name.
func (step) Kind() string { return "step" }

// worker carries out steps, and tells when it was the last.
type worker struct {
	river.WorkerDefaults[step]
	pool *sql.DB
	over chan struct{}
}

// Work is one step.
func (w *worker) Work(ctx context.Context, job *river.Job[step]) error {
	tx, err := w.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := w.settle(ctx, tx, job); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if job.Args.Left == 0 {
		w.over <- struct{}{}
	}
	return nil
}

func (w *worker) settle(ctx context.Context, tx *sql.Tx, job *river.Job[step]) error {
	if err := river.RecordOutput(ctx, strings.Repeat("x", job.Args.Result)); err != nil {
		return err
	}
	if _, err := river.JobCompleteTx[*riversqlite.Driver](ctx, tx, job); err != nil {
		return err
	}
	if job.Args.Left == 0 {
		return nil
	}
	next := job.Args
	next.Left--
	_, err := river.ClientFromContext[*sql.Tx](ctx).InsertTx(ctx, tx, next, nil)
	return err
}

func run(ctx context.Context, dir string, poll time.Duration) (err error) {
	// What River asks for: one connection, since SQLite has one writer. modernc's driver takes the
	// pragmas in this form.
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "river.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	if err := durable(ctx, pool); err != nil {
		return err
	}
	driver := riversqlite.New(pool)
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	tables, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := tables.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	w := &worker{pool: pool, over: make(chan struct{}, 1)}
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	client, err := river.NewClient(driver, &river.Config{
		FetchCooldown: poll, FetchPollInterval: poll, Logger: quiet,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}}, Workers: workers,
	})
	if err != nil {
		return err
	}
	return serve(ctx, client, w.over)
}

// durable reads back what makes a commit survive power loss: a setting that was lost would flatter
// the figure.
func durable(ctx context.Context, pool *sql.DB) error {
	var mode string
	var synchronous int
	err := pool.QueryRowContext(ctx, "SELECT * FROM pragma_journal_mode, pragma_synchronous").Scan(&mode, &synchronous)
	if err == nil && (mode != "wal" || synchronous != 2) {
		err = fmt.Errorf("the database is in mode %s with synchronous=%d, and should be in wal with 2", mode, synchronous)
	}
	return err
}

// serve carries out one chain for each line of stdin.
func serve(ctx context.Context, client *river.Client[*sql.Tx], over <-chan struct{}) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c chain
		if err := in.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		// Between two chains nothing polls: what is measured meanwhile is somebody else.
		if err := client.Start(ctx); err != nil {
			return err
		}
		took, err := carryOut(ctx, client, c, over)
		if err = errors.Join(err, client.Stop(ctx)); err != nil {
			return err
		}
		if err := out.Encode(map[string]int64{"ns": int64(took)}); err != nil {
			return err
		}
	}
}

// carryOut is one chain, from the insertion of its first step to the commit of its last.
func carryOut(ctx context.Context, client *river.Client[*sql.Tx], c chain, over <-chan struct{}) (time.Duration, error) {
	began := time.Now()
	first := step{Left: c.Steps - 1, Asked: strings.Repeat("x", c.Request), Result: c.Result}
	if _, err := client.Insert(ctx, first, nil); err != nil {
		return 0, err
	}
	<-over
	return time.Since(began), nil
}
