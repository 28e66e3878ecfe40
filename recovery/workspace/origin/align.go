package origin

import (
	"bytes"
	"strconv"

	"github.com/rogpeppe/go-internal/diff"
)

// rounds is how often what a diff leaves as changed is compared again on its own. The diff keeps
// only lines that are unique, and those next to them; within a smaller part more lines are.
const rounds = 8

// none is where a line has no counterpart.
const none = -1

// text is a content as numbers of lines: equal lines have equal numbers.
type text []int32

// aligned pairs the lines of two texts: at the index of a line of b, that of its line in a. Lines
// that the diff keeps come in the same order in both.
func aligned(a, b text) []int {
	pairs := make([]int, len(b))
	for i := range pairs {
		pairs[i] = none
	}
	alignPart(a, b, part{0, len(a), 0, len(b)}, pairs, rounds)
	return pairs
}

// part is a stretch of a against one of b.
type part struct{ a, aEnd, b, bEnd int }

func (p part) size() int { return p.aEnd - p.a + p.bEnd - p.b }

// alignPart pairs the lines of one part.
func alignPart(a, b text, p part, pairs []int, left int) {
	for p.a < p.aEnd && p.b < p.bEnd && a[p.a] == b[p.b] {
		pairs[p.b] = p.a
		p.a, p.b = p.a+1, p.b+1
	}
	for p.a < p.aEnd && p.b < p.bEnd && a[p.aEnd-1] == b[p.bEnd-1] {
		p.aEnd, p.bEnd = p.aEnd-1, p.bEnd-1
		pairs[p.bEnd] = p.aEnd
	}
	if p.a == p.aEnd || p.b == p.bEnd {
		return
	}
	out := diff.Diff("a", written(a[p.a:p.aEnd]), "b", written(b[p.b:p.bEnd]))
	for _, changed := range readDiff(out, p, pairs) {
		if left > 1 && changed.size() < p.size() {
			alignPart(a, b, changed, pairs, left-1)
		}
	}
}

// written is a text for the diff: a number a line.
func written(t text) []byte {
	out := make([]byte, 0, 8*len(t))
	for _, n := range t {
		out = append(strconv.AppendInt(out, int64(n), 10), '\n')
	}
	return out
}

// readDiff pairs what a diff of the part keeps, and lists the parts that it has on both sides as
// changed.
func readDiff(out []byte, p part, pairs []int) []part {
	var changed []part
	at := part{p.a, p.a, p.b, p.b} // what is changed before here and not listed yet
	keep := func(n int) {
		if at.aEnd > at.a && at.bEnd > at.b && n > 0 {
			changed = append(changed, at)
		}
		for i := range n {
			pairs[at.bEnd+i] = at.aEnd + i
		}
		if n > 0 {
			at = part{at.aEnd + n, at.aEnd + n, at.bEnd + n, at.bEnd + n}
		}
	}
	for line := range bytes.Lines(out) {
		switch line[0] {
		case '@':
			start, ok := hunkStart(line)
			if !ok {
				return nil
			}
			keep(p.a + start - at.aEnd)
		case ' ':
			keep(1)
		case '-':
			if !bytes.HasPrefix(line, []byte("--- ")) {
				at.aEnd++
			}
		case '+':
			if !bytes.HasPrefix(line, []byte("+++ ")) {
				at.bEnd++
			}
		}
	}
	if keep(p.aEnd - at.aEnd); at.aEnd > at.a && at.bEnd > at.b {
		changed = append(changed, at)
	}
	return changed
}

// hunkStart is how many lines of a are before a hunk: the head is "@@ -3,7 +3,8 @@". Both texts of
// a part have lines, so that each hunk has some of a.
func hunkStart(head []byte) (int, bool) {
	words := bytes.Fields(head)
	if len(words) < 3 {
		return 0, false
	}
	first, _, _ := bytes.Cut(words[1][1:], []byte(","))
	start, err := strconv.Atoi(string(first))
	return start - 1, err == nil
}

// moved pairs the blocks that have gone from one place of a and have come at another of b. A block
// counts if it has a line that certain holds for.
func moved(a, b text, pairs []int, certain func(int32) bool) {
	free := map[int32]int{} // of a: lines without a counterpart that are certain
	taken := make([]bool, len(a))
	for _, at := range pairs {
		if at != none {
			taken[at] = true
		}
	}
	for i, n := range a {
		if !taken[i] && certain(n) {
			free[n] = i
		}
	}
	pair := func(i, j int) bool {
		if i < 0 || j < 0 || i >= len(a) || j >= len(b) || taken[i] || pairs[j] != none || a[i] != b[j] {
			return false
		}
		taken[i], pairs[j] = true, i
		return true
	}
	for j, n := range b {
		i, ok := free[n]
		if !ok || !pair(i, j) {
			continue
		}
		for d := 1; pair(i-d, j-d); d++ {
		}
		for d := 1; pair(i+d, j+d); d++ {
		}
	}
}

// unique says of which lines either text has exactly one.
func unique(a, b text) func(int32) bool {
	in, of := counts(a), counts(b)
	return func(n int32) bool { return in[n] == 1 && of[n] == 1 }
}
