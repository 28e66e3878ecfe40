package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// vault is the simplest thing that can name secrets and give them back.
type vault map[string][]byte

func (v vault) name(rule string, raw []byte) string {
	sum := sha256.Sum256(append([]byte(rule+":"), raw...))
	id := hex.EncodeToString(sum[:6])
	v[id] = raw
	return id
}

func (v vault) open(id string) ([]byte, bool) {
	raw, ok := v[id]
	return raw, ok
}

const canary = "Zx9-kQ/7<t&é\"v8_Lm+2w"

func TestKnownValueInEveryForm(t *testing.T) {
	s := New([]Known{{"env-canary-key", canary}})
	b := []byte(canary)
	u := ""
	for _, c := range b {
		u += fmt.Sprintf("%%%02x", c)
	}
	uni := ""
	for _, c := range canary {
		uni += fmt.Sprintf(`\u%04X`, c)
	}
	std := base64.StdEncoding
	for name, text := range map[string]string{
		"plain":            canary,
		"in a sentence":    "the key is " + canary + ", said he",
		"JSON":             `Zx9-kQ\/7\u003ct\u0026é\"v8_Lm+2w`,
		"JSON, all of it":  uni,
		"JSON in JSON":     strings.ReplaceAll(`Zx9-kQ\/7\u003ct\u0026é\"v8_Lm+2w`, `\`, `\\`),
		"URL":              u,
		"URL, upper case":  strings.ToUpper(u),
		"HTML":             `Zx9-kQ/7&lt;t&amp;é&quot;v8_Lm+2w`,
		"hex":              hex.EncodeToString(b),
		"hex, upper case":  strings.ToUpper(hex.EncodeToString(b)),
		"base64":           std.EncodeToString(b),
		"base64, 1 before": std.EncodeToString([]byte("u" + canary + "-and-more")),
		"base64, 2 before": std.EncodeToString([]byte("u:" + canary)),
		"base64url":        base64.RawURLEncoding.EncodeToString([]byte("user:" + canary)),
		"wrapped":          canary[:9] + "\n  " + canary[9:],
		"continued":        canary[:5] + "\\\n" + canary[5:],
		"concatenated":     canary[:7] + `" + "` + canary[7:],
		"wrapped base64":   std.EncodeToString(b)[:11] + "\r\n" + std.EncodeToString(b)[11:],
	} {
		t.Run(name, func(t *testing.T) {
			v := vault{}
			in := "before " + text + " after"
			out, secrets := s.Text([]byte(in), v.name)
			if len(secrets) != 1 || secrets[0].Rule != "env-canary-key" {
				t.Fatalf("found %+v in %s", secrets, in)
			}
			if !strings.HasPrefix(string(out), "before ") || !strings.HasSuffix(string(out), " after") || strings.Contains(string(out), canary[:4]) {
				t.Errorf("left %s", out)
			}
			back, missing := Restore(out, v.open)
			if !bytes.Equal(back, []byte(in)) || missing != nil {
				t.Errorf("restored %s (missing %v)", back, missing)
			}
		})
	}
}

// What a rule takes for the beginning of a word is one in the whole text too, and not only where
// the piece begins that the rule is shown: a later word of the same rule finds nothing in what a
// stream has given out.
func TestPieceOfARuleBeginsNoWord(t *testing.T) {
	const key = "AKIAQYLPMN5HFIQR7XYA"
	for gap := range 200 {
		text := "wide" + key + strings.Repeat(" ", gap+1) + key
		got := New(nil).Find("", text)
		if len(got) != 1 || got[0].From != len(text)-len(key) {
			t.Fatalf("%d blanks between: got %v, want the second key alone", gap+1, got)
		}
	}
}
