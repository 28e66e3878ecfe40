package stream

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// S18: every text of a model or a tool is stripped of control sequences before it is shown.
func TestSanitize(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":                     {"a b\n\tc", "a b\n\tc"},
		"accents and wide":          {"é 日本 ✓", "é 日本 ✓"},
		"colour":                    {"\x1b[1;31mred\x1b[0m!", "red!"},
		"cursor up and erase":       {"one\n\x1b[1A\x1b[2Ktwo", "one\ntwo"},
		"title":                     {"a\x1b]0;owned\x07b", "ab"},
		"hyperlink":                 {"\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\", "link"},
		"clipboard":                 {"\x1b]52;c;cm0gLXJm\x07done", "done"},
		"device control":            {"a\x1bPq#0~\x1b\\b", "ab"},
		"privacy and application":   {"a\x1b^x\x1b\\b\x1b_y\x1b\\c\x1bXz\x1b\\d", "abcd"},
		"charset":                   {"\x1b(0lqk\x1b(B", "lqk"},
		"reset":                     {"\x1bcX", "X"},
		"two escapes":               {"\x1b\x1b[31mx", "x"},
		"eight bit CSI":             {"a\u009b31mb", "ab"},
		"eight bit OSC":             {"a\u009d0;t\u009cb", "ab"},
		"string without end":        {"a\x1b]0;hidden\nrm -rf", "a\nrm -rf"},
		"string ended by a new one": {"\x1b]0;x\x1b[31my", "y"},
		"sequence cut by newline":   {"\x1b[31\nx", "\nx"},
		"carriage return":           {"safe\rrm -rf /", "safe\nrm -rf /"},
		"windows lines":             {"a\r\nb\r\r\nc\n", "a\nb\nc\n"},
		"backspace bell delete":     {"ab\b\b\a\x7fc", "abc"},
		"bidi":                      {"a\u202eb\u2066c\u200fd", "abcd"},
		"zero width":                {"ad\u200bm\u2060in\ufeff", "admin"},
		"a family of emoji":         {"\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f469\u200d\U0001f469\u200d\U0001f467"},
		"Persian":                   {"می\u200cخواهم", "می\u200cخواهم"},
		"Sinhala":                   {"ශ්\u200dරී", "ශ්\u200dරී"},
		"tags":                      {"x\U000E0041\U000E0042y\U000E0100", "xy"},
		"line separators":           {"a\u2028b", "a\nb"},
		"not UTF-8":                 {"a\xffb\xc3", "a\ufffdb\ufffd"},
		"raw C1 byte":               {"a\x9b31mb", "a\ufffd31mb"},
		"nul":                       {"a\x00b", "ab"},
		"end in a sequence":         {"a\x1b[3", "a"},
		"visible arabic sign":       {"\u0600x", "\u0600x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Sanitize(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSanitizeShowsWhatAnEndlessStringHides(t *testing.T) {
	got := Sanitize("\x1b]0;" + strings.Repeat("x", 2*maxHidden) + "end")
	if !strings.HasSuffix(got, "end") {
		t.Errorf("a control string without an end took everything with it: %d bytes are left", len(got))
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"ls -l\n\tx":              "ls -l\n\tx",
		"rm\x1b[1A\rls":           `rm\x1b[1A\x0dls`,
		"a\u202eb\u200bc\u009bd":  `a\u{202e}b\u{200b}c\u{9b}d`,
		"r\u200dm":                `r\u{200d}m`,
		"\xff\xfe and \ufffd too": "\\xff\\xfe and \ufffd too",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// seeds are cut at every place, so each holds something that must not be cut carelessly.
var seeds = []string{
	"plain\n", "\x1b[31mred\x1b[0m", "a\x1b]8;;x\x1b\\b\x07", "\u202e日本\u009b1m", "\xf0\x9f\x98", "\xe2\x28\xa1\xff", "\r\n\r\r\nx",
	"\x1bP\x1b\x1b\\\x1b]", "\xf0\x9f\x1b[1m\x9f\x98\x80", "\U000E0041e\u0301",
}

func TestSanitizerAtEveryCut(t *testing.T) {
	for _, text := range seeds {
		want := Sanitize(text)
		for cut := 0; cut <= len(text); cut++ {
			for second := cut; second <= len(text); second++ {
				if got := inPieces(t, text[:cut], text[cut:second], text[second:]); got != want {
					t.Fatalf("%q cut at %d and %d: got %q, want %q", text, cut, second, got, want)
				}
			}
		}
	}
}

func inPieces(t testing.TB, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	s := NewSanitizer(&out)
	for _, p := range pieces {
		if n, err := s.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// obeyed are the characters that a terminal does something for instead of showing them, named here
// on their own: control characters, marks of direction, what has no width, tags, and the separators
// of lines and paragraphs.
func obeyed(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == 0xad, r == 0x61c, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// FuzzSanitize: what is left is text, none of it is obeyed, and it is final and the same however
// the pieces are cut. Text that was never anything else stays as it is.
func FuzzSanitize(f *testing.F) {
	for i, s := range append(seeds, "ab\b\b\a\x7fc", "a\u00adb\u061cc\u2028d", "\x1b]0;"+strings.Repeat("x", 40)+"end", "plain, and plain again", "a\x9b31mb\x00", "\x1b[38;5;1\x18m\x1b\x1b(\x1b") {
		f.Add(s, i)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		got := Sanitize(text)
		if !utf8.ValidString(got) {
			t.Fatalf("%q became %q, which is not UTF-8", text, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool {
			return !joiner(r) && (obeyed(r) || r != '\n' && r != '\t' && (control(r) || invisible(r)))
		}); i >= 0 {
			t.Fatalf("%q became %q, with %.4q", text, got, got[i:])
		}
		if again := Sanitize(got); again != got {
			t.Fatalf("%q is not final: it becomes %q", got, again)
		}
		if strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && (r < ' ' || r > '~') }) < 0 && got != text {
			t.Fatalf("the plain text %q became %q", text, got)
		}
		r := rand.New(rand.NewPCG(uint64(cut), 1))
		var pieces []string
		for rest := text; rest != ""; {
			n := 1 + r.IntN(min(len(rest), 1+r.IntN(20)))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if cut = max(cut, 0) % (len(text) + 1); inPieces(t, text[:cut], text[cut:]) != got || inPieces(t, pieces...) != got {
			t.Fatalf("%q cut at %d, or into %q, differs", text, cut, pieces)
		}
		if shown := Visible(text); strings.IndexFunc(shown, func(r rune) bool { return obeyed(r) || r != '\n' && r != '\t' && (control(r) || invisible(r)) }) >= 0 {
			t.Fatalf("%q is shown as %q", text, shown)
		}
	})
}
