package patch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// one parses a patch of one file and applies it.
func one(t *testing.T, text, old string) (string, error) {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		return "", err
	}
	if len(p.Files) != 1 {
		t.Fatalf("%d files", len(p.Files))
	}
	out, _, err := p.Files[0].Apply([]byte(old))
	return string(out), err
}

const abc = "a\nb\nc\nd\ne\nf\ng\n"

// What is forgiven: each of these patches changes the line d of the same file.
func TestForgiven(t *testing.T) {
	for name, text := range map[string]string{
		"git":             "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -2,5 +2,5 @@ func\n b\n c\n-d\n+D\n e\n f\n",
		"no prefix":       "--- x\n+++ x\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n",
		"one prefix":      "--- a/x\n+++ x\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n",
		"mnemonic":        "diff --git i/x w/x\n--- i/x\n+++ w/x\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n",
		"time stamps":     "--- a/x\t2026-01-01 00:00:00\n+++ b/x\t2026-01-01 00:00:01\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n",
		"wrong counts":    "--- a/x\n+++ b/x\n@@ -2,9 +2,1 @@\n b\n c\n-d\n+D\n e\n f\n",
		"wrong place":     "--- a/x\n+++ b/x\n@@ -40,5 +40,5 @@\n b\n c\n-d\n+D\n e\n f\n",
		"no numbers":      "--- a/x\n+++ b/x\n@@\n c\n-d\n+D\n e\n",
		"words for them":  "--- a/x\n+++ b/x\n@@ func d() @@\n-d\n+D\n",
		"blank lines":     "\n\n--- a/x\n+++ b/x\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n\n\n",
		"no last newline": "--- a/x\n+++ b/x\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f",
		"a fence":         "```diff\n--- a/x\n+++ b/x\n@@ -4 +4 @@\n-d\n+D\n```\n",
		"all in CR LF":    "--- a/x\r\n+++ b/x\r\n@@ -4 +4 @@\r\n-d\r\n+D\r\n",
		"a mail": "From 1234 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n" +
			"@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n-- \n2.39.2\n\n",
		"a mail with wrong counts": "--- a/x\n+++ b/x\n@@ -2,7 +2,8 @@\n b\n c\n-d\n+D\n e\n f\n-- \n2.39.2\n",
	} {
		if got, err := one(t, text, abc); err != nil || got != "a\nb\nc\nD\ne\nf\ng\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Line ends and last lines.
func TestEnds(t *testing.T) {
	const head = "--- a/x\n+++ b/x\n"
	for name, c := range map[string]struct{ text, old, want string }{
		"CR LF file":              {head + "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\r\nb\r\n", "a\r\nB\r\n"},
		"CR LF file and patch":    {head + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", "a\r\nb\r\n", "a\r\nB\r\n"},
		"mixed file":              {head + "@@ -1,2 +1,2 @@\n a\n-b\r\n+B\n", "a\nb\r\n", "a\nB\n"},
		"no last end, said":       {head + "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n", "a\nb", "a\nB"},
		"an end is added":         {head + "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb", "a\nb\n"},
		"an end is taken":         {head + "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb\n", "a\nb"},
		"no last end, as context": {head + "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "a\nb", "A\nb"},
		"into an empty file":      {head + "@@ -0,0 +1 @@\n+a\n", "", "a\n"},
		"all of it":               {head + "@@ -1,2 +0,0 @@\n-a\n-b\n", "a\nb\n", ""},
		"lost space":              {head + "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", "a\n\nb\n", "a\n\nB\n"},
		"header-like lines":       {head + "@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\n", "a\n-- b\nd\n", "a\n++ c\nd\n"},
		"made":                    {"--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n", "", "a\nb"},
		"deleted":                 {"--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "a\nb\n", ""},
		"at both ends":            {head + "@@ -1 +1,2 @@\n+0\n a\n@@ -3 +4,2 @@\n c\n+d\n", "a\nb\nc\n", "0\na\nb\nc\nd\n"},
	} {
		if got, err := one(t, c.text, c.old); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// How many lines came and went, in all hunks together.
func TestCount(t *testing.T) {
	p, err := Parse("--- a/x\n+++ b/x\n@@ -1,2 +1,4 @@\n a\n-b\n+B\n+BB\n+BBB\n@@ -5,3 +7,1 @@\n-e\n-f\n g\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, n, err := p.Files[0].Apply([]byte(abc)); err != nil || n != (Count{Added: 3, Removed: 3}) || string(got) != "a\nB\nBB\nBBB\nc\nd\ng\n" {
		t.Errorf("%q, %+v, %v", got, n, err)
	}
}

// What is refused, and that the words name what does not fit.
func TestRefused(t *testing.T) {
	const head = "--- a/x\n+++ b/x\n"
	for name, c := range map[string]struct{ text, old, want string }{
		"another line":      {head + "@@ -3,2 +3,2 @@\n c\n-q\n+Q\n", abc, `x, hunk 1 (line 3 of the patch): it does not fit: the patch has the line "q", and line 4 of the file is "d"`},
		"beyond the end":    {head + "@@ -6,3 +6,3 @@\n f\n g\n-h\n+H\n", abc, `the patch has the line "h", and the file ends with its line 7`},
		"white space":       {head + "@@ -1 +1 @@\n-a b\n+x\n", "a  b\n", "they differ in white space"},
		"done already":      {head + "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB\n", "stands at line 1 already"},
		"two places":        {head + "@@ -9 +9 @@\n-a\n+b\n", "a\nx\na\n", "line 1 and line 3"},
		"order":             {head + "@@ -5 +5 @@\n-e\n+E\n@@ -1 +1 @@\n-a\n+A\n", abc, "above the end of the hunk before it"},
		"overlap":           {head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -3,2 +3,2 @@\n c\n-d\n+D\n", abc, "above the end"},
		"no context":        {head + "@@ -2,0 +3 @@\n+x\n", abc, "nothing says where"},
		"changes nothing":   {head + "@@ -1,2 +1,2 @@\n a\n b\n", abc, "changes nothing"},
		"no file":           {"hello", abc, "there is no file"},
		"no header":         {"@@ -1 +1 @@\n-a\n+b\n", abc, "a hunk without a file"},
		"another format":    {"*** Begin Patch\n*** Update File: x\n", abc, "no unified diff"},
		"no hunk":           {head, abc, "no hunk follows"},
		"no space":          {head + "@@ -1,2 +1,2 @@\na\n-b\n+B\n", abc, `line 4 of the patch: "a" begins with neither`},
		"two files":         {"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", abc, "rename from"},
		"a link":            {"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n", "", "symlink"},
		"a submodule":       {"diff --git a/x b/x\nindex 1..2 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", abc, "submodule"},
		"binary":            {"diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 3\n", abc, "binary"},
		"differ":            {"diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n", abc, "binary"},
		"a set-uid mode":    {"diff --git a/x b/x\nold mode 100644\nnew mode 104755\n", abc, "neither 100644 nor 100755"},
		"half a mode":       {"diff --git a/x b/x\nnew mode 100755\n", abc, "two lines"},
		"a copy":            {"diff --git a/x b/y\ncopy from x\ncopy to y\n", abc, "copy"},
		"a merge":           {"diff --cc x\n", abc, "merge"},
		"a NUL":             {head + "@@ -1 +1 @@\n-a\n+\x00\n", abc, "NUL"},
		"a rest":            {head + "@@ -1 +1 @@\n-a\n+A\nand so on\n", abc, "belongs to no file"},
		"text between":      {"+x\n" + head + "@@ -1 +1 @@\n-a\n+A\n", abc, "belongs to no file"},
		"made of old lines": {"--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+A\n", "", "only have added lines"},
		"half a delete":     {"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", abc, "all of them"},
		"delete unseen":     {"diff --git a/x b/x\ndeleted file mode 100644\n", abc, "it is not empty"},
		"no end, unsaid":    {head + "@@ -2 +2 @@\n-b\n+B\n", "a\nb", "No newline at end of file"},
		"no end, not last":  {head + "@@ -1 +1 @@\n-a\n+A\n\\ No newline at end of file\n", "a\nb\n", "not the file's last"},
		"no end in between": {head + "@@ -1 +1,2 @@\n-a\n+A\n\\ No newline at end of file\n+B\n", "a\n", "above another line"},
		"a doubt":           {head + "@@ -1,9 +1,9 @@\n-a\n+A\n--- b\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "a\n-- b\n", "fix the counts"},
	} {
		p, err := Parse(c.text)
		var got []byte
		if err == nil {
			got, _, err = p.Files[0].Apply([]byte(c.old))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Names: what is taken off is taken off with proof, or said to be in doubt.
func TestNames(t *testing.T) {
	const hunk = "@@ -1 +1 @@\n-a\n+b\n"
	for text, want := range map[string]string{
		"--- a/b/x\n+++ b/b/x\n" + hunk:                                                         "b/x b/x ",
		"--- src/x\n+++ src/x\n" + hunk:                                                         "src/x src/x ",
		"--- a/x\n+++ a/x\n" + hunk:                                                             "x x a/x",
		"diff --git a/x a/x\n--- a/x\n+++ a/x\n" + hunk:                                         "a/x a/x ",
		"diff --git src/x src/x\n--- src/x\n+++ src/x\n" + hunk:                                 "src/x src/x ",
		"--- \"a/\\303\\244 b\"\n+++ \"b/\\303\\244 b\"\n" + hunk:                               "ä b ä b ",
		"--- a/my file\t\n+++ b/my file\t\n" + hunk:                                             "my file my file ",
		"diff --git a/my file b/my file\nold mode 100644\nnew mode 100755\n":                    "my file my file ",
		"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n":                                           " x b/x",
		"--- /dev/null\n+++ src/x\n@@ -0,0 +1 @@\n+a\n":                                         " src/x ",
		"--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n":                                           "x  a/x",
		"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n": " x ",
		"diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n":                    " x ",
		"diff --git a/x b/d/y\nsimilarity index 100%\nrename from x\nrename to d/y\n":           "x d/y ",
	} {
		p, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		f := p.Files[0]
		if got := fmt.Sprintf("%s %s %s", f.Old, f.New, f.Literal); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

var numbers = regexp.MustCompile(`(?m)^@@ -[0-9,]+ \+[0-9,]+ @@`)

// spoil makes of a good patch what models make of it.
func spoil(r *rand.Rand, text string) string {
	if r.IntN(2) == 0 {
		text = numbers.ReplaceAllStringFunc(text, func(string) string {
			return fmt.Sprintf("@@ -%d,%d +%d,%d @@", r.IntN(12), 20+r.IntN(9), r.IntN(12), r.IntN(9))
		})
	}
	if r.IntN(3) == 0 {
		text = numbers.ReplaceAllString(text, "@@")
	}
	if r.IntN(3) == 0 {
		text = strings.ReplaceAll(text, "\n \n", "\n\n")
	}
	if r.IntN(4) == 0 {
		text = strings.ReplaceAll(text, "\n\\ No newline at end of file", "")
	}
	return text
}

// What git makes is applied as git meant it. What was spoiled after that gives the same or is
// refused: in no case anything else, but for the last line end where the patch lost what was said
// about it.
func TestAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := rand.New(rand.NewPCG(7, 11))
	dir := t.TempDir()
	words := []string{"a", "b", "c", "", "- d", "-- e", "++ f", " g", "@@ h", "\\ i", "a\r"}
	text := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteString(words[r.IntN(len(words))] + "\n")
		}
		if r.IntN(4) == 0 {
			return strings.TrimSuffix(b.String(), "\n")
		}
		return b.String()
	}
	rounds, same, refused := 250, 0, 0
	for range rounds {
		old := text(14)
		cut := r.IntN(len(old) + 1)
		fresh := old[:cut] + text(4) + old[min(len(old), cut+r.IntN(4)):]
		if old == fresh {
			continue
		}
		for name, content := range map[string]string{"old": old, "new": fresh} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", "-c", "core.attributesFile=/dev/null", "diff", "--no-index", "--text", fmt.Sprintf("-U%d", r.IntN(4)), "old", "new")
		cmd.Dir = dir
		out, _ := cmd.Output() // it ends with 1 where the files differ
		made := strings.NewReplacer("a/old", "a/x", "b/new", "b/x").Replace(string(out))
		got, err := one(t, made, old)
		if err == nil && got != fresh || err != nil && !strings.Contains(err.Error(), "nothing says where") {
			t.Fatalf("old %q\nnew %q\npatch %s\n%q, %v", old, fresh, made, got, err)
		}
		spoiled := spoil(r, made)
		got, err = one(t, spoiled, old)
		if err != nil {
			refused++
			continue
		}
		if same++; strings.TrimSuffix(got, "\n") != strings.TrimSuffix(fresh, "\n") || got != fresh && strings.Contains(spoiled, "\\ No") {
			t.Fatalf("old %q\nnew %q\npatch %s\n%q", old, fresh, spoiled, got)
		}
	}
	if same < rounds/5 {
		t.Errorf("%d of %d spoiled patches were applied, %d refused", same, rounds, refused)
	}
}

// untouched finds a line of the old file that no hunk takes away and that is gone, or one of the
// new that was neither there nor is added: counted by their texts, line ends aside.
func untouched(f File, old, got string) string {
	count := map[string]int{}
	bare := func(s string) string { return strings.TrimRight(s, "\r\n") }
	for line := range strings.Lines(old) {
		count[bare(line)]++
	}
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			switch l.Op {
			case '+':
				count[bare(l.Text)]++
			case '-':
				count[bare(l.Text)]--
			}
		}
	}
	for line := range strings.Lines(got) {
		count[bare(line)]--
	}
	for line, n := range count {
		if n != 0 {
			return line
		}
	}
	return ""
}

// FuzzPatch: nothing panics, and what a patch does not name stays. scripts/judges compares the
// results with a library's.
func FuzzPatch(f *testing.F) {
	f.Add("--- a/x\n+++ b/x\n@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n", abc)
	f.Add("--- a/x\n+++ b/x\n@@\n-a\n+b\n\\ No newline at end of file\n", "a")
	f.Add("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "")
	f.Add("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", "")
	f.Add("diff --git \"a/\\\"x\" \"b/\\\"x\"\nrename from x\nrename to y\n", "x\r\n")
	f.Add("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", "a\r\nb")
	f.Add("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\r\nb\r\n")
	f.Add("--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -4 +5 @@\n-d\n+D\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "a\nb\nc\nd\n")
	f.Fuzz(func(t *testing.T, text, old string) {
		p, err := Parse(text)
		again, err2 := Parse(text)
		if !reflect.DeepEqual(p, again) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%q is read as %+v, %v and as %+v, %v", text, p, err, again, err2)
		}
		if err != nil {
			return
		}
		for _, file := range p.Files {
			got, n, err := file.Apply([]byte(old))
			if err != nil {
				continue
			}
			if kept := untouched(file, old, string(got)); kept != "" {
				t.Fatalf("%q became %q: no hunk says anything of %q", old, got, kept)
			}
			if file.Delete() && len(got) > 0 {
				t.Fatalf("a deletion leaves %q", got)
			}
			if was, is := bytes.Count([]byte(old), []byte("\n")), bytes.Count(got, []byte("\n")); is-was > n.Added-n.Removed+1 || is-was < n.Added-n.Removed-1 {
				t.Fatalf("%d lines became %d with %+v", was, is, n)
			}
		}
	})
}
