package diff

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// hunks are the hunks that make the one text of the other, with three lines of context, and how
// many lines they add and remove.
func hunks(before, after []byte) (text string, added, removed int) {
	out := diff.Diff("a", before, "b", after)
	for range 3 { // the lines with the names
		_, out, _ = bytes.Cut(out, []byte("\n"))
	}
	var b bytes.Buffer
	b.Grow(len(out))
	for line := range bytes.Lines(out) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		case '@':
			line = bytes.ReplaceAll(line, []byte(",1 "), []byte(" ")) // as git writes it
		}
		b.Write(line)
	}
	return b.String(), added, removed
}

// sniffed is how much of a content says whether it is text, as for git.
const sniffed = 8000

func binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), sniffed)], 0) >= 0
}
