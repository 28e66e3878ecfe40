package jsonstring

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzRead: what is read is what encoding/json reads, and what encoding/json reads is read.
func FuzzRead(f *testing.F) {
	for _, text := range []string{`"a"`, `""`, `"`, `x`, ``, `"a\nb\t\"\\\/"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\x"`, "\"\xff\"", "\"\n\"", `"é😀" , "b"`,
		`"\`, `"\"`, `"\b\f\r"`, `"\u12"`, strings.Repeat(`"a\\`, 3) + `"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(same)
}

// Every byte at every place: what is gone over eight bytes at a time is seen as well as one by one.
func TestEveryByteAnywhere(t *testing.T) {
	const text = `"0123456789abcdefgh"`
	for at := 1; at < len(text)-1; at++ {
		for b := range 256 {
			data := []byte(text)
			data[at] = byte(b)
			same(t, data)
		}
	}
}

func same(t *testing.T, data []byte) {
	var want string
	d := json.NewDecoder(strings.NewReader(string(data)))
	token, err := d.Token()
	want, isText := token.(string)
	begins := len(data) > 0 && data[0] == '"' // white space before it is not read here
	s, rest, ok := Read(data)
	if ok != (err == nil && isText && begins) {
		t.Fatalf("%q is read: %t; encoding/json: %v, %v", data, ok, token, err)
	}
	if ok && (s != want || d.InputOffset() != int64(len(data)-len(rest))) {
		t.Fatalf("%q is %q with %q left, want %q up to %d", data, s, rest, want, d.InputOffset())
	}
}
