package redact

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// Known is a value that is known to be secret, whatever it looks like.
type Known struct {
	Rule  string // what a placeholder says of it: a-z, 0-9 and -, such as env-openai-api-key
	Value string
}

// Set is what is looked for: known values, and the patterns. It never changes and may be used by
// several goroutines. The patterns are read when the first text is looked at, so that a process
// that redacts nothing does not pay for them.
type Set struct {
	values map[string]bool
	search *knowns
}

// New makes a set. A known value that Unusable refuses is not looked for as a known value; the
// patterns still are.
func New(known []Known) *Set {
	empty := &knowns{start: map[uint64][]int32{}, seen: map[string]bool{}}
	return (&Set{values: map[string]bool{}, search: empty}).With(known...)
}

// With is the set and more known values.
func (s *Set) With(more ...Known) *Set {
	values := maps.Clone(s.values)
	var added []Known
	for _, k := range more {
		k = Known{Rule: ruleName(k.Rule), Value: strings.TrimSpace(k.Value)}
		if !values[k.Value] && Unusable(k.Value) == "" {
			values[k.Value] = true
			added = append(added, k)
		}
	}
	if len(added) == 0 {
		return s
	}
	return &Set{values: values, search: s.search.with(added)}
}

// Span is a secret in a text: its bytes are text[From:To].
type Span struct {
	From, To int
	Rule     string
}

// Find gives the secrets of a text, in their order and disjoint. Name is the name of the JSON
// member whose value the text is, or "": a value called password is secret whatever it looks like.
func (s *Set) Find(name, text string) []Span { return s.find(name, text, nil) }

// find is Find for a text whose beginning was looked at before.
func (s *Set) find(name, text string, known *seen) []Span {
	if len(text) < shortest || known == nil && s.search.empty() && !strings.Contains(text, opening) && catalogue().nothing(name, text) {
		return nil
	}
	return s.findAny(name, text, known)
}

func (s *Set) findAny(name, text string, known *seen) []Span {
	var found []Span
	add := func(from, to int, rule string) {
		if from < to {
			found = append(found, Span{from, to, rule})
		}
	}
	s.search.find(text, add)
	findLiterals(text, add)
	findPatterns(name, text, known, add)
	return merge(found)
}

// shortest is the least number of bytes that any rule takes for a secret.
const shortest = 6

// merge sorts spans and joins those that overlap, so that nothing of either is left over. The rule
// of the longest one that was joined is kept, but for the rule of what looks like a placeholder:
// others are shown such text as it stands, so it gives way to every secret that has another extent.
func merge(found []Span) []Span {
	if len(found) < 2 {
		return found
	}
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].From != found[j].From {
			return found[i].From < found[j].From
		}
		return found[i].To > found[j].To
	})
	out := found[:1]
	longest := found[0].To - found[0].From
	for _, f := range found[1:] {
		last := &out[len(out)-1]
		if f.From >= last.To {
			out = append(out, f)
			longest = f.To - f.From
			continue
		}
		n := f.To - f.From
		yields := last.Rule == literalRule && (f.From != last.From || f.To != last.To)
		if yields || n > longest && f.Rule != literalRule {
			longest, last.Rule = n, f.Rule
		}
		last.To = max(last.To, f.To)
	}
	return out
}

// Secret is a value that was taken out.
type Secret struct {
	ID   string // in its placeholder
	Rule string
	Raw  []byte // the bytes exactly as they stood: still escaped where they stood in JSON
	From int    // the place of the first of them in the text
}

// Namer gives a secret the id of its placeholder: 1 to 64 of A-Z, a-z, 0-9, - and _. The same bytes
// may get the same id; different bytes never.
type Namer func(rule string, raw []byte) string

// Text replaces the secrets of a text by placeholders. It gives the same bytes back where it finds
// none.
func (s *Set) Text(data []byte, id Namer) ([]byte, []Secret) {
	spans := s.Find("", string(data))
	if len(spans) == 0 {
		return data, nil
	}
	var r replacer
	r.id = id
	r.replace(data, spans)
	return append(r.out, data[r.done:]...), r.secrets
}

// replacer copies a text and puts placeholders where spans are.
type replacer struct {
	id      Namer
	out     []byte
	done    int // bytes of the text that are copied or replaced
	secrets []Secret
}

// replace takes spans of data in rising order, over all calls.
func (r *replacer) replace(data []byte, spans []Span) {
	for _, s := range spans {
		raw := slices.Clone(data[s.From:s.To])
		secret := Secret{ID: idOf(r.id(s.Rule, raw)), Rule: s.Rule, Raw: raw, From: s.From}
		r.secrets = append(r.secrets, secret)
		r.out = append(r.out, data[r.done:s.From]...)
		r.out = append(r.out, placeholder(secret)...)
		r.done = s.To
	}
}
