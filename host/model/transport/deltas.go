package transport

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// deepest is how deep an event of a provider may be nested to be looked at; theirs have less than
// ten levels.
const deepest = 100

// deltas finds secrets that an event stream tells in pieces, a few characters an event: the strings
// that stand at the same place of events of the same kind are read as one text.
type deltas struct {
	groups map[string]*spoken
	order  []string
}

// spoken is a text that came in pieces.
type spoken struct {
	text  strings.Builder
	parts []span // where its pieces stand in the stream
}

// said is a string of an event and where it stands.
type said struct {
	path string
	at   span // without its quotation marks
}

// findInAnswer gives the places in an answer where the finder finds a secret, and those in a stream
// where parts of any secret stand; in no order.
func findInAnswer(answer string, h *hider, find Finder) []span {
	d := deltas{groups: map[string]*spoken{}}
	var found []span
	at, events := 0, 0
	for text := range strings.Lines(answer) {
		if rest, ok := strings.CutPrefix(text, "data:"); ok {
			events++
			at := at + len("data:")
			found = append(found, spans(find(rest), at)...)
			d.event(rest, at)
		}
		at += len(text)
	}
	if events == 0 {
		return spans(find(answer), 0)
	}
	for _, key := range d.order {
		g := d.groups[key]
		if len(g.parts) > 1 {
			text := g.text.String()
			found = append(found, g.places(h.find(text))...)
			found = append(found, g.places(spans(find(`"`+text+`"`), -1))...)
		}
	}
	return found
}

// spans are places that a finder gave, of a text that stands so far behind.
func spans(places [][2]int, offset int) []span {
	var found []span
	for _, p := range places {
		found = append(found, span{from: p[0] + offset, to: p[1] + offset})
	}
	return found
}

// event takes in the strings of one event, whose JSON stands at an offset of the stream.
func (d *deltas) event(text string, offset int) {
	strs, which, ok := strs(text)
	if !ok {
		return
	}
	for _, s := range strs {
		key := which + "\x00" + s.path
		g := d.groups[key]
		if g == nil {
			g = &spoken{}
			d.groups[key] = g
			d.order = append(d.order, key)
		}
		g.text.WriteString(text[s.at.from:s.at.to])
		g.parts = append(g.parts, span{from: offset + s.at.from, to: offset + s.at.to})
	}
}

// places maps what is secret in the whole text back to where its pieces stand.
func (g *spoken) places(secret []span) []span {
	var found []span
	for _, f := range secret {
		from := 0
		for _, p := range g.parts {
			to := from + p.to - p.from
			if low, high := max(f.from, from), min(f.to, to); low < high {
				found = append(found, span{from: p.from + low - from, to: p.from + high - from, rest: low > f.from})
			}
			from = to
		}
	}
	return found
}

// strs lists the strings of a JSON value with their places, and what tells one part of an answer
// from another: the event's type, and the indexes in it.
func strs(text string) (list []said, which string, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var around []string // the kinds of the containers around, { or [
	var keys []string   // the key or index at which each of them is
	var kind strings.Builder
	wantKey := []bool{}
	for {
		token, err := dec.Token()
		if err != nil {
			return nil, "", false
		}
		depth := len(around)
		if delim, isDelim := token.(json.Delim); isDelim {
			switch delim {
			case '{', '[':
				if depth == deepest {
					return nil, "", false
				}
				around, keys, wantKey = append(around, string(rune(delim))), append(keys, ""), append(wantKey, delim == '{')
				continue
			}
			around, keys, wantKey = around[:depth-1], keys[:depth-1], wantKey[:depth-1]
		} else if depth > 0 && around[depth-1] == "{" && wantKey[depth-1] {
			keys[depth-1], wantKey[depth-1] = token.(string), false
			continue
		} else if depth > 0 {
			name := keys[depth-1]
			switch v := token.(type) {
			case string:
				end := int(dec.InputOffset()) - 1
				list = append(list, said{path: strings.Join(keys, "\x00"), at: span{from: stringStart(text, end), to: end}})
				if name == "type" && depth == 1 {
					kind.WriteString(v)
				}
			case json.Number:
				if strings.HasSuffix(name, "index") {
					kind.WriteString("\x00" + name + v.String())
				}
			}
		}
		if len(around) == 0 {
			return list, kind.String(), true
		}
		next(around, keys, wantKey)
	}
}

// next moves on to the next value of the container around.
func next(around, keys []string, wantKey []bool) {
	at := len(around) - 1
	if around[at] == "{" {
		wantKey[at] = true
		return
	}
	n, _ := strconv.Atoi(keys[at]) // "" is the first
	keys[at] = strconv.Itoa(n + 1)
}

// stringStart finds where the string that ends before its closing quotation mark began.
func stringStart(text string, end int) int {
	at := end
	for at > 0 {
		if text[at-1] == '"' {
			slashes := 0
			for at-2-slashes >= 0 && text[at-2-slashes] == '\\' {
				slashes++
			}
			if slashes%2 == 0 {
				break
			}
		}
		at--
	}
	return at
}

// merged sorts places and joins those that overlap.
func merged(found []span) []span {
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	var out []span
	for _, f := range found {
		if last := len(out) - 1; last >= 0 && f.from < out[last].to {
			out[last].to, out[last].rest = max(out[last].to, f.to), out[last].rest && f.rest
			continue
		}
		out = append(out, f)
	}
	return out
}
