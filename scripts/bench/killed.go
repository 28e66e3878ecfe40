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
	"strings"
	"syscall"

	"agent/db"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/process"
)

// killed is the state folder of a run whose process was killed, and the workspace of that run.
type killed struct {
	b                   *bench
	run                 string
	home, folder, image string // image keeps the database as the kill left it
	gate                string // a pipe at which the run waits behind its first action, so that it can be looked at
}

// The next step of a killed run writes this file into the workspace; it is the first action.
const nextFile = "next"

// Facts of a killed run beside those of its ready-made turns: its beginning, and the turn that was
// driven and killed.
const otherFacts = 10

// killed makes a run of so many facts. All its turns but one are written in large commits; then the
// binary itself goes on with it and is killed behind the settling of a turn, so that log and locks
// are what a kill leaves.
func (b *bench) killed(ctx context.Context, facts int) (*killed, error) {
	k := &killed{b: b, run: "r-bench000"}
	root, err := b.folder("killed")
	if err != nil {
		return nil, err
	}
	k.home, k.folder, k.image = filepath.Join(root, "state"), filepath.Join(root, "work"), filepath.Join(root, "image")
	k.gate = filepath.Join(root, "gate")
	if err := syscall.Mkfifo(k.gate, 0o600); err != nil {
		return nil, err
	}
	for _, dir := range []string{k.folder, k.image} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if err := k.write(ctx, (facts-otherFacts)/factsPerTurn); err != nil {
		return nil, err
	}
	c := b.command(ctx, k.home, k.folder, "resume", k.run)
	c.Env = append(c.Env, fault.EnvPoint+"="+string(fault.AfterTurn), fault.EnvUnsafe+"=1")
	out, err := c.CombinedOutput()
	if ended := new(exec.ExitError); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		return nil, fmt.Errorf("kill the run: it ended by itself: %v\n%s", err, out)
	}
	return k, k.copyDatabase(k.home, k.image)
}

// write makes the state folder, with the ballast, which would otherwise be made during the resume.
func (k *killed) write(ctx context.Context, turns int) (err error) {
	store, err := db.Open(ctx, k.home, db.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var prompt strings.Builder
	for n := range turns {
		fmt.Fprintf(&prompt, "```sh\n: %d\n```\n\n", n+1)
	}
	fmt.Fprintf(&prompt, "- list_dir .\n\n- write_file %s\n\n```\nx\n```\n\n```sh\nread -r _ <'%s'\n```\n", nextFile, k.gate)
	return grow(ctx, store, journal.RunCreated{
		Run: k.run, Prompt: prompt.String(), Folder: k.folder, Model: "runbook", Mode: journal.ModeAsk, Authored: true,
	}, turns)
}

// restore brings the state folder and the workspace back to the moment of the kill.
func (k *killed) restore() error {
	if err := os.Remove(filepath.Join(k.folder, nextFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(cacheOf(k.home)); err != nil { // a mark there knows more, as it should
		return err
	}
	return k.copyDatabase(k.image, k.home)
}

// copyDatabase copies database, log and mark, durably: what is still on its way to the disk would
// slow down whoever is measured.
func (k *killed) copyDatabase(from, to string) error {
	for _, name := range []string{"agent.db", "agent.db-wal", "marks/last"} { // the mark says how far the database came
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		path := filepath.Join(to, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), durable(path, data)); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(to, "agent.db-shm")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// durable writes a file and waits for the disk.
func durable(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// cacheOf is where the binary keeps marks of a state folder, outside of it.
func cacheOf(home string) string { return home + ".cache" }

// command is the binary with a state folder and a workspace.
func (b *bench) command(ctx context.Context, home, folder string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, b.exe, args...)
	c.Dir = folder
	c.Env = append(os.Environ(), "AGENT_HOME="+home, "HOME="+b.dir, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME="+cacheOf(home), "NO_COLOR=1")
	return c
}

const factsPerTurn = 5

// grow writes the journal of a run that has settled so many turns, and asks its model for the next
// one.
func grow(ctx context.Context, store *db.Store, created journal.RunCreated, turns int) error {
	created.Thread = "t-" + created.Run[2:]
	h, err := store.Create(ctx, db.ThreadRef{ID: created.Thread, Folder: created.Folder, New: true}, []journal.Event{
		{Body: created},
		{Body: journal.RunClaimed{Epoch: 1, PID: os.Getpid(), Boot: process.Self().Boot, Host: "here"}},
		{Turn: 1, Body: journal.ModelRequested{}},
	})
	for n := 1; err == nil && n <= turns; {
		var facts []journal.Event
		for ; err == nil && n <= turns && len(facts) < 200*factsPerTurn; n++ {
			facts, err = addTurn(facts, store, created.Run, n)
		}
		if err == nil {
			h, err = store.Append(ctx, h, facts, db.AppendOptions{})
		}
	}
	return err
}

// addTurn adds what the host records of one call with an output of 1 KiB.
func addTurn(facts []journal.Event, store *db.Store, run string, n int) ([]journal.Event, error) {
	args := json.RawMessage(fmt.Sprintf(`{"command":": %d\n"}`, n))
	fp, err := store.Fingerprint("t-"+run[2:], "shell", args)
	if err != nil {
		return nil, err
	}
	at := journal.Place{Turn: n, Attempt: 1}
	return append(facts,
		journal.Event{Turn: n, Body: journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{{
			ID: fmt.Sprintf("c-%s%06d", run[2:], n), Provider: fmt.Sprintf("step-%d", n), Tool: "shell", Args: args, Fingerprint: fp,
			Effect: journal.EffectWriteExternal, Decision: journal.DecisionAllow,
		}}}},
		journal.Event{Turn: n, Body: journal.CallStarted{Place: at}},
		journal.Event{Turn: n, Body: journal.CallSettled{Place: at, Fingerprint: fp, Result: journal.Result{
			Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: kib(), Size: int64(len(kib())),
		}}},
		journal.Event{Turn: n, Body: journal.TurnSettled{Checkpoint: fmt.Sprintf("%s@%d", run, n)}},
		journal.Event{Turn: n + 1, Body: journal.ModelRequested{}},
	), nil
}
