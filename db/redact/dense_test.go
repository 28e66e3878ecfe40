package redact

import (
	"strings"
	"testing"
	"time"
)

// A text whose every word is one of a rule's takes as long as its length says: it once took a quarter of a minute for 64 KiB of
// "[secret:a:b]", since each word was looked at with the four KiB behind it, by each of its rules.
func TestDenseWordsTakeNoLonger(t *testing.T) {
	set := New([]Known{{"env-x", "qZ8-Vt4w_canary_Lk2jH9sXe"}})
	token := "ghp_" + "a8F3kLm9Qx2ZtR7vB1nYc5WdE6uJhT0pKs4G"
	for _, word := range []string{"[secret:a:b]", ":5432:", "password=secret_key token: api_key ", "://a:", "secret.", "-----END PRIVATE KEY-----"} {
		text := strings.Repeat(word, 128<<10/len(word)) + " " + token + " "
		begun := time.Now()
		spans := set.Find("", text+text)
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%d bytes of %q took %s", 2*len(text), word, took)
		}
		for _, at := range []int{strings.Index(text, token), len(text) + strings.Index(text, token)} {
			found := false
			for _, f := range spans {
				found = found || f.From <= at && f.To >= at+len(token)
			}
			if !found {
				t.Errorf("behind much of %q a token is not found", word)
			}
		}
	}
}
