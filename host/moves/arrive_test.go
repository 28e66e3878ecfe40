package moves

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/db/moves"
	"agent/db/redact"
	"agent/host/pack"
	"agent/recovery/journal"
)

const secret = "qZ8-Vt4w-canary-Lk2jH9sXe"

// aStore has one run, whose prompt has a secret in it, and gives the placeholder.
func aStore(t testing.TB) (s *db.Store, placeholder string) {
	t.Helper()
	ctx := context.Background()
	s, err := db.Open(ctx, filepath.Join(t.TempDir(), "state"), db.Options{NoBallast: true, Known: []redact.Known{{Rule: "token", Value: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c := created("r-here", "t-here")
	c.Prompt = "deploy with " + secret
	if _, err := s.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: c.Folder, New: true}, []journal.Event{{Body: c}, {Body: journal.RunClaimed{Epoch: 1}}}); err != nil {
		t.Fatal(err)
	}
	for e, err := range s.Load(ctx, "r-here", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := e.Body.(journal.RunCreated); ok {
			_, placeholder, _ = strings.Cut(c.Prompt, "with ")
		}
	}
	if placeholder == "" || strings.Contains(placeholder, secret) {
		t.Fatalf("the placeholder is %q", placeholder)
	}
	return s, placeholder
}

func created(run, thread string) journal.RunCreated {
	return journal.RunCreated{Run: run, Thread: thread, Folder: "/w", Model: "x/y", Mode: journal.ModeAuto, Version: "1", ToolsHash: "t", Prompt: "go"}
}

// crafted is a pack that somebody made by hand.
func crafted(t testing.TB, c journal.RunCreated, threads []pack.Thread, body string) string {
	t.Helper()
	if body == "" {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		body = string(b)
	}
	path := filepath.Join(t.TempDir(), "pack")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pack.NewWriter(f, pack.Header{ID: "m-1", From: "s-THERE", Made: time.Unix(1, 0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fact := pack.Fact{Kind: 1, V: 1, Time: 1, Body: body}
	records := []pack.Record{{About: &pack.About{Thread: c.Thread, Runs: 1, Facts: 1}}}
	for i := range threads {
		records = append(records, pack.Record{Thread: &threads[i]})
	}
	records = append(records, pack.Record{Run: &pack.Run{ID: c.Run, Thread: c.Thread, Facts: 1, Digest: pack.Chain(nil, &fact)}}, pack.Record{Fact: &fact})
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// taken reads a pack and takes it in.
func taken(s *db.Store, path string) error {
	a, err := arrive(context.Background(), s, path, time.Unix(2, 0))
	if err == nil {
		_, err = moves.Take(context.Background(), s, &a.Arrival)
	}
	return err
}

// Issue 16: whoever makes a pack gets at nothing of the store that takes it, and writes no file
// outside.
func TestHostilePacks(t *testing.T) {
	own := []pack.Thread{{ID: "t-there", KeyOf: "t-there", Folder: "/w"}}
	s, placeholder := aStore(t)
	escaped := strings.Replace(placeholder, "[", `\u005b`, 1)
	for name, c := range map[string]struct {
		change  func(c *journal.RunCreated)
		threads []pack.Thread
		body    string
	}{
		"its id is a path":            {change: func(c *journal.RunCreated) { c.Run = "r-../../../x" }},
		"its thread is a path":        {change: func(c *journal.RunCreated) { c.Thread = "t-/x" }, threads: []pack.Thread{{ID: "t-/x", KeyOf: "t-/x"}}},
		"it follows a run of ours":    {change: func(c *journal.RunCreated) { c.Previous = "r-here" }},
		"it is below a run of ours":   {change: func(c *journal.RunCreated) { c.Parent, c.Root, c.RootThread = "r-here", "r-here", "t-there" }},
		"it is a fork of ours":        {change: func(c *journal.RunCreated) { c.From = &journal.Position{Run: "r-here", Turn: 1} }},
		"it is in a thread of ours":   {change: func(c *journal.RunCreated) { c.Thread = "t-here" }, threads: []pack.Thread{{ID: "t-here", KeyOf: "t-here", Folder: "/w"}}},
		"it has the key of ours":      {threads: []pack.Thread{{ID: "t-there", KeyOf: "t-here", Folder: "/w"}}},
		"it is a run of ours":         {change: func(c *journal.RunCreated) { c.Run = "r-here" }},
		"its thread is missing":       {threads: []pack.Thread{}},
		"it names a secret of ours":   {change: func(c *journal.RunCreated) { c.Prompt = placeholder }},
		"it names one with an escape": {body: `{"run":"r-there","thread":"t-there","folder":"/w","prompt":"` + escaped + `","model":"x/y","mode":"auto","limits":{},"version":"1","tools":"t"}`},
	} {
		t.Run(name, func(t *testing.T) {
			run := created("r-there", "t-there")
			if c.change != nil {
				c.change(&run)
			}
			if c.threads == nil {
				c.threads = own
			}
			err := taken(s, crafted(t, run, c.threads, c.body))
			if err == nil {
				t.Fatal("it was taken in")
			}
			t.Log(err)
			if _, err := s.Run(context.Background(), "r-there"); err == nil {
				t.Error("and it is here")
			}
		})
	}
	if err := taken(s, crafted(t, created("r-there", "t-there"), own, "")); err != nil {
		t.Fatalf("one that is sound is refused: %v", err)
	}
}

// Facts of any form are taken or refused, and never end the process.
func FuzzFacts(f *testing.F) {
	f.Add(`{"run":"r-there","thread":"t-there"}`)
	f.Add(`{"run":"r-there","thread":"t-there","folder":"/w","from":{"run":"r-x"},"env":"aaaaaaaaaaaa"}`)
	f.Add(`[]`)
	s, _ := aStore(f)
	own := []pack.Thread{{ID: "t-there", KeyOf: "t-there", Folder: "/w"}}
	f.Fuzz(func(t *testing.T, body string) {
		if body == "" {
			return
		}
		if _, err := arrive(context.Background(), s, crafted(t, created("r-there", "t-there"), own, body), time.Unix(2, 0)); err == nil {
			return
		}
	})
}
