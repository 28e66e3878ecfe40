package files

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools"
	"agent/tools/ignore"
	"agent/tools/ignore/ignoretest"
	"agent/tools/toolstest"
)

// What the walk passes over is what git passes over, for random trees and random rules.
func TestIgnoresAsGitDoes(t *testing.T) {
	seeds := uint64(12)
	if !toolstest.Whole() {
		seeds = 3
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 14))
		b := newBench(t)
		ignoretest.RandomTree(r, func(rel, content string) { b.Write(rel, content) })
		ignoretest.Git(t, b.Dir, "init", "-q")
		person := filepath.Join(t.TempDir(), "ignore")
		for _, file := range [][2]string{{person, "abc\nlib/\n"}, {filepath.Join(b.Dir, ".git", "info", "exclude"), "b.c.o\n"}} {
			if err := os.WriteFile(file[0], []byte(file[1]+ignoretest.RandomRules(r)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := ignoretest.Lists(t, b.Dir, "-c", "core.excludesFile="+person, "ls-files", "-z", "--others", "--exclude-standard")
		got := slices.DeleteFunc(strings.Split(walkLists(t, b, person), "\n"), func(name string) bool { return name == "" })
		slices.Sort(got)
		if !slices.Equal(got, want) {
			for _, f := range slices.Concat(got, want) {
				if slices.Contains(got, f) != slices.Contains(want, f) {
					t.Errorf("seed %d: %q: found %v, git finds %v", seed, f, slices.Contains(got, f), slices.Contains(want, f))
				}
			}
			// What cannot be walked is missing on one side of the comparison.
			_ = filepath.WalkDir(b.Dir, func(p string, _ fs.DirEntry, _ error) error {
				if filepath.Base(p) == ignore.Name {
					text, err := os.ReadFile(p)
					t.Logf("%s (%v):\n%q", p, err, text)
				}
				return nil
			})
		}
	}
}

func walkLists(t *testing.T, b *bench, person string) string {
	t.Helper()
	w, err := limits{ignores: func() string { return person }}.openToWalk(tools.Call{Folder: b.Dir}, "")
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
