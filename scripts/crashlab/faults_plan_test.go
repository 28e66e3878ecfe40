//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"

	"agent/recovery/fault"
)

// Every fault point is met by a full disk, by one without inodes, by one that turns read-only and by a restart; a key names one
// story.
func TestFaultsCoverThePoints(t *testing.T) {
	keys := map[string][]string{}
	for _, s := range shortages() {
		keys["full"] = append(keys["full"], s.key())
	}
	for _, f := range freezes() {
		keys["readonly"] = append(keys["readonly"], f.key())
	}
	for _, r := range restarts() {
		keys["boot"] = append(keys["boot"], r.key())
	}
	for kind, own := range keys {
		if n := len(slices.Compact(slices.Sorted(slices.Values(own)))); n != len(own) {
			t.Errorf("%s: %d keys name %d stories", kind, n, len(own))
		}
		for _, p := range fault.All() {
			for _, way := range map[string][]string{"full": {"/space/", "/inodes/"}, "readonly": {"/remount/"}, "boot": {"/"}}[kind] {
				if !slices.ContainsFunc(own, func(k string) bool { return strings.HasPrefix(k, string(p)+way) }) {
					t.Errorf("%s: no story of %s%s", kind, p, way)
				}
			}
		}
	}
}

// Every fault point is met by each way of each interference, and the process that interferes is killed at each; a key names one story.
func TestInterferencesCoverThePoints(t *testing.T) {
	for name, x := range map[string]struct {
		all      []*interference
		ways     []string
		killedIn []string // ways in which the process that interferes is killed
	}{
		"signal":   {signals(), []string{"TERM", "HUP"}, nil},
		"cancel":   {cancels(), []string{"live", "dead"}, []string{"live", "dead", "waiting"}},
		"panic":    {panics(), []string{"panic"}, nil},
		"takeover": {takeovers(), []string{"alive", "stopped", "killed"}, []string{"alive", "stopped"}},
		"older":    {olders(), []string{"newer", "decided"}, nil},
		"gone":     {removals(), []string{"folder", "database", "copied"}, nil},
	} {
		keys := map[string]bool{}
		met := map[string]bool{}
		for _, i := range x.all {
			if keys[i.key()] {
				t.Errorf("%s: %s names two stories", name, i.key())
			}
			keys[i.key()] = true
			met[i.way+" at "+i.tries[0].point] = true
			met[i.way+" killed at "+i.own] = true
		}
		for _, p := range fault.All() {
			for _, way := range x.ways {
				if !met[way+" at "+string(p)] {
					t.Errorf("%s: no story %s at %s", name, way, p)
				}
			}
			for _, way := range x.killedIn {
				if !(arm{point: string(p)}).inRunner() && !met[way+" killed at "+string(p)] {
					t.Errorf("%s: no story %s in which the other process is killed at %s", name, way, p)
				}
			}
		}
	}
}

// Every fault point is met by a call that is asked for again in another spelling, and every spelling at each point at which the outcome
// of the call may become unknown; a key names one story.
func TestTwinsCoverTheSpellings(t *testing.T) {
	keys, points, met := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, i := range twins() {
		if keys[i.key()] {
			t.Errorf("%s names two stories", i.key())
		}
		keys[i.key()], points[i.tries[0].point] = true, true
		met[strings.TrimSuffix(i.way, inAnotherRun)+" at "+i.tries[0].point] = true
	}
	for _, p := range fault.All() {
		s, _ := tell("shell", "first", "chat", 0, "")
		if !points[string(p)] && s.passes(string(p)) == "" {
			t.Errorf("no story at %s", p)
		}
	}
	for _, r := range respellings() {
		for name := range r.spellings {
			for _, p := range r.points {
				if way := r.name + ":" + name + " at " + string(p); !met[way] {
					t.Errorf("no story %s", way)
				}
			}
		}
	}
}

// Who takes a person's decision is killed at every point that it comes by, in each way of deciding; a key names one story.
func TestDecisionsCoverThePoints(t *testing.T) {
	keys, met := map[string]bool{}, map[string]bool{}
	for _, i := range decisions() {
		if keys[i.key()] {
			t.Errorf("%s names two stories", i.key())
		}
		keys[i.key()], met[i.way+" "+i.own] = true, true
	}
	for _, way := range decisionWays() {
		for _, own := range append([]fault.Point{""}, fault.All()...) {
			if (own == "" || answersPass("shell", "chat", own)) && !met[way+" "+string(own)] {
				t.Errorf("no story %s in which the other process is killed at %q", way, own)
			}
		}
	}
}

