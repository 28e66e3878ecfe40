package shelltext

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// A text in normal form is printed with nothing left to a shell.
func TestPrint(t *testing.T) {
	for text, want := range map[string]string{
		`ls`:                       `'ls'`,
		`git commit -m "it's"`:     `'git' 'commit' '-m' 'it'"'"'s'`,
		"a;b\n\nc":                 "'a'\n'b'\n'c'",
		"a && b || c; d":           "'a' &&\n'b' ||\n'c'\n'd'",
		"a |\n b|c":                "'a' |\n'b' |\n'c'",
		"a 2>&1 >/dev/null | b":    "'a' 2>&1 1>/dev/null |\n'b'",
		"2>/dev/null a x":          "'a' 'x' 2>/dev/null",
		"a >&2":                    "'a' 1>&2",
		`[ -f x ]`:                 `'[' '-f' 'x' ']'`,
		`a --b=c d=e`:              `'a' '--b=c' 'd=e'`,
		`a''b "c"d 'e"f'`:          `'ab' 'cd' 'e"f'`,
		"a 'b\nc' \"d\te\"":        "'a' 'b\nc' 'd\te'",
		`a '\' '#' "#" '$x' '*' é`: `'a' '\' '#' '#' '$x' '*' 'é'`,
		`'' ""`:                    `'' ''`,
		"cd x\t&&\tls":             "'cd' 'x' &&\n'ls'",
	} {
		for _, shell := range []string{"sh", "bash"} {
			r := Read(text, shell)
			if r.Normal == nil || r.Normal.Print() != want {
				t.Errorf("%q for %s: %v %s", text, shell, r.Normal, r.Why)
			}
			if got := ForShell(text, shell); got != want {
				t.Errorf("%s is given %q for %q, want %q", shell, got, text, want)
			}
		}
	}
}

