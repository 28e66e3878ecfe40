package command_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/db"
	"agent/host"
	"agent/recovery"
)

// grown writes the journal of a run that was killed behind its last settled turn, as the host would have, but many turns to
// a commit. Its prompt is a runbook of one step more.
func grown(tb testing.TB, store *db.Store, run, folder string, turns int, content, last string) {
	tb.Helper()
	ctx := context.Background()
	var prompt strings.Builder
	for i := range turns {
		prompt.WriteString(block(fmt.Sprintf(": %d", i+1)) + "\n\n")
	}
	prompt.WriteString(block(last) + "\n")
	thread := "t-" + run[2:]
	h, err := store.Create(ctx, db.ThreadRef{ID: thread, Folder: folder, New: true}, []recovery.Event{
		{Body: recovery.RunCreated{
			Run: run, Thread: thread, Prompt: prompt.String(), Folder: folder, Model: "runbook", Mode: recovery.ModeAsk, Authored: true,
		}},
		{Body: recovery.RunClaimed{Epoch: 1, PID: os.Getpid(), Boot: host.Self().Boot, Host: "here"}},
		{Turn: 1, Body: recovery.ModelRequested{}},
	})
	must(tb, err)
	for n := 1; n <= turns; {
		var facts []recovery.Event
		for ; n <= turns && len(facts) < 1000; n++ {
			facts = append(facts, settledTurn(tb, store, run, n, content)...)
		}
		h, err = store.Append(ctx, h, facts, db.AppendOptions{})
		must(tb, err)
	}
}

func settledTurn(tb testing.TB, store *db.Store, run string, n int, content string) []recovery.Event {
	tb.Helper()
	args := json.RawMessage(fmt.Sprintf(`{"command":": %d\n"}`, n))
	fp, err := store.Fingerprint("shell", args)
	must(tb, err)
	at := recovery.Place{Turn: n, Attempt: 1}
	return []recovery.Event{
		{Turn: n, Body: recovery.ModelAnswered{Stop: recovery.AnswerCalls, Calls: []recovery.Proposal{{
			ID: fmt.Sprintf("c-%s%06d", run[2:], n), Provider: fmt.Sprintf("step-%d", n), Tool: "shell", Args: args, Fingerprint: fp,
			Effect: recovery.EffectWriteExternal, Decision: recovery.DecisionAllow,
		}}}},
		{Turn: n, Body: recovery.CallStarted{Place: at}},
		{Turn: n, Body: recovery.CallSettled{Place: at, Fingerprint: fp, Result: recovery.Result{
			Outcome: recovery.OutcomeOK, Applied: recovery.AppliedYes, How: recovery.HowExecuted, Content: content, Size: int64(len(content)),
		}}},
		{Turn: n, Body: recovery.TurnSettled{Checkpoint: fmt.Sprintf("%s@%d", run, n)}},
		{Turn: n + 1, Body: recovery.ModelRequested{}},
	}
}

// BenchmarkKilledToNextAction is the time from the start of agent resume to the first effect of the next block, for a run that was
// killed with its write-ahead log as it stood. Beside it: the same block alone, and the reading of all rows.
func BenchmarkKilledToNextAction(b *testing.B) {
	for _, turns := range []int{1000, 10000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			const run = "r-bench000"
			effect, folder := newFifo(b), b.TempDir()
			script := "echo x >'" + effect.path + "'"
			killed := filepath.Join(b.TempDir(), "killed")
			manyRuns(b, killed, folder, 1, db.Options{}) // with the ballast, which would otherwise be made during the resume
			store := openStore(b, killed)
			grown(b, store, run, folder, turns, strings.Repeat("0123456789abcdef", 64), script)
			images := b.TempDir()
			image := copied(b, killed, filepath.Join(images, "image")) // before it is closed: the log stays as a kill leaves it
			must(b, store.Close())
			var resumed, alone, rows []time.Duration
			for n := 0; b.Loop(); n++ {
				home := copied(b, image, filepath.Join(images, fmt.Sprint(n)))
				cmd := bench{home, folder}.command("resume", run)
				resumed = append(resumed, untilEffect(b, cmd, effect))
				alone = append(alone, untilEffect(b, exec.Command("/bin/sh", "-e", "-c", script), effect))
				rows = append(rows, readAll(b, filepath.Join(home, "agent.db")))
				must(b, os.RemoveAll(home))
			}
			b.ReportMetric(middle(resumed, time.Millisecond), "ms/next-action")
			b.ReportMetric(middle(alone, time.Millisecond), "ms/sh-alone")
			b.ReportMetric(middle(rows, time.Millisecond), "ms/read-rows")
		})
	}
}

// copied is a copy of a state folder that is on the disk and not on its way there.
func copied(tb testing.TB, from, to string) string {
	tb.Helper()
	took(tb, exec.Command("cp", "-r", from, to))
	must(tb, os.RemoveAll(filepath.Join(to, "agent.db-shm")))
	took(tb, exec.Command("sync", "-f", to))
	return to
}

