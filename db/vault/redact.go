package vault

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"agent/db/redact"
)

// passes is how often a text is gone through: what a pattern finds in one place is looked for
// everywhere in the next pass.
const passes = 4

// finder is redact's Text, JSON or Encoded.
type finder func(set *redact.Set, data []byte, id redact.Namer) ([]byte, []redact.Secret, error)

func inText(set *redact.Set, data []byte, id redact.Namer) ([]byte, []redact.Secret, error) {
	out, found := set.Text(data, id)
	return out, found, nil
}

func inJSON(set *redact.Set, data []byte, id redact.Namer) ([]byte, []redact.Secret, error) {
	return set.JSON(data, id)
}

// inEncoded is for what encodeJSON wrote.
func inEncoded(set *redact.Set, data []byte, id redact.Namer) ([]byte, []redact.Secret, error) {
	out, found := set.Encoded(data, id)
	return out, found, nil
}

// takeOut takes out of a text what must not lie on the disk in the clear, nor be shown.
func (v *Vault) takeOut(data []byte, find finder) ([]byte, []redact.Secret, error) {
	for pass := 1; ; pass++ {
		set := v.set.Load()
		if parts := v.parts(data); len(parts) > 0 {
			set = set.With(parts...)
		}
		out, found, err := find(set, data, v.name)
		if err != nil {
			return nil, nil, err
		}
		if len(found) == 0 || !v.learn(asSecrets(found)) || pass == passes {
			return out, found, nil
		}
	}
}

func asSecrets(found []redact.Secret) []secret {
	out := make([]secret, 0, len(found))
	for _, f := range found {
		out = append(out, secret{rule: f.Rule, raw: f.Raw})
	}
	return out
}

// Encode is the one way by which what was said and done comes to rest: bodies of facts, answers,
// messages to an owner. What must not lie on the disk in the clear is taken out here; the rows keep
// it sealed.
func (v *Vault) Encode(value any) ([]byte, []Row, error) {
	data, err := encodeJSON(value)
	if err != nil {
		return nil, nil, err
	}
	data, found, err := v.takeOut(data, inEncoded)
	if err != nil {
		return nil, nil, fmt.Errorf("look for secrets: %w", err)
	}
	rows, err := v.rows(found)
	return data, rows, err
}

// EncodeOutput is the same gate for a tool's whole output.
func (v *Vault) EncodeOutput(output []byte) ([]byte, []Row, error) {
	data, found, err := v.takeOut(output, inText)
	if err != nil {
		return nil, nil, fmt.Errorf("look for secrets: %w", err)
	}
	rows, err := v.rows(found)
	return data, rows, err
}

// EncodeText is the same gate for a text in a column.
func (v *Vault) EncodeText(text string) (string, []Row, error) {
	data, rows, err := v.EncodeOutput([]byte(text))
	return string(data), rows, err
}

func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Placeholder begins every placeholder.
const Placeholder = "[secret:"

// Redact is a text as others may see it: with placeholders for its secrets. A placeholder stays
// what it is.
func (v *Vault) Redact(text string) string {
	out, found, err := v.takeOut([]byte(text), inText)
	if err != nil || len(found) == 0 {
		return text // inText gives no error
	}
	return string(literally(out, found))
}

// RedactorOf redacts texts without a state folder: values that are known, and what looks like a
// secret.
func RedactorOf(known []redact.Known) func(string) string {
	v, err := New(nil, known, Rows{})
	if err != nil {
		return func(string) string { return "" } // without a key there is nothing that can fail
	}
	return v.Redact
}

// RedactValue is a value as others may see it. It is copied through JSON when there is something to
// take out.
func RedactValue[T any](v *Vault, value T) T {
	data, err := encodeJSON(value)
	if err != nil {
		return value // what others may see is always made of JSON
	}
	out, found, err := v.takeOut(data, inEncoded)
	if err != nil || len(found) == 0 {
		return value // encodeJSON writes JSON
	}
	var redacted T
	if json.Unmarshal(literally(out, found), &redacted) != nil {
		return redacted // nothing rather than a secret
	}
	return redacted
}

// Find says by which rules a text holds secrets. A placeholder is none.
func (v *Vault) Find(data []byte) (rules []string, err error) {
	find := inText
	if json.Valid(data) {
		find = inJSON
	}
	_, found, err := v.takeOut(data, find)
	for _, x := range found {
		if x.Rule != ruleLiteral {
			rules = append(rules, x.Rule)
		}
	}
	return rules, err
}

// literally puts texts back that look like placeholders: what others see is never turned back into
// anything.
func literally(data []byte, found []redact.Secret) []byte {
	texts := map[string][]byte{}
	for _, f := range found {
		if f.Rule == ruleLiteral {
			texts[f.ID] = f.Raw
		}
	}
	if len(texts) == 0 {
		return data
	}
	out, _ := redact.Restore(data, func(id string) ([]byte, bool) {
		raw, ok := texts[id]
		return raw, ok
	})
	return out
}

const (
	leastPart = 12 // bytes of a secret that tell it
	mostPart  = 64 // bytes that tell even the longest: a private key begins with words that are no secret
)

