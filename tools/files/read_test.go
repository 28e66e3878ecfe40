package files

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"agent/tools/excerpt"
	"agent/tools/toolstest"
)

func TestReadFile(t *testing.T) {
	b := newBench(t)
	b.Write("lines", "one\ntwo\nthree\nfour")
	b.Write("empty", "")
	b.Write("binary", "ELF\x00\x01\x02")
	b.Write("latin", "caf\xe9\n")
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"path": "lines"}, "one\ntwo\nthree\nfour"},
		{args{"path": "lines", "offset": 3}, "three\nfour\n[lines 3 to 4, the end of the file]\n"},
		{args{"path": "lines", "limit": 2}, "one\ntwo\n[lines 1 to 2; the file has 18 bytes; read on with offset 3]\n"},
		{args{"path": "lines", "offset": 2, "limit": 1}, "two\n[lines 2 to 2; the file has 18 bytes; read on with offset 3]\n"},
		{args{"path": "lines", "offset": 4, "limit": 9}, "four\n[lines 4 to 4, the end of the file]\n"},
		{args{"path": "lines", "offset": 5}, "[lines has 4 lines; none from line 5 on]"},
		{args{"path": "empty"}, "[empty is empty]"},
		{args{"path": "binary"}, "[binary is binary, 6 bytes; not shown]"},
		{args{"path": "latin"}, "caf\ufffd\n[bytes that are not UTF-8 are shown as \ufffd]\n"},
	} {
		if got := b.Must("read_file", tt.args); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.args, got, tt.want)
		}
	}
	toolstest.Contains(t, b.Refused("read_file", args{"path": "none"}), "none does not exist")
	toolstest.Contains(t, b.Refused("read_file", args{"path": "."}), "is a folder; list_dir")
}

// A file larger than one answer can be read whole by following what each answer says.
func TestReadFileInPages(t *testing.T) {
	b := newBench(t)
	var whole strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&whole, "line %d %s\n", i, strings.Repeat("日", i%40))
	}
	b.Write("big", whole.String())
	var got strings.Builder
	for offset, pages := 1, 0; ; pages++ {
		text := b.Must("read_file", args{"path": "big", "offset": offset})
		if len(text) > excerpt.MaxContent+200 {
			t.Fatalf("an answer has %d bytes", len(text))
		}
		cut := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
		note := text[cut:]
		got.WriteString(text[:cut])
		var first, last, size int
		if n, err := fmt.Sscanf(note, "[lines %d to %d; the file has %d bytes; read on with offset %d]", &first, &last, &size, &offset); n != 4 {
			if pages < 3 || !strings.Contains(note, "the end of the file") {
				t.Fatalf("page %d ends with %q (%v)", pages, note, err)
			}
			break
		}
	}
	if got.String() != whole.String() {
		t.Error("the pages together are not the file")
	}
}

func TestReadFileLongLines(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("é", excerpt.MaxContent)
	b.Write("long", "first\n"+long+"\nlast\n")
	got := b.Must("read_file", args{"path": "long"})
	if got != "first\n[lines 1 to 1; the file has 131084 bytes; read on with offset 2]\n" {
		t.Errorf("%.200q", got)
	}
	got = b.Must("read_file", args{"path": "long", "offset": 2})
	head, note, _ := strings.Cut(got, "\n")
	if strings.Trim(head, "é") != "" || len(head) != excerpt.MaxContent {
		t.Errorf("%d bytes of the line are shown", len(head))
	}
	toolstest.Contains(t, note, "line 2 is longer than 65536 bytes", "read on with offset 3")
	if got := b.Must("read_file", args{"path": "long", "offset": 3}); !strings.HasPrefix(got, "last\n") {
		t.Errorf("%q", got)
	}
}

