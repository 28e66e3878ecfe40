package terminal

import (
	"fmt"
	"strings"
	"testing"

	"agent/host/view"
)

// lines feeds pieces to a live output and returns the lines that it showed.
func lines(pieces ...string) []string {
	var out []string
	o := newLiveOutput(false, func(l string) { out = append(out, l) })
	for _, p := range pieces {
		o.add([]byte(p))
	}
	o.end("agent show c-1")
	return out
}

// A line is shown when it is whole, or when the call ends.
func TestPartialLines(t *testing.T) {
	tests := []struct {
		pieces []string
		want   string
	}{
		{[]string{"a", "b\nc", "d"}, "ab|cd"},
		{[]string{"a\n\nb\n"}, "a||b"},
		{[]string{"10%\r20%\r", "\ndone"}, "10%|20%|done"},
		{[]string{"\xc3", "\xa4\n"}, "ä"},
		{[]string{"\x1b[3", "1mred\x1b[0m"}, "red"},
		{[]string{"cut \xc3"}, "cut \uFFFD"},
		{nil, ""},
	}
	for _, tt := range tests {
		if got := strings.Join(lines(tt.pieces...), "|"); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.pieces, got, tt.want)
		}
	}
}

// Of a flood the beginning and the end are shown, and how many lines are not. // issue, behaviour
// 14
func TestFloodIsBounded(t *testing.T) {
	var all strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	got := lines(all.String())
	if len(got) != liveLines+2+liveTail {
		t.Fatalf("%d lines", len(got))
	}
	if got[0] != "line 0" || got[liveLines-1] != fmt.Sprint("line ", liveLines-1) || got[len(got)-1] != "line 99999" {
		t.Errorf("%q … %q … %q", got[0], got[liveLines-1], got[len(got)-1])
	}
	if want := fmt.Sprintf("… %d lines are not shown here: agent show c-1", 100_000-liveLines-liveTail); got[liveLines+1] != want {
		t.Errorf("%q, want %q", got[liveLines+1], want)
	}
}

// A line without an end takes no memory without an end.
func TestLongLineIsBounded(t *testing.T) {
	piece := strings.Repeat("ä", 32<<10)
	o := newLiveOutput(false, func(string) {})
	for range 64 {
		o.add([]byte(piece))
	}
	if len(o.line) > 2*view.MaxLine {
		t.Errorf("%d bytes are kept", len(o.line))
	}
	got := lines(piece, piece, "\nnext")
	if len(got) != 2 || got[1] != "next" || len(got[0]) > view.MaxLine+40 || !strings.HasSuffix(got[0], "ä… (128.0 KiB in this line)") {
		t.Errorf("%d lines, %q", len(got), got[0][max(0, len(got[0])-40):])
	}
}
