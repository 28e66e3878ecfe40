package file

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// flowKeys are the keys of the flow fence.
func flowKeys() []string {
	return []string{"task", "model", "effort", "mode", "on-fail", "parallel", "max-cost", "max-tokens", "timeout"}
}

// phaseKeys are the keys of a phase fence.
func phaseKeys() []string {
	return []string{
		"model", "effort", "mode", "tools", "after", "inputs", "outputs", "answer", "check", "tries", "pass", "on-fail", "rounds", "ask", "skip-if",
		"each", "parallel", "redo", "max-turns", "max-cost", "max-tokens", "timeout",
	}
}

// outputKeys are the keys of a table that describes an output.
func outputKeys() []string { return []string{"path", "min", "has", "match", "schema", "empty", "copy"} }

// commandKeys are the keys of a table that describes a command.
func commandKeys() []string { return []string{"run", "access", "timeout"} }

// example is how a key is written.
func example(key string) string {
	switch key {
	case "model":
		return `model = "anthropic/claude-haiku-5-5"`
	case "effort":
		return `effort = "low"`
	case "mode":
		return `mode = "plan"`
	case "task":
		return `task = "required"`
	case "tools":
		return `tools = ["read_file", "search"]`
	case "after":
		return `after = ["build"]`
	case "inputs":
		return `inputs = ["docs/plan.md"]`
	case "outputs":
		return `outputs = ["docs/plan.md"]`
	case "answer":
		return `answer = "docs/plan.md"`
	case "check", "skip-if":
		return key + ` = "go vet ./..."`
	case "run":
		return `run = "go vet ./..."`
	case "access":
		return `access = "read"`
	case "pass":
		return `pass = "VERDICT: PASS"`
	case "on-fail":
		return `on-fail = "ask"`
	case "ask":
		return `ask = "Build this plan?"`
	case "each":
		return `each = "packages.json"`
	case "redo":
		return `redo = "safe"`
	case "max-cost":
		return "max-cost = 2.50"
	case "max-tokens":
		return "max-tokens = 200_000"
	case "timeout":
		return `timeout = "30m"`
	case "path":
		return `path = "docs/plan.md"`
	case "has":
		return `has = ["## Steps"]`
	case "match":
		return `match = '^VERDICT: '`
	case "schema":
		return `schema = "packages.schema.json"`
	case "empty":
		return "empty = true"
	case "copy":
		return "copy = false"
	}
	return key + " = 3"
}

// spot is a text and where it stands.
type spot struct {
	text string
	at   place
}

// stray reports the keys that a table may not have. what names the table.
func (r *reader) stray(t *table, keys []string, what string) {
	for _, e := range t.entries {
		if slices.Contains(keys, e.name) {
			continue
		}
		fix := "the keys are " + strings.Join(keys, ", ")
		if near := nearest(keys, e.name); near != "" {
			fix = "did you mean " + near + "?"
		}
		for _, other := range []struct {
			keys []string
			in   string
		}{{commandKeys(), "the table of a command"}, {outputKeys(), "the table of an output"}, {flowKeys(), "the flow fence"}, {phaseKeys(), "the fence of a phase"}} {
			if slices.Contains(other.keys, e.name) {
				fix = "it stands in " + other.in
			}
		}
		r.wrong(e.at, fix, "there is no key %q in %s", e.name, what)
	}
}

// bad reports a value that a key does not take.
func (r *reader) bad(key string, v *value, wants string) {
	is := "a date"
	switch v.kind {
	case kindText:
		is = fmt.Sprintf("the text %q", brief(v.text))
	case kindWhole, kindFraction:
		is = "the number " + brief(v.text)
	case kindSwitch:
		is = v.text
	case kindList:
		is = "a list"
	case kindTable:
		is = "a table"
	}
	r.wrong(v.at, "write it as in "+example(key), "%s wants %s and has %s", key, wants, is)
}

// brief cuts what is quoted from a file.
func brief(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return text
}

// text reads a text that is not blank; "" where there is none.
func (r *reader) text(t *table, key string) spot {
	e := t.get(key)
	if e == nil {
		return spot{}
	}
	return r.oneText(key, e.value)
}

