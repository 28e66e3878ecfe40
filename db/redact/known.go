package redact

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

const (
	leastKnown = 8   // bytes of a known value; a shorter one would shred ordinary text
	longestGap = 256 // bytes that may lie between two bytes of a value that is split
	depth      = 3   // how often text is escaped: JSON in a string of JSON in a string of JSON
)

// passed are the bytes over which the search goes as if they were not there, in the text and in
// what it looks for: by them a value is wrapped or put together from pieces ("abc" + "def", a
// backslash before a line's end). A + that is a blank in a URL is one of them, and so is the blank.
func passed(b byte) bool {
	const below64 = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n' | 1<<'"' | 1<<'\'' | 1<<'+'
	return b < 64 && below64>>b&1 != 0 || b == '\\' || b == '`'
}

// needle is one form of a known value.
type needle struct {
	text        string // without the bytes that are passed over
	rule        string
	left, right bool // base64: the character beside it holds bits of the value too
}

// knowns finds known values. It compares the last eight bytes at every position with the first
// eight of every needle, by a table of bits first, so its speed does not depend on how many values
// there are or how long they are.
type knowns struct {
	needles []needle
	exact   []Known // values of which fewer than eight bytes are left without those that are passed over
	bits    [1024]uint64
	start   map[uint64][]int32
	first   [256][]int32 // needles by their first byte
	seen    map[string]bool
	longest int
}

// with is what is found already and the values. What is there is copied and not worked out again.
func (k *knowns) with(values []Known) *knowns {
	c := *k
	c.needles = slices.Clip(k.needles)
	c.exact = slices.Clip(k.exact)
	c.start = maps.Clone(k.start)
	c.seen = maps.Clone(k.seen)
	for i, list := range c.first {
		c.first[i] = slices.Clip(list)
	}
	for w, list := range c.start {
		c.start[w] = slices.Clip(list)
	}
	for _, v := range values {
		for _, n := range forms(v) {
			if len(n.text) < leastKnown {
				c.exact = append(c.exact, v)
				break
			}
			if !c.seen[n.text] {
				c.seen[n.text] = true
				c.add(n)
			}
		}
	}
	return &c
}

func (k *knowns) add(n needle) {
	at := int32(len(k.needles))
	k.needles = append(k.needles, n)
	var w uint64
	for i := range 8 {
		w = w<<8 | uint64(n.text[i])
	}
	k.start[w] = append(k.start[w], at)
	h := bit(w)
	k.bits[h>>6] |= 1 << (h & 63)
	k.first[n.text[0]] = append(k.first[n.text[0]], at)
	k.longest = max(k.longest, len(n.text))
}

func bit(w uint64) uint64 { return w * 0x9E3779B97F4A7C15 >> 48 }

// forms are the needles of one value: as it is, hexadecimal, and base64 at each of the three places
// at which it can stand in a longer text, in both alphabets.
func forms(v Known) []needle {
	plain := needle{text: strip(v.Value), rule: v.Rule}
	out := []needle{plain}
	if len(plain.text) < leastKnown {
		return out
	}
	h := hex.EncodeToString([]byte(v.Value))
	out = append(out, needle{text: h, rule: v.Rule}, needle{text: strings.ToUpper(h), rule: v.Rule})
	for shift := range 3 {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := e.EncodeToString([]byte("\x00\x00"[:shift] + v.Value))
			bits := 8 * (shift + len(v.Value))
			from, to := (8*shift+5)/6, bits/6
			if text = strip(text[from:to]); len(text) >= leastKnown {
				out = append(out, needle{text: text, rule: v.Rule, left: shift > 0, right: bits%6 > 0})
			}
		}
	}
	return out
}

