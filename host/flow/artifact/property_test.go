package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"agent/recovery/flow"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// world is what a file is to be, kept beside what it is.
type world struct {
	record journal.Artifact
	bytes  []byte // of the record
	disk   []byte // nil: nothing is there
	copied bool
}

// wants is how a look must call what is on the disk, worked out from the bytes alone.
func (w *world) wants() journal.ArtifactState {
	switch {
	case w.disk == nil:
		return journal.ArtifactMissing
	case bytes.Equal(w.disk, w.bytes):
		return journal.ArtifactIntact
	case len(w.disk) == 0:
		return journal.ArtifactEmpty
	case w.copied && bytes.HasPrefix(w.bytes, w.disk):
		return journal.ArtifactCut
	}
	return journal.ArtifactEdited
}

// Whatever becomes of a file, in whatever order: a look calls it by its name; what may be put back
// is there again byte for byte; what a person wrote stays as it is until a person decides, and
// then can be given back too; nothing is left beside the file.
func TestAnyDamage(t *testing.T) {
	b := newBench(t)
	n := 0
	seed.Rapid(t)
	rapid.Check(t, func(rt *rapid.T) {
		n++
		b.copies.Room = FlowLimit // each is a flow of its own
		dir := fmt.Sprintf("w%d", n)
		name, w := dir+"/deep/file", &world{}
		content := func(label string) []byte {
			if rapid.IntRange(0, 9).Draw(rt, label+" large") == 0 {
				return bytes.Repeat([]byte(rapid.StringN(1, 9, -1).Draw(rt, label)), 40_000)
			}
			return rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(rt, label)
		}
		lay := func(data []byte) {
			w.disk = append([]byte{}, data...)
			b.write(name, string(data))
		}
		record := func(copied bool) {
			got, err := b.f.Take(t.Context(), flow.Output{Path: name, Empty: true, NoCopy: !copied}, b.copies)
			b.must(err)
			b.record()
			if got.Invalid != "" || got.SHA != digest(w.disk) || (got.Copy != "") != copied {
				rt.Fatalf("taken: %+v", got)
			}
			w.record, w.bytes, w.copied = got.Artifact, bytes.Clone(w.disk), copied
		}
		lay(content("made"))
		record(rapid.Bool().Draw(rt, "copied"))
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"remove", "folder", "cut", "edit", "flip", "append", "retake", "same"}).Draw(rt, "step") {
			case "remove":
				if w.disk != nil {
					b.must(os.Remove(b.path(name)))
				}
				w.disk = nil
			case "folder":
				b.must(os.RemoveAll(b.path(dir)))
				w.disk = nil
			case "cut":
				if len(w.disk) > 0 {
					lay(w.disk[:rapid.IntRange(0, len(w.disk)-1).Draw(rt, "at")])
				}
			case "edit":
				lay(content("edited"))
			case "flip":
				if len(w.disk) > 0 {
					w.disk[rapid.IntRange(0, len(w.disk)-1).Draw(rt, "at")] ^= 1
					lay(w.disk)
				}
			case "append":
				lay(append(bytes.Clone(w.disk), 'x'))
			case "retake":
				if w.disk != nil {
					record(rapid.Bool().Draw(rt, "copied"))
				}
			case "same":
				lay(w.bytes)
			}
			before := bytes.Clone(w.disk)
			found := b.check(w.record)
			if found.State != w.wants() {
				rt.Fatalf("%s, want %s: %d bytes of %d", found.State, w.wants(), len(w.disk), len(w.bytes))
			}
			switch found.State {
			case journal.ArtifactIntact:
				continue
			case journal.ArtifactEdited:
				b.record()
				if back, why, err := b.copies.open(t.Context(), found.Copy, found.SHA); err != nil || why != "" || !bytes.Equal(back, before) {
					rt.Fatalf("what a person wrote is not copied: %q %v", why, err)
				}
				if b.content(name) != string(before) {
					rt.Fatal("what a person wrote is not there any more")
				}
				if rapid.Bool().Draw(rt, "nobody decides") {
					continue
				}
			}
			err := b.restore(w.record, found)
			if !w.copied {
				if !errors.As(err, new(*NoCopyError)) || w.disk != nil && b.content(name) != string(before) {
					rt.Fatalf("without a copy: %v", err)
				}
				continue
			}
			if err != nil || b.content(name) != string(w.bytes) {
				rt.Fatalf("put back: %v, %q", err, b.content(name))
			}
			if got := b.names(dir + "/deep"); got != "file" {
				rt.Fatalf("left beside it: %s", got)
			}
			w.disk = bytes.Clone(w.bytes)
		}
	})
}
