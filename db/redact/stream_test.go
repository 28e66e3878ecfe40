package redact

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
)

func noID(string, []byte) string { return "0" }

// A model's words are shown as they come: a word is held until the blank after it, and no longer.
func TestStreamShowsWordsAtTheirEnd(t *testing.T) {
	s := New([]Known{{"env-canary-key", canary}})
	for _, c := range []struct {
		pieces []string
		shown  []string
	}{
		{[]string{"He", "llo ", "wor", "ld, ", "he", "re"}, []string{"", "Hello ", "", "world, ", "", ""}},
		{[]string{"Done.\n", "ghp_16C7e42F292c6912", "E7710c838347Ae178B4a", " is it"}, []string{"Done.\n", "", "", "[secret:github-pat:0] is "}},
		{[]string{"key ", canary[:5], canary[5:] + "x", "y z"}, []string{"key ", "", "", "[secret:env-canary-key:0]xy "}},
		{[]string{"key " + canary[:5] + " ", canary[5:9], " no"}, []string{"key ", "", canary[:5] + " " + canary[5:9] + " "}},
		{[]string{"使用", "密钥", " ok "}, []string{"使用", "密钥", " ok "}},
		{[]string{"postgres://u:密钥", "Kd93mX0qZ81k@h/db", " ok "}, []string{"", "", "postgres://u:[secret:url-password:0]@h/db ok "}},
		{[]string{"a -----BEGIN ", "PRIVATE KEY-----\n", "MIIEvQIBADANBgkqhkiG9w0B\n", "-----END PRIVATE ", "KEY-----\n", "b "},
			[]string{"a ", "", "", "", "[secret:private-key:0]\n", "b "}},
	} {
		stream := s.Stream(noID, nil)
		for i, piece := range c.pieces {
			if got, _ := stream.Write([]byte(piece)); string(got) != c.shown[i] {
				t.Errorf("%q: piece %d showed %q, want %q", c.pieces, i, got, c.shown[i])
			}
		}
	}
}

// What never ends is held within bounds, and nothing of it is shown.
func TestStreamHoldsWithinBounds(t *testing.T) {
	long := strings.Repeat("Kd93mX0q", 2000)
	s := New([]Known{{"env-long", long}})
	for name, c := range map[string]struct {
		begin, more string
		never       string
	}{
		"a private key without an end": {"-----BEGIN RSA PRIVATE KEY-----\n", "MIIEowIBAAKCAQEAtruncatedhere00MIIEowIBAAKCAQEAtruncatedhere00\n", "MIIEow"},
		"a word without an end":        {"", "abcdefghij0123456789", long},
		"blanks without an end":        {long[:100], strings.Repeat(" ", 1000), long},
		"a value again and again":      {"", long[:len(long)/2], long[:64]},
	} {
		t.Run(name, func(t *testing.T) {
			stream := s.Stream(noID, nil)
			var out bytes.Buffer
			write := func(p string) {
				shown, _ := stream.Write([]byte(p))
				out.Write(shown)
				if len(stream.buf) > 150<<10 {
					t.Fatalf("%d bytes are held", len(stream.buf))
				}
			}
			write(c.begin)
			for range (200 << 10) / len(c.more) {
				write(c.more)
			}
			shown, _ := stream.Flush()
			out.Write(shown)
			if at := strings.Index(out.String(), c.never); at >= 0 {
				t.Errorf("%.20q was shown at %d of %d", c.never, at, out.Len())
			}
		})
	}
}

// Text and Stream of a large output take memory in proportion to it, and the stream does not.
func TestStreamOfLargeOutput(t *testing.T) {
	s := New([]Known{{"env-canary-key", canary}})
	stream := s.Stream(noID, nil)
	piece := []byte(strings.Repeat("a line of output that a command wrote, 42 of them\n", 600) + canary + "\n")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	shown, found := 0, 0
	for range 400 {
		out, secrets := stream.Write(piece)
		shown += len(out)
		found += len(secrets)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if found != 400 {
		t.Errorf("found %d of 400 secrets in %d bytes", found, shown)
	}
}
