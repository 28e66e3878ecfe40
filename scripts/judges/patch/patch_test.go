package patch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"agent/tools/patch"
)

// change is a file before and after, line by line: ' ' stays, '-' goes, '+' comes.
type change []patch.Line

func (c change) content(without byte) string {
	var b strings.Builder
	for _, l := range c {
		if l.Op != without {
			b.WriteString(l.Text)
		}
	}
	return b.String()
}

// hunks spells a change as a patch with so many lines of context.
func (c change) hunks(context int) string {
	near := make([]bool, len(c))
	for i, l := range c {
		for k := max(i-context, 0); l.Op != ' ' && k <= min(i+context, len(c)-1); k++ {
			near[k] = true
		}
	}
	var b strings.Builder
	old, fresh := 0, 0 // lines that are behind
	for i := 0; i < len(c); {
		var lines strings.Builder
		from, to := old, fresh
		for ; i < len(c) && near[i]; i++ {
			lines.WriteString(spelled(c[i]))
			old, fresh = old+counts(c[i], '+'), fresh+counts(c[i], '-')
		}
		if lines.Len() > 0 {
			fmt.Fprintf(&b, "@@ -%s +%s @@\n%s", span(from, old), span(to, fresh), lines.String())
		}
		for ; i < len(c) && !near[i]; i++ {
			old, fresh = old+1, fresh+1
		}
	}
	return b.String()
}

func counts(l patch.Line, without byte) int {
	if l.Op == without {
		return 0
	}
	return 1
}

func spelled(l patch.Line) string {
	if text, ok := strings.CutSuffix(l.Text, "\n"); ok {
		return string(l.Op) + text + "\n"
	}
	return string(l.Op) + l.Text + "\n\\ No newline at end of file\n"
}

func span(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

// made is a change by chance. The last line of either side may lack its end.
func made(r *rand.Rand) change {
	words := []string{"a", "b", "c", "", "- d", "-- e", "++ f", " g", "@@ h", "\\ i", "a\r", "ü"}
	var c change
	for range r.IntN(30) {
		op := byte(' ')
		if r.IntN(4) == 0 {
			op = "+-"[r.IntN(2)]
		}
		c = append(c, patch.Line{Op: op, Text: words[r.IntN(len(words))] + fmt.Sprint(r.IntN(40)) + "\n"})
	}
	if r.IntN(3) == 0 {
		for i := len(c) - 1; i >= 0; i-- {
			if c[i].Op == ' ' {
				c[i].Text = strings.TrimSuffix(c[i].Text, "\n")
				if i < len(c)-1 { // it ends one side only
					c[i].Op = '-'
				}
				break
			}
		}
	}
	return c
}

// valid says that a line without an end is the last of its side.
func (c change) valid() bool {
	for _, without := range []byte{'+', '-'} {
		open := false
		for _, l := range c {
			if l.Op == without {
				continue
			}
			if open {
				return false
			}
			open = !strings.HasSuffix(l.Text, "\n")
		}
	}
	return true
}

// theirs applies a patch with the library.
func theirs(text, old string, file int) (string, error) {
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil || file >= len(files) {
		return "", fmt.Errorf("%d files: %w", len(files), err)
	}
	var out bytes.Buffer
	err = gitdiff.Apply(&out, strings.NewReader(old), files[file])
	return out.String(), err
}

// Every patch of a made change gives the file that was meant, by the library and by us.
func TestPatchesGiveWhatTheLibraryGives(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	compared := 0
	for range 20_000 {
		c := made(r)
		text := c.hunks(1 + r.IntN(4))
		if text == "" || !c.valid() {
			continue
		}
		text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n" + text
		old, want := c.content('+'), c.content('-')
		p, err := patch.Parse(text)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		got, n, err := p.Files[0].Apply([]byte(old))
		if err != nil && strings.Contains(err.Error(), "nothing says where") {
			continue // we want a place for lines that are only added
		}
		other, lerr := theirs(text, old, 0)
		if err != nil || lerr != nil || string(got) != want || other != want {
			t.Fatalf("old %q\nnew %q\npatch %s\nwe make %q, %v\nthe library %q, %v", old, want, text, got, err, other, lerr)
		}
		if added, removed := strings.Count(text, "\n+")-1, strings.Count(text, "\n-")-1; n.Added != added || n.Removed != removed {
			t.Fatalf("patch %s\ncounted as %+v", text, n)
		}
		compared++
	}
	if compared < 5_000 {
		t.Errorf("only %d patches were compared", compared)
	}
}

// FuzzPatch looks for a patch that the library reads and applies too, with another result.
func FuzzPatch(f *testing.F) {
	f.Add("--- a/x\n+++ b/x\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n", "a\nb\nc\nd\ne\nf\ng\n")
	f.Add("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "a\n")
	f.Add("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", "a\r\nb")
	f.Add("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\r\nb\r\n")
	f.Add("--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -4 +5 @@\n-d\n+D\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "a\nb\nc\nd\n")
	f.Fuzz(func(t *testing.T, text, old string) {
		p, err := patch.Parse(text)
		if err != nil {
			return
		}
		if files, _, err := gitdiff.Parse(strings.NewReader(text)); err != nil || len(files) != len(p.Files) {
			return
		}
		for i, file := range p.Files {
			got, _, err := file.Apply([]byte(old))
			if err != nil {
				continue
			}
			if other, err := theirs(text, old, i); err == nil && other != string(got) {
				t.Fatalf("we make %q, the library %q", got, other)
			}
		}
	})
}
