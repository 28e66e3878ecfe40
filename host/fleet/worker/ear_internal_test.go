package worker

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent/fleet/custody"
	"agent/fleet/log"
	"agent/fleet/seal"
	"agent/fleet/witness"
	"agent/host/witness/line"
)

// What a driver has be in the log is known at once: nothing is listed for it.
func TestWhoFollowsARunHearsThatItStops(t *testing.T) {
	dir := t.TempDir()
	a := Agent{Path: filepath.Join(dir, "agent"), Home: dir}
	script := "#!/bin/sh\n[ \"$1\" = show ] && echo '{\"run\":{\"id\":\"r-00000000\",\"status\":\"completed\"}}'\n"
	if err := os.WriteFile(a.Path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "locks", "r-00000000"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := log.Open(t.Context(), "dir:"+dir, "n")
	if err != nil {
		t.Fatal(err)
	}
	h := host(1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h.homes = &homes{first: a, ctx: ctx, eyes: map[string]*eye{a.Home: newEye(a)}} // which never looks
	h.record = &record{log: l, key: seal.NewKey(), namespace: "n", host: h.Name, seen: time.Now()}
	d := &drive{host: h, agent: a, run: custody.Run{ID: "r-00000000"}, asked: true}
	heard, done := h.ears.listen(d.run.ID)
	d.heard = heard
	ok := line.Reply{OK: &line.OK{Place: 3}}
	for _, e := range []witness.Event{
		{Root: "r-00000001", Why: "end", Reply: ok},
		{Root: "r-00000000", Why: "claim", Reply: ok},
		{Root: "r-00000000", Why: "interrupted: shutdown", Reply: ok},
		{Root: "r-00000000", Why: "end", Reply: line.Reply{Later: "the log is away"}},
	} {
		h.ears.hear(e)
		if len(heard) > 0 {
			t.Errorf("it hears of %+v", e)
		}
	}
	for range 2 {
		h.ears.hear(witness.Event{Root: "r-00000000", Why: "end", Reply: ok})
	}
	if out, err := d.follow(ctx); err != nil || out.Status != completed {
		t.Errorf("it is %+v, %v", out, err)
	}
	done()
	if len(h.ears.all) > 0 {
		t.Errorf("it is listened to still: %v", h.ears.all)
	}
}

func TestRunsAreListedWhereADriverDied(t *testing.T) {
	e := newEye(Agent{Home: t.TempDir()})
	if e.due(true) {
		t.Error("nobody follows a run")
	}
	done := e.follow("r-1")
	e.free["r-1"] = true
	if e.due(false) {
		t.Error("nothing has happened")
	}
	if e.due(true) {
		t.Error("something was written, and it is not time yet")
	}
	e.last = time.Now().Add(-beat)
	if !e.due(true) || e.due(true) {
		t.Error("what was written for a while is listed, once")
	}
	delete(e.free, "r-1") // it was held at the last look
	if !e.due(false) || e.due(false) {
		t.Error("a lock that was let go has the runs listed, once")
	}
	e.poke()
	if !e.due(false) {
		t.Error("whoever begins to follow a run that goes on has the runs listed")
	}
	done()
	e.poke()
	if e.due(true) {
		t.Error("nobody follows a run any more")
	}
}
