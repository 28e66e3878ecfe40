package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/db/vault"
	"agent/recovery/journal"
)

// Two runs may make the same call id: it is then told apart by its run and never taken for the
// other.
// CF-29.
func TestSameCallIDInTwoRuns(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	for _, run := range []string{"r-twinone1", "r-twintwo2"} {
		h := startRun(t, s, run)
		a, _ := turnFacts(1, "c-samesame", "")
		appendAll(t, s, h, a, AppendOptions{})
	}
	var several *AmbiguousError
	if _, err := s.Call(ctx, "c-samesame"); !errors.As(err, &several) || len(several.Candidates) != 2 {
		t.Errorf("%v", err)
	}
	for _, run := range []string{"r-twinone1", "r-twintwo2"} {
		calls, err := s.Calls(ctx, run)
		if err != nil || len(calls) != 1 || calls[0].Run != run || string(calls[0].Proposal.Args) != `{"command":"make test"}` {
			t.Errorf("%+v %v", calls, err)
		}
	}
}

// A plain list is the 20 newest and everything that needs someone, once each, newest first.
func TestRuns(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	for i := range 60 {
		run := fmt.Sprintf("r-list%04d", i)
		h := startRun(t, s, run)
		switch {
		case i == 3:
			appendAll(t, s, h, events(journal.RunInterrupted{Cause: journal.CauseCrash}), AppendOptions{})
		case i == 5 || i == 59:
			ask(t, s, h, "p-"+run[2:])
		case i%2 == 0:
			appendAll(t, s, h, events(journal.RunCompleted{Text: "done"}), AppendOptions{})
		}
	}
	ids := func(f Filter) []string {
		rows, err := s.Runs(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for i, r := range rows {
			out = append(out, r.ID)
			if i > 0 && rows[i-1].No <= r.No {
				t.Errorf("%s comes after %s", r.ID, rows[i-1].ID)
			}
		}
		return out
	}
	if got := ids(Filter{}); len(got) != 22 || got[0] != "r-list0059" || got[20] != "r-list0005" || got[21] != "r-list0003" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{Interrupted: true}, "[r-list0003]"}, {Filter{Waiting: true}, "[r-list0059 r-list0005]"},
		{Filter{Interrupted: true, Waiting: true}, "[r-list0059 r-list0005 r-list0003]"}, {Filter{Folder: "/work/t-list0007"}, "[r-list0007]"},
		{Filter{Thread: "t-list0009"}, "[r-list0009]"}, {Filter{All: true, Limit: 2}, "[r-list0059 r-list0058]"},
	} {
		if got := fmt.Sprint(ids(c.f)); got != c.want {
			t.Errorf("%+v: %s and not %s", c.f, got, c.want)
		}
	}
	if got := ids(Filter{All: true}); len(got) != 60 {
		t.Errorf("%d runs", len(got))
	}
	latest, err := s.LatestRun(ctx, "/work/t-list0011")
	if err != nil || latest == nil || latest.ID != "r-list0011" {
		t.Errorf("%+v %v", latest, err)
	}
	if none, err := s.LatestRun(ctx, "/nowhere"); err != nil || none != nil {
		t.Errorf("%+v %v", none, err)
	}
	alive, err := s.Alive(ctx)
	if err != nil || len(alive) != 27 {
		t.Errorf("%d runs are looked at (%v)", len(alive), err)
	}
	if p := func() *PendingRow { r, _ := s.Run(ctx, "r-list0005"); return r.Pending }(); p == nil || p.Request.Message != "go on?" {
		t.Errorf("%+v", p)
	}
}

// TOOL-07: order of members, spelling of numbers and strings, and space do not count; values do, to
// the last digit.
func TestFingerprint(t *testing.T) {
	s := openStore(t, stateDir(t))
	s.key = make([]byte, vault.KeySize) // so that the vectors below hold
	fp := func(tool, args string) string {
		f, err := s.Fingerprint("t-1", tool, json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	same := [][2]string{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1.0 } `},
		{`{"a":"\u00e9\u000a"}`, `{"a":"é\n"}`},
		{`{"n":1e2}`, `{"n":100}`},
		{`{"a":9007199254740993,"b":18446744073709551616}`, `{"b":18446744073709551616,"a":9007199254740993}`},
	}
	for _, c := range same {
		if fp("shell", c[0]) != fp("shell", c[1]) {
			t.Errorf("%s and %s differ", c[0], c[1])
		}
	}
	other := []string{
		`{"a":1}`, `{"a":"1"}`, `{"b":1}`, `{"a":[1]}`, `{"a":1,"b":null}`, `{"a":9007199254740992}`, `{"a":9007199254740993}`, `{"a":9007199254740994}`,
		`{"a":-9007199254740993}`, `[9007199254740993,1]`, `[1,9007199254740993]`, `{"a":{"b":9007199254740993}}`, `{"a/\"b\"":9007199254740993}`,
		`{"a":1,"a":2}`, `{"a":2,"a":1}`, `not json`, `not json `, ``, `null`, `"é"`, "\"e\u0301\"", `{"a":1e400}`, `{"a":"\ud800"}`,
	}
	seen := map[string]string{}
	for _, args := range other {
		f := fp("shell", args)
		if was, twice := seen[f]; twice {
			t.Errorf("%s and %s are the same", was, args)
		}
		seen[f] = args
		if !strings.HasPrefix(f, "hmac-sha256:v1:") || len(f) != len("hmac-sha256:v1:")+64 {
			t.Errorf("%s", f)
		}
	}
	if fp("shell", `{}`) == fp("shell2", `{}`) || fp("a", `{}`) == fp("b", `{}`) {
		t.Error("the tool does not count")
	}
	s.key = []byte(strings.Repeat("k", vault.KeySize))
	if _, twice := seen[fp("shell", `{"a":1}`)]; twice {
		t.Error("the key does not count")
	}
}

// The form of a fingerprint is on disks: a change would make every recorded call unrecognisable.
func TestFingerprintStays(t *testing.T) {
	s := openStore(t, stateDir(t))
	s.key = make([]byte, vault.KeySize)
	got, err := s.Fingerprint("t-1", "shell", json.RawMessage(`{"command":"make","n":9007199254740993}`))
	if want := "hmac-sha256:v1:e31d20c58737ca4399dfa68366143cc4ee2fdf8e15abf7cfe2ec5290e5396d9e"; err != nil || got != want {
		t.Errorf("%s and not %s (%v)", got, want, err)
	}
}

// Calls of one thread are never recognised in another, but in a thread that came from it: its
// fingerprints are made with the same key.
func TestFingerprintOfThreads(t *testing.T) {
	s := openStore(t, stateDir(t))
	startRun(t, s, "r-a")
	startRun(t, s, "r-b")
	print := func(thread string) string {
		f, err := s.Fingerprint(thread, "shell", json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if print("t-a") == print("t-b") || print("t-a") == print("t-new") {
		t.Error("the thread does not count")
	}
	if err := s.write(t.Context(), func(tx *tx) error { return tx.q.CreateThread(t.Context(), "t-c", "t-a", "/w", 1) }); err != nil {
		t.Fatal(err)
	}
	if print("t-c") != print("t-a") {
		t.Error("a thread that came from another one does not recognise its calls")
	}
}
