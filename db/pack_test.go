package db

import (
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

// Bytes that pack never wrote give an error or some text, and never more than that.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("\x05short"))
	f.Add([]byte{0x06, 0x00, 0x20})
	f.Fuzz(func(t *testing.T, packed []byte) {
		if out, err := unpack(packed); err == nil && len(out) > 0 {
			comesBack(t, string(out))
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
