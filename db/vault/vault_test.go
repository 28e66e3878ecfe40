package vault

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/db/redact"
)

const canary = "kx7Qw2-canary-9fT4zLmV0bRs"

// A sealed value opens under its own name alone, and only with the key of its state folder.
func TestSealed(t *testing.T) {
	v, err := New(bytes.Repeat([]byte{1}, KeySize), nil, Rows{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(bytes.Repeat([]byte{2}, KeySize), nil, Rows{})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := v.seal("abcdefghjk", []byte(canary))
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := v.unseal("abcdefghjk", sealed); err != nil || string(raw) != canary {
		t.Errorf("%q %v", raw, err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := v.unseal("abcdefghjk", bad); err == nil {
			t.Errorf("it opens with byte %d changed", i)
		}
	}
	for what, try := range map[string]func() ([]byte, error){
		"another name": func() ([]byte, error) { return v.unseal("abcdefghjm", sealed) },
		"another key":  func() ([]byte, error) { return other.unseal("abcdefghjk", sealed) },
		"half of it":   func() ([]byte, error) { return v.unseal("abcdefghjk", sealed[:9]) },
	} {
		if _, err := try(); err == nil {
			t.Errorf("it opens with %s", what)
		}
	}
	if v.name("a", []byte(canary)) == other.name("a", []byte(canary)) {
		t.Error("a name does not depend on the key")
	}
	again, err := v.seal("abcdefghjk", []byte(canary))
	if err != nil || bytes.Equal(again, sealed) {
		t.Error("a nonce is used twice", err)
	}
}

// Every beginning and end of a known value that is long enough is found, wherever it stands and
// however many values there are.
func TestParts(t *testing.T) {
	value := func(i int) string { return fmt.Sprintf("ghp_%08d%s%08d", i*7919, "kLm9Qx2ZtR7vB1nYc5Wd", i*104729) }
	var known []redact.Known
	for i := range 2000 {
		known = append(known, redact.Known{Rule: "many", Value: value(i)})
	}
	v, err := New(nil, known, Rows{})
	if err != nil {
		t.Fatal(err)
	}
	whole := value(77)
	least := leastOf(whole)
	for n := 1; n <= len(whole); n++ {
		for name, part := range map[string]string{"beginning": whole[:n], "end": whole[len(whole)-n:]} {
			for _, text := range []string{part, "see " + part + "\n", part + " " + part, value(3) + part + value(4)} {
				found := slices.ContainsFunc(v.parts([]byte(text)), func(k redact.Known) bool {
					return strings.HasPrefix(k.Value, part) || strings.HasSuffix(k.Value, part)
				})
				if want := n >= least && n < len(whole); found != want && (want || strings.HasPrefix(text, "see")) {
					t.Fatalf("a %s of %d bytes in %q: found %v, want %v", name, n, text, found, want)
				}
			}
		}
	}
}

// BenchmarkManySecrets looks at 256 KiB of words in which nothing is secret, for 6000 values that
// are known. What it costs may grow with the text, but not with the text times the values.
func BenchmarkManySecrets(b *testing.B) {
	var known []redact.Known
	for i := range 6000 {
		known = append(known, redact.Known{Rule: "many", Value: fmt.Sprintf("ghp_%016dkLm9Qx2ZtR7vB1nYc5Wd", i*104729)})
	}
	v, err := New(nil, known, Rows{})
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(strings.Repeat("some words of an output, ", 256<<10/25))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		v.parts(text)
	}
}

// A value that goes on for ever, as a page may hold one, is not looked for in everything that comes
// after it.
func TestEndlessSecretsAreNotLearned(t *testing.T) {
	v, err := New(nil, nil, Rows{})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]bool{mostLearned: true, mostLearned + 1: false} {
		if news := v.learn([]secret{{rule: "private-key", raw: []byte(strings.Repeat("A1b2", mostLearned)[:n])}}); news != want {
			t.Errorf("a secret of %d bytes is learned: %v", n, news)
		}
	}
}
