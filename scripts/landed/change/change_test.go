package change_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/scripts/landed/change"
)

// repo is a repository with a history of its own.
type repo struct {
	*testing.T
	root string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	t.Setenv(change.Folder, "")
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) string {
	r.Helper()
	c := exec.Command("git", append([]string{"-C", r.root, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) write(name, text string) {
	r.Helper()
	file := filepath.Join(r.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		r.Fatal(err)
	}
}

func (r repo) remove(name string) {
	r.Helper()
	if err := os.Remove(filepath.Join(r.root, name)); err != nil {
		r.Fatal(err)
	}
}

// commit commits everything and returns the commit.
func (r repo) commit() string {
	r.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "one")
	return r.git("rev-parse", "HEAD")
}

// landed is a repository whose first commit has landed, and that commit.
func landed(t *testing.T) (repo, string) {
	t.Helper()
	r := newRepo(t)
	r.write("a/a.go", "package a\n")
	r.write("a/testdata/x.txt", "x\n")
	r.write("b/b.go", "package b\n")
	r.write("README.md", "one\n")
	base := r.commit()
	r.write(change.List, "# a comment\n"+base+"\n")
	return r, base
}

func find(t *testing.T, root string) change.Change {
	t.Helper()
	c, err := change.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What is committed, what is not, what is new and what is gone is all of the change, and the same
// change is found where only the folder of it is.
func TestChange(t *testing.T) {
	r, base := landed(t)
	r.write("a/testdata/x.txt", "y\n")
	r.remove("README.md")
	r.write("MOVED.md", "one\n")
	r.commit()
	r.write("b/new.go", "package b\n")
	r.write("c d/é.go", "package c\n")

	c := find(t, r.root)
	look(t, c, base)

	folder := t.TempDir()
	if err := c.Write(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.root, ".git")); err != nil {
		t.Fatal(err)
	}
	t.Setenv(change.Folder, folder)
	look(t, find(t, r.root), base)
}

// look compares a change with what TestChange did.
func look(t *testing.T, c change.Change, base string) {
	t.Helper()
	if c.Base != base || c.Commits != 1 {
		t.Errorf("base %s, %d commits; want %s and 1", c.Base, c.Commits, base)
	}
	if want := []string{"MOVED.md", "README.md", "a/testdata/x.txt", "b/new.go", "c d/é.go", change.List}; !slices.Equal(c.Files, want) {
		t.Errorf("files %q, want %q", c.Files, want)
	}
	if want := []string{"a", "b", "c d"}; !slices.Equal(c.Packages(), want) {
		t.Errorf("packages %q, want %q", c.Packages(), want)
	}

	for name, want := range map[string]string{"README.md": "one\n", "a/testdata/x.txt": "x\n", "b/b.go": "package b\n"} {
		if text, err := c.Was(name); err != nil || string(text) != want {
			t.Errorf("%s had %q (%v), want %q", name, text, err, want)
		}
	}
	if _, err := c.Was("b/new.go"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a new file had bytes before: %v", err)
	}
}

// The nearest line counts, whatever the order of the lines, and lines of other branches do not.
func TestNearestLineIsTheBase(t *testing.T) {
	r, first := landed(t)
	second := r.commit()
	r.git("checkout", "-q", "-b", "other", first)
	r.write("other.txt", "x")
	other := r.commit()
	r.git("checkout", "-q", "main")
	r.write("b/b.go", "package b // changed\n")
	r.write(change.List, second[:9]+"\n"+other+"\n"+first+"\n")
	r.commit()

	if c := find(t, r.root); c.Base != second || c.Commits != 1 {
		t.Errorf("base %s, %d commits; want %s and 1", c.Base, c.Commits, second)
	}
}

// At the commit that landed itself nothing has changed, and that is no error.
func TestNothingSinceTheLanding(t *testing.T) {
	r := newRepo(t)
	r.write(change.List, "0123456\n")
	r.write(change.List, r.commit()+"\n")
	if c := find(t, r.root); c.Commits != 0 || !slices.Equal(c.Files, []string{change.List}) {
		t.Errorf("%d commits and files %q, want none but the list", c.Commits, c.Files)
	}
}

func TestRefused(t *testing.T) {
	appendThis := " is an ancestor of HEAD: append what main had before this work"
	for name, one := range map[string]struct {
		do   func(r repo, base string)
		want string
	}{
		"no ancestor": {func(r repo, _ string) { r.write(change.List, "0123456789\n") }, "landed: no line of scripts/landed.txt" + appendThis},
		"no list":     {func(r repo, _ string) { r.remove(change.List) }, "landed: open "},
		"no commit":   {func(r repo, base string) { r.write(change.List, base+"\n\n\nmain\n") }, "scripts/landed.txt:4: not a commit"},
		"six digits":  {func(r repo, base string) { r.write(change.List, base[:6]+"\n") }, "scripts/landed.txt:1: not a commit"},
		"a sentence":  {func(r repo, base string) { r.write(change.List, base+" landed\n") }, "scripts/landed.txt:1: not a commit"},
		"twice":       {func(r repo, base string) { r.write(change.List, "0123456\n"+base+"\n#\n"+base[:8]+"\n") }, "scripts/landed.txt:4: twice, first in line 2"},
		"empty": {func(r repo, _ string) {
			r.write("b/b.go", "package b // changed\n")
			r.commit()
			r.write("b/b.go", "package b\n")
			r.write("README.md", "two\n")
			r.commit()
		}, "landed: the change is empty"},
		"old": {func(r repo, _ string) {
			tree, parent := r.git("write-tree"), r.git("rev-parse", "HEAD")
			for range 301 {
				parent = r.git("commit-tree", "-p", parent, "-m", "one", tree)
			}
			r.git("reset", "-q", "--soft", parent)
		}, " is 301 commits old: append what main had before this work"},
	} {
		t.Run(name, func(t *testing.T) {
			r, base := landed(t)
			one.do(r, base)
			_, err := change.Find(r.root)
			if err == nil || !strings.Contains(err.Error(), one.want) {
				t.Fatalf("got %v, want %q", err, one.want)
			}
			if errors.Is(err, fs.ErrNotExist) {
				t.Error("that looks as if the last landing had no such file")
			}
		})
	}
}

// A history that was cut off may lack the commit that landed: that is another mistake than a line
// that was forgotten.
func TestShallowClone(t *testing.T) {
	r, _ := landed(t)
	r.commit()
	r.commit()
	clone := filepath.Join(t.TempDir(), "clone")
	r.git("clone", "-q", "--depth", "1", "file://"+r.root, clone)

	_, err := change.Find(clone)
	if want := "landed: the history is cut off: git fetch --unshallow"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A folder that is not what Write made is refused, and not taken for an empty change.
func TestBrokenFolder(t *testing.T) {
	t.Setenv(change.Folder, t.TempDir())
	_, err := change.Find(".")
	if err == nil || !strings.Contains(err.Error(), "landed: read the folder that AGENT_CHANGE names: ") {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Error("that looks as if the last landing had no such file")
	}
}
