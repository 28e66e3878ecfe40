//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agent/db"
	"agent/recovery/journal"
)

// What ls and ls --interrupted read: the same rows, by the same indexes.
const (
	interruptedRuns = "SELECT * FROM runs INDEXED BY runs_unfinished WHERE status = 'interrupted' AND ended_at IS NULL"
	newestRuns      = "SELECT * FROM (SELECT * FROM runs ORDER BY no DESC LIMIT 20) UNION ALL " + interruptedRuns
)

// timed is a command of ours and the least that does as much.
type timed struct {
	name        string
	ours, least []string
	beside      string
}

// commands is what short commands take from the start of the process to its end, and the most
// memory that they hold.
func commands(ctx context.Context, b *bench) ([]row, error) {
	hello, err := b.program(ctx, "hello")
	if err != nil {
		return nil, err
	}
	least, err := b.program(ctx, "least")
	if err != nil {
		return nil, err
	}
	all := []timed{{"version", []string{b.exe, "version"}, []string{hello}, "a Go program that says hello"}}
	homes := map[string]string{} // by name of the command
	for _, many := range []struct {
		count int
		words string
	}{{10, "10 runs"}, {10000, "10,000 runs"}} {
		home, err := b.manyRuns(ctx, many.count, 0, finished)
		if err != nil {
			return nil, fmt.Errorf("make %s: %v", many.words, err)
		}
		for _, c := range []struct{ args, query string }{{"ls", newestRuns}, {"ls --interrupted", interruptedRuns}} {
			name := c.args + ", " + many.words
			all = append(all, timed{
				name, append([]string{b.exe}, strings.Fields(c.args)...), []string{least, filepath.Join(home, "agent.db"), c.query},
				"a Go program that reads these rows",
			})
			homes[name] = home
		}
	}
	home, err := b.manyRuns(ctx, 1000, 0, waiting)
	if err != nil {
		return nil, fmt.Errorf("make 1000 runs that wait: %v", err)
	}
	const show = "show, 1,000 runs that wait"
	homes[show] = home
	all = append(all, timed{
		show, []string{b.exe, "show", "r-00000007"}, []string{least, filepath.Join(home, "agent.db"), "SELECT * FROM runs WHERE id = 'r-00000007'"},
		"a Go program that reads its row",
	})
	var rows, memory []row
	for _, c := range all {
		took, err := takeTurns(b.times(40), in(ctx, homes[c.name], c.ours), in(ctx, homes[c.name], c.least))
		if err != nil {
			return rows, err
		}
		rows = append(rows, cost(c.name, median(took[0], time.Millisecond), "ms", median(took[1], time.Millisecond), c.beside).because(startNote(c.name)))
		held, err := b.held(ctx, hello, homes[c.name], c)
		if err != nil {
			return rows, err
		}
		memory = append(memory, held)
	}
	found, err := searches(ctx, b, homes["ls, 10,000 runs"])
	return slices.Concat(rows, found, memory), err
}

// searches is a search that finds one run, and one that finds all of them, of which 20 are shown.
func searches(ctx context.Context, b *bench, home string) (rows []row, err error) {
	for _, c := range [][2]string{{"work 00000042", "finds one"}, {"wor", "finds all"}} {
		took, err := takeTurns(b.times(40), in(ctx, home, []string{b.exe, "ls", "--search", c[0]}))
		if err != nil {
			return rows, err
		}
		rows = append(rows, within("ls --search, 10,000 runs, "+c[1], median(took[0], time.Millisecond), "ms", 30))
	}
	return rows, nil
}

// startNote is what a profile of these commands says.
func startNote(name string) string {
	switch name {
	case "version":
		return "The start of a binary of 20 MB with SQLite and the SDK of MCP in it. Before main, 139 packages prepare themselves " +
			"(GODEBUG=inittrace=1; most for SQLite's libc, encoding/gob and JSON Schema by way of the MCP SDK, and the entities of HTML). " +
			"Its page faults are 630, and 210 for hello; half of the difference is these packages, a seventh the interfaces that the runtime registers " +
			"and what it finds out of the processor, a tenth the command line. It catches one signal; each costs two changes of the thread."
	case "ls, 10,000 runs":
		return "The start of the binary is most of it, see version. The rest is what the least does without: the lock of the store, every setting of the connection read " +
			"back, the look for runs that lost their owner, the key, the table. It syncs nothing, and the number of runs costs nothing."
	}
	return ""
}

