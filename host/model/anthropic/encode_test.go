package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

func TestStrings(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü <>&\u2028":  "\"plain ü <>&\u2028\"",
		"\"\\\n\r\t\x00\x1f": `"\"\\\n\r\t\u0000\u001f"`,
		"a\xffb\xed\xa0\x80": "\"a\uFFFDb\uFFFD\uFFFD\uFFFD\"",
		"":                   `""`,
		"\uFFFD":             "\"\uFFFD\"",
	} {
		if got := string(appendString(nil, in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		var got string
		if err := json.Unmarshal(appendString(nil, in), &got); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var s string
		if err := json.Unmarshal(want, &s); err != nil || s != got {
			t.Fatalf("%q became %q, want %q", in, got, s)
		}
	})
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{ "b" : 1.50 , "a" : [ ] }`:  `{"b":1.50,"a":[]}`,
		`"\u003c\u003E\u0026\u2028"`:  "\"<>&\u2028\"",
		`"\\u003c \" \n \u0041"`:      `"\\u003c \" \n \u0041"`,
		`"\ud83d\ude00"`:              `"\ud83d\ude00"`,
		`"\ud83d \ude00\ud83d\u0041"`: `"\ufffd \ufffd\ufffd\u0041"`,
		`"\ud83d"`:                    `"\ufffd"`,
		"\"a\xff\"":                   "\"a\uFFFD\"",
	} {
		if got, ok := canonical([]byte(in)); !ok || string(got) != want {
			t.Errorf("%s: %s %t, want %s", in, got, ok, want)
		}
	}
	for _, in := range []string{"", " ", "{", `{} x`, `{"a":1,}`} {
		if _, ok := canonical([]byte(in)); ok {
			t.Errorf("%q is taken for JSON", in)
		}
	}
}

func TestToolName(t *testing.T) {
	for in, want := range map[string]string{"read_file": "read_file", "functions.shell": "functions_shell", "": "unknown", "ü-1": "_-1", strings.Repeat("x", 200): strings.Repeat("x", 128)} {
		if got := toolName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
