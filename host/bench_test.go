package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host"
	"agent/host/model"
	"agent/recovery"
	"agent/tools"
)

// These benchmarks measure and assert nothing. Each states beside its figure what the machine gives at best, measured in
// the same iteration, since a figure alone says more about the machine than about this code:
//
//	go test ./host -run xxx -bench . -benchtime 10x

// looping is a model that asks for the same calls in every turn and tells when it is asked.
type looping struct {
	turns int
	calls []recovery.CallBlock
	asked func(turn int)
}

func (m looping) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		turn := (len(req.Messages) - 1) / 2
		if m.asked != nil {
			m.asked(turn)
		}
		a := &model.Answer{Stop: recovery.AnswerEnd, Blocks: []recovery.Block{{Kind: recovery.BlockText, Text: "done"}}}
		if turn < m.turns {
			a.Blocks, a.Stop = nil, recovery.AnswerCalls
			for _, c := range m.calls {
				a.Blocks = append(a.Blocks, recovery.Block{Kind: recovery.BlockCall, Call: &c})
			}
		}
		yield(model.Delta{Answer: a}, nil)
	}
}

var kib = strings.Repeat("0123456789abcdef", 64)

// instant is a tool with a side effect that takes no time and says 1 KiB.
var instant = fake{"instant", recovery.EffectWriteLocal, func(context.Context) (recovery.Result, error) {
	return recovery.Result{Outcome: recovery.OutcomeOK, Content: kib}, nil
}}

func once(name string) []recovery.CallBlock {
	return []recovery.CallBlock{{Tool: name, Args: json.RawMessage(`{"command":"make test"}`)}}
}

func carryOut(tb testing.TB, h *host.Host, folder string) {
	tb.Helper()
	out, err := h.Start(tb.Context(), host.StartRequest{Prompt: "go", Folder: folder, Model: "looping", Mode: recovery.ModeYolo})
	if err != nil {
		tb.Fatal(err)
	}
	if out.Status != recovery.StatusCompleted {
		tb.Fatalf("the run is %s: %s", out.Status, out.Detail)
	}
}

func middle(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1e3
}

// synced is the limit of every durable turn: two appends of a page to a file, each made durable.
func synced(tb testing.TB, f *os.File) time.Duration {
	page := make([]byte, 4096)
	began := time.Now()
	for range 2 {
		if _, err := f.Write(page); err != nil {
			tb.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			tb.Fatal(err)
		}
	}
	return time.Since(began)
}

func limitFile(tb testing.TB) *os.File {
	tb.Helper()
	f, err := os.Create(filepath.Join(tb.TempDir(), "limit"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	})
	return f
}

// BenchmarkLongRun is a run of 2,000 turns. What a turn costs must not grow with the run: the first and the last tenth are
// told apart, each beside two bare writes with fsync of the same moments. PERF: flat cost
func BenchmarkLongRun(b *testing.B) {
	const turns = 2000
	var first, last, limitFirst, limitLast []time.Duration
	f := limitFile(b)
	var heap uint64
	for b.Loop() {
		var at time.Time
		asked := func(turn int) {
			took := time.Since(at)
			switch {
			case turn == 0:
			case turn <= turns/10:
				first, limitFirst = append(first, took), append(limitFirst, synced(b, f))
			case turn > turns-turns/10:
				last, limitLast = append(last, took), append(limitLast, synced(b, f))
			}
			if turn == turns {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				heap = m.HeapAlloc
			}
			at = time.Now()
		}
		h := newHost(b, looping{turns, once("instant"), asked}, instant)
		carryOut(b, h, b.TempDir())
	}
	b.ReportMetric(middle(first), "us/turn-first")
	b.ReportMetric(middle(last), "us/turn-last")
	b.ReportMetric(middle(limitFirst), "us/2fsync-first")
	b.ReportMetric(middle(limitLast), "us/2fsync-last")
	b.ReportMetric(middle(last)/middle(first)*middle(limitFirst)/middle(limitLast), "growth")
	b.ReportMetric(float64(heap)/1e6, "MB-heap")
}