func untilEffect(tb testing.TB, cmd *exec.Cmd, effect *fifo) time.Duration {
	tb.Helper()
	took, wait := effect.awaitFrom(tb, cmd)
	wait()
	return took
}

// readAll reads every row of the journal and looks at none.
func readAll(tb testing.TB, path string) time.Duration {
	tb.Helper()
	began := time.Now()
	pool, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	must(tb, err)
	rows, err := pool.Query("SELECT id, turn, kind, v, time, body, body_hash, digest FROM journal ORDER BY id")
	must(tb, err)
	for rows.Next() {
		var id, turn, kind, v, at int64
		var body, hash, digest []byte
		must(tb, rows.Scan(&id, &turn, &kind, &v, &at, &body, &hash, &digest))
	}
	must(tb, rows.Err())
	must(tb, rows.Close())
	must(tb, pool.Close())
	return time.Since(began)
}

// manyRuns fills a state folder with finished runs and a few interrupted ones.
func manyRuns(tb testing.TB, home, folder string, count int, o db.Options) {
	tb.Helper()
	store := openStoreWith(tb, home, o)
	var all sync.WaitGroup
	const writers = 64
	for w := range writers {
		all.Go(func() {
			for i := w; i < count; i += writers {
				run, thread := fmt.Sprintf("r-%08d", i), fmt.Sprintf("t-%08d", i)
				var end recovery.Body = recovery.RunCompleted{Text: "done"}
				if i%1000 == 0 {
					end = recovery.RunInterrupted{Cause: recovery.CauseShutdown}
				}
				_, err := store.Create(context.Background(), db.ThreadRef{ID: thread, Folder: folder, New: true}, []recovery.Event{
					{Body: recovery.RunCreated{Run: run, Thread: thread, Prompt: "do the work of " + run, Folder: folder, Model: "runbook", Mode: recovery.ModeAsk}},
					{Body: recovery.RunClaimed{Epoch: 1, PID: 1, Boot: "boot", Host: "here"}},
					{Body: end},
				})
				if err != nil {
					tb.Error(err)
				}
			}
		})
	}
	all.Wait()
	must(tb, store.Close())
}

// BenchmarkCommands is what short commands take over 10,000 runs, from start to end of the process, beside a shell that does
// nothing; and the opening of the database in a process that is there.
func BenchmarkCommands(b *testing.B) {
	c := newBench(b)
	manyRuns(b, c.home, c.folder, 10000, db.Options{})
	commands := [][]string{{"version"}, {"ls"}, {"ls", "--interrupted"}}
	times := make([][]time.Duration, len(commands))
	var shell, open []time.Duration
	for b.Loop() {
		for i, args := range commands {
			times[i] = append(times[i], took(b, c.command(args...)))
		}
		shell = append(shell, took(b, exec.Command("/bin/sh", "-c", ":")))
		began := time.Now()
		store := openStore(b, c.home)
		if _, err := store.Runs(context.Background(), db.Filter{}); err != nil {
			b.Fatal(err)
		}
		open = append(open, time.Since(began))
		must(b, store.Close())
	}
	for i, args := range commands {
		b.ReportMetric(middle(times[i], time.Millisecond), "ms/"+strings.Join(args, ""))
	}
	b.ReportMetric(middle(shell, time.Millisecond), "ms/sh-alone")
	b.ReportMetric(middle(open, time.Millisecond), "ms/open")
	for _, args := range commands[:2] {
		if mb, ok := mostMemory(b, c.command(args...)); ok {
			b.ReportMetric(mb, "MB-"+args[0])
		}
	}
}

// mostMemory asks GNU time, since what wait says begins with the memory of this process.
func mostMemory(tb testing.TB, cmd *exec.Cmd) (float64, bool) {
	tb.Helper()
	gnu, err := exec.LookPath("time")
	if err != nil {
		return 0, false
	}
	said := filepath.Join(tb.TempDir(), "said")
	cmd.Args = append([]string{gnu, "-f", "%M", "-o", said, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = gnu
	took(tb, cmd)
	text, err := os.ReadFile(said)
	must(tb, err)
	var kb float64
	_, err = fmt.Sscan(string(text), &kb)
	return kb / 1024, err == nil
}

// BenchmarkAtRest is the memory of a host that waits for a command, over a state folder with a million facts and over an
// empty one.
func BenchmarkAtRest(b *testing.B) {
	full, empty := newBench(b), newBench(b)
	store := openStore(b, full.home)
	for i := range 20 {
		grown(b, store, fmt.Sprintf("r-grown%03d", i), full.folder, 10000, "it went well", ":")
	}
	must(b, store.Close())
	here, gate := newFifo(b), newFifo(b)
	for b.Loop() {
		for name, c := range map[string]bench{"MB-million": full, "MB-empty": empty} {
			cmd := c.command(c.book(b, "wait.md", 1, func(int) string { return holding(here, gate) })...)
			_, wait := here.awaitFrom(b, cmd)
			b.ReportMetric(peak(b, cmd.Process.Pid), name)
			gate.open(b)
			wait()
		}
	}
	b.ReportMetric(float64(sizeOf(b, full.home))/1e6, "MB-database")
}
