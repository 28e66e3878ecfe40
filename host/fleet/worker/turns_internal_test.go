package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent/fleet/custody"
	"agent/fleet/log"
	"agent/fleet/log/replay"
	"agent/fleet/log/replay/replaytest"
	"agent/fleet/seal"
)

// Whoever looks at a run waits until another activity is done with looking and beginning.
func TestARunIsLookedAtInTurn(t *testing.T) {
	var x turns
	done, err := x.take(t.Context(), "r-1")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := x.take(t.Context(), "r-2"); err != nil {
		t.Error(err)
	} else {
		other()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.take(ctx, "r-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("it has a turn that another has: %v", err)
	}
	next := make(chan func(), 1)
	go func() {
		done, _ := x.take(t.Context(), "r-1")
		next <- done
	}()
	select {
	case <-next:
		t.Fatal("two have the turn")
	default:
	}
	done()
	done()
	(<-next)()
	if len(x.all) > 0 {
		t.Errorf("kept: %v", x.all)
	}
}

// looked is a log that looks at a folder whenever it is read.
type looked struct {
	log.Log
	path string
	seen []bool
}

func (l *looked) Last(ctx context.Context, root string) (int64, error) {
	_, err := os.Stat(l.path)
	l.seen = append(l.seen, err == nil)
	return l.Log.Last(ctx, root)
}

// What a driver of this host recorded between two looks is no sign of another host: the log is
// looked at first, and what is in it is here by then.
func TestTheLogIsReadBeforeTheRecord(t *testing.T) {
	a, _ := program(t, `{"run":{"id":"r-00000000","status":"running"}}`, "0")
	script := "#!/bin/sh\n: > " + a.Home + "/shown\necho '{\"run\":{\"id\":\"r-00000000\",\"status\":\"running\"}}'\n"
	if err := os.WriteFile(a.Path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(a.Home, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.Home, "locks", "r-00000000"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := hostWithLog(t)
	l := &looked{Log: h.record.log, path: filepath.Join(a.Home, "shown")}
	h.record.log = l
	d := &drive{host: h, run: custody.Run{ID: "r-00000000"}, agent: a}
	if err := d.look(t.Context()); err != nil || d.here == nil {
		t.Fatalf("here %v, %v", d.here, err)
	}
	if len(l.seen) == 0 || l.seen[0] {
		t.Errorf("the log was read %v, true: after the record", l.seen)
	}
}

func hostWithLog(t *testing.T) *Host {
	t.Helper()
	l, err := log.Open(t.Context(), "dir:"+t.TempDir(), "n")
	if err != nil {
		t.Fatal(err)
	}
	h := host(1)
	h.record = &record{log: l, key: seal.NewKey(), namespace: "n", host: h.Name, seen: time.Now()}
	return h
}

// A run that is cancelled before it began begins nowhere any more. Promise 7.
func TestACancelledRunDoesNotBegin(t *testing.T) {
	h := hostWithLog(t)
	d := &drive{host: h, run: custody.Run{ID: "r-00000000"}, step: custody.Step{Cancel: true}}
	out, err := d.nowhere(t.Context())
	if err != nil || out.Status != cancelled || out.Facts != 0 {
		t.Fatalf("it is %+v, %v", out, err)
	}
	s := replay.NewState(d.run.ID)
	if err := s.CatchUp(t.Context(), h.record.log, h.record.key.Sealer("n", d.run.ID), nil); err != nil {
		t.Fatal(err)
	}
	claim := seal.Entry{By: h.Name, Epoch: 1, Records: replaytest.New(d.run.ID).Does(d.run.ID, "claim")}
	if _, err := s.Check(s.Place+1, claim); err == nil {
		t.Error("a driver can claim it")
	}
}

// One whose driver was faster has begun, and can start nothing more.
func TestACancelAsARunBegins(t *testing.T) {
	h := hostWithLog(t)
	const run = "r-00000000"
	sealer := h.record.key.Sealer("n", run)
	entry, err := sealer.Seal(1, seal.Entry{By: h.Name, Epoch: 1, Records: replaytest.New(run).Does(run, "claim")})
	if err == nil {
		err = h.record.log.Create(t.Context(), run, 1, entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.never(t.Context(), run); err != nil || out.Status != cancelled || out.Facts != 1 || out.Text == "cancelled before it began" {
		t.Errorf("it is %+v, %v", out, err)
	}
}
