//go:build linux

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// story numbers operations on the root.
func story(ops ...operation) []operation {
	for i := range ops {
		ops[i].N, ops[i].dir, ops[i].toDir = i+1, rootID, rootID
	}
	return ops
}

func write(id uint64, off int64, text string) operation {
	return operation{Op: opWrite, id: id, Offset: off, Size: int64(len(text)), data: []byte(text)}
}

// outcomes are the states that a model makes of the operations with many seeds.
func outcomes(t *testing.T, model string, ops []operation) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for seed := range uint64(200) {
		line := newTimeline(map[uint64]*inode{rootID: {folder: true, names: map[string]uint64{}}}, model == nosync)
		if err := line.advance(ops); err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(t.TempDir(), "state")
		if err := line.take(model, seed, into, nil, nil); err != nil {
			t.Fatal(err)
		}
		files := read(t, into)
		var words []string
		for _, name := range slices.Sorted(maps.Keys(files)) {
			words = append(words, name+"="+strings.ReplaceAll(files[name], "\x00", "."))
		}
		seen[strings.Join(words, " ")]++
	}
	return seen
}

func TestModels(t *testing.T) {
	durable := []operation{{Op: opCreate, id: 2, name: "a", mode: 0o600}, {Op: opFsyncdir, id: rootID}}
	two := func(more ...operation) []operation {
		return story(append(append([]operation(nil), durable...), more...)...)
	}
	long := strings.Repeat("x", 600) + strings.Repeat("y", 600)
	for _, c := range []struct {
		name, model string
		ops         []operation
		want        []string
	}{
		{"nothing was synced", everything, two(write(2, 0, "1"), write(2, 1, "2")), []string{"a=12"}},
		{"nothing was synced", synced, two(write(2, 0, "1"), write(2, 1, "2")), []string{"a="}},
		{"a part was", synced, two(write(2, 0, "1"), operation{Op: opFsync, id: 2}, write(2, 1, "2")), []string{"a=1"}},
		{"the first writes", prefix, two(write(2, 0, "1"), write(2, 1, "2")), []string{"a=", "a=1", "a=12"}},
		{"any writes", scattered, two(write(2, 0, "1"), write(2, 1, "2")), []string{"a=", "a=.2", "a=1", "a=12"}},
		{"a write is cut at sectors of the file", torn, two(write(2, 100, long)), []string{
			"a=", "a=" + strings.Repeat(".", 100) + long[:412], "a=" + strings.Repeat(".", 100) + long[:924], "a=" + strings.Repeat(".", 100) + long}},
		{"a short write is not torn", torn, two(write(2, 0, "1")), []string{"a=", "a=1"}},
		{"fsync is ignored", nosync, two(write(2, 0, "1"), operation{Op: opFsync, id: 2}), []string{"a=", "a=1"}},
		{"a file whose folder was not synced", synced, story(operation{Op: opCreate, id: 2, name: "a"}, write(2, 0, "1"), operation{Op: opFsync, id: 2}), []string{""}},
		{"a name that was removed is back", synced, two(operation{Op: opUnlink, name: "a"}), []string{"a="}},
		{"names in order", prefix, two(operation{Op: opCreate, id: 3, name: "b"}, operation{Op: opCreate, id: 4, name: "c"}), []string{"a=", "a= b=", "a= b= c="}},
		{"any names", scattered, two(operation{Op: opCreate, id: 3, name: "b"}, operation{Op: opCreate, id: 4, name: "c"}), []string{"a=", "a= b=", "a= b= c=", "a= c="}},
		{"a rename has happened or not", scattered, two(operation{Op: opRename, name: "a", toName: "b"}), []string{"a=", "b="}},
		{"a file is never at two names", scattered, two(operation{Op: opRename, name: "a", toName: "b"}, operation{Op: opRename, name: "b", toName: "c"}), []string{"a=", "b=", "c="}},
		{"a file that is shorter", synced, two(write(2, 0, "123"), operation{Op: opTruncate, id: 2, Size: 1}, operation{Op: opFsync, id: 2}), []string{"a=1"}},
		{"room that was reserved", synced, two(operation{Op: opExtend, id: 2, Size: 3}, operation{Op: opFsync, id: 2}), []string{"a=..."}},
	} {
		t.Run(c.model+": "+c.name, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(outcomes(t, c.model, c.ops)))
			slices.Sort(c.want)
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// What stands for another machine's memory is not cut.
func TestKeep(t *testing.T) {
	line := newTimeline(map[uint64]*inode{rootID: {folder: true, names: map[string]uint64{}}}, false)
	ops := story(operation{Op: opMkdir, id: 2, name: "w", mode: 0o700}, operation{Op: opCreate, id: 3, name: "effects", mode: 0o600}, write(3, 0, "1"),
		operation{Op: opCreate, id: 4, name: "other", mode: 0o600}, write(4, 0, "2"))
	ops[1].dir, ops[3].dir = 2, 2
	if err := line.advance(ops); err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "state")
	if err := line.take(synced, 1, into, []string{"w/effects", "none"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read(t, into)); got != "map[w/effects:1]" {
		t.Errorf("the cut leaves %s", got)
	}
	if err := line.take(everything, 1, into+"2", nil, []string{"w/eff"}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read(t, into+"2")); got != "map[w/other:2]" {
		t.Errorf("without the effects it is %s", got)
	}
}

// A move between folders is one thing: synced in one of them, it has happened in both; and what was
// done to the other before does not undo it later.
func TestMoveBetweenFolders(t *testing.T) {
	line := newTimeline(map[uint64]*inode{rootID: {folder: true, names: map[string]uint64{}}}, false)
	ops := story(operation{Op: opMkdir, id: 2, name: "d", mode: 0o700}, operation{Op: opFsyncdir, id: rootID}, operation{Op: opCreate, id: 3, name: "a"},
		operation{Op: opCreate, id: 4, name: "b"}, operation{Op: opRename, name: "b", toName: "a"}, operation{Op: opFsyncdir, id: rootID},
		operation{Op: opFsyncdir, id: 2})
	ops[2].dir, ops[4].toDir = 2, 2
	for n := range ops {
		if err := line.advance(ops[n : n+1]); err != nil {
			t.Fatal(err)
		}
		if n < 5 {
			continue
		}
		into := filepath.Join(t.TempDir(), "state")
		if err := line.take(synced, 1, into, nil, nil); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(read(t, into)); got != "map[d/a:]" || line.inodes[2].durable["a"].id != 4 {
			t.Errorf("after operation %d the cut leaves %s, file %d", n+1, got, line.inodes[2].durable["a"].id)
		}
	}
}
