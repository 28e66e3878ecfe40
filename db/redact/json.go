package redact

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// JSON replaces the secrets in the strings and the member names of one JSON text. Everything else
// stays to the byte, and Restore gives the text back to the byte. A text that is no JSON is an
// error: Text takes it as it is.
//
// A number is never replaced, since a placeholder is none: a secret must be a string to be found.
func (s *Set) JSON(data []byte, id Namer) ([]byte, []Secret, error) {
	if !json.Valid(data) {
		return nil, nil, fmt.Errorf("redact %d bytes as JSON: %w", len(data), invalid(data))
	}
	out, found := s.Encoded(data, id)
	return out, found, nil
}

// Encoded is JSON for a text that package encoding/json has just written: it is not read once more
// to see that it is JSON.
func (s *Set) Encoded(data []byte, id Namer) ([]byte, []Secret) {
	w := walker{set: s, data: data, all: string(data)}
	w.id = id
	w.walk()
	if w.done == 0 {
		return data, nil
	}
	return append(w.out, data[w.done:]...), w.secrets
}

func invalid(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	return fmt.Errorf("no valid JSON")
}

// walker goes over a JSON text that is valid.
type walker struct {
	replacer
	set   *Set
	data  []byte
	all   string // data
	stack []container
}

// container is an object or a list that is open.
type container struct {
	list   bool
	member bool   // the next string is a member's name
	name   string // of the member, or of the list
	label  string // what the object calls itself: {"name": "X-Api-Key", "value": "…"}
	flag   string // the string before it in a list: ["--password", "…"]
}

func (w *walker) walk() {
	for i := 0; i < len(w.data); i++ {
		switch w.data[i] {
		case '{':
			w.stack = append(w.stack, container{member: true})
		case '[':
			w.stack = append(w.stack, container{list: true, name: w.top().name})
		case '}', ']':
			w.stack = w.stack[:len(w.stack)-1]
		case ',':
			if t := w.top(); !t.list {
				t.member = true
			}
		case '"':
			end := i + 1 + literal(w.all[i+1:])
			w.text(i+1, end)
			i = end
		}
	}
}

func (w *walker) top() *container {
	if len(w.stack) == 0 {
		return &container{}
	}
	return &w.stack[len(w.stack)-1]
}

// literal is the length of a string up to the quote that ends it.
func literal(text string) int {
	end := -1
	for n := 0; ; {
		if end < n {
			end = n + strings.IndexByte(text[n:], '"')
		}
		slash := strings.IndexByte(text[n:end], '\\')
		if slash < 0 {
			return end
		}
		n += slash + 2
	}
}

// text looks at the string literal data[from:to].
func (w *walker) text(from, to int) {
	raw := w.all[from:to]
	v := unescape(nil, raw)
	text := raw
	if v != nil {
		text = v.text
	}
	t := w.top()
	var name string
	if t.member {
		t.member, t.name = false, text
	} else {
		name = t.context(text)
	}
	spans := w.set.Find(name, text)
	if v != nil {
		for i, f := range spans {
			spans[i].From, spans[i].To = v.origin(f.From, f.To)
		}
		w.set.search.scan(raw, func(from, to int, rule string) {
			from, to = v.whole(from, to)
			spans = append(spans, Span{from, to, rule})
		})
		spans = merge(spans)
	}
	for i := range spans {
		spans[i].From += from
		spans[i].To += from
	}
	w.replace(w.data, spans)
}

// context gives the name under which the value stands.
func (c *container) context(text string) string {
	if c.list {
		flag := c.flag
		c.flag = ""
		if strings.HasPrefix(text, "-") {
			c.flag = strings.TrimLeft(text, "-")
		}
		if flag != "" {
			return flag
		}
		return c.name
	}
	switch strings.ToLower(c.name) {
	case "name", "key", "header", "variable":
		c.label = text
	case "value", "val", "default":
		if c.label != "" {
			return c.label
		}
	}
	return c.name
}

// whole widens raw bytes so that no escape is cut in two.
func (v *view) whole(from, to int) (int, int) {
	cut := func(at int) *unit {
		k := sort.Search(len(v.units), func(k int) bool { return v.units[k].raw >= at }) - 1
		if k >= 0 && v.units[k].raw+v.units[k].m > at {
			return &v.units[k]
		}
		return nil
	}
	if u := cut(from); u != nil {
		from = u.raw
	}
	if u := cut(to); u != nil {
		to = u.raw + u.m
	}
	return from, to
}
