//go:build unix

package testbin

import (
	"os"
	"path/filepath"
	"testing"
)

// tree is the module of the workshop.
func (w *workshop) tree() tree {
	root := filepath.Join(w.root, "src")
	return tree{root: root, watched: root}
}

// What a user has set for go in a file does not count: it is not in the digest.
func TestFlagsOfAUser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("GOFLAGS=-overlay=/other.json\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", file)
	out, err := newWorkshop(t).tree().run(Form{}, nil, "env", "GOFLAGS")
	if err != nil || string(out) != "-buildvcs=false\n" {
		t.Errorf("go has the flags %q (%v)", out, err)
	}
}

// What changes the program, and is neither a source nor a flag, makes another state.
func TestSettingsAreOfTheRecipe(t *testing.T) {
	w := newWorkshop(t)
	for variable, value := range map[string]string{"GOARCH": "riscv64", "GOFIPS140": "latest"} {
		t.Run(variable, func(t *testing.T) {
			before, _, err := w.tree().digest(Form{})
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv(variable, value)
			if after, _, err := w.tree().digest(Form{}); err != nil || after == before {
				t.Errorf("with %s=%s the digest is %s, as without (%v)", variable, value, after, err)
			}
		})
	}
}
