package transcript

import (
	"strings"
	"testing"
)

// What is estimated is rather high than low: base64 counts far more than prose.
func TestTokensIn(t *testing.T) {
	prose := strings.Repeat("the run goes on where it was ", 100)
	if n := TokensIn(prose); n < int64(len(prose))/4 || n > int64(len(prose))/3 {
		t.Errorf("%d tokens for %d bytes of prose", n, len(prose))
	}
	data := strings.Repeat("QmFzZTY0", 100)
	if n := TokensIn(data); n < int64(len(data))/2 {
		t.Errorf("%d tokens for %d bytes of base64", n, len(data))
	}
	if TokensIn("") != 0 {
		t.Error("nothing has tokens")
	}
}
