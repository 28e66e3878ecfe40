package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// StreamReach is the length up to which a secret that a pattern finds is found whatever the
	// cutting of its pieces, bytes. Known values and private keys are found at any length.
	StreamReach = 8 << 10

	streamContext  = 1 << 10  // bytes already shown that stay, since a rule may need what stands before a secret
	streamWord     = 16 << 10 // bytes without a blank that are waited for
	streamPatience = 4 << 10  // bytes that may be held and looked at with every piece
	streamHeld     = 64 << 10 // bytes of an open secret that are waited for before its beginning is given out as a secret
)

// Stream redacts text that comes in pieces: a model's words, a command's output. A word is given
// out when the blank after it has come, unless it may be the beginning of a secret. What comes out
// is what Text makes of the whole, however the pieces were cut (limits: StreamReach, and what only
// a later line shows to be a secret, such as a Kubernetes manifest's data before its kind). It
// holds less than 150 KiB, or three times the longest known value.
//
// It is used by one goroutine at a time.
type Stream struct {
	set      *Set
	id       Namer
	learn    func([]Secret) *Set
	buf      []byte
	patience int              // bytes that are waited for before what is held is looked at again
	shown    int              // bytes of buf that were given out
	seen     seen             // words of rules in buf
	swift    func([]byte) int // inside a secret whose beginning was given out: how many bytes of what follows belong to it
}

// Stream begins one. Learn is called with the secrets that are about to be taken out, and gives the
// set that is to be used from there on, or nil for the same: what was found once is then found
// again where nothing beside it tells. It may be nil.
func (s *Set) Stream(id Namer, learn func([]Secret) *Set) *Stream {
	return &Stream{set: s, id: id, learn: learn}
}

// Write takes the next piece and gives what may be shown now, and the secrets that were taken out
// of it.
func (t *Stream) Write(piece []byte) ([]byte, []Secret) {
	before := len(t.buf)
	t.buf = append(t.buf, piece...)
	if t.swift == nil && len(t.buf)-t.shown < t.patience {
		return nil, nil
	}
	if t.swift == nil && len(t.buf)-t.shown < streamWord && boundary(t.buf, max(t.shown, before-utf8.UTFMax)) == 0 {
		return nil, nil
	}
	var r replacer
	r.id = t.id
	if t.swallow(&r, false); t.swift != nil {
		return r.out, r.secrets
	}
	cut := boundary(t.buf, t.shown)
	if cut < t.shown {
		cut = t.shown
	}
	if len(t.buf)-cut > streamWord {
		cut = len(t.buf) - StreamReach
	}
	t.give(&r, cut, false)
	return r.out, r.secrets
}

// Flush gives what is left when no piece will come.
func (t *Stream) Flush() ([]byte, []Secret) {
	var r replacer
	r.id = t.id
	t.swallow(&r, true)
	t.give(&r, len(t.buf), true)
	return r.out, r.secrets
}

// boundary is the end of the last blank after from, or of the last character after it of a script
// that is written without blanks; 0 if there is none.
func boundary(buf []byte, from int) int {
	i := len(buf)
	for i > from && !blank(buf[i-1]) {
		i--
	}
	cut := i
	if i == from {
		cut = 0
	}
	word := string(buf[i:])
	if strings.ContainsAny(word, "=:\"'`@[\\%&-") {
		return cut // a value may begin here that holds such characters
	}
	for at, r := range word {
		if ideographic(r) {
			cut = i + at + utf8.RuneLen(r)
		}
	}
	return cut
}

// ideographic says that a character is of a script without blanks, or a sign beside such ones: East
// Asian, emoji.
func ideographic(r rune) bool {
	return r >= 0x3000 && r < 0xA4D0 || r >= 0xAC00 && r < 0xD7A4 || r >= 0xFF01 && r < 0xFF61 || r >= 0x1F300 && r < 0x40000
}