func TestListDir(t *testing.T) {
	b := newBench(t)
	b.Write("b.txt", "12345")
	b.Write(".hidden", "")
	b.Write("dir/x", "")
	b.Write("odd\nname  9", "")
	b.Link("dir", "a-link")
	b.Link("/etc/passwd", "out")
	want := ".hidden  0\na-link -> dir\nb.txt  5\ndir/\n\"odd\\nname  9\"  0\nout -> /etc/passwd\n"
	if got := b.Must("list_dir", args{}); got != want {
		t.Errorf("got %q", got)
	}
	if got := b.Must("list_dir", args{"path": "a-link"}); got != "x  0\n" {
		t.Errorf("got %q", got)
	}
	if err := os.Mkdir(b.Path("none"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := b.Must("list_dir", args{"path": "none/"}); got != "[the folder is empty]\n" {
		t.Errorf("got %q", got)
	}
	toolstest.Contains(t, b.Refused("list_dir", args{"path": "b.txt"}), "not a folder")
	toolstest.Contains(t, b.Refused("list_dir", args{"path": "gone"}), "does not exist")
	for i := range maxEntries + 7 {
		b.Write(fmt.Sprintf("many/%04d", i), "")
	}
	toolstest.Contains(t, b.Must("list_dir", args{"path": "many"}), "0999  0\n[7 more are not shown")
}

func TestFindFiles(t *testing.T) {
	b := newBench(t)
	for _, f := range []string{
		"main.go", "a/x.go", "a/b/y.go", "a/b/z.txt", ".config/k.go", "vendor/v.go", "vendor/keep.go", "a/skip.go", ".git/g.go", "a/.git/h.go",
	} {
		b.Write(f, "")
	}
	b.Write(".gitignore", "/vendor/*\n!/vendor/keep.go\n")
	b.Write("a/.gitignore", "skip.go\n")
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"pattern": "*.go"}, ".config/k.go a/b/y.go a/x.go main.go vendor/keep.go"},
		{args{"pattern": "*.go", "path": "a"}, "a/b/y.go a/x.go"},
		{args{"pattern": "./*.go"}, "main.go"},
		{args{"pattern": "a/*"}, "a/.gitignore a/x.go"},
		{args{"pattern": "a/**"}, "a/.gitignore a/b/y.go a/b/z.txt a/x.go"},
		{args{"pattern": "**/b/*.{go,txt}"}, "a/b/y.go a/b/z.txt"},
		{args{"pattern": "b/*", "path": "a"}, "a/b/y.go a/b/z.txt"},
		{args{"pattern": "v.go", "path": "vendor"}, "[no file matches]"}, // its own name is asked for, what a rule says of v.go holds
		{args{"pattern": "nothing"}, "[no file matches]"},
	} {
		if got := strings.Join(strings.Split(strings.TrimSpace(b.Must("find_files", tt.args)), "\n"), " "); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.args, got, tt.want)
		}
	}
	for i := range maxFound + 1 {
		b.Write(fmt.Sprintf("many/%04d.x", i), "")
	}
	got := b.Must("find_files", args{"pattern": "*.x"})
	if strings.Count(got, "\n") != maxFound+1 {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
	toolstest.Contains(t, got, "many/0999.x\n[stopped after 1000 files")
	if err := os.Remove(b.Path("many/0000.x")); err != nil {
		t.Fatal(err)
	}
	if got := b.Must("find_files", args{"pattern": "*.x"}); strings.Contains(got, "stopped") {
		t.Error("exactly as many files as there is room for are called too many")
	}
}

// A folder that is left out as a whole is looked into when it is asked for by name.
func TestFindInALeftOutFolder(t *testing.T) {
	b := newBench(t)
	b.Write(".gitignore", "out/\n*.log\n")
	b.Write("out/x", "word")
	b.Write("out/y.log", "word")
	if got := b.Must("find_files", args{"pattern": "*"}); got != ".gitignore\n" {
		t.Errorf("%q", got)
	}
	if got := b.Must("find_files", args{"pattern": "*", "path": "out"}); got != "out/x\n" {
		t.Errorf("%q", got)
	}
	if got := b.Must("search", args{"pattern": "word", "path": "out/y.log"}); got != "out/y.log:1: word\n" {
		t.Errorf("%q", got)
	}
}

// The workspace may be a folder of a repository: what is said above it holds.
func TestIgnoresAboveTheWorkspace(t *testing.T) {
	b := newBench(t)
	b.Write(".git/info/exclude", "private\n")
	b.Write(".gitignore", "/sub/work/a\nb\n*.tmp\n")
	b.Write("sub/.gitignore", "!keep.tmp\n/work/c\n")
	for _, f := range []string{"a", "b", "c", "d", "x.tmp", "keep.tmp", "private", "deep/a", "deep/b", "deep/c"} {
		b.Write("sub/work/"+f, "")
	}
	b.Dir = b.Path("sub/work")
	if got := b.Must("find_files", args{"pattern": "**"}); got != "d\ndeep/a\ndeep/c\nkeep.tmp\n" {
		t.Errorf("%q", got)
	}
}

