package maintain

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/db/redact"
)

// What was written before it was known to be secret is found in whatever place it lies, packed,
// compressed or in a file, and the place is named without the value. What is as it should be is
// not.
func TestFindExposed(t *testing.T) {
	ctx := context.Background()
	dir := dbtest.StateDir(t)
	s := openStore(t, dir) // which knows nothing
	h := startRun(t, s, "r-exposed1")
	for n, size := range []int{10, 40 << 10, 300 << 10} {
		a, b := dbtest.Turn(n+1, "c-0000000"+string(rune('1'+n)), strings.Repeat("filler\n", size/7)+"it is "+canary)
		h = appendAll(t, s, h, a, db.AppendOptions{})
		h = appendAll(t, s, h, b, db.AppendOptions{})
	}
	ask(t, s, h, "p-exposed1")
	if _, err := s.Answer(ctx, "p-exposed1", []byte(`"it is `+canary+`"`), "somebody"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"live/r-exposed1", "log/agent.log", "calls/r-exposed1/1-0-1/out"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text "+canary+" text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := FindExposed(ctx, s, nil); err != nil || len(found) > 0 {
		t.Errorf("what nobody knows is found: %+v %v", found, err)
	}
	s.Know(redact.Known{Rule: "env-canary", Value: canary})
	var steps int
	found, err := FindExposed(ctx, s, func(done, all int64) {
		steps++
		if done > all {
			t.Errorf("%d of %d", done, all)
		}
	})
	if err != nil || steps == 0 {
		t.Fatal(err, steps)
	}
	got := map[string]bool{}
	for _, x := range found {
		if x.Rule != "env-canary" {
			t.Errorf("%+v", x)
		}
		place := x.Table + " " + x.Column
		if x.Table == "" {
			place = strings.SplitN(x.File, string(filepath.Separator), 2)[0]
		}
		if x.Table == "journal" && (x.Run != "r-exposed1" || x.Seq == 0) {
			t.Errorf("%+v", x)
		}
		got[place] = true
	}
	for _, want := range []string{"journal body", "blobs data", "blobs", "pending_requests answer", "live", "log", "calls"} {
		if !got[want] {
			t.Errorf("nothing is found in %s: %+v", want, found)
		}
	}

	clean := openStore(t, dbtest.StateDir(t), knowing)
	h = startRun(t, clean, "r-cleanrun")
	a, b := dbtest.Turn(1, "c-00000001", "it is "+canary+" and [secret:env-canary:abcdefghjk]")
	h = appendAll(t, clean, h, a, db.AppendOptions{})
	appendAll(t, clean, h, b, db.AppendOptions{})
	if found, err := FindExposed(ctx, clean, nil); err != nil || len(found) > 0 {
		t.Errorf("where nothing lies: %+v %v", found, err)
	}
}

// A row that is gone leaves its bytes in the file for a while, and those are found too.
func TestFindRemains(t *testing.T) {
	dir := dbtest.StateDir(t)
	s := openStore(t, dir)
	if _, err := s.PutInbox(context.Background(), startRun(t, s, "r-remains1").Run, db.MessageRuling, []byte(`{"by":"`+canary+`"}`), ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execIn(t, dir, "DELETE FROM inbox")
	s = openStore(t, dir, knowing)
	found, err := FindExposed(context.Background(), s, nil)
	if err != nil || len(found) != 1 || found[0].File != db.FileName {
		t.Errorf("%+v %v", found, err)
	}
}
