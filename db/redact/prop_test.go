package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// secretsToPlant are values that the set of a test knows or finds, and that must be seen nowhere.
func secretsToPlant() (known []Known, shapes []string) {
	known = []Known{
		{"env-canary-key", canary},
		{"env-plain-token", "tok4dUEiQ9zzXv"},
		{"env-second", "zzXvAAB77Qp1"}, // begins as the one before ends
		{"env-long", strings.Repeat("Kd93mX0q", 40)},
		{"env-words", "correct horse battery staple 9"},
	}
	for _, k := range known {
		shapes = append(shapes, k.Value)
	}
	shapes = append(shapes,
		"ghp_"+"16C7e42F292c6912E7710c838347Ae178B4a",
		"postgres://app:s3cr3t-pw9@db.internal:5432/x",
		"sk_live_"+"4eC39HqLyjWDarjtT1zdp7dc",
		"export DEPLOY_TOKEN=9f8e7d6c5b4a",
		"-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY/PuoAoGCCqGSM49\nAwEHoUQDQgAEPR3tU2Fta9ktY+6P9G0cWO+0kETA6SFs38GecTyudlHz6xvCdz8q\n-----END EC PRIVATE KEY-----",
		"wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzTr4Vw9qZ",
		"AKIAQYLPMN5HFIQR7XYA",
		"machine h login me password l3tm3in9",
		"Authorization: Bearer abc123def456",
		"[secret:env-canary-key:0011aabb]",
		"[secret:x:y]",
		base64.StdEncoding.EncodeToString([]byte("user:"+canary)),
	)
	return known, shapes
}

func word() *rapid.Generator[string] {
	_, shapes := secretsToPlant()
	return rapid.OneOf(
		rapid.SampledFrom(shapes),
		rapid.SampledFrom([]string{"the", "key", "password", "=", ": ", "\n", "  ", "\"", "\\", "\\n", "\\\"", "\\u00", "[secret:", "]", ":", "é", "\xff", "%", "%2", "&amp;",
			"-----BEGIN", "EC PRIVATE KEY-----", "token=", "AKIA", "tok4", "zzXv", "漢字", "😀", "+", "'"}),
		rapid.StringMatching(`[a-z]{1,9} `),
		rapid.StringN(0, 6, 12),
	)
}

func text() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word(), 0, 14).Draw(t, "words"), "") })
}

// rawString writes a JSON string, each character escaped in one of the ways that JSON allows.
func rawString(t *rapid.T, s string) string {
	style := rapid.IntRange(0, 4).Draw(t, "style")
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\' || style == 1 && r == '/' || style == 4 && i%3 == 0 && r == '/':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ', style == 2 && r < 0x10000, style == 3 && i%2 == 0 && r < 0x10000 || style == 4 && strings.ContainsRune("<>&[]", r):
			fmt.Fprintf(&b, `\u%04x`, r)
		case r == '\uFFFD':
			b.WriteByte(s[i]) // as it stood: JSON takes any byte
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func jsonText(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
	switch n := rapid.IntRange(0, 7).Draw(t, "type"); {
	case n < 3 || depth == 0:
		s := text().Draw(t, "text")
		if n == 0 {
			// JSON in a string of JSON.
			s = `{"token": ` + rawString(t, s) + `}`
		}
		return rawString(t, s)
	case n == 3:
		return rapid.SampledFrom([]string{"1", "-0.5e+9", "true", "null", "12345678901234567890", `"\ud83d\ude00"`, `"\ud83d"`, `"\udc00\ud83d x"`}).Draw(t, "literal")
	case n < 6:
		var b strings.Builder
		b.WriteByte('{')
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			if i > 0 {
				b.WriteByte(',')
			}
			name := rapid.OneOf(rapid.SampledFrom([]string{"password", "name", "value", "client_secret", "api_key", "x"}), text()).Draw(t, "name")
			b.WriteString(space + rawString(t, name) + space + ":" + space + jsonText(t, depth-1))
		}
		return b.String() + space + "}"
	}
	items := []string{}
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		items = append(items, space+jsonText(t, depth-1))
	}
	return "[" + strings.Join(items, ",") + space + "]"
}

// Restore(JSON(x)) is x to the byte, for every JSON text.
func TestJSONIsRestoredToTheByte(t *testing.T) {
	known, _ := secretsToPlant()
	s := New(known)
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) { checkJSON(t, s, []byte(jsonText(t, 3))) })
}

