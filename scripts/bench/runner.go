//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	runs "agent/tools/runner"
)

// shell is how a runbook's block is carried out.
func shell() []string { return []string{"/bin/sh", "-e"} }

// runner is one command through the runner, from its folder to its removed record, beside the same
// command started plainly.
func runner(ctx context.Context, b *bench) ([]row, error) {
	hello, err := b.program(ctx, "hello")
	if err != nil {
		return nil, err
	}
	syncs, err := counted(func() (int, error) { return b.callSyncs(ctx) })
	if err != nil {
		return nil, err
	}
	calls, err := b.folder("calls")
	if err != nil {
		return nil, err
	}
	turn := 0
	plainly := func() error { return exec.CommandContext(ctx, "/bin/sh", "-e", "-c", "true").Run() }
	greet := func() error { return exec.CommandContext(ctx, hello).Run() }
	floor := func() error {
		if err := greet(); err != nil {
			return err
		}
		if err := plainly(); err != nil {
			return err
		}
		return syncFiles(calls, syncs)
	}
	took, err := takeTurns(b.times(150), func() error { turn++; return b.call(ctx, calls, turn) }, plainly, floor)
	if err != nil {
		return nil, err
	}
	inTurns, err := b.shellTurns(ctx, func() error { return errors.Join(greet(), floor()) })
	if err != nil {
		return nil, err
	}
	const name = "sh -c true through the runner"
	ms := func(i int) float64 { return median(took[i], time.Millisecond) }
	return append([]row{
		cost(name, ms(0), "ms", ms(1), "plain fork and exec, of which nothing is left after a kill").because(
			"A command that outlives the host takes a process of our own beside it and records that are on the disk before and after: its folder, began, exit."),
		cost(name, ms(0), "ms", ms(2), fmt.Sprintf("the same, a Go program that says hello, and %d fsyncs of new files", syncs)).because(
			"Of the runner's processor time (perf) its own work, the files and the JSON of its records among it, is three tenths, the runtime's start of a " +
				"binary of 20 MB a sixth, the end of the process, which unmaps it, a seventh, and the packages that are initialised before it an eighth, half of it for " +
				"encoding/gob, the entities of HTML and the tables of x/text. The rest is goroutines and threads."),
		plain("fsyncs of a call's files", float64(syncs), "fsyncs"),
	}, inTurns...), nil
}

// call carries out one command as the shell tool does.
func (b *bench) call(ctx context.Context, calls string, turn int) error {
	id := runs.Identity{Run: "r-bench000", Turn: turn, Attempt: 1, Fingerprint: "f"}
	folder := id.Folder(calls)
	job, err := runs.Prepare(folder, runs.Spec{Identity: id, Script: "true", Shell: shell(), Dir: "/"})
	if err != nil {
		return err
	}
	if err := job.Start(b.exe, nil); err != nil {
		return errors.Join(err, job.Abandon())
	}
	seen, err := runs.Wait(ctx, folder, id)
	if err != nil {
		return err
	}
	if seen.State != runs.Ended || seen.Exit.Status != 0 {
		return fmt.Errorf("the call is %s: %s", seen.State, seen.Why)
	}
	return runs.Discard(folder)
}

// syncFiles makes so many new files durable and removes them.
func syncFiles(folder string, n int) error {
	for i := range n {
		f, err := os.Create(filepath.Join(folder, fmt.Sprint("synced-", i)))
		if err != nil {
			return err
		}
		if _, err = f.Write(make([]byte, 300)); err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// callSyncs counts with strace what a call's files cost: the fsyncs in their folder of a run of 20
// blocks without those of a run of 10, over 10.
func (b *bench) callSyncs(ctx context.Context) (int, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return 0, errors.New("strace counts the fsyncs of a call, and is not installed")
	}
	var counted [2]int
	for i, blocks := range []int{10, 20} {
		home, err := b.folder("state")
		if err != nil {
			return 0, err
		}
		book, trace := filepath.Join(home, "book.md"), filepath.Join(b.dir, "trace")
		if err := os.WriteFile(book, []byte(strings.Repeat("```sh\ntrue\n```\n\n", blocks)), 0o600); err != nil {
			return 0, err
		}
		state := filepath.Join(home, "state")
		if _, err := output(ctx, state, []string{
			strace, "-f", "--seccomp-bpf", "-y", "-e", "trace=fsync,fdatasync", "-o", trace,
			b.exe, "run", "--model", "runbook", "--max-turns", "0", "--dir", home, "-f", book,
		}); err != nil {
			return 0, err
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "sync(") && strings.Contains(line, filepath.Join(state, "calls")) {
				counted[i]++
			}
		}
	}
	return (counted[1] - counted[0]) / 10, nil
}
