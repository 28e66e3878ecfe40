package db

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/recovery"
)

// Whatever is packed comes back, to the byte.
func TestPack(t *testing.T) {
	for _, body := range []string{
		"{}", "[]", `""`, "not json", "a\nb", "\x00", "\x05", `,"fp":"hmac-sha256:v1:`, `,"fp":"hmac-sha256:v1:` + strings.Repeat("0", 63),
		`,"fp":"hmac-sha256:v1:` + strings.Repeat("0a", 32), `,"fp":"hmac-sha256:v1:` + strings.Repeat("0A", 32), `\\n\"\\"`, strings.Join(phrases[:], ""),
	} {
		comesBack(t, body)
	}
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom(phrases[1:]), rapid.StringMatching(`[0-9a-f]{60,70}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))).Draw(rt, "parts")
		comesBack(rt, strings.Join(parts, ""))
	})
}

func comesBack(t interface {
	Helper()
	Errorf(string, ...any)
}, body string) {
	t.Helper()
	if body == "" {
		return
	}
	got, err := unpack(pack([]byte(body)))
	if err != nil || string(got) != body {
		t.Errorf("%q came back as %q (%v)", body, got, err)
	}
}

// FuzzUnpack: any text comes back to the byte. Bytes that pack never wrote give an error or some text, each time the same, which is no
// longer than their phrases are.
func FuzzUnpack(f *testing.F) {
	for _, packed := range [][]byte{[]byte("\x05short"), {0x06, 0x00, 0x20}, []byte("{}"), []byte("a\nb"), {0x05}, {0x1f, 0x1f}, []byte(`,"fp":"hmac-sha256:v1:` + strings.Repeat("0a", 32)), []byte(strings.Join(phrases[:], ""))} {
		f.Add(packed)
		f.Add(pack(packed))
	}
	longest := 0
	for _, p := range phrases {
		longest = max(longest, len(p))
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		comesBack(t, string(packed))
		before := bytes.Clone(packed)
		out, err := unpack(packed)
		again, err2 := unpack(bytes.Clone(packed))
		if !bytes.Equal(out, again) || fmt.Sprint(err) != fmt.Sprint(err2) || !bytes.Equal(packed, before) {
			t.Errorf("%q is unpacked as %q, %v and as %q, %v", before, out, err, again, err2)
		}
		if err == nil && len(out) > 0 {
			comesBack(t, string(out))
		}
		if most := len(packed)*max(longest, 2) + 64; len(out) > most {
			t.Errorf("%d bytes became %d, at most %d can be", len(packed), len(out), most)
		}
	})
}

// The phrases are on disks: a change would make every stored body unreadable.
func TestPhrasesStay(t *testing.T) {
	sum := ""
	for i, p := range phrases {
		if p != "" {
			sum += fmt.Sprintf("%02x%s\n", i, p)
		}
	}
	if got, want := fmt.Sprintf("%x", newBlob([]byte(sum)).hash), "bfbf22e93d6c8e500e0caa9d06627d6502dd34d142a393f1c43c0a71a3365df2"; got != want {
		t.Errorf("the phrases have changed: %s", got)
	}
}

// A turn's bodies lose what every turn says.
func TestPackSavesSpace(t *testing.T) {
	a, b := turnFacts(1, "c-11111111", kib)
	before, after := 0, 0
	for _, e := range append(a, b...) {
		data, err := json.Marshal(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		before, after = before+len(data), after+len(pack(data))
	}
	if after > len(kib)+250 {
		t.Errorf("%d bytes became %d", before, after)
	}
	if _, err := recovery.Decode(recovery.KindModelRequested, recovery.Version, []byte("{}")); err != nil {
		t.Error(err)
	}
}
