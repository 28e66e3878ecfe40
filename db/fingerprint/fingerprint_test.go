package fingerprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// valueOf reads JSON on a path of its own: the value, with each number exact. It is nil for what
// has no canonical form: no JSON, a member twice, a text that is no Unicode, a number that no
// double comes near, and nesting that nobody reads.
func valueOf(text []byte) any {
	if !json.Valid(text) || !utf8.Valid(text) || loneSurrogate(text) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, ok := readValue(d)
	if !ok {
		return nil
	}
	return []any{v}
}

func readValue(d *json.Decoder) (any, bool) {
	t, err := d.Token()
	if err != nil {
		return nil, false
	}
	switch t := t.(type) {
	case json.Number:
		if len(t) > 60 || len(t) > 5 && strings.ContainsAny(string(t), "eE") && len(t[strings.IndexAny(string(t), "eE"):]) > 5 {
			return nil, false // too far for an exact number here
		}
		if _, err := t.Float64(); err != nil {
			return nil, false
		}
		n, ok := new(big.Rat).SetString(string(t))
		return n, ok
	case json.Delim:
		if t == '[' {
			list := []any{}
			for d.More() {
				v, ok := readValue(d)
				if !ok {
					return nil, false
				}
				list = append(list, v)
			}
			_, err = d.Token()
			return list, err == nil
		}
		members := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, false
			}
			v, ok := readValue(d)
			if _, twice := members[name.(string)]; !ok || twice {
				return nil, false
			}
			members[name.(string)] = v
		}
		_, err = d.Token()
		return members, err == nil
	}
	return t, true
}

// loneSurrogate says whether an escape of a text is half a character, which readers of JSON make
// different things of.
func loneSurrogate(text []byte) bool {
	s := string(text)
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		var unit, low uint16
		if n, _ := fmt.Sscanf(s[i:min(i+6, len(s))], `\u%04x`, &unit); n == 1 && unit >= 0xd800 && unit < 0xe000 {
			if n, _ := fmt.Sscanf(s[i+6:min(i+12, len(s))], `\u%04x`, &low); n != 1 || unit >= 0xdc00 || low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 6
		}
		i++
	}
	return false
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case *big.Rat:
		b, ok := b.(*big.Rat)
		return ok && a.Cmp(b) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !sameValue(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}

// spell writes a value in another way: members in another order, white space, escapes, and numbers
// with other exponents.
func spell(r *rand.Rand, v any, b *strings.Builder) {
	space := func() { b.WriteString([]string{"", "", " ", "\n", "\t\r "}[r.IntN(5)]) }
	space()
	defer space()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case string:
		spellText(r, v, b)
	case *big.Rat:
		spellNumber(r, v, b)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(r, e, b)
		}
		b.WriteByte(']')
	case map[string]any:
		var names []string
		for k := range v {
			names = append(names, k)
		}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		b.WriteByte('{')
		for i, k := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			spellText(r, k, b)
			b.WriteByte(':')
			spell(r, v[k], b)
		}
		b.WriteByte('}')
	}
}

func spellText(r *rand.Rand, s string, b *strings.Builder) {
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c > 0xffff && r.IntN(2) == 0:
			fmt.Fprintf(b, `\u%04x\u%04X`, 0xd800+(c-0x10000)>>10, 0xdc00+(c-0x10000)&0x3ff)
		case c < ' ', c == '"', c == '\\', c <= 0xffff && r.IntN(3) == 0:
			fmt.Fprintf(b, `\u%04x`, c)
		case c == '/' && r.IntN(2) == 0:
			b.WriteString(`\/`)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
}

// spellNumber writes all digits of a decimal number, with its point moved.
func spellNumber(r *rand.Rand, n *big.Rat, b *strings.Builder) {
	digits, exp := new(big.Rat).Set(n), 0
	ten := big.NewRat(10, 1)
	for ; !digits.IsInt(); exp-- {
		digits.Mul(digits, ten)
	}
	whole := digits.Num().String()
	for range r.IntN(3) {
		whole, exp = whole+"0", exp-1
	}
	if strings.Trim(whole, "-0") == "" {
		whole = "0"
	}
	switch at := len(whole) - 1; {
	case r.IntN(2) == 0 && at > 1 && whole[at-1] != '-':
		fmt.Fprintf(b, "%s.%sE%+d", whole[:at], whole[at:], exp+1)
	case exp != 0 || r.IntN(2) == 0:
		fmt.Fprintf(b, "%se%d", whole, exp)
	default:
		b.WriteString(whole)
	}
}

// FuzzFingerprint: two texts of one value are one call, and two values are two, whatever is in
// them: what a fingerprint decides is whether a call was made before.
func FuzzFingerprint(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"b":1,"a":[true,false,null,"x"]}`, `{"a":1.0}`, `{"a":9007199254740993}`, `{"a":9007199254740992.0}`, `{"a":9007199254740993.0}`, `{"a":100000000000000000000}`, `{"a":1e20}`, `{"a":1e-400}`,
		`{"a":0.1000000000000000055}`, `{"a":0.1}`, `{"a":-0}`, `{"a":-0.0e5}`, `{"a":1e400}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":1}`, "{\"a\":\"\xff\"}", "{\"a\":\"\xfe\"}", `{"a":"\ud800"}`, `{"a":"\ud83d\ude00"}`,
		`{"a":"` + "\u2028<>&\u007f" + `"}`, `{"\ufb33":1,"\ud83d\ude00":2}`, ` { } `, `{} {}`, `{"a":01}`, `{"a":+1}`, `{"a":0x10}`, `nul`, `"a"`, ``, `{"a":"9007199254740993"}`, `{"a":{"b":9007199254740993},"c":[9007199254740993]}`,
		strings.Repeat(`[`, 10002) + strings.Repeat(`]`, 10002), strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300), `{"a":12345678901234567890.12345678901234567890e-3}`, `{"a":5e-324}`, `{"a":2e-324}`,
	} {
		for _, other := range []string{`{"a":1}`, strings.Replace(text, "3", "2", 1)} {
			f.Add([]byte(text), []byte(other), uint64(len(text)))
		}
	}
	key := bytes.Repeat([]byte("k"), 32)
	f.Fuzz(func(t *testing.T, a, b []byte, seed uint64) {
		print := func(text []byte) string { return Of(key, "t", text) }
		first, v, w := print(a), valueOf(a), valueOf(b)
		if print(bytes.Clone(a)) != first {
			t.Fatalf("%q has two fingerprints", a)
		}
		if same := bytes.Equal(a, b) || v != nil && w != nil && sameValue(v, w); same != (first == print(b)) && (v != nil || !json.Valid(a)) && (w != nil || !json.Valid(b)) {
			t.Fatalf("%q and %q: one value %t, one call %t", a, b, same, !same)
		}
		if v == nil {
			return
		}
		var again strings.Builder
		spell(rand.New(rand.NewPCG(seed, 1)), v.([]any)[0], &again)
		if !json.Valid([]byte(again.String())) {
			t.Fatalf("the test spells %q as %q", a, again.String())
		}
		if print([]byte(again.String())) != first {
			t.Fatalf("%q and %q are one value and two calls", a, again.String())
		}
		if Of(key, "u", a) == first {
			t.Fatal("another tool has the same fingerprint")
		}
	})
}
