package files

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/tools/toolstest"
)

func TestIgnoreRules(t *testing.T) {
	for _, tt := range []struct {
		rules, path string
		dir, want   bool
	}{
		{"a", "x/a", false, true},
		{"/a", "x/a", false, false},
		{"x/a", "y/x/a", false, false},
		{"a/", "a", false, false},
		{"a/", "a", true, true},
		{"*.o\n!b.o", "b.o", false, false},
		{"!b.o\n*.o", "b.o", false, true},
		{"# a", "# a", false, false},
		{`\#a`, "#a", false, true},
		{`\!a`, "!a", false, true},
		{"a ", "a", false, true},
		{`a\ `, "a ", false, true},
		{"a\r\nb", "a", false, true},
		{"\uFEFFa", "a", false, true},
		{"**/a", "x/y/a", false, true},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**", "a", true, false},
		{"a/**", "a/b", false, true},
		{"a/*", "a/b/c", false, false},
		{"a**b", "axxb", false, true},
		{"[!a]", "é", false, false}, // two bytes in git's eyes
		{"[a-c]x", "bx", false, true},
		{"[]a]", "]", false, true},
		{"[[:digit:]]", "7", false, true},
		{"[", "[", false, false},
		{`a\`, `a\`, false, false},
		{"", "a", false, false},
		{"/", "a", true, false},
		{"!", "a", false, false},
	} {
		g := &ignores{rules: parseIgnore(tt.rules)}
		if got := g.leavesOut(tt.path, tt.dir); got != tt.want {
			t.Errorf("%q, %q: %v", tt.rules, tt.path, got)
		}
	}
}

// What the walk passes over is what git passes over, for random trees and random rules.
func TestIgnoresAsGitDoes(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here to compare with")
	}
	seeds := uint64(12)
	if !toolstest.Whole() {
		seeds = 3
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 14))
		b := newBench(t)
		randomTree(b, r)
		want := gitLists(t, git, b.Dir)
		got := strings.Split(strings.TrimSuffix(walkLists(t, b), "\n"), "\n")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			for _, f := range slices.Concat(got, want) {
				if slices.Contains(got, f) != slices.Contains(want, f) {
					t.Errorf("seed %d: %q: found %v, git finds %v", seed, f, slices.Contains(got, f), slices.Contains(want, f))
				}
			}
			// What cannot be walked is missing on one side of the comparison.
			_ = filepath.WalkDir(b.Dir, func(p string, _ fs.DirEntry, _ error) error {
				if filepath.Base(p) == ignoreName {
					text, err := os.ReadFile(p)
					t.Logf("%s (%v):\n%q", p, err, text)
				}
				return nil
			})
		}
	}
}

var (
	treeNames = []string{"a", "b", "ab", "a.o", "b.o", "abc", "a-b", "x y", "[a]", "é", "a]", "-", "a*", "lib", "b.c.o", "!a", "#a"}
	pieces    = []string{
		"a", "b", "*", "?", "**", "/", "/", "/", "[ab]", "[!a]", "[^b]", "[a-c]", ".", "o", "\\a", "\\*", "[[:alpha:]]", "[]a]", "lib", "!", "#",
		"x y", "é", "[", "-", "**/", "/**", "/**/", "*.o", "[a\\]]", "[-a]", "[a-]", "[[:x:]]", "[[:", " ", "\\",
	}
)

func randomTree(b *bench, r *rand.Rand) {
	var grow func(rel string, depth int)
	grow = func(rel string, depth int) {
		for _, name := range treeNames {
			path := filepath.ToSlash(filepath.Join(rel, name))
			switch n := r.IntN(10); {
			case n < 2 && depth < 3:
				grow(path, depth+1)
			case n < 6:
				b.Write(path, "")
			}
		}
		if depth == 0 || r.IntN(3) == 0 {
			b.Write(filepath.ToSlash(filepath.Join(rel, ignoreName)), randomRules(r))
		}
	}
	grow(".", 0)
}

func randomRules(r *rand.Rand) string {
	var rules strings.Builder
	for range 2 + r.IntN(7) {
		if r.IntN(4) == 0 {
			rules.WriteString("!")
		}
		for range 1 + r.IntN(4) {
			rules.WriteString(pieces[r.IntN(len(pieces))])
		}
		rules.WriteString([]string{"\n", "\n", "/\n", "\r\n", " \n"}[r.IntN(5)])
	}
	return rules.String()
}

func gitLists(t *testing.T, git, dir string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out []byte
	for _, args := range [][]string{
		{"init", "-q"}, {"ls-files", "-z", "--others", "--exclude-standard"},
	} {
		cmd := exec.CommandContext(ctx, git, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir + "/nowhere", "GIT_CONFIG_NOSYSTEM=1", "XDG_CONFIG_HOME=" + dir + "/nowhere", "PATH=" + os.Getenv("PATH")}
		var err error
		if out, err = cmd.Output(); err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
	}
	var list []string
	for _, name := range bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		list = append(list, string(name))
	}
	slices.Sort(list)
	return list
}

func walkLists(t *testing.T, b *bench) string {
	t.Helper()
	w, err := OpenWorkspace(b.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dir, err := w.openFolder(".")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	var out strings.Builder
	k := &walker{ctx: t.Context(), visit: func(_ *opened, _ fs.DirEntry, rel string) error {
		fmt.Fprintln(&out, rel)
		return nil
	}}
	if err := k.run(dir); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func FuzzIgnore(f *testing.F) {
	for _, p := range pieces {
		f.Add(p, "a/b.o", true)
		f.Add("!"+p+"/x", "é", false)
	}
	f.Fuzz(func(t *testing.T, rules, path string, dir bool) {
		g := &ignores{rules: parseIgnore(rules), around: &ignores{prefix: "up", rules: parseIgnore(rules)}}
		g.leavesOut(path, dir)
	})
}