// in starts a command over a state folder and waits for its end.
func in(ctx context.Context, home string, args []string) func() error {
	return func() error {
		_, err := output(ctx, home, args)
		return err
	}
}

func output(ctx context.Context, home string, args []string) ([]byte, error) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Env = append(os.Environ(), "AGENT_HOME="+home, "NO_COLOR=1")
	out, err := c.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%v: %s", err, exit.Stderr)
		}
		return out, fmt.Errorf("%s: %v", strings.Join(args, " "), err)
	}
	return out, nil
}

// held is the most memory of the command, and of the least.
func (b *bench) held(ctx context.Context, hello, home string, c timed) (row, error) {
	most := [2][]float64{}
	for range b.times(20) {
		for i, args := range [][]string{c.ours, c.least} {
			said, err := output(ctx, home, append([]string{hello}, args...))
			if err != nil {
				return row{}, err
			}
			kib, err := strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
			if err != nil {
				return row{}, fmt.Errorf("read what %s says of memory: %v", hello, err)
			}
			most[i] = append(most[i], kib*1024/1e6)
		}
	}
	for _, all := range most {
		slices.Sort(all)
	}
	held := cost(c.name+", memory", most[0][len(most[0])/2], "MB", most[1][len(most[1])/2], c.beside)
	if c.name == "version" {
		held.Note = "Pages of the binary that its start touches, which all processes of it share, are most of it; no garbage is collected before the end."
	}
	return held, nil
}

// program builds one of the small programs beside this one.
func (b *bench) program(ctx context.Context, name string) (string, error) {
	out := filepath.Join(b.dir, name)
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "agent/scripts/bench/"+name)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %v\n%s", name, err, text)
	}
	return out, nil
}

// finished is how most of many runs end: they are done, and one in a thousand is interrupted.
func finished(i int) journal.Body {
	if i%1000 == 0 {
		return journal.RunInterrupted{Cause: journal.CauseShutdown}
	}
	return journal.RunCompleted{Text: "done"}
}

// waiting has each of many runs ask something.
func waiting(i int) journal.Body {
	return journal.RequestOpened{Request: journal.Request{
		ID: fmt.Sprintf("p-%08d", i), Question: journal.Question{Kind: journal.RequestConfirm, Message: "go on?", Schema: json.RawMessage(`{"type":"boolean"}`)}, Opened: time.Now(),
	}}
}

// manyRuns makes a state folder of so many runs, each with so many children that are done, and
// says of each how it ends. Many at once share the commits.
func (b *bench) manyRuns(ctx context.Context, count, below int, end func(int) journal.Body) (string, error) {
	home, err := b.folder("runs")
	if err != nil {
		return "", err
	}
	store, err := db.Open(ctx, home, db.Options{}) // with the ballast, which would otherwise be made by the first command
	if err != nil {
		return "", err
	}
	const writers = 64
	trouble := make([]error, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := w; i < count && trouble[w] == nil; i += writers {
				trouble[w] = oneFamily(ctx, store, b.dir, i, below, end(i))
			}
		})
	}
	all.Wait()
	return home, errors.Join(append(trouble, store.Close())...)
}

// oneFamily writes a run and those below it.
func oneFamily(ctx context.Context, store *db.Store, folder string, i, below int, end journal.Body) error {
	root := fmt.Sprintf("%08d", i)
	err := oneRun(ctx, store, folder, root, journal.Family{}, end)
	for k := 0; k < below && err == nil; k++ {
		f := journal.Family{Parent: "r-" + root, Root: "r-" + root, RootThread: "t-" + root, Role: fmt.Sprintf("phase-%d#1", k)}
		err = oneRun(ctx, store, folder, fmt.Sprintf("%s%02d", root, k), f, journal.RunCompleted{Text: "done"})
	}
	return err
}

func oneRun(ctx context.Context, store *db.Store, folder, id string, f journal.Family, end journal.Body) error {
	run, thread := "r-"+id, "t-"+id
	_, err := store.Create(ctx, db.ThreadRef{ID: thread, Folder: folder, New: true}, []journal.Event{
		{Body: journal.RunCreated{Run: run, Thread: thread, Prompt: "do the work of " + run, Folder: folder, Model: "runbook", Mode: journal.ModeAsk, Family: f}},
		{Body: journal.RunClaimed{Epoch: 1, PID: 1, Boot: "boot", Host: "here"}},
		{Body: end},
	})
	return err
}
