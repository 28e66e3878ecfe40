// Package dbtest gives the tests of the store and of what stands on it the facts of a run, and a
// look at a folder. It knows no store, so that package db can be tested with it from inside.
package dbtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent/recovery/journal"
)

// StateDir is a folder that is not there yet.
func StateDir(t testing.TB) string { return filepath.Join(t.TempDir(), "state") }

// Created is the first fact of a run.
func Created(run, thread string) journal.RunCreated {
	return journal.RunCreated{
		Run: run, Thread: thread, Prompt: "do the work of " + run, Folder: "/work/" + thread, Model: "runbook", Mode: journal.ModeAsk,
		Limits: journal.Limits{MaxTurns: 100}, Version: "test", ToolsHash: "tools",
	}
}

// Started is what a run has that was created, claimed and asked a model.
func Started(run, thread string) []journal.Event {
	claimed := journal.RunClaimed{Epoch: 1, PID: 42, Boot: "boot", Host: "host"}
	return append(Events(Created(run, thread), claimed), InTurn(1, journal.ModelRequested{})...)
}

// Above says whose child a run is.
type Above struct {
	Parent, Root string
	Thread       string // of the root
	Role         string
}

// Child is what a run has that was created below another, claimed and asked a model; of a root
// where above is nil.
func Child(run, thread string, above *Above) []journal.Event {
	facts := Started(run, thread)
	if above != nil {
		c := facts[0].Body.(journal.RunCreated)
		c.Parent, c.Root, c.RootThread, c.Role = above.Parent, above.Root, above.Thread, above.Role
		facts[0].Body = c
	}
	return facts
}

// Events are facts that belong to no turn.
func Events(bodies ...journal.Body) []journal.Event { return InTurn(0, bodies...) }

// InTurn are facts of a turn.
func InTurn(turn int, bodies ...journal.Body) []journal.Event {
	var out []journal.Event
	for _, b := range bodies {
		out = append(out, journal.Event{Turn: turn, Body: b})
	}
	return out
}

// Call is a command that a model asks for.
func Call(id string, args string) journal.Proposal {
	return journal.Proposal{ID: id, Tool: "shell", Args: json.RawMessage(args), Fingerprint: "hmac-sha256:v1:" + fmt.Sprintf("%064x", len(args)),
		Effect: journal.EffectWriteExternal, Decision: journal.DecisionAllow}
}

// Turn is what one turn with one call writes, in its two commits.
func Turn(n int, id, content string) (a, b []journal.Event) {
	c := Call(id, `{"command":"make test"}`)
	at := journal.Place{Turn: n, Attempt: 1}
	a = InTurn(n, journal.ModelAnswered{Calls: []journal.Proposal{c}, Stop: journal.AnswerCalls}, journal.CallStarted{Place: at})
	b = InTurn(n, journal.CallSettled{Place: at, Fingerprint: c.Fingerprint, Result: journal.Result{
		Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: content}},
		journal.TurnSettled{Checkpoint: fmt.Sprintf("k-%08d", n), TurnsLeft: 100 - n})
	b = append(b, journal.Event{Turn: n + 1, Body: journal.ModelRequested{}})
	return a, b
}

// Question is a request to a person whether to go on.
func Question(id string, change ...func(*journal.Request)) journal.RequestOpened {
	r := journal.Request{ID: id, Question: journal.Question{Kind: journal.RequestMaxTurns, Message: "go on?",
		Schema: json.RawMessage(`{"type":"boolean"}`), Choices: []string{"yes", "no"}}, Opened: time.UnixMicro(1).UTC()}
	for _, c := range change {
		c(&r)
	}
	return journal.RequestOpened{Request: r}
}

// BodyFile is the one file of a state folder that holds a body too large for the database.
func BodyFile(t testing.TB, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// Snapshot is every file of a folder with its content's hash and mode.
func Snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			text += string(sum[:])
		}
		out[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
