package origin

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"unicode"
)

// remembered is how many lines of versions are kept for contents that are none of them.
const remembered = 8_000_000

// sniffed is how much of a content says whether it is text, as for git.
const sniffed = 8000

// History is the replayed versions of one path. It is not safe for several goroutines.
type History struct {
	versions []Version // without contents
	frames   []frame
	numbers  map[string]int32 // of lines
	solid    []bool           // by number: it has a letter or a digit
	ever     []int32          // by number: how many lines there were that say so
	lines    []life           // every line that ever was, by its identity
	held     int              // lines that frames have together
	lost     bool             // a content is lost since the last that is known
}

// frame is what a version had.
type frame struct {
	key   string
	kind  kind
	text  text
	lines []int32 // identities
}

type kind int

const (
	lines  kind = iota
	opaque      // no lines: too large, or binary
	absent
	lost
	forgotten
)

// life is one line.
type life struct {
	born int32 // the version that brought it; Unknown
	gone int32 // the version that took it away; Unknown: it is there, or nobody knows
}

// Replay compares the versions of a path, oldest first. The first is what was there before anybody
// of ours: its owner is [Nobody]. Where something else was found than the version before had left,
// the caller has put that in as a version of Nobody.
func Replay(versions []Version) *History {
	h := &History{numbers: map[string]int32{}}
	for _, v := range versions {
		h.add(v)
	}
	return h
}

func (h *History) add(v Version) {
	f := h.frame(v.Content)
	at := int32(len(h.versions))
	v.Content = Content{State: v.Content.State}
	before := h.last()
	h.versions = append(h.versions, v)
	switch f.kind {
	case lost:
		h.lost = true
	case lines:
		f.lines = h.replay(before, f, at)
		h.lost = false
	default:
		h.end(before.lines, nil, at)
		h.lost = false
	}
	h.frames = append(h.frames, f)
	h.forget(len(f.text))
}

// last is the last version whose content is known.
func (h *History) last() frame {
	for _, f := range slices.Backward(h.frames) {
		if f.kind != lost {
			return f
		}
	}
	return frame{}
}

// forget drops the oldest texts while there are too many.
func (h *History) forget(more int) {
	h.held += more
	for i := 0; h.held > remembered && i < len(h.frames)-1; i++ {
		if f := &h.frames[i]; f.kind == lines {
			h.held -= len(f.text)
			*f = frame{key: f.key, kind: forgotten}
		}
	}
}

// replay finds out which lines of a version are those of the one before, and which are new.
func (h *History) replay(before, f frame, at int32) []int32 {
	out := h.same(before, f.text)
	h.putBack(f, out, h.versions[at])
	born := at
	if h.lost {
		born = Unknown
	}
	for i, id := range out {
		if id == none {
			out[i] = int32(len(h.lines))
			h.lines = append(h.lines, life{born: born, gone: Unknown})
			h.ever[f.text[i]]++
			continue
		}
		h.lines[id].gone = Unknown
	}
	h.end(before.lines, out, at)
	return out
}

// same is which lines of a text are those of a version.
func (h *History) same(of frame, t text) []int32 {
	pairs := aligned(of.text, t)
	one := unique(of.text, t)
	moved(of.text, t, pairs, func(n int32) bool { return h.solid[n] && one(n) })
	out := make([]int32, len(t))
	for i, p := range pairs {
		if out[i] = none; p != none {
			out[i] = of.lines[p]
		}
	}
	return out
}

// end has the lines that were there and are no more end with a version.
func (h *History) end(were, are []int32, at int32) {
	if h.lost {
		at = Unknown
	}
	there := make(map[int32]bool, len(are))
	for _, id := range are {
		there[id] = true
	}
	for _, id := range were {
		if !there[id] {
			h.lines[id].gone = at
		}
	}
}

// putBack finds the lines that a version has again after they had gone, where it is known that
// nobody wrote them anew.
func (h *History) putBack(f frame, out []int32, v Version) {
	if v.Owner == Nobody && !v.Back {
		return
	}
	h.search(f, out, func(id int32) bool {
		gone := h.lines[id].gone
		return gone != Unknown && (v.Back || h.versions[gone].Owner == v.Owner)
	})
}

// search looks for lines that have no identity yet in the versions, newest first. Where a version
// is not the very same text, a block counts only if it has a line with a letter or a digit that
// either has once.
func (h *History) search(f frame, out []int32, may func(int32) bool) {
	used := make(map[int32]bool, len(out))
	for _, id := range out {
		used[id] = true
	}
	for _, old := range slices.Backward(h.frames) {
		if !slices.Contains(out, none) {
			return
		}
		if old.kind != lines || !h.worth(old, f.text, out, used, may) {
			continue
		}
		pairs := aligned(old.text, f.text)
		free := func(i int) bool {
			return i < len(out) && out[i] == none && pairs[i] != none && !used[old.lines[pairs[i]]] && may(old.lines[pairs[i]])
		}
		whole, one := slices.Equal(old.text, f.text), unique(old.text, f.text)
		for i := 0; i < len(out); i++ {
			end, certain := i, whole
			for ; free(end) && (end == i || pairs[end] == pairs[end-1]+1); end++ {
				certain = certain || h.solid[f.text[end]] && one(f.text[end])
			}
			for j := i; j < end && certain; j++ {
				out[j] = old.lines[pairs[j]]
				used[out[j]] = true
			}
			i = max(i, end-1)
		}
	}
}

// worth says whether a version has any line that is looked for: comparing the two is dear.
func (h *History) worth(old frame, t text, out []int32, used map[int32]bool, may func(int32) bool) bool {
	wanted := map[int32]bool{}
	for i, id := range out {
		if id == none {
			wanted[t[i]] = true
		}
	}
	for i, n := range old.text {
		if id := old.lines[i]; wanted[n] && !used[id] && may(id) {
			return true
		}
	}
	return false
}

// frame is a content, with numbers for lines.
func (h *History) frame(c Content) frame {
	switch c.State {
	case Absent:
		return frame{key: "absent", kind: absent}
	case Lost:
		return frame{kind: lost}
	}
	f := frame{key: "id " + c.ID, kind: opaque}
	if c.ID == "" {
		sum := sha256.Sum256(c.Bytes)
		f.key = "bytes " + string(sum[:])
	}
	if c.State == Large || len(c.Bytes) > MaxBytes || bytes.IndexByte(c.Bytes[:min(len(c.Bytes), sniffed)], 0) >= 0 {
		return f
	}
	if bytes.Count(c.Bytes, []byte("\n")) > MaxLines {
		return f
	}
	f.kind = lines
	for line := range bytes.Lines(c.Bytes) {
		f.text = append(f.text, h.number(bare(line)))
	}
	return f
}

// bare is a line without its end.
func bare(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

func (h *History) number(line []byte) int32 {
	n, ok := h.numbers[string(line)]
	if !ok {
		n = int32(len(h.solid))
		h.numbers[string(line)] = n
		h.ever = append(h.ever, 0)
		h.solid = append(h.solid, bytes.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }))
	}
	return n
}
