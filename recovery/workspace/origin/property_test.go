package origin

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// world is one file, in which it is known of each line whose it is.
type world struct {
	lines []labelled
	fresh int
}

type labelled struct {
	text  string
	owner int
}

func (w *world) content(keep func(labelled) bool) Content {
	var all []string
	for _, l := range w.lines {
		if keep(l) {
			all = append(all, l.text)
		}
	}
	if len(all) == 0 {
		return Content{}
	}
	return says(all...)
}

// edit adds a block and takes away some lines. Braces and a few other lines come again and again.
func (w *world) edit(t *rapid.T, owner int) {
	at := rapid.IntRange(0, len(w.lines)).Draw(t, "at")
	var block []labelled
	for range rapid.IntRange(1, 4).Draw(t, "block") {
		l := rapid.SampledFrom([]string{"}", "", "return nil", "new"}).Draw(t, "line")
		if l == "new" {
			w.fresh++
			l = "line " + string(rune('a'+w.fresh%26)) + string(rune('a'+w.fresh/26))
		}
		block = append(block, labelled{l, owner})
	}
	w.lines = slices.Insert(w.lines, at, block...)
	if n := rapid.IntRange(0, 2).Draw(t, "gone"); n > 0 && len(w.lines) > n {
		from := rapid.IntRange(0, len(w.lines)-n).Draw(t, "from")
		w.lines = slices.Delete(w.lines, from, from+n)
	}
}

func all(labelled) bool { return true }

// What a person stages of their own lines alone never has a line of a run's; a line that is
// in the file once is of who wrote it; and the same versions give the same answer.
// A2.
func TestWhoseLines(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		w := &world{}
		for range 3 {
			w.edit(t, Nobody)
		}
		base := w.content(all)
		versions := []Version{{Content: base, Owner: Nobody}}
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			owner := rapid.IntRange(Nobody, runB).Draw(t, "owner")
			w.edit(t, owner)
			versions = append(versions, Version{Content: w.content(all), Owner: owner})
		}
		h := Replay(versions)
		foreign := w.content(func(l labelled) bool { return l.owner == Nobody })
		of := func(v Version) bool {
			// The very text of a version has the lines of that; and who takes a line away and
			// writes the same in one step has left it where it was.
			return bytes.Equal(v.Content.Bytes, foreign.Bytes) ||
				v.Owner != Nobody && bytes.Contains(v.Content.Bytes, []byte("return")) && bytes.Contains(foreign.Bytes, []byte("return"))
		}
		for _, b := range h.Brought(base, foreign) {
			if slices.ContainsFunc(versions, of) {
				break
			}
			if b.Owner != Nobody && b.Added > 0 && b.Removed == 0 {
				t.Fatalf("%+v has lines in what is a person's alone: %q of %+v", b, foreign.Bytes, versions)
			}
		}
		last := versions[len(versions)-1].Content
		lines := h.Lines(last)
		for i, at := range lines {
			l := w.lines[i]
			if at == Unknown {
				t.Fatalf("line %d of a version is of unknown origin", i)
			}
			if strings.HasPrefix(l.text, "line ") && versions[at].Owner != l.owner {
				t.Fatalf("line %d, %q, of %d is of version %d: %+v", i, l.text, l.owner, at, versions)
			}
		}
		if again := Replay(versions).Lines(last); !slices.Equal(lines, again) {
			t.Fatalf("%v, and again %v", lines, again)
		}
	})
}

// The pairs of an alignment are equal lines, and no line has two.
func TestAligned(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(rapid.Int32Range(0, 9), 0, 40)
		a, b := text(few.Draw(t, "a")), text(few.Draw(t, "b"))
		pairs := aligned(a, b)
		before := none
		for j, i := range pairs {
			if i != none && (i <= before || a[i] != b[j]) {
				t.Fatalf("%v", pairs)
			}
			before = max(before, i)
		}
		moved(a, b, pairs, unique(a, b))
		seen := map[int]bool{}
		for j, i := range pairs {
			if i != none && (seen[i] || a[i] != b[j]) {
				t.Fatalf("with moves: %v", pairs)
			}
			seen[i] = i != none
		}
	})
}

func BenchmarkReplay(b *testing.B) {
	var lines []string
	for i := range 20_000 {
		lines = append(lines, "line "+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)), "}")
	}
	base := says(lines...)
	lines[20_000] = "changed"
	next := says(lines...)
	for b.Loop() {
		Replay([]Version{{Content: base, Owner: Nobody}, {Content: next, Owner: runA}}).Lines(base)
	}
}