// A text that leaves something to a shell has no normal form, and the shell gets it as it stands.
func TestNoNormalForm(t *testing.T) {
	for text, why := range map[string]string{
		"a # b":                             "a comment",
		"a#b":                               "a comment",
		"# a":                               "a comment",
		"a | # b\nc":                        "a comment",
		`a b\ c`:                            "a backslash",
		"a \\\n b":                          "a backslash",
		`a "\""`:                            "a backslash",
		`a $x`:                              "an expansion",
		`a "$x"`:                            "an expansion",
		"a `b`":                             "an expansion",
		`a $(b)`:                            "an expansion",
		`a $((1))`:                          "an expansion",
		`a b!`:                              "an expansion",
		`a "b!"`:                            "an expansion",
		`! a`:                               "a compound command",
		`a *.go`:                            "a pattern",
		`a b?`:                              "a pattern",
		`a [b]`:                             "a pattern",
		`a {b,c}`:                           "a brace",
		`a ~`:                               "a tilde",
		`a x=~`:                             "a tilde",
		`A=b`:                               "an assignment",
		`A=b c`:                             "an assignment",
		`a=b=c`:                             "an assignment",
		`'a=b'`:                             "an assignment",
		`a =b`:                              "an assignment",
		`export A=b`:                        "an assignment",
		`a > b`:                             "a redirection to a file",
		`a >> /dev/null`:                    "a redirection to a file",
		`a < b`:                             "a redirection to a file",
		`a 3>/dev/null`:                     "a redirection to a file",
		`a 2>&-`:                            "a redirection to a file",
		`a 1>&1`:                            "a redirection to a file",
		"a <<E\n*$x#\nE":                    "a here-document",
		`a & b`:                             "a background command",
		`(a)`:                               "a compound command",
		`{ a; }`:                            "a compound command",
		`if a; then b; fi`:                  "a compound command",
		`for i in a; do b; done`:            "a compound command",
		`f() { a; }`:                        "a compound command", // its body
		`f() (a)`:                           "a compound command",
		``:                                  "it runs no command",
		"\n":                                "it runs no command",
		`>/dev/null`:                        "it runs no command",
		`a — b`:                             "the character U+2014",
		`a 'b—c'`:                           "the character U+2014",
		`coproc a`:                          "a compound command",
		`time a`:                            "a compound command",
		"a # \\\nb":                         "one of its lines holds # and ends in a backslash",
		"a 'x#' \\\nb":                      "one of its lines holds # and ends in a backslash",
		"a <<E\n#\\\nE":                     "one of its lines holds # and ends in a backslash",
		"a \"$\\\n(b)\"":                    "one of its lines ends in a backslash behind $",
		"a <\\\n<E\nE":                      "one of its lines ends in a backslash behind <",
		"a <<-E\n\tb\\\n\tE\nE":             "it holds <<- and a line that ends in a backslash",
		"a=()#; b":                          "it holds )#",
		"a `b \\`c \\\\\\`d`":               "its backquotes stand within backquotes",
		"a " + strings.Repeat("a ", 20_000): "its words in quotes are longer than 64 KiB",
		"a\r":                               "it holds the character U+000D, which cannot be seen",
		"a \u3164":                          "it holds the character U+3164, which cannot be seen",
		"a \xff":                            "it is not UTF-8",
		strings.Repeat("a ", 40_000):        "it is longer than 64 KiB",
		strings.Repeat("(", 201):            "it is nested too deeply to be looked at",
	} {
		r := Read(text, "sh")
		if r.Normal != nil || r.Why != why {
			t.Errorf("%.40q: %q, want %q", text, r.Why, why)
		}
		if got := ForShell(text, "sh"); got != text {
			t.Errorf("the shell is given %q for %.40q", got, text)
		}
	}
	for text, shell := range map[string]string{"a 'b": "sh", "((": "bash"} {
		if r := Read(text, shell); r.Normal != nil || !strings.HasPrefix(r.Why, "it cannot be parsed: ") || r.Opaque != r.Why || r.Loose != r.Why {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

// What a substitution in a text runs is seen, however the text is put together, or the text is
// opaque.
func TestHiddenSubstitutions(t *testing.T) {
	for _, text := range []string{
		`test -v 'a[$''(dd)]'`, `x='a[$''(dd)]'; : $((x))`, `x=$'a[\x24(dd)]'; (( x ))`, `[[ x == @(<(dd)) ]]`, `a ${y:-<(dd)}`, `a "${y:-'$(dd)'}"`, `time -- dd`, `time -p -- dd`,
	} {
		r := Read(text, "bash")
		if r.Opaque == "" && !slices.ContainsFunc(r.Texts, func(s string) bool { return strings.Contains(s, "dd") }) {
			t.Errorf("%q: dd is hidden: %+v", text, r)
		}
	}
}

// Text for sh, which may be bash, has a normal form only where both read the same.
func TestReadInBothDialects(t *testing.T) {
	if r := Read("[[ a ]]", "sh"); r.Normal != nil {
		t.Errorf("%q", r.Normal.Print())
	}
	if r := Read("function f", "sh"); r.Normal != nil || r.Why == "" {
		t.Errorf("%+v", r)
	}

	r := Read("time aa", "sh") // a command of POSIX, a word of bash's own grammar
	var names []string
	for _, c := range r.Commands {
		names = append(names, strings.Join(c.Literals(), " "))
	}
	if !slices.Equal(names, []string{"time aa", "aa"}) || r.Normal != nil {
		t.Errorf("%q %+v", names, r)
	}
}

// The form of a print is the form that was printed, whatever words it has.
func TestPrintIsReadBack(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("ab'\"\\#$`*?[]{}~!=-/ \t\n;&|<>()é1%@^,:.+")), 0, 12, -1)
	simple := rapid.Custom(func(t *rapid.T) Simple {
		return Simple{
			Words:     append([]string{rapid.StringMatching(`[a-z\[.$ '#*]{1,6}`).Draw(t, "name")}, rapid.SliceOfN(word, 0, 4).Draw(t, "words")...),
			Redirects: rapid.SliceOfN(rapid.SampledFrom([]string{"1>/dev/null", "2>/dev/null", "2>&1", "1>&2"}), 0, 2).Draw(t, "redirects"),
		}
	})
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		var s Script
		for i := range rapid.IntRange(1, 4).Draw(t, "pipelines") {
			p := Pipeline{Commands: rapid.SliceOfN(simple, 1, 3).Draw(t, "commands")}
			if i > 0 {
				p.Join = rapid.SampledFrom([]string{"", "&&", "||"}).Draw(t, "join")
			}
			s = append(s, p)
		}
		for _, shell := range []string{"sh", "bash"} {
			r := Read(s.Print(), shell)
			if strange := strangeCommand(s); strange != "" { // no text has such a form
				if r.Why == "" {
					t.Errorf("%q is read, though %s", s.Print(), strange)
				}
				continue
			}
			if r.Normal == nil || r.Normal.Print() != s.Print() || !reflect.DeepEqual(values(*r.Normal), values(s)) {
				t.Errorf("%q is read as %v: %s", s.Print(), r.Normal, r.Why)
			}
			if r := Read(s.Text(), shell); Strange(s.Text()) == "" && (r.Normal == nil || !reflect.DeepEqual(values(*r.Normal), values(s))) {
				t.Errorf("%q is read as %v: %s", s.Text(), r.Normal, r.Why)
			}
		}
	})
}

// What a person reads of a script has quotes where a shell needs them.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`git  "commit" -m "it's"`:     `git commit -m 'it'"'"'s'`,
		"cd x\n  ls -la 2>&1 | wc -l": "cd x; ls -la 2>&1 | wc -l",
		"a --b=c && 'if' '' || '$x'":  "a --b=c && 'if' '' || '$x'",
	} {
		if r := Read(strings.ReplaceAll(text, `\n`, "\n"), "sh"); r.Normal == nil || r.Normal.Text() != want {
			t.Errorf("%q: %v %s", text, r.Normal, r.Why)
		}
	}
}

// strangeCommand is what keeps one of the commands from being read alone.
func strangeCommand(s Script) string {
	for _, p := range s {
		for _, c := range p.Commands {
			if why := Strange(c.print()); why != "" {
				return why
			}
		}
	}
	return ""
}

// values are the words and redirections of a script, an empty list as none.
func values(s Script) (all [][]string) {
	for _, p := range s {
		for _, c := range p.Commands {
			all = append(all, slices.Concat([]string{p.Join}, c.Words, c.Redirects))
		}
	}
	return all
}