type failer interface{ Fatalf(string, ...any) }

func checkJSON(t failer, s *Set, data []byte) {
	v := vault{}
	out, secrets, err := s.JSON(data, v.name)
	if err != nil {
		if json.Valid(data) {
			t.Fatalf("refused %q: %v", data, err)
		}
		return
	}
	if !json.Valid(out) {
		t.Fatalf("%q became %q, which is no JSON", data, out)
	}
	checkRestored(t, v, data, out, secrets)
	for value := range s.values {
		var members any
		if err := json.Unmarshal(out, &members); err != nil {
			t.Fatalf("%q became %q: %v", data, out, err)
		}
		if plainly(members, value) {
			t.Fatalf("%q is left of %q in %q", value, data, out)
		}
	}
}

// plainly says that a string or a member's name holds the value.
func plainly(v any, value string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, value)
	case []any:
		for _, x := range v {
			if plainly(x, value) {
				return true
			}
		}
	case map[string]any:
		for name, x := range v {
			if strings.Contains(name, value) || plainly(x, value) {
				return true
			}
		}
	}
	return false
}

func checkRestored(t failer, v vault, data, out []byte, secrets []Secret) {
	asked := 0
	back, missing := Restore(out, func(id string) ([]byte, bool) { asked++; return v.open(id) })
	if !bytes.Equal(back, data) || len(missing) > 0 {
		t.Fatalf("%q became %q and was restored to %q (missing %v)", data, out, back, missing)
	}
	if asked != len(secrets) {
		t.Fatalf("%q has %d placeholders of ours and %d that look so", out, len(secrets), asked-len(secrets))
	}
}

// Restore(Text(x)) is x to the byte, whatever the bytes, and no known value is left.
func TestTextIsRestoredToTheByte(t *testing.T) {
	known, _ := secretsToPlant()
	s := New(known)
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) { checkText(t, s, []byte(text().Draw(t, "text"))) })
}

func checkText(t failer, s *Set, data []byte) {
	v := vault{}
	out, secrets := s.Text(data, v.name)
	checkRestored(t, v, data, out, secrets)
	for value := range s.values {
		if bytes.Contains(out, []byte(value)) {
			t.Fatalf("%q is left of %q in %q", value, data, out)
		}
	}
}

// However a text is cut, its stream shows what the whole shows.
func TestStreamShowsWhatTheWholeShows(t *testing.T) {
	known, _ := secretsToPlant()
	s := New(known)
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(strings.Join(rapid.SliceOfN(word(), 0, 60).Draw(t, "words"), ""))
		v := vault{}
		whole, _ := s.Text(data, v.name)
		stream := s.Stream(v.name, nil)
		var out []byte
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 40)).Draw(t, "piece")
			shown, _ := stream.Write(rest[:n])
			out = append(out, shown...)
			rest = rest[n:]
		}
		shown, _ := stream.Flush()
		out = append(out, shown...)
		if !bytes.Equal(out, whole) {
			t.Fatalf("%q\nas a whole  %q\nin pieces   %q", data, whole, out)
		}
	})
}

// Looking only around what was decoded finds what looking everywhere finds.
func TestDecodedPiecesAreEnough(t *testing.T) {
	known := []Known{{"env-a", "tok4dUEiQ9zz"}, {"env-b", "zz AAB77/Qp1"}}
	k := New(known).search
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"tok4dUE", "iQ9zz", `tok4dU\u0045iQ9`, "%7a", `z\n`, " AAB77", `\/`, "/Qp1", `\\/`, "%2FQp1", "%252F", "&amp;", `\"`, "'", "\n",
			strings.Repeat("plain text that is long ", 40), strings.Repeat(" ", 250), strings.Repeat(" ", 7)})
		text := strings.Join(rapid.SliceOfN(part, 0, 24).Draw(t, "parts"), "")
		text = strings.Repeat("so much that it is sparse ", 400) + text
		var got, want []Span
		k.find(text, func(from, to int, rule string) { got = append(got, Span{from, to, rule}) })
		readings(text, func(v *view, read string) {
			k.scan(read, func(from, to int, rule string) {
				from, to = v.origin(from, to)
				want = append(want, Span{from, to, rule})
			})
		})
		if g, w := fmt.Sprint(merge(got)), fmt.Sprint(merge(want)); g != w {
			t.Fatalf("%q: got %s, want %s", text[10400:], g, w)
		}
	})
}