func strip(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if !passed(s[i]) {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func (k *knowns) empty() bool { return len(k.needles) == 0 && len(k.exact) == 0 }

// find looks for the values in the text and in everything that it may be an encoding of.
func (k *knowns) find(text string, add func(from, to int, rule string)) {
	if k.empty() {
		return
	}
	readings(text, func(v *view, text string) {
		for _, piece := range k.news(v, text) {
			k.scan(text[piece[0]:piece[1]], func(from, to int, rule string) {
				from, to = v.origin(piece[0]+from, piece[0]+to)
				add(from, to, rule)
			})
		}
	})
}

// news are the pieces of a reading in which a value may stand that does not stand in what it was
// decoded from: around what was decoded, as far as the longest value reaches.
func (k *knowns) news(v *view, text string) [][2]int {
	reach := max(k.longest, leastKnown) + 2
	if v == nil || len(v.units)*4*reach > len(text) {
		return [][2]int{{0, len(text)}}
	}
	var pieces [][2]int
	for _, u := range v.units {
		from, to := extent(text, u.at, reach, -1), extent(text, u.at+u.n, reach, 1)
		if last := len(pieces) - 1; last >= 0 && from <= pieces[last][1] {
			pieces[last][1] = to
		} else {
			pieces = append(pieces, [2]int{from, to})
		}
	}
	return pieces
}

// extent goes from a place as many bytes on, or back, as hold so many that are not passed over, or
// to a gap that ends every value.
func extent(text string, at, count, step int) int {
	gap := 0
	for count > 0 && gap <= longestGap {
		if step < 0 && at == 0 || step > 0 && at == len(text) {
			return at
		}
		next := at
		if step < 0 {
			next = at - 1
		}
		if gap++; !passed(text[next]) {
			gap = 0
			count--
		}
		at += step
	}
	return at
}

// readings shows the text as it stands and as it reads once it is decoded, in every way and order
// that is likely.
func readings(text string, show func(v *view, text string)) {
	var v *view
	for range depth + 1 {
		show(v, text)
		if p := unpercent(v, text); p != nil {
			show(p, p.text)
			if p = unpercent(p, p.text); p != nil {
				show(p, p.text)
			}
		}
		if e := unentity(v, text); e != nil {
			show(e, e.text)
		}
		next := unescape(v, text)
		if next == nil {
			return
		}
		v, text = next, next.text
	}
}

func (k *knowns) scan(text string, add func(from, to int, rule string)) {
	for _, v := range k.exact {
		for at := 0; ; {
			i := strings.Index(text[at:], v.Value)
			if i < 0 {
				break
			}
			add(at+i, at+i+len(v.Value), v.Rule)
			at += i + 1
		}
	}
	if len(k.needles) == 0 {
		return
	}
	var w uint64
	n, gap := 0, 0
	for i := range len(text) {
		b := text[i]
		if passed(b) {
			if gap++; gap > longestGap {
				n = 0
			}
			continue
		}
		gap = 0
		n++
		w = w<<8 | uint64(b)
		if h := bit(w); k.bits[h>>6]&(1<<(h&63)) == 0 || n < 8 {
			continue
		}
		for _, at := range k.start[w] {
			if to, ok := k.needles[at].rest(text, i+1); ok {
				from, to := k.needles[at].edges(text, back(text, i, 8), to)
				add(from, to, k.needles[at].rule)
			}
		}
	}
}

// rest says whether what follows the first eight bytes of the needle follows at i, and where it
// ends.
func (n *needle) rest(text string, i int) (int, bool) {
	gap := 0
	for j := 8; j < len(n.text); i++ {
		switch {
		case i == len(text):
			return 0, false
		case passed(text[i]):
			if gap++; gap > longestGap {
				return 0, false
			}
		case text[i] != n.text[j]:
			return 0, false
		default:
			gap = 0
			j++
		}
	}
	return i, true
}

// back gives where the nth byte stands that is not passed over, counted backwards from the one at
// i.
func back(text string, i, n int) int {
	for ; ; i-- {
		if !passed(text[i]) {
			if n--; n == 0 {
				return i
			}
		}
	}
}

// edges takes in the neighbours of a base64 form that hold some bits of the value.
func (n *needle) edges(text string, from, to int) (int, int) {
	if n.left && from > 0 && base64Byte(text[from-1]) {
		from--
	}
	if n.right && to < len(text) && base64Byte(text[to]) {
		to++
	}
	return from, to
}

func base64Byte(b byte) bool { return idByte(b) || b == '+' || b == '/' }

// open says from where on the text may be the beginning of a value, of which the rest has not come
// yet: at its end if nowhere.
func (k *knowns) open(text string) int {
	from := len(text)
	if len(k.needles) == 0 {
		return from
	}
	readings(text, func(v *view, read string) {
		if at := k.prefix(read); at < len(read) {
			at, _ = v.origin(at, at+1)
			from = min(from, at)
		}
	})
	return from
}

// prefix is open for one reading.
func (k *knowns) prefix(text string) int {
	tail := make([]byte, 0, 64)
	place := make([]int, 0, 64)
	gap := 0
	for i := len(text) - 1; i >= 0 && len(tail) < k.longest; i-- {
		if passed(text[i]) {
			if gap++; gap > longestGap {
				break
			}
			continue
		}
		gap = 0
		tail = append(tail, text[i])
		place = append(place, i)
	}
	reverse(tail, place)
	last := string(tail)
	for i := range len(last) {
		for _, at := range k.first[last[i]] {
			n := &k.needles[at]
			if len(n.text) > len(last)-i && n.text[:len(last)-i] == last[i:] {
				from, _ := n.edges(text, place[i], len(text))
				return from
			}
		}
	}
	return len(text)
}

func reverse(tail []byte, place []int) {
	for i, j := 0, len(tail)-1; i < j; i, j = i+1, j-1 {
		tail[i], tail[j] = tail[j], tail[i]
		place[i], place[j] = place[j], place[i]
	}
}
