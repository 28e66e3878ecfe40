package db

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// DESIGN 10: what looks like a placeholder is shown as it stands, but not where a secret stands in
// it.
func TestNoSecretIsShownInALiteral(t *testing.T) {
	s := openStore(t, stateDir(t), knowing)
	token := "ghp_" + "a8F3kLm9Qx2ZtR7vB1nYc5WdE6uJhT0pKs4G"
	for _, secret := range []string{canary, token} {
		text := "it is [secret:x:" + secret + "], or [secret:" + secret + ":y] or [secret:x:y]"
		c := s.NewRedactor()
		piecewise := string(append(c.Piece([]byte(text)), c.Rest()...))
		for name, out := range map[string]string{"Redact": s.Redact(text), "RedactValue": RedactValue(s, []string{text})[0], "Redactor": piecewise} {
			if strings.Contains(out, secret) {
				t.Errorf("%s shows %s", name, out)
			}
			if !strings.HasSuffix(out, "or [secret:x:y]") {
				t.Errorf("%s makes %q of a text that stands for nothing", name, out)
			}
		}
		if once := s.Redact(secret); s.Redact(once) != once {
			t.Errorf("a placeholder, %s, does not stay what it is: %s", once, s.Redact(once))
		}
	}
}

// SEC, behaviour 4 of issue 4: what is shown while it comes has no secret in it that a word beside
// it has shown before, however it is cut.
func TestStreamsFindAgainWhatTheyFound(t *testing.T) {
	for size := range slices.Values([]int{1, 7, 40, 1 << 20}) {
		s := openStore(t, stateDir(t))
		secret := fmt.Sprintf("Zx81-kfj_Q%dwpL4m", size)
		text := "Set DB_PASSWORD=" + secret + " there.\n" + strings.Repeat("blah ", 30) + "\nThen connect with " + secret + " please.\n"
		c := s.NewRedactor()
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
