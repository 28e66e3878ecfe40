package db

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"agent/recovery"
)

// bare is the physical limit: the same two commits through the same driver, with one row each and nothing else.
type bare struct {
	conn   *sql.Conn
	insert *sql.Stmt
}

func openBare(tb testing.TB, dir string) *bare {
	tb.Helper()
	ctx := context.Background()
	if err := useOFDLocks(); err != nil {
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

// BenchmarkStep is intent and result of one call, each durable before the next, beside the same two bare commits. It
// reports the ratio of the rates; 1 would mean that tables, digests and projections cost nothing.
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

// Benchmark64Runs is the rate of steps with 64 runs at once against one run alone, in the same process.
func Benchmark64Runs(b *testing.B) {
	s := openStore(b, stateDir(b))
	const runs = 64
	heads := make([]Head, runs)
	for i := range heads {
		heads[i] = startRun(b, s, fmt.Sprintf("r-many%04d", i))
	}
	alone := startRun(b, s, "r-alone000")
	const steps = 8
	var many, one int64
	turns := 0
	for n := 0; b.Loop(); n++ {
		many += timed(func() {
			var wg sync.WaitGroup
			for i := range heads {
				wg.Go(func() {
					for k := range steps {
						intent, result := turnFacts(n*steps+k+1, fmt.Sprintf("c-%04d%04d", i, n*steps+k), kib)
						heads[i] = appendAll(b, s, heads[i], intent, AppendOptions{})
						heads[i] = appendAll(b, s, heads[i], result, AppendOptions{})
					}
				})
			}
			wg.Wait()
		})
		one += timed(func() {
			for range runs {
				turns++
				intent, result := turnFacts(turns, fmt.Sprintf("c-a%07d", turns), kib)
				alone = appendAll(b, s, alone, intent, AppendOptions{})
				alone = appendAll(b, s, alone, result, AppendOptions{})
			}
		})
	}
	b.ReportMetric(float64(b.N*runs*steps)/(float64(many)/1e9), "steps/s-64")
	b.ReportMetric(float64(b.N*runs)/(float64(one)/1e9), "steps/s-1")
	b.ReportMetric(float64(one)*steps/float64(many), "rate-of-serial")
}

// BenchmarkDisk is what a turn with a result of 1 KiB costs on the disk, in a short and in a long run.
func BenchmarkDisk(b *testing.B) {
	for _, turns := range []int{100, 1000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			for b.Loop() {
				dir := stateDir(b)
				s := openStore(b, dir)
				h := startRun(b, s, "r-disk0000")
				settled(b, s)
				empty, before := fileSize(b, s.path), written(b)
				for n := 1; n <= turns; n++ {
					intent, result := turnFacts(n, fmt.Sprintf("c-%08d", n), kib)
					h = appendAll(b, s, h, intent, AppendOptions{})
					h = appendAll(b, s, h, result, AppendOptions{})
				}
				settled(b, s)
				b.ReportMetric(float64(fileSize(b, s.path)-empty)/float64(turns), "disk-B/turn")
				b.ReportMetric(float64(written(b)-before)/float64(turns), "written-B/turn")
			}
		})
	}
}

// BenchmarkLoad is the reading and checking of a journal of 10,000 turns, 50,000 facts.
func BenchmarkLoad(b *testing.B) {
	s := openStore(b, stateDir(b))
	h := startRun(b, s, "r-load0000")
	for n := 1; n <= 10000; n += 100 {
		var batch [][]recovery.Event
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

// BenchmarkOpen is what a command pays before it can ask: an existing state folder, without and with a log beside it.
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

func fileSize(tb testing.TB, path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}

func timed(f func()) int64 {
	start := time.Now()
	f()
	return int64(time.Since(start))
}

// settled brings the log into the database, so that the file's size says everything.
func settled(tb testing.TB, s *Store) {
	tb.Helper()
	if err := s.w.settle(); err != nil {
		tb.Fatal(err)
	}
	if err := s.w.queue.hand(&job{between: func() error { s.w.bringIn(); return nil }}); err != nil {
		tb.Fatal(err)
	}
}

// written is what this process has written to files so far, in bytes.
func written(tb testing.TB) int64 {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		tb.Skip("no /proc/self/io here")
	}
	for line := range strings.Lines(string(data)) {
		var n int64
		if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
			return n
		}
	}
	tb.Fatal("no wchar in /proc/self/io")
	return 0
}

// BenchmarkRuns is a plain list over ten thousand runs, from opening the state folder to closing it.
func BenchmarkRuns(b *testing.B) {
	dir := stateDir(b)
	s := openStore(b, dir)
	var wg sync.WaitGroup
	for worker := range 50 {
		wg.Go(func() {
			for i := range 200 {
				h := startRun(b, s, fmt.Sprintf("r-%03d%05d", worker, i))
				last := recovery.Body(recovery.RunCompleted{Text: "done"})
				if i == 0 && worker < 10 {
					last = recovery.RunInterrupted{Cause: recovery.CauseCrash}
				}
				appendAll(b, s, h, events(last), AppendOptions{})
			}
		})
	}
	wg.Wait()
	for b.Loop() {
		s, err := OpenRead(context.Background(), dir)
		if err != nil {
			b.Fatal(err)
		}
		rows, err := s.Runs(context.Background(), Filter{})
		if err != nil || len(rows) < 20 {
			b.Fatal(len(rows), err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
