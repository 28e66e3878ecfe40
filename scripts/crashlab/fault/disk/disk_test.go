//go:build linux

package disk

import (
	"slices"
	"strings"
	"testing"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/machine"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// Every fault point is met by a full disk, by one without inodes and by one that turns read-only; a
// key names one story.
func TestDisksCoverThePoints(t *testing.T) {
	keys := map[string][]string{}
	for _, s := range shortages() {
		keys["full"] = append(keys["full"], s.key())
	}
	for _, f := range readOnlyStories() {
		keys["readonly"] = append(keys["readonly"], f.key())
	}
	for kind, own := range keys {
		if n := len(slices.Compact(slices.Sorted(slices.Values(own)))); n != len(own) {
			t.Errorf("%s: %d keys name %d stories", kind, n, len(own))
		}
		for _, p := range fault.Driving() {
			for _, way := range map[string][]string{"full": {"/space/", "/inodes/"}, "readonly": {"/remount/"}}[kind] {
				if !slices.ContainsFunc(own, func(k string) bool { return strings.HasPrefix(k, string(p)+way) }) {
					t.Errorf("%s: no story of %s%s", kind, p, way)
				}
			}
		}
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
	ops := []machine.Op{
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

// What may go wrong silently: a live text, an index, a write whose rest the next one brings;
// nothing else.
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
		if got := c.f.mustBeReported(); got != c.want {
			t.Errorf("%+v: %v", c.f, got)
		}
	}
	for text, want := range map[string]int{"agent: commit: the disk fails (x)\n": 0, "write: no space left on device": 0, "run r-1 completed\n": 1} {
		tl := &trial.Trial{World: &world.World{Outputs: []judge.Output{{Text: text}}}}
		if checkReported(tl, "it failed"); len(tl.Found) != want {
			t.Errorf("%q: %v", text, tl.Found)
		}
	}
}

// Of two answers one counts and the other process says so.
func TestOnlyOne(t *testing.T) {
	for _, c := range []struct {
		a, b judge.Output
		want int
	}{
		{judge.Output{Code: 0}, judge.Output{Code: 1, Text: "agent: answer p-1: root answered it on …"}, 0},
		{judge.Output{Code: 1, Text: "agent: answer p-1: root answered it on …"}, judge.Output{Code: 3}, 0},
		{judge.Output{Code: 0}, judge.Output{Code: 1, Text: "agent: database is locked"}, 1},
		{judge.Output{Code: 1, Text: "answered it"}, judge.Output{Code: 1, Text: "answered it"}, 1},
	} {
		tl := &trial.Trial{}
		if onlyOne(tl, c.a, c.b); len(tl.Found) != c.want {
			t.Errorf("%+v: %v", c, tl.Found)
		}
	}
}
