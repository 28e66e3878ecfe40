//go:build unix

package testbin

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// edit is a go that changes a source of the workshop when it is to build, and then builds.
func (w *workshop) edit(script string) {
	w.Helper()
	real, err := exec.LookPath("go")
	if err != nil {
		w.Fatal(err)
	}
	w.write("path/go", "#!/bin/sh\nif [ \"$1\" = build ]; then\n"+script+"\nfi\nexec '"+real+"' \"$@\"\n")
	if err := os.Chmod(filepath.Join(w.root, "path", "go"), 0o755); err != nil {
		w.Fatal(err)
	}
	w.Setenv("PATH", filepath.Join(w.root, "path")+":"+os.Getenv("PATH"))
	w.Setenv("AGENT_TESTBIN", w.base())
	w.Chdir(filepath.Join(w.root, "src"))
}

// A program of sources that were edited after they were read gets no name, and is built again.
func TestEditedBeforeTheBuild(t *testing.T) {
	w := newWorkshop(t)
	w.edit("if [ ! -e ../edited ]; then printf 'var New = 1\\n' >> host/command/app.go; touch ../edited; fi")
	m, err := prepare(Form{})
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := m.again()
	if err != nil || now != m.digest || len(w.states()) != 1 {
		t.Errorf("the program is of %s, the sources are %s (%v), and there are the states %q", m.digest, now, err, w.states())
	}
}

// Where they are edited again and again there is an end, and no program.
func TestEditedWithEachBuild(t *testing.T) {
	w := newWorkshop(t)
	w.edit("printf '// more\\n' >> host/command/app.go")
	if _, err := prepare(Form{}); !errors.Is(err, errEdited) || len(w.states()) != 0 {
		t.Errorf("%v, and there are the states %q", err, w.states())
	}
}

// edits is a test that edits a source of the program that it drives.
const edits = `package drive

import (
	"os"
	"testing"
	"time"

	"agent/scripts/testkit/testbin"
)

func TestEdits(t *testing.T) {
	testbin.Agent(t)
	text := "package command\n\nvar Revision = \"\"\n" + os.Getenv("MORE")
	old := time.Now().Add(-time.Hour)
	if err := os.WriteFile("../host/command/app.go", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes("../host/command/app.go", old, old); err != nil {
		t.Fatal(err)
	}
}
`

// go keeps the result of a test for the sources as they are at its end. One that began with others
// has none.
func TestEditedBelowATest(t *testing.T) {
	w := newWorkshop(t)
	w.write("src/drive/drive_test.go", edits)
	if out, err := w.tests("."); err != nil {
		t.Errorf("a source that is written anew as it was: %v\n%s", err, out)
	}

	w.env = append(w.env, "MORE=var Broken = 1\n")
	out, err := w.tests(".")
	if err == nil || !strings.Contains(out, "testbin: the sources were edited after the program was built: run the test again") {
		t.Errorf("a source that was edited: %v\n%s", err, out)
	}
}