// leastOf is how many bytes of a value tell it.
func leastOf(value string) int { return min(max(leastPart, len(value)/3), mostPart) }

// parts are the beginnings and ends of known secrets that stand in a text without the rest: a page
// of an output, or the words of it that a tool repeats, may be cut anywhere.
func (v *Vault) parts(data []byte) []redact.Known {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.heads) == 0 {
		return nil
	}
	var out []redact.Known
	var w uint64
	for i, b := range data {
		w = w<<8 | uint64(b)
		if h := bit(w); i < 7 || v.bits[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, value := range v.heads[w] {
			least := leastOf(value)
			if i+1 < least || string(data[i+1-least:i+1]) != value[:least] {
				continue
			}
			n := least
			for at := i + 1 - least; n < min(len(value), len(data)-at) && data[at+n] == value[n]; n++ {
			}
			if n < len(value) {
				out = append(out, redact.Known{Rule: v.values[value], Value: value[:n]})
			}
		}
		for _, value := range v.tails[w] {
			least := leastOf(value)
			end := i - 7 + least
			if end > len(data) || string(data[i-7:end]) != value[len(value)-least:] {
				continue
			}
			n := least
			for ; n < min(len(value), end) && data[end-n-1] == value[len(value)-n-1]; n++ {
			}
			if n < len(value) {
				out = append(out, redact.Known{Rule: v.values[value], Value: value[len(value)-n:]})
			}
		}
	}
	return out
}

// remember has a value known, and its beginning and its end found. Both are looked up by the eight
// bytes of them that are furthest inside: private keys begin and end alike.
func (v *Vault) remember(value, rule string) {
	if _, known := v.values[value]; !known && len(value) > leastOf(value) {
		least := leastOf(value)
		head, tail := word(value[least-8:]), word(value[len(value)-least:])
		v.heads[head] = append(v.heads[head], value)
		v.tails[tail] = append(v.tails[tail], value)
		for _, h := range []uint64{bit(head), bit(tail)} {
			v.bits[h>>6] |= 1 << (h & 63)
		}
	}
	v.values[value] = rule
}

// bit is the place of eight bytes in a table of bits, which spares most look-ups.
func bit(w uint64) uint64 { return w * 0x9E3779B97F4A7C15 >> 48 }

func word(s string) uint64 { return binary.BigEndian.Uint64([]byte(s[:8])) }

// Unrecoverable is a secret that cannot be given back: its placeholder stays.
type Unrecoverable struct {
	ID   string
	Why  string
	Gone bool // its sealed value has no row; it does not open otherwise
}

// Restore gives a stored text its secrets back, to the byte. What cannot be given back is added to
// lost.
func (v *Vault) Restore(ctx context.Context, data []byte, lost *[]Unrecoverable) ([]byte, error) {
	if !bytes.Contains(data, []byte(Placeholder)) {
		return data, nil
	}
	var failed error
	var opened []secret
	shut := map[string]bool{}
	out, missing := redact.Restore(data, func(id string) ([]byte, bool) {
		have, ok, err := v.open(ctx, id)
		if err != nil {
			failed = err
		}
		shut[id] = have.shut
		if ok {
			opened = append(opened, have)
		}
		return have.raw, ok
	})
	if failed != nil {
		return nil, failed
	}
	v.learn(opened)
	for _, id := range missing {
		one := Unrecoverable{ID: id, Why: "it is not in the database any more", Gone: !shut[id]}
		if shut[id] {
			one.Why = "it does not open: it was changed, or sealed with another key"
		}
		*lost = append(*lost, one)
	}
	return out, nil
}

// RestoreText gives a stored text its secrets back, for what this process does with it; what is
// gone stays a placeholder.
func (v *Vault) RestoreText(ctx context.Context, text string) (string, error) {
	if !strings.Contains(text, Placeholder) {
		return text, nil
	}
	var lost []Unrecoverable
	out, err := v.Restore(ctx, []byte(text), &lost)
	return string(out), err
}

// Redactor redacts a text that comes in pieces. It is used by one goroutine at a time.
type Redactor struct {
	v  *Vault
	of *redact.Stream
}

// NewRedactor begins a text. What is found in it to be secret is found again in the rest of it.
func (v *Vault) NewRedactor() *Redactor {
	r := &Redactor{v: v}
	r.of = v.set.Load().Stream(v.name, r.learn)
	return r
}

func (r *Redactor) learn(found []redact.Secret) *redact.Set {
	if !r.v.learn(asSecrets(found)) {
		return nil
	}
	return r.v.set.Load()
}

// Piece takes the next piece and returns what can be shown: what may be the beginning of a secret
// is held back.
func (r *Redactor) Piece(p []byte) []byte { return r.shown(r.of.Write(p)) }

// Rest ends the text.
func (r *Redactor) Rest() []byte { return r.shown(r.of.Flush()) }

func (r *Redactor) shown(out []byte, found []redact.Secret) []byte {
	if len(found) == 0 {
		return out
	}
	r.v.learn(asSecrets(found))
	return literally(out, found)
}
