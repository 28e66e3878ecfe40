package db

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"agent/db/redact"
)

// passes is how often a text is gone through: what a pattern finds in one place is looked for everywhere in the next pass.
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

// clean takes out of a text what must not lie on the disk in the clear, nor be shown.
func (v *vault) clean(data []byte, find finder) ([]byte, []redact.Secret, error) {
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

// encode is the one way by which what was said and done comes to rest: bodies of facts, answers, messages to an owner.
// What must not lie on the disk in the clear is taken out here; the rows keep it sealed.
func (s *Store) encode(v any) ([]byte, []secretRow, error) {
	data, err := encodeJSON(v)
	if err != nil {
		return nil, nil, err
	}
	data, found, err := s.vault.clean(data, inEncoded)
	if err != nil {
		return nil, nil, fmt.Errorf("look for secrets: %w", err)
	}
	rows, err := s.vault.rows(found)
	return data, rows, err
}

// encodeOutput is the same gate for a tool's whole output.
func (s *Store) encodeOutput(output []byte) ([]byte, []secretRow, error) {
	data, found, err := s.vault.clean(output, inText)
	if err != nil {
		return nil, nil, fmt.Errorf("look for secrets: %w", err)
	}
	rows, err := s.vault.rows(found)
	return data, rows, err
}

// encodeText is the same gate for a text in a column.
func (s *Store) encodeText(text string) (string, []secretRow, error) {
	data, rows, err := s.encodeOutput([]byte(text))
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

// mark begins every placeholder.
const mark = "[secret:"

// Clean is a text as others may see it: with placeholders for its secrets. A placeholder stays what it is.
func (s *Store) Clean(text string) string {
	out, found, err := s.vault.clean([]byte(text), inText)
	if err != nil || len(found) == 0 {
		return text // inText gives no error
	}
	return string(literally(out, found))
}

// Wiper cleans texts without a state folder, of values that are known and of what looks like a secret.
func Wiper(known []redact.Known) func(string) string {
	v, err := newVault(nil, known)
	if err != nil {
		return func(string) string { return "" } // without a key there is nothing that can fail
	}
	return (&Store{vault: v}).Clean
}

// Cleaned is a value as others may see it. It is copied through JSON when there is something to take out.
func Cleaned[T any](s *Store, v T) T {
	data, err := encodeJSON(v)
	if err != nil {
		return v // what others may see is always made of JSON
	}
	out, found, err := s.vault.clean(data, inEncoded)
	if err != nil || len(found) == 0 {
		return v // encodeJSON writes JSON
	}
	var cleaned T
	if json.Unmarshal(literally(out, found), &cleaned) != nil {
		return cleaned // nothing rather than a secret
	}
	return cleaned
}

// literally puts texts back that look like placeholders: what others see is never turned back into anything.
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

// parts are the beginnings and ends of known secrets that stand in a text without the rest: a page of an output, or the words
// of it that a tool repeats, may be cut anywhere.
func (v *vault) parts(data []byte) []redact.Known {
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

// remember has a value known, and its beginning and its end found. Both are looked up by the eight bytes of them that are
// furthest inside: private keys begin and end alike.
func (v *vault) remember(value, rule string) {
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

// Lost is a secret that cannot be given back: its placeholder stays.
type Lost struct {
	ID   string
	Why  string
	Gone bool // its sealed value has no row; it does not open otherwise
}

// restore gives a stored text its secrets back, to the byte. What cannot be given back is added to lost.
func (s *Store) restore(ctx context.Context, data []byte, lost *[]Lost) ([]byte, error) {
	if !bytes.Contains(data, []byte(mark)) {
		return data, nil
	}
	var failed error
	var opened []secret
	shut := map[string]bool{}
	out, missing := redact.Restore(data, func(id string) ([]byte, bool) {
		have, ok, err := s.openSecret(ctx, id)
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
	s.vault.learn(opened)
	for _, id := range missing {
		one := Lost{ID: id, Why: "it is not in the database any more", Gone: !shut[id]}
		if shut[id] {
			one.Why = "it does not open: it was changed, or sealed with another key"
		}
		*lost = append(*lost, one)
	}
	return out, nil
}

// RestoreText gives a stored text its secrets back, for what this process does with it; what is gone stays a placeholder.
func (s *Store) RestoreText(ctx context.Context, text string) (string, error) {
	if !strings.Contains(text, mark) {
		return text, nil
	}
	var lost []Lost
	out, err := s.restore(ctx, []byte(text), &lost)
	return string(out), err
}

// Cleaner cleans a text that comes in pieces. It is used by one goroutine at a time.
type Cleaner struct {
	v  *vault
	of *redact.Stream
}

// NewCleaner begins a text. What is found in it to be secret is found again in the rest of it.
func (s *Store) NewCleaner() *Cleaner {
	c := &Cleaner{v: s.vault}
	c.of = s.vault.set.Load().Stream(s.vault.name, c.learn)
	return c
}

func (c *Cleaner) learn(found []redact.Secret) *redact.Set {
	if !c.v.learn(asSecrets(found)) {
		return nil
	}
	return c.v.set.Load()
}

// Piece takes the next piece and returns what can be shown: what may be the beginning of a secret is held back.
func (c *Cleaner) Piece(p []byte) []byte { return c.shown(c.of.Write(p)) }

// Rest ends the text.
func (c *Cleaner) Rest() []byte { return c.shown(c.of.Flush()) }

func (c *Cleaner) shown(out []byte, found []redact.Secret) []byte {
	if len(found) == 0 {
		return out
	}
	c.v.learn(asSecrets(found))
	return literally(out, found)
}
