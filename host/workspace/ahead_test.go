package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// A base that was made while a model was asked is recorded before the first call that needs it,
// with what changed since; a file tool that comes first waits for nothing and needs none.
// W4, P3.
func TestAhead(t *testing.T) {
	for _, large := range []bool{false, true} {
		b := newBench(t)
		b.repository("echo a >a; echo b >b; echo c >c; mkdir d")
		b.sh("echo mine >mine; echo theirs >theirs")
		if large {
			b.sh("truncate -s 300K big")
		}
		w := b.run("r-aheadone", "")
		b.k.Ahead(w.created)
		b.k.Ahead(w.created)
		b.k.tracker(w.created).wait(b.Context())
		if names, err := os.ReadDir(filepath.Join(b.k.Process.Home, "keep")); err == nil && len(names) > 0 {
			t.Errorf("%d folders of contents that nothing names", len(names))
		}
		b.expect(b.during(w, "echo tool >b; echo tool >new", "b", "new"), "tool b 644 -> 644", "tool new - -> 644")
		b.sh("echo x >theirs; rm c; echo y >y")
		facts := b.start(w)
		base := baseOf(t, facts)
		if base.Mode != journal.KeepAll || base.Pin != "r-aheadone" || base.Head == nil || base.Sealed < 2 {
			t.Errorf("%+v", base)
		}
		if _, first := facts[0].(journal.FilesBase); !first {
			t.Errorf("%T is recorded before the base", facts[0])
		}
		b.expect(facts, "outside theirs 644 -> 644", "outside c 644 -> -", "outside y - -> 644")
		b.before(facts, map[string]string{"theirs": "theirs\n", "c": "c\n"})
		b.killed() // the list has all of it, also what the file tool wrote
		b.sh("rm -rf .git *")
		facts = b.settle(w)
		want := []string{"while a 644 -> -", "while b 644 -> -", "while d dir -> -", "while mine 644 -> -", "while new 644 -> -", "while theirs 644 -> -", "while y 644 -> -"}
		if large {
			want = append(want, "while big 644 -> -")
		}
		b.expect(facts, want...)
		contents := map[string]string{"a": "a\n", "b": "tool\n", "mine": "mine\n", "new": "tool\n", "theirs": "x\n", "y": "y\n"}
		if large {
			contents["big"] = strings.Repeat("\x00", 300<<10)
		}
		b.before(facts, contents)
	}
}

// A run that never writes leaves nothing of the base that was made for it.
func TestAheadForNothing(t *testing.T) {
	b := newBench(t)
	b.repository("echo a >a; echo b >b")
	b.sh("echo mine >mine; truncate -s 300K big")
	w := b.run("r-aheadnot", "")
	b.k.Ahead(w.created)
	b.k.tracker(w.created).wait(b.Context())
	if pins, err := Pins(b.k.Process); err != nil || len(pins) != 1 {
		t.Errorf("no base was begun: %v %v", pins, err)
	}
	b.k.Ended(w.created)
	b.k.Left(w.created)
	pins, err := Pins(b.k.Process)
	if err != nil || len(pins) != 0 {
		t.Errorf("pins %v %v", pins, err)
	}
	w = b.run("r-aheadend", "")
	b.k.Ahead(w.created)
	a := b.k.tracker(w.created).ahead
	b.k.Ended(w.created)
	<-a.done
	if pins, err = Pins(b.k.Process); err != nil || len(pins) != 0 {
		t.Errorf("pins of a run that ended meanwhile: %v %v", pins, err)
	}
	kept, err := b.k.Process.Store.Contents()
	if err != nil {
		t.Fatal(err)
	}
	if sizes, err := kept.Sizes(b.Context()); err != nil || len(sizes) != 0 {
		t.Errorf("%d contents stay, %v", len(sizes), err)
	}
}

// A run that is left while its base is made waits for no more of it, and makes it when it needs it.
func TestAheadLeft(t *testing.T) {
	b := newBench(t)
	b.repository("echo a >a")
	w := b.run("r-aheadleft", "")
	b.k.Ahead(w.created)
	b.k.Left(w.created)
	if base := baseOf(t, b.start(w)); base.Mode != journal.KeepAll || base.Pin == "" {
		t.Errorf("%+v", base)
	}
	b.settle(w)
	b.k.Ahead(w.created) // it is there
	b.expect(b.during(w, "rm a"), "while a 644 -> -")

	w = b.run("r-aheadstop", "")
	ctx, cancel := context.WithCancel(b.Context())
	b.k.Ahead(w.created)
	cancel()
	if _, err := b.k.Before(ctx, w.call(nil)); err == nil {
		t.Error("a call that is not wanted was begun")
	}
	if base := baseOf(t, b.start(w)); base.Mode != journal.KeepAll {
		t.Errorf("%+v", base)
	}
}
