package command_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/db"
)

// BenchmarkDurableTurn is a whole turn of the host loop with a tool that takes no time, intent and result durable, against
// the same two commits bare. 1 would mean that journal, fold, projections and loop cost nothing.
func BenchmarkDurableTurn(b *testing.B) {
	limit, folder := openBare(b), b.TempDir()
	store := openStore(b, filepath.Join(b.TempDir(), "state"))
	warm(b, store, limit, folder)
	var ours, raw []time.Duration
	for b.Loop() {
		var at time.Time
		carryOut(b, newHost(b, store, looping{50, func(turn int) {
			if turn > 0 {
				ours, raw = append(ours, time.Since(at)), append(raw, limit.turn(b))
			}
			at = time.Now()
		}}), folder)
	}
	must(b, store.Close())
	b.ReportMetric(middle(ours, time.Microsecond), "us/turn")
	b.ReportMetric(middle(raw, time.Microsecond), "us/2commits")
	b.ReportMetric(middle(raw, 1)/middle(ours, 1), "rate-of-bare")
}

// warm writes until both logs have their size: a log that grows costs more, and it grows only once.
func warm(tb testing.TB, store *db.Store, limit *bare, folder string) {
	tb.Helper()
	carryOut(tb, newHost(tb, store, looping{300, nil}), folder)
	for range 600 {
		limit.turn(tb)
	}
}

// BenchmarkDurable64 is whole turns of 64 runs at once in one process, against turns of one run and against bare commits,
// one after the other.
func BenchmarkDurable64(b *testing.B) {
	const runs, turns = 64, 10
	limit := openBare(b)
	store := openStore(b, filepath.Join(b.TempDir(), "state"))
	h := newHost(b, store, looping{turns, nil})
	folder := b.TempDir()
	warm(b, store, limit, folder)
	var many, one, raw []time.Duration
	for b.Loop() {
		began := time.Now()
		var all sync.WaitGroup
		for range runs {
			all.Go(func() { carryOut(b, h, folder) })
		}
		all.Wait()
		many = append(many, time.Since(began)/(runs*turns))
		for range runs / 8 {
			began = time.Now()
			carryOut(b, h, folder)
			one = append(one, time.Since(began)/turns)
			raw = append(raw, limit.turn(b))
		}
	}
	must(b, store.Close())
	b.ReportMetric(middle(many, time.Microsecond), "us/turn-64")
	b.ReportMetric(middle(one, time.Microsecond), "us/turn-1")
	b.ReportMetric(middle(raw, time.Microsecond), "us/2commits")
	b.ReportMetric(middle(one, 1)/middle(many, 1), "rate-of-serial")
	b.ReportMetric(middle(raw, 1)/middle(many, 1), "rate-of-bare")
}

// BenchmarkDisk is what a turn with a result of 1 KiB leaves on the disk, in a short and in a long run, and what it has
// written on the way. The empty state folder is stated apart; the ballast is 16 MiB more.
func BenchmarkDisk(b *testing.B) {
	for _, turns := range []int{100, 1000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			for b.Loop() {
				size := func(turns int) (left, written int64) {
					home, folder := filepath.Join(b.TempDir(), "state"), b.TempDir()
					store := openStore(b, home)
					before := writtenBytes(b)
					carryOut(b, newHost(b, store, looping{turns, nil}), folder)
					must(b, store.Close())
					return sizeOf(b, home), writtenBytes(b) - before
				}
				empty, first := size(0)
				left, written := size(turns)
				b.ReportMetric(float64(left-empty)/float64(turns), "disk-B/turn")
				b.ReportMetric(float64(written-first)/float64(turns)/1e3, "written-KB/turn")
				b.ReportMetric(float64(empty)/1e3, "KB-empty")
			}
		})
	}
}

// sizeOf is the size of all files below a folder.
func sizeOf(tb testing.TB, root string) int64 {
	tb.Helper()
	var sum int64
	must(tb, filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		sum += info.Size()
		return err
	}))
	return sum
}

