package db

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/db/redact"
)

// DESIGN 10: what looks like a placeholder is shown as it stands, but not where a secret stands in it.
func TestNoSecretIsShownInALiteral(t *testing.T) {
	s := openStore(t, stateDir(t), knowing)
	token := "ghp_" + "a8F3kLm9Qx2ZtR7vB1nYc5WdE6uJhT0pKs4G"
	for _, secret := range []string{canary, token} {
		text := "it is [secret:x:" + secret + "], or [secret:" + secret + ":y] or [secret:x:y]"
		c := s.NewCleaner()
		piecewise := string(append(c.Piece([]byte(text)), c.Rest()...))
		for name, out := range map[string]string{"Clean": s.Clean(text), "Cleaned": Cleaned(s, []string{text})[0], "Cleaner": piecewise} {
			if strings.Contains(out, secret) {
				t.Errorf("%s shows %s", name, out)
			}
			if !strings.HasSuffix(out, "or [secret:x:y]") {
				t.Errorf("%s makes %q of a text that stands for nothing", name, out)
			}
		}
		if once := s.Clean(secret); s.Clean(once) != once {
			t.Errorf("a placeholder, %s, does not stay what it is: %s", once, s.Clean(once))
		}
	}
}

// SEC, behaviour 4 of issue 4: what is shown while it comes has no secret in it that a word beside it has shown before, however
// it is cut.
func TestStreamsFindAgainWhatTheyFound(t *testing.T) {
	for size := range slices.Values([]int{1, 7, 40, 1 << 20}) {
		s := openStore(t, stateDir(t))
		secret := fmt.Sprintf("Zx81-kfj_Q%dwpL4m", size)
		text := "Set DB_PASSWORD=" + secret + " there.\n" + strings.Repeat("blah ", 30) + "\nThen connect with " + secret + " please.\n"
		c := s.NewCleaner()
		var out []byte
		for piece := range slices.Chunk([]byte(text), size) {
			out = append(out, c.Piece(piece)...)
		}
		out = append(out, c.Rest()...)
		if strings.Contains(string(out), secret) || strings.Count(string(out), "[secret:") != 2 {
			t.Errorf("in pieces of %d bytes: %s", size, out)
		}
	}
}

// Every beginning and end of a known value that is long enough is found, wherever it stands and however many values there are.
func TestParts(t *testing.T) {
	value := func(i int) string { return fmt.Sprintf("ghp_%08d%s%08d", i*7919, "kLm9Qx2ZtR7vB1nYc5Wd", i*104729) }
	var known []redact.Known
	for i := range 2000 {
		known = append(known, redact.Known{Rule: "many", Value: value(i)})
	}
	v, err := newVault(nil, known)
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

// BenchmarkManySecrets looks at 256 KiB of words in which nothing is secret, for 6000 values that are known. What it costs
// may grow with the text, but not with the text times the values.
func BenchmarkManySecrets(b *testing.B) {
	var known []redact.Known
	for i := range 6000 {
		known = append(known, redact.Known{Rule: "many", Value: fmt.Sprintf("ghp_%016dkLm9Qx2ZtR7vB1nYc5Wd", i*104729)})
	}
	v, err := newVault(nil, known)
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(strings.Repeat("some words of an output, ", 256<<10/25))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		v.parts(text)
	}
}

// A value that goes on for ever, as a page may hold one, is not looked for in everything that comes after it.
func TestEndlessSecretsAreNotLearned(t *testing.T) {
	s := openStore(t, stateDir(t))
	for n, want := range map[int]bool{mostLearned: true, mostLearned + 1: false} {
		if news := s.vault.learn([]secret{{rule: "private-key", raw: []byte(strings.Repeat("A1b2", mostLearned)[:n])}}); news != want {
			t.Errorf("a secret of %d bytes is learned: %v", n, news)
		}
	}
}
