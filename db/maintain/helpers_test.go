package maintain

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent/db"
	"agent/db/redact"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

const canary = "kx7Qw2-canary-9fT4zLmV0bRs"

func openStore(t testing.TB, dir string, change ...func(*db.Options)) *db.Store {
	t.Helper()
	o := db.Options{NoBallast: true}
	for _, c := range change {
		c(&o)
	}
	s, err := db.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func stateDir(t testing.TB) string { return filepath.Join(t.TempDir(), "state") }

func createdFact(run, thread string) journal.RunCreated {
	return journal.RunCreated{
		Run: run, Thread: thread, Prompt: "do the work of " + run, Folder: "/work/" + thread, Model: "runbook", Mode: journal.ModeAsk,
		Limits: journal.Limits{MaxTurns: 100}, Version: "test", ToolsHash: "tools",
	}
}

func events(bodies ...journal.Body) []journal.Event {
	return inTurn(0, bodies...)
}

func inTurn(turn int, bodies ...journal.Body) []journal.Event {
	var out []journal.Event
	for _, b := range bodies {
		out = append(out, journal.Event{Turn: turn, Body: b})
	}
	return out
}

// startRun creates a run in a thread of its own and claims it.
func startRun(t testing.TB, s *db.Store, run string) db.Head {
	t.Helper()
	thread := "t-" + run[2:]
	first := append(events(createdFact(run, thread), journal.RunClaimed{Epoch: 1, PID: 42, Boot: "boot", Host: "host"}),
		inTurn(1, journal.ModelRequested{})...)
	h, err := s.Create(context.Background(), db.ThreadRef{ID: thread, Folder: "/work/" + thread, New: true}, first)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func appendAll(t testing.TB, s *db.Store, h db.Head, e []journal.Event, o db.AppendOptions) db.Head {
	t.Helper()
	next, err := s.Append(context.Background(), h, e, o)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func call(id string, args string) journal.Proposal {
	return journal.Proposal{ID: id, Tool: "shell", Args: json.RawMessage(args), Fingerprint: "hmac-sha256:v1:" + fmt.Sprintf("%064x", len(args)),
		Effect: journal.EffectWriteExternal, Decision: journal.DecisionAllow}
}

// turn is what one turn with one call writes, in its two commits.
func turnFacts(n int, id, content string) (a, b []journal.Event) {
	c := call(id, `{"command":"make test"}`)
	at := journal.Place{Turn: n, Attempt: 1}
	a = inTurn(n, journal.ModelAnswered{Calls: []journal.Proposal{c}, Stop: journal.AnswerCalls}, journal.CallStarted{Place: at})
	b = inTurn(n, journal.CallSettled{Place: at, Fingerprint: c.Fingerprint, Result: journal.Result{
		Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: content}},
		journal.TurnSettled{Checkpoint: fmt.Sprintf("k-%08d", n), TurnsLeft: 100 - n})
	b = append(b, journal.Event{Turn: n + 1, Body: journal.ModelRequested{}})
	return a, b
}

func loadAll(t testing.TB, s *db.Store, run string) []journal.Event {
	t.Helper()
	var out []journal.Event
	for e, err := range s.Load(context.Background(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func bodyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// ask opens a question in a run that has just started.
func ask(t *testing.T, s *db.Store, h db.Head, id string, change ...func(*journal.Request)) db.Head {
	t.Helper()
	r := journal.Request{ID: id, Question: journal.Question{Kind: journal.RequestMaxTurns, Message: "go on?",
		Schema: json.RawMessage(`{"type":"boolean"}`), Choices: []string{"yes", "no"}}, Opened: time.UnixMicro(1).UTC()}
	for _, c := range change {
		c(&r)
	}
	return appendAll(t, s, h, events(journal.RequestOpened{Request: r}), db.AppendOptions{})
}

// snapshot is every file of a folder with its content's hash and mode.
func snapshot(t *testing.T, dir string) map[string]string {
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

func knowing(o *db.Options) {
	o.Known = []redact.Known{{Rule: "env-canary", Value: canary}}
}

// execIn changes a database that nobody has open.
func execIn(t *testing.T, dir, text string) {
	t.Helper()
	s := openStore(t, dir)
	err := s.File().Write(context.Background(), func(t *sqlitefile.Tx) error { return t.Once(text) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// whole says that every place at which a file or a row can be damaged is tried; a plain go test tries some of them. All of them:
// AGENT_TESTS=whole go test ./db/maintain
func whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }

// longAlone skips a long test in which nothing runs beside it: scripts/check race, which looks for races, passes -short.
func longAlone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and left out with -short: go test ./db/maintain")
	}
}
