package origin

import "slices"

// Lines is the version that brought each line of a content: its index, or [Unknown]. A content
// without lines has none.
func (h *History) Lines(c Content) []int {
	found := h.locate(h.frame(c))
	out := make([]int, len(found.lines))
	for i, id := range found.lines {
		if out[i] = Unknown; id != none {
			out[i] = int(h.lines[id].born)
		}
	}
	return out
}

// located is a content of which it was found out which lines are in it.
type located struct {
	frame
	exact bool // it is a version, so that nothing had to be looked for
}

// locate finds the lines of a content: those of the newest version that it is, else those of the
// newest ones that have them.
func (h *History) locate(f frame) located {
	if f.kind != lines {
		return located{frame: f}
	}
	for _, old := range slices.Backward(h.frames) {
		if old.kind == lines && slices.Equal(old.text, f.text) {
			f.lines = slices.Clone(old.lines)
			return located{f, true}
		}
	}
	f.lines = h.same(h.last(), f.text)
	h.search(f, f.lines, func(int32) bool { return true })
	return located{frame: f}
}

// Brought lists the versions that have something in a change from one content to another, such as
// that of a path by a commit, in their order. Those of [Nobody] are among them; lines of unknown
// origin are not.
//
// Where a content is none of the versions, lines are paired by what is next to them, and a brace or
// a line that is there twice may be paired with another's. So there a version counts only if it has
// a line with a letter or a digit that the content has once, and of which there was never another.
func (h *History) Brought(before, after Content) []Brought {
	from, to := h.locate(h.frame(before)), h.locate(h.frame(after))
	pairs := aligned(from.text, to.text)
	sums := map[int32]*tally{}
	kept := map[int]bool{}
	known, evident := idsOf(from), h.evident(to)
	for i, id := range to.lines {
		if pairs[i] != none {
			kept[pairs[i]] = true
		} else if id != none && !known[id] {
			h.tally(sums, h.lines[id].born).add(evident(i))
		}
	}
	known, evident = idsOf(to), h.evident(from)
	for i, id := range from.lines {
		if !kept[i] && id != none && !known[id] {
			h.tally(sums, h.lines[id].gone).remove(evident(i))
		}
	}
	if at := h.wholly(from, to); at != Unknown {
		h.tally(sums, at).whole = true
	}
	var out []Brought
	for at, t := range sums {
		if at != Unknown && (t.evident || t.whole) {
			out = append(out, Brought{Version: int(at), Owner: h.versions[at].Owner, Added: t.added, Removed: t.removed, Whole: t.whole})
		}
	}
	slices.SortFunc(out, func(a, b Brought) int { return a.Version - b.Version })
	return out
}

// tally sums up what one version has in a change.
type tally struct {
	added, removed int
	evident, whole bool
}

func (t *tally) add(evident bool)    { t.added, t.evident = t.added+1, t.evident || evident }
func (t *tally) remove(evident bool) { t.removed, t.evident = t.removed+1, t.evident || evident }

func (h *History) tally(sums map[int32]*tally, at int32) *tally {
	if sums[at] == nil {
		sums[at] = &tally{}
	}
	return sums[at]
}

func idsOf(l located) map[int32]bool {
	out := make(map[int32]bool, len(l.lines))
	for _, id := range l.lines {
		out[id] = true
	}
	return out
}

// evident says of which lines of a content it is certain that they are those they were paired with.
func (h *History) evident(l located) func(i int) bool {
	here := counts(l.text)
	return func(i int) bool {
		n := l.text[i]
		return l.exact || h.solid[n] && here[n] == 1 && h.ever[n] == 1
	}
}

func counts(t text) map[int32]int {
	out := make(map[int32]int, len(t))
	for _, n := range t {
		out[n]++
	}
	return out
}

// wholly is the version that made a content in which there are no lines to tell apart: the first
// of those that it is. If one of them is nobody's, all are.
func (h *History) wholly(from, to located) int32 {
	if from.key == to.key || to.kind == lost || len(to.text) > 0 && (from.kind != lines || !slices.Equal(from.text, to.text)) {
		return Unknown
	}
	first := int32(Unknown)
	for i, f := range h.frames {
		if f.key != to.key || f.kind == lost || h.versions[i].Back {
			continue
		}
		if h.versions[i].Owner == Nobody {
			return Unknown
		}
		if first == Unknown {
			first = int32(i)
		}
	}
	return first
}

// Counterpart is which line of one content a line of another is, both counted from 1; 0 where it is
// none of them.
func Counterpart(of, in Content, line int) int {
	h := &History{numbers: map[string]int32{}}
	a, b := h.frame(of), h.frame(in)
	if a.kind != lines || b.kind != lines || line < 1 || line > len(b.text) {
		return 0
	}
	return aligned(a.text, b.text)[line-1] + 1
}
