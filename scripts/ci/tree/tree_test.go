package tree

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// long is a time that no file of a test gets by being written.
var long = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// write makes a file with its folders.
func put(t *testing.T, folder, name, text string, mode fs.FileMode) {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600), os.Chmod(file, mode)); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, folder, name, target string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}

// checkout is a folder with files of every kind, and their names.
func checkout(t *testing.T) (string, []string) {
	t.Helper()
	folder := t.TempDir()
	put(t, folder, "go.mod", "module x\n", 0o644)
	put(t, folder, "a/run", "#!/bin/sh\n", 0o755)
	put(t, folder, "a/b/deep.go", "package b\n", 0o644)
	put(t, folder, "a/new\nline", "", 0o600)
	put(t, folder, "ignored", "by git", 0o644)
	link(t, folder, "a/link", "b/deep.go")
	link(t, folder, "dangling", "/nowhere")
	return folder, []string{"go.mod", "a/run", "a/b/deep.go", "a/new\nline", "a/link", "dangling", "deleted.go"}
}

// same fails unless the copy holds what the checkout has of the names, and nothing else.
func same(t *testing.T, from, to string, names []string) {
	t.Helper()
	wanted := map[string]Entry{}
	for _, name := range names {
		entry, err := look(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		wanted[name] = entry
	}
	present, err := scan(to)
	if err != nil {
		t.Fatal(err)
	}
	if wanted = withFolders(wanted); !maps.Equal(wanted, present) {
		t.Errorf("the copy has\n%v\nthe checkout\n%v", present, wanted)
	}
}

func update(t *testing.T, from, to string, names []string) []Action {
	t.Helper()
	actions, err := Update(from, to, names)
	if err != nil {
		t.Fatal(err)
	}
	return actions
}

// What is equal keeps its time, and so does the folder of what is not.
func TestEqualFilesKeepTheirTime(t *testing.T) {
	from, names := checkout(t)
	to := filepath.Join(t.TempDir(), "tree")
	update(t, from, to, names)
	same(t, from, to, names)
	for _, name := range []string{"go.mod", "a/run", "a/b/deep.go", "a/b", "a", "."} {
		if err := os.Chtimes(filepath.Join(to, name), long, long); err != nil {
			t.Fatal(err)
		}
	}

	put(t, from, "a/b/deep.go", "package c\n", 0o644) // of the same length
	put(t, from, "go.mod", "module x\n", 0o644)       // written anew, with the same bytes
	if got := update(t, from, to, names); len(got) != 1 || got[0].Do != Write || got[0].Name != "a/b/deep.go" {
		t.Errorf("did %v, want only that a/b/deep.go is written", got)
	}
	same(t, from, to, names)
	for name, kept := range map[string]bool{"go.mod": true, "a/run": true, "a/b/deep.go": false, "a/b": true, "a": true, ".": true} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.ModTime().Equal(long) != kept {
			t.Errorf("%s has the time %v; kept should be %v", name, info.ModTime(), kept)
		}
	}
}

// strange is what a run, or a person, may have left in the copy.
func strange(t *testing.T, to string) {
	t.Helper()
	put(t, to, "a/b/deep.go", "packa", 0o600)      // half written
	put(t, to, "foreign/deep/file", "x", 0o444)    // with its folders
	put(t, to, "a/run/was/a/file", "x", 0o644)     // a folder where a file is wanted
	put(t, to, "a/link", "no link", 0o644)         // a file where a link is
	link(t, to, "go.mod", "/etc/passwd")           // a link where a file is: nothing is written through it
	link(t, to, "dangling", "elsewhere")           // another target
	link(t, to, "outside", filepath.Join(to, "a")) // a link to a folder, which is not followed
	put(t, to, ".git/index", "of the copy", 0o644) // the repository is left alone
	put(t, to, "a/new\nline", "", 0o644)           // another mode
	if err := os.MkdirAll(filepath.Join(to, "empty/empty"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Whatever an earlier run left, and wherever an update was killed, the next one repairs it.
func TestRepairsWhereverItWasKilled(t *testing.T) {
	from, names := checkout(t)
	made := func() string {
		to := filepath.Join(t.TempDir(), "tree")
		if err := claim(to); err != nil {
			t.Fatal(err)
		}
		strange(t, to)
		return to
	}
	all := update(t, from, made(), names)
	if len(all) < 12 {
		t.Fatalf("only %d actions: %v", len(all), all)
	}

	for n := range all {
		to := made()
		for _, a := range all[:n] {
			if err := a.carryOut(from, to); err != nil {
				t.Fatal(err)
			}
		}
		if a := all[n]; a.Do == Write { // and within the next one
			put(t, to, a.Name, "", 0o600)
		}

		update(t, from, to, names)
		same(t, from, to, names)
		if text, err := os.ReadFile(filepath.Join(to, ".git/index")); err != nil || string(text) != "of the copy" {
			t.Errorf("the repository of the copy was touched: %q %v", text, err)
		}
		if again := update(t, from, to, names); len(again) > 0 {
			t.Errorf("after %d actions and an update there is more to do: %v", n, again)
		}
	}
}

// What is in the way goes first, the deepest names before their folders.
func TestPlan(t *testing.T) {
	file := Entry{0o644, "digest"}
	wanted := map[string]Entry{"a": file, "b/c/d": file, "l": {fs.ModeSymlink, "a"}, "m": {0o755, "digest"}}
	present := map[string]Entry{
		"a": {Mode: folderMode}, "a/x": file, "a/x2": file, "b": {Mode: fs.ModeDir | 0o700}, "l": {fs.ModeSymlink, "b"}, "m": file,
	}
	var got []string
	for _, a := range Plan(wanted, present) {
		got = append(got, string(a.Do)+" "+a.Name)
	}
	want := []string{"remove l", "remove a/x2", "remove a/x", "remove a", "write a", "chmod b", "mkdir b/c", "write b/c/d", "link l", "chmod m"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A folder with files that no update made is somebody's.
func TestForeignFolderIsRefused(t *testing.T) {
	from, names := checkout(t)
	to := filepath.Join(t.TempDir(), "tree")
	put(t, to, "thesis.txt", "x", 0o644)
	if _, err := Update(from, to, names); err == nil || !strings.Contains(err.Error(), "was not made by .ci/run") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(to, "thesis.txt")); err != nil {
		t.Error(err)
	}
}

// What git lists and the checkout does not have as a file of its own is left out: a repository in
// it, and what is in the index below a name that has become a file or a link.
func TestNamesThatAreNoFiles(t *testing.T) {
	from, names := checkout(t)
	elsewhere := t.TempDir()
	put(t, elsewhere, "f", "foreign", 0o644)
	link(t, from, "moved", elsewhere)
	put(t, from, "now", "a file", 0o644)
	put(t, from, "nested/.git/HEAD", "", 0o644)
	names = append(names, "moved", "now")

	to := filepath.Join(t.TempDir(), "tree")
	update(t, from, to, append([]string{"nested/", "moved/f", "now/f"}, names...))
	same(t, from, to, names)
}