func (r *reader) oneText(key string, v *value) spot {
	if v.kind != kindText {
		r.bad(key, v, "a text in quotes")
		return spot{}
	}
	if strings.TrimSpace(v.text) == "" || strings.ContainsRune(v.text, 0) {
		r.wrong(v.at, "say what is meant, as in "+example(key)+", or leave "+key+" out", "%s is empty", key)
		return spot{}
	}
	return spot{v.text, v.at}
}

// texts reads a list of texts; one text stands for a list of it.
func (r *reader) texts(t *table, key string) []spot {
	var all []spot
	for _, v := range items(t, key) {
		if s := r.oneText(key, v); s.text != "" {
			all = append(all, s)
		}
	}
	return all
}

// items are the values of a list, or the one value that stands for it.
func items(t *table, key string) []*value {
	e := t.get(key)
	switch {
	case e == nil:
		return nil
	case e.value.kind == kindList:
		return e.value.list
	}
	return []*value{e.value}
}

// line reads a text of one line.
func (r *reader) line(t *table, key string) spot {
	s := r.text(t, key)
	if strings.ContainsAny(s.text, "\r\n") {
		r.wrong(s.at, "write it on one line", "%s is one line", key)
		return spot{}
	}
	return s
}

// word reads one of several words.
func word[T ~string](r *reader, t *table, key string, words []T, unset T) T {
	s := r.text(t, key)
	if s.text == "" {
		return unset
	}
	if !slices.Contains(words, T(s.text)) {
		r.wrong(s.at, "choose "+list(words), "there is no %s %q", key, brief(s.text))
		return unset
	}
	return T(s.text)
}

// count reads a whole number within bounds.
func (r *reader) count(t *table, key string, from, to, unset int64) int64 {
	e := t.get(key)
	if e == nil {
		return unset
	}
	wants := fmt.Sprintf("a whole number from %d to %d", from, to)
	if to >= 1<<30 {
		wants = fmt.Sprintf("a whole number from %d on", from)
	}
	n, ok := whole(e.value.text)
	if e.value.kind != kindWhole || !ok || n < from || n > to {
		r.bad(key, e.value, wants)
		return unset
	}
	return n
}

// whole reads a whole number in digits, which may have underscores between them.
func whole(text string) (int64, bool) {
	n := int64(0)
	for _, c := range strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+") {
		if c < '0' || c > '9' || n > 1<<50 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, text != ""
}

// dollars reads an amount of US dollars, as a number or in quotes, into millionths of one.
func (r *reader) dollars(t *table, key string) int64 {
	e := t.get(key)
	if e == nil {
		return 0
	}
	units, part, dot := strings.Cut(strings.TrimPrefix(e.value.text, "$"), ".")
	n, ok := whole(units)
	if len(part) <= 6 {
		fraction, good := whole(part + strings.Repeat("0", 6-len(part)))
		n, ok = n*1_000_000+fraction, ok && good
	}
	if e.value.kind > kindFraction || !ok || len(units) > 9 || len(part) > 6 || dot && part == "" {
		r.bad(key, e.value, "an amount of US dollars")
		return 0
	}
	return n
}

// longest is the longest time that a limit may be.
const longest = 365 * 24 * time.Hour

// duration reads a time such as 30m.
func (r *reader) duration(t *table, key string, unset time.Duration) time.Duration {
	e := t.get(key)
	if e == nil {
		return unset
	}
	d, err := time.ParseDuration(e.value.text)
	if e.value.kind != kindText || err != nil || d < time.Second || d%time.Second != 0 || d > longest {
		r.bad(key, e.value, "a time of whole seconds, at most a year, in quotes")
		return unset
	}
	return d
}

// flag reads true or false.
func (r *reader) flag(t *table, key string, unset bool) bool {
	e := t.get(key)
	if e == nil {
		return unset
	}
	if e.value.kind != kindSwitch {
		r.bad(key, e.value, "true or false")
		return unset
	}
	return e.value.text == "true"
}
