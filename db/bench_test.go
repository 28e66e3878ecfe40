package db

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// bare is the physical limit: the same two commits through the same driver, with one row each and
// nothing else.
type bare struct {
	conn   *sql.Conn
	insert *sql.Stmt
}

func openBare(tb testing.TB, dir string) *bare {
	tb.Helper()
	ctx := context.Background()
	if err := sqlitefile.UseOFDLocks(); err != nil {
		tb.Fatal(err)
	}
	c, err := sqlite.NewConnector("file:" + filepath.Join(dir, "bare.db") + "?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		tb.Fatal(err)
	}
	pool := sql.OpenDB(c)
	conn, err := pool.Conn(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := conn.ExecContext(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)"); err != nil {
		tb.Fatal(err)
	}
	insert, err := conn.PrepareContext(ctx, "INSERT INTO t (body) VALUES (?)")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := insert.Close(); err != nil {
			tb.Error(err)
		}
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
		if err := pool.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &bare{conn, insert}
}

func (b *bare) step(tb testing.TB, intent, result []byte) {
	for _, body := range [][]byte{intent, result} {
		for _, text := range []string{"BEGIN IMMEDIATE", "", "COMMIT"} {
			var err error
			if text == "" {
				_, err = b.insert.ExecContext(context.Background(), body)
			} else {
				_, err = b.conn.ExecContext(context.Background(), text)
			}
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
}

var kib = strings.Repeat("0123456789abcdef", 64)

// BenchmarkStep is intent and result of one call, each durable before the next, beside the same two
// bare commits. It reports the ratio of the rates; 1 would mean that tables, digests and
// projections cost nothing.
func BenchmarkStep(b *testing.B) {
	s := openStore(b, stateDir(b))
	limit := openBare(b, b.TempDir())
	h := startRun(b, s, "r-bench000")
	var ours, raw int64
	for n := 1; b.Loop(); n++ {
		intent, result := turnFacts(n, fmt.Sprintf("c-%08d", n), kib)
		ours += timed(func() {
			h = appendAll(b, s, h, intent, AppendOptions{})
			h = appendAll(b, s, h, result, AppendOptions{})
		})
		raw += timed(func() { limit.step(b, []byte(kib[:250]), []byte(kib)) })
	}
	b.ReportMetric(float64(ours)/float64(b.N)/1e3, "us/step")
	b.ReportMetric(float64(raw)/float64(b.N)/1e3, "us/bare")
	b.ReportMetric(float64(raw)/float64(ours), "rate-of-bare")
}

// BenchmarkLoad is the reading and checking of a journal of 10,000 turns, 50,000 facts.
func BenchmarkLoad(b *testing.B) {
	s := openStore(b, stateDir(b))
	h := startRun(b, s, "r-load0000")
	for n := 1; n <= 10000; n += 100 {
		var batch [][]journal.Event
		for k := n; k < n+100; k++ {
			intent, result := turnFacts(k, fmt.Sprintf("c-%08d", k), kib)
			batch = append(batch, intent, result)
		}
		for _, e := range batch {
			h = appendAll(b, s, h, e, AppendOptions{})
		}
	}
	for b.Loop() {
		loadAll(b, s, "r-load0000")
	}
}

// BenchmarkOpen is what a command pays before it can ask: an existing state folder, without and
// with a log beside it.
func BenchmarkOpen(b *testing.B) {
	dir := stateDir(b)
	s, err := Open(context.Background(), dir, Options{NoBallast: true})
	if err != nil {
		b.Fatal(err)
	}
	startRun(b, s, "r-open0000")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(context.Background(), dir, Options{NoBallast: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Runs(context.Background(), Filter{}); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func timed(f func()) int64 {
	start := time.Now()
	f()
	return int64(time.Since(start))
}
