package pick

import (
	"testing"

	"agent/host"
)

// A lone word is an answer only when it can be no id, so that a mistyped id never answers a
// question.
func TestCouldBeID(t *testing.T) {
	for _, id := range []string{"p-7k2m9qx4", "p-7", "c-81kd", "r-0", "7k2m", "red", "0", host.NewID("p"), host.NewID("c")[2:]} {
		if !couldBeID(id) {
			t.Errorf("%q could be an id", id)
		}
	}
	for _, answer := range []string{"yes", "no", "happened", "run", "leave", "deep blue", "Red", "hello", "7k2m9qx40", "x-1"} {
		if couldBeID(answer) {
			t.Errorf("%q is no id", answer)
		}
	}
}
