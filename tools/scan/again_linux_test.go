package scan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// mess changes something of a workspace. beside is a folder next to it.
func mess(r *rand.Rand, dir, beside string) string {
	at := func() string {
		name := dir
		for range 1 + r.IntN(3) {
			name = filepath.Join(name, []string{"a", "b", "c", "out", "x.big"}[r.IntN(5)])
		}
		return name
	}
	one, two := at(), at()
	fill := func(file, text string) {
		_ = os.MkdirAll(filepath.Dir(file), 0o755) // where a file is in the way nothing happens
		_ = os.WriteFile(file, []byte(text), 0o644)
	}
	link := func(file, other string) {
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() && os.Link(file, other) == nil {
			_ = os.Chmod(file, 0o644) // the other may be where nobody listens
		}
	}
	what := r.IntN(17)
	switch what {
	case 0, 1, 2:
		fill(one, strings.Repeat("x", r.IntN(30)))
	case 3:
		_ = os.RemoveAll(one)
	case 4:
		_ = os.Rename(one, two) // one may not be there, or hold the other
	case 5:
		_ = os.Symlink("a", one)
	case 6:
		_ = os.MkdirAll(one, 0o755)
	case 7:
		fill(filepath.Join(filepath.Dir(one), ".gitignore"), []string{"", "out/\n", "*.big\n", "a\n", "*\n!b\n"}[r.IntN(5)])
	case 8:
		_ = os.Remove(filepath.Join(filepath.Dir(one), ".gitignore"))
	case 9:
		fill(filepath.Join(one, ".git", "HEAD"), "")
	case 10:
		_ = os.RemoveAll(filepath.Join(one, ".git"))
	case 11:
		link(one, two)
	case 13: // a folder comes from elsewhere, or goes there
		at := filepath.Join(beside, fmt.Sprint(r.Uint64()))
		fill(filepath.Join(at, "a", "b"), "x")
		_ = os.Rename(at, one)
	case 14:
		_ = os.Rename(one, filepath.Join(beside, fmt.Sprint(r.Uint64())))
	case 15: // a file gets a name elsewhere, which is heard of with the next change to it
		link(one, filepath.Join(beside, fmt.Sprint(r.Uint64())))
	case 16: // files are written by the names that they have elsewhere
		names, _ := filepath.Glob(filepath.Join(beside, "*"))
		for _, at := range names {
			_ = os.WriteFile(at, []byte(strings.Repeat("y", r.IntN(30))), 0o644) // some are folders
		}
	case 12:
		_ = os.Chmod(one, []os.FileMode{0o755, 0o644, 0o700}[r.IntN(3)])
	}
	return fmt.Sprint(what, " ", one, " ", two)
}

// said is all of a listing in lines.
func (l listed) said() (lines []string) {
	for path, e := range l.Entries {
		lines = append(lines, fmt.Sprintf("%q %+v", path, e))
	}
	for path := range l.unseen {
		lines = append(lines, fmt.Sprintf("%q unseen", path))
	}
	slices.Sort(lines)
	return append(lines, fmt.Sprint(l.LeftOut, l.Skipped))
}

// age makes everything as old as a listing needs it to be trusted with: names that change so
// shortly before one are read again at the next, which is not what is to be tried here.
func age(t testing.TB, tree *Tree) {
	t.Helper()
	var old func(d *dir)
	old = func(d *dir) {
		d.again = false
		for _, n := range d.nodes {
			if n.sub != nil {
				old(n.sub)
			}
		}
	}
	if tree.top != nil {
		old(tree.top)
	}
	tick(t)
}

// tick returns once the clock of the file system has moved on, so that what is changed next shows.
func tick(t testing.TB) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clock")
	first := int64(0)
	for {
		must(t, os.WriteFile(file, nil, 0o644))
		must(t, os.Chmod(file, 0o600))
		info, err := os.Stat(file)
		must(t, err)
		now := entryOf(info).Ctime
		if first == 0 {
			first = now
		}
		if now > first {
			return
		}
	}
}

// A tree that is listed again after anything was changed is as one that is listed anew, where that
// knows what was there before; and what is said to have changed is what did. So it is where only
// what was heard of is looked at.
func TestAgainAsAnew(t *testing.T) {
	for seed := range seed.Numbers(t, 80) {
		againAsAnew(t, seed)
	}
}

func againAsAnew(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	dir, beside, watched := t.TempDir(), t.TempDir(), seed%2 == 1
	t.Cleanup(func() { opened(t, dir); opened(t, beside) })
	o := Options{MaxFile: 20, MaxIgnored: 10, Exclude: []string{filepath.Join(dir, "c", "c")}}
	known := tracked{}
	o.Tracked = known
	tree := NewTree(dir)
	if watched {
		tree.Watch(1000)
		defer tree.Close()
	}
	was := map[string]Entry{}
	var did []string
	for range 40 {
		for range r.IntN(4) {
			did = append(did, mess(r, dir, beside))
		}
		if r.IntN(8) == 0 {
			at := []string{"out/a", "a/x.big", "b/out/c"}[r.IntN(3)]
			known[at] = struct{}{}
			tree.Again(at)
		}
		got := again(t, tree, o)
		if watched && !tree.Watching() {
			t.Skip("the file system cannot be watched")
		}
		anew := maps.Clone(known)
		for path, e := range was {
			if e.Kind != journal.FileFolder {
				anew[path] = struct{}{}
			}
		}
		want := list(t, dir, Options{MaxFile: o.MaxFile, MaxIgnored: o.MaxIgnored, Exclude: o.Exclude, Tracked: anew})
		if !slices.Equal(got.said(), want.said()) {
			t.Fatalf("seed %d: listed again, and anew (+):\n%s\nafter\n%s", seed, cmp.Diff(got.said(), want.said()), strings.Join(did, "\n"))
		}
		if got.First {
			was = maps.Clone(got.Entries)
		}
		for _, c := range got.Changes {
			if c.Gone {
				delete(was, c.Path)
			} else {
				was[c.Path] = c.Entry
			}
		}
		if !maps.Equal(was, got.Entries) {
			t.Fatalf("seed %d: the changes do not lead to what is there", seed)
		}
		if !watched && r.IntN(2) == 0 {
			age(t, tree)
		}
	}
}

// Where nothing changed nothing is read again, and nothing is said to have changed.
func TestAgainUnchanged(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		put(t, dir, fmt.Sprintf("d%d/e/f", i), "x")
	}
	put(t, dir, ".gitignore", "out/\n")
	put(t, dir, "out/x", "x")
	tree := NewTree(dir)
	list := again(t, tree, Options{})
	if !list.First || len(list.Changes) != 0 || len(list.Entries) != 301 {
		t.Fatalf("%d entries, %d changes", len(list.Entries), len(list.Changes))
	}
	age(t, tree)
	top := tree.top
	if l := again(t, tree, Options{}); len(l.Changes) != 0 || !reflect.DeepEqual(l.LeftOut, list.LeftOut) {
		t.Errorf("%+v", l.Changes)
	}
	if tree.top != top {
		t.Skip("the file system cannot be trusted with the times of folders")
	}
	put(t, dir, "d7/e/g", "x")
	if l := again(t, tree, Options{}); len(l.Changes) != 2 || l.Changes[0].Path != "d7/e" || l.Changes[1].Path != "d7/e/g" {
		t.Errorf("%+v", l.Changes)
	}
}

// opened lets the test's folder be removed by an ordinary user.
func opened(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Error(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range list {
		if e.IsDir() {
			opened(t, filepath.Join(dir, e.Name()))
		}
	}
}