// writtenBytes is what this process, and those that it waited for, have given the disk to write.
func writtenBytes(tb testing.TB) int64 {
	tb.Helper()
	f, err := os.Open("/proc/self/io")
	if err != nil {
		tb.Skipf("this system does not count what a process writes: %v", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var n int64
		if _, err := fmt.Sscanf(lines.Text(), "write_bytes: %d", &n); err == nil {
			return n
		}
	}
	tb.Skip("/proc/self/io has no write_bytes")
	return 0
}

// kinds of steps whose turns are measured with the binary that ships.
func stepKinds() map[string]func(i int) string {
	return map[string]func(i int) string{
		"shell": func(i int) string { return block(fmt.Sprintf("cat data # %d", i)) },
		"write_file": func(i int) string {
			return fmt.Sprintf("- write_file out-%d\n\n```\n%s\n```", i, strings.Repeat("x", 1000))
		},
		"read_file": func(i int) string { return fmt.Sprintf("- read_file data\n\nstep %d", i) },
	}
}

func withData(tb testing.TB) bench {
	tb.Helper()
	c := newBench(tb)
	must(tb, os.WriteFile(filepath.Join(c.folder, "data"), []byte(strings.Repeat(strings.Repeat("y", 63)+"\n", 16)), 0o600))
	took(tb, c.command(c.book(tb, "first.md", 1, stepKinds()["read_file"])...)) // the database is made here, and not measured
	return c
}

// BenchmarkSyncs counts what a turn makes durable, with strace: the fsyncs of a runbook of 20 steps without those of one of
// 10, over 10; those of the database, of the runner's files, and of the workspace. Beside it what it has given the disk to
// write, over 50 turns, since a log is brought in only now and then.
func BenchmarkSyncs(b *testing.B) {
	for name, step := range stepKinds() {
		b.Run(name, func(b *testing.B) {
			c := withData(b)
			few, many, long := c.book(b, "few.md", 10, step), c.book(b, "many.md", 20, step), c.book(b, "long.md", 60, step)
			var database, runner, other int
			for b.Loop() {
				d1, r1, o1 := c.syncs(b, few)
				d2, r2, o2 := c.syncs(b, many)
				database, runner, other = database+d2-d1, runner+r2-r1, other+o2-o1
			}
			b.ReportMetric(float64(c.written(b, long)-c.written(b, few))/50e3, "written-KB/turn")
			b.ReportMetric(float64(database)/10/float64(b.N), "db-fsyncs/turn")
			b.ReportMetric(float64(runner)/10/float64(b.N), "runner-fsyncs/turn")
			b.ReportMetric(float64(other)/10/float64(b.N), "workspace-fsyncs/turn")
		})
	}
}

// unwrite removes what write_file wrote: it writes nothing that is there already.
func (c bench) unwrite(tb testing.TB) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(c.folder, "out-*"))
	must(tb, err)
	for _, f := range files {
		must(tb, os.Remove(f))
	}
}

// written runs the binary and says how many bytes it has given the disk to write.
func (c bench) written(tb testing.TB, args []string) int64 {
	tb.Helper()
	c.unwrite(tb)
	before := writtenBytes(tb)
	took(tb, c.command(args...))
	return writtenBytes(tb) - before
}

// syncs runs the binary under strace and splits its fsyncs.
func (c bench) syncs(tb testing.TB, args []string) (database, runner, other int) {
	tb.Helper()
	c.unwrite(tb)
	strace, err := exec.LookPath("strace")
	if err != nil {
		tb.Skip("strace is not installed, so fsyncs cannot be counted here")
	}
	trace := filepath.Join(tb.TempDir(), "trace")
	cmd := c.command(args...)
	cmd.Args = append([]string{strace, "-f", "--seccomp-bpf", "-y", "-e", "trace=fsync,fdatasync", "-o", trace, cmd.Path}, args...)
	cmd.Path = strace
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			tb.Skip("strace may not trace here, so fsyncs cannot be counted")
		}
		tb.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(trace)
	must(tb, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		switch line := lines.Text(); {
		case !strings.Contains(line, "sync("):
		case strings.Contains(line, filepath.Join(c.home, "agent.db")):
			database++
		case strings.Contains(line, filepath.Join(c.home, "calls")):
			runner++
		default:
			other++
		}
	}
	return database, runner, other
}

// BenchmarkOwnCost is what the binary that ships adds to the work of a turn: a runbook of 50 steps without what one of 2
// takes, over 48, and for a command without the time of the same command alone. The memory is the most that it ever held.
func BenchmarkOwnCost(b *testing.B) {
	for _, name := range []string{"read_file", "shell"} {
		b.Run(name, func(b *testing.B) {
			const steps = 50
			c := withData(b)
			here, gate := newFifo(b), newFifo(b)
			short, long := c.book(b, "short.md", 2, stepKinds()[name]), c.book(b, "long.md", steps, stepKinds()[name])
			held := c.book(b, "last.md", steps+1, func(i int) string {
				if i == steps {
					return holding(here, gate)
				}
				return stepKinds()[name](i)
			})
			var turn, plain []time.Duration
			for b.Loop() {
				base := took(b, c.command(short...))
				turn = append(turn, (took(b, c.command(long...))-base)/(steps-2))
				for range 5 {
					alone := exec.Command("/bin/sh", "-e", "-c", "cat data")
					alone.Dir = c.folder
					plain = append(plain, took(b, alone))
				}
			}
			cmd := c.command(held...)
			_, wait := here.awaitFrom(b, cmd)
			b.ReportMetric(peak(b, cmd.Process.Pid), "MB-rss")
			gate.open(b)
			wait()
			b.ReportMetric(middle(turn, time.Millisecond), "ms/turn")
			own := middle(turn, time.Millisecond)
			if name == "shell" {
				own -= middle(plain, time.Millisecond)
			}
			b.ReportMetric(own, "ms/own")
			b.ReportMetric(middle(plain, time.Millisecond), "ms/sh-alone")
		})
	}
}