func TestSearch(t *testing.T) {
	b := newBench(t)
	b.Write("a.txt", "alpha\nbeta\r\ngamma alpha\n")
	b.Write("sub/b.go", "package b // alpha\n")
	b.Write("bin", "alpha\x00")
	b.Write("skipped", "alpha")
	b.Write("latin", "caf\xe9 delta")
	b.Write(".gitignore", "skipped\n")
	b.Link("a.txt", "link")
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"pattern": "alpha"}, "a.txt:1: alpha\na.txt:3: gamma alpha\nsub/b.go:1: package b // alpha\n[not searched: 1 binary]\n"},
		{args{"pattern": "^alpha$"}, "a.txt:1: alpha\n[not searched: 1 binary]\n"},
		{args{"pattern": "beta$"}, "a.txt:2: beta\n[not searched: 1 binary]\n"},
		{args{"pattern": "ALPHA", "glob": "*.go"}, "[no match in 1 file]\n"},
		{args{"pattern": "ALPHA", "glob": "*.go", "ignore_case": true}, "sub/b.go:1: package b // alpha\n"},
		{args{"pattern": "(?i)PACK(age)+ [a-z]"}, "sub/b.go:1: package b // alpha\n[not searched: 1 binary]\n"},
		{args{"pattern": "alpha", "path": "sub"}, "sub/b.go:1: package b // alpha\n"},
		{args{"pattern": "alpha", "path": "sub", "glob": "b.*"}, "sub/b.go:1: package b // alpha\n"},
		{args{"pattern": "a", "path": "a.txt", "max": 2}, "a.txt:1: alpha\na.txt:2: beta\n[stopped after 2 lines; narrow the pattern or the path]\n"},
		{args{"pattern": "a", "path": "a.txt", "max": 3}, "a.txt:1: alpha\na.txt:2: beta\na.txt:3: gamma alpha\n"},
		{args{"pattern": "delta"}, "latin:1: caf\ufffd delta\n[not searched: 1 binary]\n"},
		{args{"pattern": "alpha", "path": "link"}, "a.txt:1: alpha\na.txt:3: gamma alpha\n"},
		{args{"pattern": "alpha", "path": "skipped"}, "skipped:1: alpha\n"},
		{args{"pattern": "^$", "path": "a.txt"}, "[no match in 1 file]\n"},
		{args{"pattern": "x|alpha", "path": "sub"}, "sub/b.go:1: package b // alpha\n"},
	} {
		if got := b.Must("search", tt.args); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestSearchBounds(t *testing.T) {
	b := newBench(t)
	b.Write("wide", strings.Repeat("é", 1000)+"needle"+strings.Repeat("x", 5000)+"\nneedle\n")
	got := b.Must("search", args{"pattern": "needle"})
	first, rest, _ := strings.Cut(got, "\n")
	if !strings.HasPrefix(first, "wide:1: …é") || !strings.HasSuffix(first, "x…") || len(first) > lineRoom+20 || strings.Contains(first, "\ufffd") {
		t.Errorf("%q", first)
	}
	toolstest.Contains(t, first, "needle")
	if rest != "wide:2: needle\n" {
		t.Errorf("%q", rest)
	}
	if err := os.Truncate(b.Path("wide"), maxSearched+1); err != nil {
		t.Fatal(err)
	}
	if got := b.Must("search", args{"pattern": "needle"}); got != "[no match in 0 files]\n[not searched: 1 over 32 MiB]\n" {
		t.Errorf("%q", got)
	}
	b.Write("many", strings.Repeat(strings.Repeat("m", 300)+"\n", 1000))
	if got := b.Must("search", args{"pattern": "m", "max": 1000}); len(got) > excerpt.MaxContent || !strings.Contains(got, "[stopped after ") {
		t.Errorf("%d bytes", len(got))
	}
}

// A file is searched the same way whether its text can be looked for first or not.
func FuzzSearchLines(f *testing.F) {
	for _, p := range []string{"ab", "a+b", "(ab)+c", "^ab$", "a.b", "x?ab", "(a|b)c", "ab{2,}", "\\bab\\b", "ab\\r", "(xyz)?ab", "(xyz)*ab", "(xyz){0,2}ab"} {
		f.Add(p, "ab\nxabc\r\n\nababc\n")
		f.Add(p, "\nab")
	}
	f.Fuzz(func(t *testing.T, pattern, content string) {
		with, err := searchArgs{Pattern: pattern, Max: maxMatches}.compile()
		if err != nil || len(content) > 1<<12 {
			return
		}
		without := &searcher{re: with.re, max: with.max}
		_, _ = with.scan([]byte(content), "f"), without.scan([]byte(content), "f")
		if with.out.String() != without.out.String() {
			t.Fatalf("%q in %q: with the literal %q: %q, without: %q", pattern, content, with.literal, with.out.String(), without.out.String())
		}
	})
}
