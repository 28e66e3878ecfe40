package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/tools"
)

// The paths of a call are seen from the workspace, as they are written and as links lead, so that a
// rule about a folder holds for every way into it.
func TestWithin(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string][]string{
		`{"path":"a/b.md"}`:                  {"a/b.md"},
		`{"path":"./a//b.md"}`:               {"a/b.md"},
		`{"path":"a/../secret/x"}`:           {"secret/x"},
		`{"path":"link/x"}`:                  {"link/x", "secret/x"},
		`{"path":"link/new/deep"}`:           {"link/new/deep", "secret/new/deep"},
		`{"path":"` + folder + `/secret/x"}`: {"secret/x"},
		`{"path":"` + folder + `/link/x"}`:   {"link/x", "secret/x"},
		`{"path":"/etc/passwd"}`:             {"/etc/passwd"},
		`{}`:                                 {"."},
		`{"path":7}`:                         nil,
	} {
		if diff := cmp.Diff(want, tools.Traits{}.Within(folder, json.RawMessage(args))); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
}
