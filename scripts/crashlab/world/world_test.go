//go:build linux

package world

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Everything that can be an effect is counted: lines of the file, requests, and files that are
// moved into the workspace.
func TestWitness(t *testing.T) {
	c, err := StartCounter()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := NewWitness(4, dir, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if w.Close() != nil || c.Close() != nil {
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
		r, err := http.Post("http://"+c.Addr()+path, "text/plain", strings.NewReader("x"))
		if err != nil || r.Body.Close() != nil {
			t.Fatal(err)
		}
	}
	saw, err := w.Counts()
	if err != nil || len(saw) != 4 || saw["mark-000004-a"] != 2 || saw["mark-000004-b"] != 1 || saw["mark-000004-c"] != 1 || saw["mark-000004-d"] != 1 {
		t.Errorf("it saw %v, %v", saw, err)
	}
}
