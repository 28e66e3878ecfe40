//go:build linux

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Everything that can be an effect is counted: lines of the file, requests, and files that are moved into the workspace.
func TestWitness(t *testing.T) {
	c, err := startCounter()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := newWitness(4, dir, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if w.close() != nil || c.close() != nil {
			t.Error("the witness does not go")
		}
	}()
	if err := os.WriteFile(filepath.Join(dir, "effects"), []byte("mark-000004-a\nmark-000004-a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out-mark-000004-b.txt", "edit-mark-000004-c.txt"} {
		if err := os.WriteFile(filepath.Join(root, "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(root, "x"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/effect/mark-000004-d", "/effect/mark-5-d"} {
		r, err := http.Post("http://"+c.addr()+path, "text/plain", strings.NewReader("x"))
		if err != nil || r.Body.Close() != nil {
			t.Fatal(err)
		}
	}
	saw, err := w.counts()
	if err != nil || len(saw) != 4 || saw["mark-000004-a"] != 2 || saw["mark-000004-b"] != 1 || saw["mark-000004-c"] != 1 || saw["mark-000004-d"] != 1 {
		t.Errorf("it saw %v, %v", saw, err)
	}
}

// Two ends differ in what differs; after an unknown outcome that was left, an effect may be missing.
func TestCompareEnds(t *testing.T) {
	was := end{files: map[string]string{"effects": "mark-a\nmark-c\n", "notes.txt": "n"}, saw: map[string]int{"mark-a": 1, "mark-c": 1}, status: "completed", answer: "done", reads: []string{"r"}}
	change := func(f func(*end)) end {
		is := end{files: map[string]string{}, saw: map[string]int{}, status: was.status, answer: was.answer, reads: was.reads}
		for k, v := range was.files {
			is.files[k] = v
		}
		for k, v := range was.saw {
			is.saw[k] = v
		}
		f(&is)
		return is
	}
	for _, c := range []struct {
		name         string
		is           end
		unsure, left bool
		want         string
	}{
		{"same", change(func(*end) {}), false, false, ""},
		{"another order", change(func(e *end) { e.files["effects"] = "mark-c\nmark-a\n" }), false, false, ""},
		{"a file is missing", change(func(e *end) { delete(e.files, "notes.txt") }), false, false, differs},
		{"a file is left behind", change(func(e *end) { e.files[".tmp"] = "" }), false, false, differs},
		{"an effect is missing", change(func(e *end) { e.saw["mark-a"] = 0 }), false, false, lost},
		{"an effect was left", change(func(e *end) { e.saw["mark-a"] = 0; e.files["effects"] = "mark-c\n" }), true, true, ""},
		{"another answer", change(func(e *end) { e.answer = "no" }), false, false, differs},
		{"another answer after an unknown outcome", change(func(e *end) { e.answer = "no" }), true, false, ""},
		{"it failed", change(func(e *end) { e.status = "failed" }), false, false, differs},
		{"a read brought something else", change(func(e *end) { e.reads = []string{"x"} }), false, false, lost},
	} {
		if f := compareEnds(was, c.is, c.unsure, c.left); kinds(f) != c.want {
			t.Errorf("%s: found %v, want %q", c.name, f, c.want)
		}
	}
}

// The effects file of a late world is as long as that of the first: what list_dir says of it is compared.
func TestMarksAreOfOneLength(t *testing.T) {
	if a, b := markIn(7, "c"), markIn(123456, "c"); len(a) != len(b) || len(marksIn(a+" "+b)) != 2 {
		t.Errorf("%s and %s", a, b)
	}
}