// rounds is how often a piece is looked at anew because of what was found in it.
const rounds = 4

// give gives out buf up to cut, or to where a secret may begin.
func (t *Stream) give(r *replacer, cut int, last bool) {
	spans, end := t.look(cut, last)
	for n := 1; n < rounds && t.learned(spans); n++ {
		spans, end = t.look(cut, last)
	}
	if len(t.buf)-max(end, t.shown) > t.most() {
		spans, end = t.force(max(end, t.shown), spans)
	}
	t.patience = 0
	if end <= t.shown {
		// What is held is not looked at again with every piece.
		if held := len(t.buf) - t.shown; held > streamPatience {
			t.patience = held + held/4
		}
		return
	}
	r.done = t.shown
	r.replace(t.buf, spans)
	r.out = append(r.out, t.buf[r.done:end]...)
	t.keep(end)
}

// look finds what of buf may be given out, up to cut at most, and the secrets in that.
func (t *Stream) look(cut int, last bool) ([]Span, int) {
	text := string(t.buf)
	near := text[:max(cut, t.shown)]
	if len(text)-cut >= StreamReach {
		near = text // cut is in the middle of a word
	}
	spans := t.set.find("", near, &t.seen)
	if !last {
		cut = min(cut, openPattern(near), t.set.search.open(text))
		if len(near) < len(text) { // else the spans say it
			t.set.search.find(text, func(from, to int, _ string) {
				if from < cut && to > cut {
					cut = from
				}
			})
		}
	}
	for i, f := range spans {
		if f.To > cut {
			cut = min(cut, max(f.From, t.shown))
			spans = spans[:i]
			break
		}
	}
	spans = slices.DeleteFunc(spans, func(f Span) bool { return f.To <= t.shown })
	if len(spans) > 0 {
		spans[0].From = max(spans[0].From, t.shown)
	}
	return spans, cut
}

// learned says whether there is more to look for, now that these were found.
func (t *Stream) learned(spans []Span) bool {
	if t.learn == nil || len(spans) == 0 {
		return false
	}
	found := make([]Secret, 0, len(spans))
	for _, f := range spans {
		found = append(found, Secret{Rule: f.Rule, Raw: slices.Clone(t.buf[f.From:f.To])})
	}
	set := t.learn(found)
	if set == nil {
		return false
	}
	t.set = set
	return true
}

// most is how much may be held.
func (t *Stream) most() int { return max(streamHeld, 2*t.set.search.longest) }

// force takes everything from cut on for one secret, and what follows without a blank for its rest.
func (t *Stream) force(cut int, spans []Span) ([]Span, int) {
	f := Span{cut, len(t.buf), "long"}
	t.swift = func(b []byte) int { return span(string(b), len(b), func(b byte) bool { return !blank(b) }) }
	if openPEM(string(t.buf[cut:])) == 0 {
		f.Rule = pemRule
		t.swift = func(b []byte) int {
			n, _ := pemBody(string(b))
			return n
		}
	}
	return append(spans, f), len(t.buf)
}

// swallow takes out the rest of a secret whose beginning was given out.
func (t *Stream) swallow(r *replacer, last bool) {
	if t.swift == nil {
		return
	}
	n := t.swift(t.buf[t.shown:])
	if t.shown+n == len(t.buf) && !last && n < t.most() {
		return
	}
	r.done = t.shown
	if n > 0 {
		r.replace(t.buf, []Span{{t.shown, t.shown + n, "long"}})
	}
	if t.shown+n < len(t.buf) || last {
		t.swift = nil
	}
	t.keep(t.shown + n)
}

// keep forgets what is no longer needed of what was given out.
func (t *Stream) keep(shown int) {
	t.shown = shown
	if drop := shown - streamContext; drop > streamContext {
		t.buf = append(t.buf[:0], t.buf[drop:]...)
		t.shown -= drop
		t.seen.drop(drop)
	}
}

func blank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }
