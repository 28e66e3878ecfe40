package redact

import (
	"strings"
	"testing"
)

// dense are words that rules begin at, of which a text may be full.
var dense = []string{
	"[secret:a:b]", ":5432:", "password=secret_key token: api_key ", "://a:", "secret.", "-----END PRIVATE KEY-----",
}

const denseToken = "ghp_" + "a8F3kLm9Qx2ZtR7vB1nYc5WdE6uJhT0pKs4G"

// What stands behind much that only looks like the beginning of a secret is found.
func TestTokensBehindDenseWords(t *testing.T) {
	set := New([]Known{{"env-x", "qZ8-Vt4w_canary_Lk2jH9sXe"}})
	for _, word := range dense {
		text := strings.Repeat(word, 8<<10/len(word)) + " " + denseToken + " "
		spans := set.Find("", text+text)
		for _, at := range []int{strings.Index(text, denseToken), len(text) + strings.Index(text, denseToken)} {
			found := false
			for _, f := range spans {
				found = found || f.From <= at && f.To >= at+len(denseToken)
			}
			if !found {
				t.Errorf("behind much of %q a token is not found", word)
			}
		}
	}
}

// The time for each byte of such a text must not grow with its length: 64 KiB of "[secret:a:b]"
// once took a quarter of a minute, since each word was looked at with the four KiB behind it, by
// each of its rules. The limit is the rate at 8 KiB.
func BenchmarkDenseWords(b *testing.B) {
	set := New(nil)
	for _, word := range dense {
		for _, size := range []int{8 << 10, 256 << 10} {
			text := strings.Repeat(word, size/len(word))
			b.Run(strings.TrimSpace(word[:5])+"/"+map[int]string{8 << 10: "8K", 256 << 10: "256K"}[size], func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					set.Find("", text)
				}
			})
		}
	}
}
