package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// disguises are the forms in which a known value is looked for, as the package says.
func disguises(value string) []string {
	escaped := func(format string) string {
		var b strings.Builder
		for _, r := range value {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
	percent, bytewise := "", ""
	for _, c := range []byte(value) {
		percent += fmt.Sprintf("%%%02X", c)
		bytewise += fmt.Sprintf(`\x%02x`, c)
	}
	out := []string{
		value, escaped(`\u%04x`), bytewise, percent, html.EscapeString(value), template.HTMLEscapeString(value), strings.ReplaceAll(percent, "%", "%25"), url.QueryEscape(value), escaped("&#%d;"), escaped("&#x%x;"), hex.EncodeToString([]byte(value)),
		strings.ReplaceAll(escaped(`\u%04x`), `\`, `\\`), strings.ReplaceAll(escaped(`\u%04x`), `\`, `\\\\`), value[:len(value)/2] + "\n" + value[len(value)/2:], value[:3] + `" + "` + value[3:],
	}
	for n := range 3 { // a base64 text has three places at which a value may begin
		out = append(out, base64.StdEncoding.EncodeToString([]byte("abc"[:n]+value+"xyz")), base64.URLEncoding.EncodeToString([]byte("abc"[:n]+value+"\xff\xfe\xfd")))
	}
	return out
}

// FuzzRestore: what was taken out is put back to the byte, whatever the bytes; a known value is
// left in none of its forms, wherever it stands; and a stream shows the same however it is cut.
func FuzzRestore(f *testing.F) {
	known, shapes := secretsToPlant()
	s := New(known)
	for i, shape := range shapes {
		quoted, err := json.Marshal(map[string]any{shape: []string{"password=" + shape, "x"}, "token": shape})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(quoted, uint16(i), uint16(i), uint64(i))
		f.Add([]byte(shape), uint16(7*i), uint16(i+20), uint64(i))
	}
	f.Add([]byte(`{"a":"[secret:a:[secret:b:c]]","b":"\u005bsecret:a:b]","c":"\ud800\\u005b"}`), uint16(0), uint16(0), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, place, form uint16, seed uint64) {
		checkJSON(t, s, data)
		checkText(t, s, data)
		r := rand.New(rand.NewPCG(seed, 1))
		checkPlanted(t, s, data, int(place), int(form), known, r)
		one, other := streamed(s, data, r, 3), streamed(s, data, r, 1+len(data))
		if !bytes.Equal(one, other) {
			t.Fatalf("%q is shown as\n%q and, cut otherwise, as\n%q", data, one, other)
		}
		for value := range s.values {
			if bytes.Contains(one, []byte(value)) {
				t.Fatalf("%q is left of %q in the stream %q", value, data, one)
			}
		}
	})
}

// checkPlanted puts a known value into a text in one of its forms.
func checkPlanted(t failer, s *Set, data []byte, place, form int, known []Known, r *rand.Rand) {
	value := known[form%len(known)].Value
	all := disguises(value)
	planted := all[form/len(known)%len(all)]
	at := place % (len(data) + 1)
	text := string(data[:at]) + " " + planted + " " + string(data[at:])
	checkText(t, s, []byte(text))
	v := vault{}
	out, _ := s.Text([]byte(text), v.name)
	if strings.Contains(string(out), planted) {
		t.Fatalf("%q is left in %q", planted, out)
	}
	if out := streamed(s, []byte(text), r, 7); bytes.Contains(out, []byte(planted)) {
		t.Fatalf("%q is left in the stream %q", planted, out)
	}
	quoted, err := json.Marshal([]string{text})
	if err != nil {
		t.Fatalf("%v", err)
	}
	checkJSON(t, s, quoted)
	inside, _, err := s.JSON(quoted, v.name)
	var back []string
	if err == nil {
		err = json.Unmarshal(inside, &back)
	}
	if err != nil || strings.Contains(back[0], planted) {
		t.Fatalf("%q is left in %q (%v)", planted, back, err)
	}
}

func streamed(s *Set, data []byte, r *rand.Rand, most int) (out []byte) {
	v := vault{}
	stream := s.Stream(v.name, nil)
	for rest := data; len(rest) > 0; {
		n := 1 + r.IntN(min(len(rest), most))
		shown, _ := stream.Write(rest[:n])
		out, rest = append(out, shown...), rest[n:]
	}
	shown, _ := stream.Flush()
	return append(out, shown...)
}
