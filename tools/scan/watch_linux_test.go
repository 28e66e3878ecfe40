package scan

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// listeners counts the watches that this process has for trees below a folder. Each has one of its
// own.
func listeners(t testing.TB) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.Contains(to, "inotify") {
			n++
		}
	}
	return n
}

// heeded is a tree of a folder that listens.
func heeded(t testing.TB, dir string) *Tree {
	t.Helper()
	tree := NewTree(dir)
	tree.Watch(0)
	t.Cleanup(tree.Close)
	again(t, tree, Options{})
	if !tree.Watching() {
		t.Skip("the file system cannot be watched")
	}
	return tree
}

// changes are the paths that a listing says have changed.
func changes(t testing.TB, tree *Tree, o Options) string {
	t.Helper()
	var all []string
	for _, c := range again(t, tree, o).Changes {
		all = append(all, c.Path)
	}
	return strings.Join(all, " ")
}

// Where more happens than the system remembers, all is looked at.
func TestWatchOverflow(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	if most > 100_000 {
		t.Skip("the system remembers very much")
	}
	dir := t.TempDir()
	put(t, dir, "a", "x")
	put(t, dir, "b", "x")
	put(t, dir, "d/c", "x")
	tree := heeded(t, dir)
	if got := changes(t, tree, Options{}); got != "" {
		t.Errorf("changed: %s", got)
	}
	for range most/2 + 1 {
		must(t, os.Chmod(filepath.Join(dir, "a"), 0o600))
		must(t, os.Chmod(filepath.Join(dir, "b"), 0o600))
	}
	put(t, dir, "d/c", "unheard")
	if got := changes(t, tree, Options{}); got != "a b d/c" {
		t.Errorf("changed: %s", got)
	}
	put(t, dir, "d/c", "heard")
	if got := changes(t, tree, Options{}); got != "d/c" || !tree.Watching() {
		t.Errorf("changed: %s", got)
	}
}

// Where more folders are there than may be watched, each listing looks at all, and nothing listens.
func TestWatchLimit(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a/b/c", "x")
	put(t, dir, "d/e", "x")
	before := listeners(t)
	tree := NewTree(dir)
	tree.Watch(4)
	again(t, tree, Options{})
	if watching := tree.Watching(); watching && listeners(t) != before+1 {
		t.Error("nobody listens")
	} else if !watching {
		t.Skip("the file system cannot be watched")
	}
	put(t, dir, "new/f", "x")
	for range 2 {
		again(t, tree, Options{})
		if tree.Watching() || listeners(t) != before {
			t.Error("it listens to a part of the folders")
		}
	}
	put(t, dir, "new/f", "other")
	if got := changes(t, tree, Options{}); got != "new/f" {
		t.Errorf("changed: %s", got)
	}
	tree.Watch(5)
	put(t, dir, "d/e", "other")
	if got := changes(t, tree, Options{}); got != "d/e" || !tree.Watching() {
		t.Errorf("changed: %s", got)
	}
	put(t, dir, "new/f", "third")
	if got := changes(t, tree, Options{}); got != "new/f" {
		t.Errorf("changed: %s", got)
	}
	tree.Close()
	if listeners(t) != before {
		t.Error("it listens after its end")
	}
}

// What a process writes to memory that is mapped to a file is seen by who judges, and once the
// process lets go of it.
func TestWatchMapped(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "d/f", strings.Repeat("x", 8192))
	tree := heeded(t, dir)
	m := mapped(t, filepath.Join(dir, "d", "f"))
	m[0] = 'y'
	if got := changes(t, tree, Options{Judge: true}); got != "d/f" {
		t.Errorf("judged: %s", got)
	}
	must(t, unix.Munmap(m))
	m = mapped(t, filepath.Join(dir, "d", "f"))
	m[0] = 'z'
	must(t, unix.Munmap(m))
	if got := changes(t, tree, Options{}); got != "d/f" {
		t.Errorf("let go: %s", got)
	}
}

// mapped is a file as memory.
func mapped(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	return m
}

// What the person ignores everywhere is read each time, also by a tree that listens.
func TestWatchIgnores(t *testing.T) {
	dir, person := t.TempDir(), filepath.Join(t.TempDir(), "ignore")
	put(t, dir, "a", "x")
	tree, o := heeded(t, dir), Options{Ignores: person}
	if got := changes(t, tree, o); got != "" {
		t.Errorf("changed: %s", got)
	}
	put(t, filepath.Dir(person), "ignore", "out\n")
	put(t, dir, "out/x", "x")
	if got := changes(t, tree, o); got != "" {
		t.Errorf("changed: %s", got)
	}
	above := tree.above
	put(t, dir, "b", "x")
	if got := changes(t, tree, o); got != "b" || tree.above != above {
		t.Errorf("changed: %s", got)
	}
	put(t, filepath.Dir(person), "ignore", "")
	if got := changes(t, tree, o); got != "out out/x" {
		t.Errorf("changed: %s", got)
	}
}
