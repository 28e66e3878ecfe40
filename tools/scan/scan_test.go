package scan

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
	"agent/tools/ignore/ignoretest"
)

// put writes a file below dir, and the folders on the way.
func put(t testing.TB, dir, rel, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(rel))
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(content), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listed is all that a tree has, with what its last listing found.
type listed struct {
	Listing
	Entries map[string]Entry
}

func list(t testing.TB, dir string, o Options) listed {
	t.Helper()
	return again(t, NewTree(dir), o)
}

// again lists once more.
func again(t testing.TB, tree *Tree, o Options) listed {
	t.Helper()
	l, err := tree.List(o)
	must(t, err)
	all := listed{l, map[string]Entry{}}
	for path, e := range tree.Each {
		all.Entries[path] = e
	}
	return all
}

func paths(l listed) string { return strings.Join(slices.Sorted(maps.Keys(l.Entries)), " ") }

// tracked are paths, as Options has them.
type tracked map[string]struct{}

func (m tracked) Has(path string) bool { _, ok := m[path]; return ok }

func (m tracked) Below(dir string) bool {
	for path := range m {
		if strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

func set(names ...string) tracked {
	m := tracked{}
	for _, n := range names {
		m[n] = struct{}{}
	}
	return m
}

// What is listed is what git tracks, what it would add, and the ignored files that it names one by
// one, for random trees, rules in them and of the person, tracked files and nested repositories,
// in a main and a linked work tree.
// W2.
func TestListAsGitDoes(t *testing.T) {
	ignored := 0
	for seed := range seed.Numbers(t, 8) {
		r := rand.New(rand.NewPCG(seed, 15))
		dir := t.TempDir()
		common := filepath.Join(dir, ".git")
		if seed%2 == 0 {
			ignoretest.Git(t, dir, "init", "-q")
		} else {
			main := t.TempDir()
			ignoretest.Git(t, main, "init", "-q")
			ignoretest.Git(t, main, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one")
			ignoretest.Git(t, main, "worktree", "add", "-q", "--detach", dir)
			common = filepath.Join(main, ".git")
		}
		person := filepath.Join(t.TempDir(), "ignore")
		put(t, common, "info/exclude", ignoretest.RandomRules(r))
		put(t, filepath.Dir(person), "ignore", "abc\nlib/\nb.c.o\n"+ignoretest.RandomRules(r))
		lists := func(args ...string) []string {
			return ignoretest.Lists(t, dir, append([]string{"-c", "core.excludesFile=" + person}, args...)...)
		}
		var files []string
		ignoretest.RandomTree(r, func(rel, content string) {
			put(t, dir, rel, content)
			files = append(files, rel)
		})
		for range 2 {
			if at := path.Dir(files[r.IntN(len(files))]); at != "." {
				ignoretest.Git(t, filepath.Join(dir, at), "init", "-q")
			}
		}
		nested := ignoretest.Lists(t, dir, "ls-files", "-z", "-o")
		want := set()
		// Asked before anything is tracked: of an ignored folder with tracked files git names each.
		for _, line := range lists("status", "-z", "--porcelain", "--ignored=matching", "--untracked-files=all") {
			if f, ok := strings.CutPrefix(line, "!! "); ok && !strings.HasSuffix(f, "/") {
				want[f] = struct{}{}
				ignored++
			}
		}
		for range 10 {
			f := files[r.IntN(len(files))]
			if !slices.ContainsFunc(nested, func(n string) bool { return strings.HasSuffix(n, "/") && strings.HasPrefix(f, n) }) {
				ignoretest.Git(t, dir, "--literal-pathspecs", "add", "-f", "--", f)
			}
		}
		for _, f := range lists("ls-files", "-z", "-c", "-o", "--exclude-standard") {
			if !strings.HasSuffix(f, "/") {
				want[f] = struct{}{}
			}
		}
		l := list(t, dir, Options{Ignores: person, Tracked: set(ignoretest.Lists(t, dir, "ls-files", "-z")...)})
		for f, e := range l.Entries {
			if _, ok := want[f]; !ok && e.Kind != journal.FileFolder {
				t.Errorf("seed %d: %q is listed, and git has it not", seed, f)
			}
		}
		for f := range want {
			for at := f; at != "."; at = path.Dir(at) {
				if _, ok := l.Entries[at]; !ok {
					t.Errorf("seed %d: %q is not listed, of %q", seed, at, f)
				}
			}
		}
		for _, f := range files {
			if _, ok := l.Entries[f]; !ok && !l.Unseen(f) {
				t.Errorf("seed %d: %q is neither listed nor unseen", seed, f)
			}
		}
	}
	if ignored == 0 {
		t.Error("no file was ignored")
	}
}

// Each reason for which something is left out.
// W2.
func TestScope(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, ".git/config", "")
	put(t, dir, ".git/info/exclude", "excluded\n")
	put(t, dir, ".gitignore", "out/\n.env\n*.big\n")
	for _, f := range []string{".env", "excluded", "a/b.go", "out/kept/x", "out/lost", "sub/.git", "sub/file", "bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/y", "state/db", "near/HEAD", "near/refs", "case/.Git/x"} {
		put(t, dir, f, "x")
	}
	put(t, dir, "small.big", strings.Repeat("x", 10))
	put(t, dir, "large.big", strings.Repeat("x", 11))
	put(t, dir, "tracked.big", strings.Repeat("x", 11))
	put(t, dir, "a/large", strings.Repeat("x", 21))
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	known := set("a/b.go", "out/kept/x", "tracked.big", "gone")
	o := Options{Tracked: known, Exclude: []string{filepath.Join(dir, "state"), "/nowhere"}, MaxFile: 20, MaxIgnored: 10}
	l := list(t, dir, o)
	if got, want := paths(l), ".env .gitignore a a/b.go a/large empty excluded near near/HEAD near/refs out out/kept out/kept/x small.big tracked.big"; got != want {
		t.Errorf("listed: %s\nwant:   %s", got, want)
	}
	want := []journal.LeftOut{
		{Path: "a/large", Reason: journal.LeftTooLarge, Size: 21}, {Path: "bare", Reason: journal.LeftNested}, {Path: "case", Reason: journal.LeftNested},
		{Path: "large.big", Reason: journal.LeftTooLarge, Size: 11}, {Path: "out", Reason: journal.LeftIgnoredFolder}, {Path: "sub", Reason: journal.LeftNested},
	}
	if !slices.Equal(l.LeftOut, want) || l.Skipped[journal.LeftNested] != 3 || l.Skipped[journal.LeftTooLarge] != 2 || l.Skipped[journal.LeftIgnoredFolder] != 1 {
		t.Errorf("left out: %+v %v", l.LeftOut, l.Skipped)
	}
	if l.Entries["a/large"].Out != journal.LeftTooLarge || l.Entries["empty"].Mode != 0o700 || l.Entries["empty"].Kind != journal.FileFolder {
		t.Errorf("%+v %+v", l.Entries["a/large"], l.Entries["empty"])
	}
	for path, unseen := range map[string]bool{"large.big": true, "out/lost": true, "sub/file": true, "bare/y": true, "state/db": true, ".git/config": true, "b/.GIT": true, "a/none": false, "none": false, "outer": false} {
		if l.Unseen(path) != unseen {
			t.Errorf("unseen %s: %v", path, !unseen)
		}
	}

	// What an earlier listing had stays in scope whatever became of the rules.
	put(t, dir, ".gitignore", "*\n")
	put(t, dir, "a/.git/HEAD", "")
	put(t, dir, "a/new", "")
	for p := range l.Entries {
		known[p] = struct{}{}
	}
	if again := list(t, dir, o); paths(again) != paths(l) || !again.Unseen("a/new") {
		t.Errorf("listed again: %s", paths(again))
	}
	// A workspace below the top of its repository obeys the rules above.
	put(t, dir, ".gitignore", "/a/large*/\nb.go\n")
	put(t, dir, "a/largest/x", "")
	must(t, os.RemoveAll(filepath.Join(dir, "a", ".git")))
	if got := paths(list(t, filepath.Join(dir, "a"), Options{MaxIgnored: 1})); got != "b.go large new" {
		t.Errorf("below the top: %s", got)
	}
}

func TestListBounds(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a/b", "a/c", "d"} {
		put(t, dir, f, "")
	}
	if l := list(t, dir, Options{MaxPaths: 4}); len(l.Entries) != 4 {
		t.Errorf("%s", paths(l))
	}
	if l, err := NewTree(dir).List(Options{MaxPaths: 3}); !errors.Is(err, ErrTooMany) || l.Changes != nil {
		t.Errorf("%v %v", err, l)
	}
	if _, err := NewTree(filepath.Join(dir, "none")).List(Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := NewTree(filepath.Join(dir, "d")).List(Options{}); err == nil {
		t.Error("a file was listed")
	}
	for i := range maxLeftOut + 5 {
		put(t, dir, "n/"+string(rune('a'+i%26))+string(rune('a'+i/26))+"/.git", "")
	}
	if l := list(t, dir, Options{}); len(l.LeftOut) != maxLeftOut || l.Skipped[journal.LeftNested] != maxLeftOut+5 {
		t.Errorf("%d left out, %v", len(l.LeftOut), l.Skipped)
	}
}
