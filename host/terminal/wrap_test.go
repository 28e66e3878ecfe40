package terminal

import "testing"

// Lines for people break between words; what is to be copied stays whole. // issue 17, part 5
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		width    int
		text, to string
	}{
		{20, "short", "short"},
		{0, "any width is fine where nobody reads", "any width is fine where nobody reads"},
		{20, "run r-1 completed: 2 turns, 1 call", "run r-1 completed: 2\n  turns, 1 call"},
		{20, "go on: agent resume r-7k2m9qx4, or not", "go on:\n  agent resume r-7k2m9qx4,\n  or not"},
		{20, "  (Ctrl-D leaves it; agent answer p-1)", "  (Ctrl-D leaves it;\n    agent answer p-1)"},
		{20, "    command: echo one two three four", "    command: echo one two three four"},
		{20, "one\ntwo words and more of them\nend", "one\ntwo words and more\n  of them\nend"},
		{30, "    always  and from now on: all of that", "    always  and from now on:\n            all of that"},
		{10, "a-word-that-is-longer than that", "a-word-that-is-longer\n  than\n  that"},
		{10, "あいうえお かきく", "あいうえお\n  かきく"},
		{20, "answer (yes/always/never/no): ", "answer\n  (yes/always/never/no): "},
	} {
		if got := wrap(c.text, c.width, 2); got != c.to {
			t.Errorf("%d: %q, want %q", c.width, got, c.to)
		}
	}
}