// A sample holds as many kinds as it can, and the same ones for the same seed.
func TestSample(t *testing.T) {
	all := []string{"a1", "a2", "a3", "b1", "b2", "c1"}
	kind := func(s string) string { return s[:1] }
	for seed := range uint64(20) {
		three, five := sample(all, 3, seed, kind), sample(all, 5, seed, kind)
		slices.SortFunc(three, strings.Compare)
		if distinct := slices.Compact(slices.Sorted(slices.Values(five))); len(distinct) != len(five) {
			t.Errorf("seed %d: one of %v twice", seed, five)
		}
		if len(three) != 3 || kind(three[0]) != "a" || kind(three[1]) != "b" || kind(three[2]) != "c" || len(five) != 5 {
			t.Errorf("seed %d: %v, %v", seed, three, five)
		}
		if again := sample(all, 5, seed, kind); !slices.Equal(again, five) {
			t.Errorf("seed %d: %v and %v", seed, five, again)
		}
	}
	if got := sample(all, 9, 1, kind); len(got) != len(all) {
		t.Errorf("%v", got)
	}
}

// Each operation of a story is an error to come, with what it is done to.
func TestFailings(t *testing.T) {
	for path, want := range map[string]string{
		"state": "state", "state/agent.db": "state/agent.db", "state/agent.db-wal": "state/agent.db-wal", "state/.agent-12.db-wal": "state/.agent-",
		"state/calls/r-1/1-0-1/began": "state/calls/", "state/locks/r-1": "state/locks/", "state/blobs/ab/cd": "state/blobs/", "state/.ballast-7": "state/.ballast-",
	} {
		if got := classOf(path); got != want || !strings.HasPrefix(path, got) {
			t.Errorf("%s is of class %q, want %q", path, got, want)
		}
	}
	ops := []diskOp{
		{Op: "write", Path: "state/agent.db-wal"}, {Op: "fsync", Path: "state/agent.db-wal"}, {Op: "write", Path: "state/agent.db-wal"},
		{Op: "mkdir", Path: "state/calls/r-1"}, {Op: "chmod", Path: "state/key"}, {Op: "write", Path: "cache/x"},
	}
	var got []string
	for _, f := range failings(ops) {
		got = append(got, f.key())
	}
	want := []string{
		"write/agent.db-wal/EIO/once/1", "write/agent.db-wal/EIO/sticky/1", "write/agent.db-wal/ENOSPC/sticky/1", "write/agent.db-wal/EIO/torn/1",
		"write/agent.db-wal/EIO/once/2", "write/agent.db-wal/EIO/sticky/2", "write/agent.db-wal/ENOSPC/sticky/2", "write/agent.db-wal/EIO/torn/2",
		"fsync/agent.db-wal/EIO/once/1", "fsync/agent.db-wal/EIO/sticky/1", "fsync/agent.db-wal/ENOSPC/sticky/1",
		"create/calls/EIO/once/1", "create/calls/EIO/sticky/1", "create/calls/ENOSPC/sticky/1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// What may go wrong without a word: a live text, an index, a write whose rest the next one brings; nothing else.
func TestLoud(t *testing.T) {
	for _, c := range []struct {
		f    failing
		want bool
	}{
		{failing{op: "fsync", class: "state/agent.db-wal", mode: "once"}, true},
		{failing{op: "write", class: "state/agent.db-wal", mode: "once"}, false},
		{failing{op: "write", class: "state/agent.db-wal", mode: "sticky"}, true},
		{failing{op: "create", class: "state/calls/", mode: "once"}, true},
		{failing{op: "create", class: "state/live/", mode: "sticky"}, false},
		{failing{op: "fsync", class: "state/agent.db", mode: "once"}, false},
	} {
		if got := c.f.loud(); got != c.want {
			t.Errorf("%+v: %v", c.f, got)
		}
	}
	for text, want := range map[string]int{"agent: commit: the disk fails (x)\n": 0, "write: no space left on device": 0, "run r-1 completed\n": 1} {
		tl := &tale{world: &world{outputs: []output{{text: text}}}}
		if tl.loudly("it failed"); len(tl.found) != want {
			t.Errorf("%q: %v", text, tl.found)
		}
	}
}

// Of two answers one counts and the other is told so.
func TestOnlyOne(t *testing.T) {
	for _, c := range []struct {
		a, b output
		want int
	}{
		{output{code: 0}, output{code: 1, text: "agent: answer p-1: root answered it on …"}, 0},
		{output{code: 1, text: "agent: answer p-1: root answered it on …"}, output{code: 3}, 0},
		{output{code: 0}, output{code: 1, text: "agent: database is locked"}, 1},
		{output{code: 1, text: "answered it"}, output{code: 1, text: "answered it"}, 1},
	} {
		tl := &tale{}
		if tl.onlyOne(c.a, c.b); len(tl.found) != c.want {
			t.Errorf("%+v: %v", c, tl.found)
		}
	}
}
