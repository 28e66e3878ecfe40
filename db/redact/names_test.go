package redact

import (
	"testing"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// A name that promises a secret is never passed over without a look at its value.
func TestEveryNameOfASecretIsLookedAt(t *testing.T) {
	parts := []string{"db", "_", "-", "API", "key", "Pass", "pw", "pwd", "phrase", "code", "wort", "ssh", "word", "wd", "to", "ken", "Se", "cret", "s",
		"credential", "creds", "auth", "orization", "dsn", "bearer", "access", "private", "x", "1"}
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		name := ""
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(parts), 1, 6).Draw(t, "parts") {
			name += p
		}
		if kindOf(name) != plain && !catalogue().names.has(name) {
			t.Fatalf("%q", name)
		}
	})
}
