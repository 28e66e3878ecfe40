//go:build linux

package marks

import (
	"fmt"
	"testing"
)

// A mark is found once, wherever it stands.
func TestMarksIn(t *testing.T) {
	got := fmt.Sprint(Find(`{"patch":"a/patch-mark-3-a.txt b/patch-mark-3-ab.txt a/patch-mark-3-a.txt"}`))
	if got != "[mark-3-a mark-3-ab]" {
		t.Error(got)
	}
}

// The effects file of a late world is as long as that of the first: what list_dir says of it is
// compared.
func TestMarksAreOfOneLength(t *testing.T) {
	if a, b := In(7, "c"), In(123456, "c"); len(a) != len(b) || len(Find(a+" "+b)) != 2 {
		t.Errorf("%s and %s", a, b)
	}
}