// BenchmarkRuns64 is 64 whole runs at once against the same runs one after the other, in one process over one store. The
// limit beside it is the turns that a file takes with two fsyncs each and nothing else.
func BenchmarkRuns64(b *testing.B) {
	const runs, turns = 64, 10
	h := newHost(b, looping{turns: turns, calls: once("instant")}, instant)
	folder, f := b.TempDir(), limitFile(b)
	var many, serial, limit []time.Duration
	for b.Loop() {
		began := time.Now()
		var all sync.WaitGroup
		for range runs {
			all.Go(func() { carryOut(b, h, folder) })
		}
		all.Wait()
		many = append(many, time.Since(began)/(runs*turns))
		began = time.Now()
		for range runs / 8 {
			carryOut(b, h, folder)
		}
		serial = append(serial, time.Since(began)/(runs/8*turns))
		limit = append(limit, synced(b, f))
	}
	b.ReportMetric(middle(many), "us/turn-64")
	b.ReportMetric(middle(serial), "us/turn-1")
	b.ReportMetric(middle(limit), "us/2fsync")
	b.ReportMetric(middle(serial)/middle(many), "rate-of-serial")
}

const benchTurns, benchReads = "HOST_BENCH_TURNS", "HOST_BENCH_READS"

// TestTurnsForCounting is the process whose fsyncs BenchmarkSyncs counts.
func TestTurnsForCounting(t *testing.T) {
	var turns, reads int
	if _, err := fmt.Sscan(os.Getenv(benchTurns)+" "+os.Getenv(benchReads), &turns, &reads); err != nil {
		t.Skip("only as a child of BenchmarkSyncs")
	}
	folder := t.TempDir()
	calls := once("instant")
	if reads > 0 {
		calls = nil
	}
	for i := range reads {
		name := fmt.Sprintf("data-%d", i)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(kib), 0o600); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, recovery.CallBlock{Tool: "read_file", Args: json.RawMessage(`{"path":"` + name + `"}`)})
	}
	builtin, err := tools.Builtin(tools.Options{State: "/nowhere/state", Calls: "/nowhere/calls", Exe: "/nowhere/exe", Outputs: noOutputs{}})
	if err != nil {
		t.Fatal(err)
	}
	carryOut(t, newHost(t, looping{turns: turns, calls: calls}, append(builtin, instant)...), folder)
}

type noOutputs struct{ tools.Outputs }

// BenchmarkSyncs counts the fsyncs of a turn: those of a run of 20 turns without those of a run of 10, over 10. What is
// counted is what the kernel saw.
func BenchmarkSyncs(b *testing.B) {
	for _, c := range []struct {
		name  string
		reads int
	}{{"one_write", 0}, {"16_reads", 16}} {
		b.Run(c.name, func(b *testing.B) {
			var database, other float64
			for b.Loop() {
				few, fewOther := countSyncs(b, 10, c.reads)
				many, manyOther := countSyncs(b, 20, c.reads)
				database += float64(many-few) / 10
				other += float64(manyOther-fewOther) / 10
			}
			b.ReportMetric(database/float64(b.N), "db-fsyncs/turn")
			b.ReportMetric(other/float64(b.N), "other-fsyncs/turn")
		})
	}
}

// countSyncs runs TestTurnsForCounting under strace and splits its fsyncs into those of the database and all others.
func countSyncs(tb testing.TB, turns, reads int) (database, other int) {
	tb.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		tb.Skip("strace is not installed, so fsyncs cannot be counted here")
	}
	trace := filepath.Join(tb.TempDir(), "trace")
	c := exec.Command(strace, "-f", "--seccomp-bpf", "-y", "-e", "trace=fsync,fdatasync", "-o", trace, os.Args[0], "-test.run", "^TestTurnsForCounting$")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", benchTurns, turns), fmt.Sprintf("%s=%d", benchReads, reads))
	if out, err := c.CombinedOutput(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && strings.Contains(string(out), "ptrace") {
			tb.Skip("strace may not trace here, so fsyncs cannot be counted")
		}
		tb.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(trace)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		switch line := lines.Text(); {
		case !strings.Contains(line, "sync(") || strings.Contains(line, "resumed"):
		case strings.Contains(line, "agent.db"):
			database++
		default:
			other++
		}
	}
	return database, other
}
