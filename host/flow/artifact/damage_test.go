package artifact

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// noise is text that cannot be packed, so that its copy has pages of the database of its own.
func noise(seed byte) string {
	b := make([]byte, 60_000)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // it never fails
	return string(b)
}

// reopen closes the store, lets something happen to its file, and opens it again.
func (b *bench) reopen(happens func(path string)) {
	b.Helper()
	b.must(b.store.Close())
	happens(filepath.Join(b.store.Dir(), "agent.db"))
	var err error
	b.store, err = db.Open(b.Context(), b.store.Dir(), db.Options{NoBallast: true})
	b.must(err)
	contents, err := b.store.Contents()
	b.must(err)
	b.copies = &Copies{Contents: contents, Room: FlowLimit}
}

// A damaged page of the database under one copy is that artifact's alone: it has no usable copy, as
// one that was made anew has none, and those of others are put back (flows, promise 6).
func TestDamagedPage(t *testing.T) {
	b := newBench(t)
	one, two := b.made("one", noise(1)), b.made("two", noise(2))
	b.reopen(func(path string) { dbtest.BreakPage(t, path, one.Copy) })

	for _, name := range []string{"one", "two"} {
		b.must(os.Remove(b.path(name)))
	}
	found := b.check(one)
	if found.State != journal.ArtifactMissing || found.Copied || !strings.Contains(found.Reason, "agent doctor") {
		t.Errorf("%+v", found)
	}
	if err := b.restore(one, found); !errors.As(err, new(*NoCopyError)) {
		t.Error(err)
	}
	b.must(b.restore(two, b.check(two)))
	if b.content("two") != noise(2) || b.content("one") != "-" {
		t.Error("the one copy that is whole is not what was put back")
	}

	b.write("one", noise(1))
	again := b.take(flow.Output{Path: "one"})
	if again.SHA != one.SHA || again.Copy != "" || !strings.Contains(again.NoCopy, "agent doctor") {
		t.Errorf("%q, %q", again.Copy, again.NoCopy)
	}
	b.record()
	b.made("one", noise(3))
}
