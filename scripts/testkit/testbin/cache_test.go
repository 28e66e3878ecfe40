//go:build unix

package testbin

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// workshop is a small module with the name and the layout of this one: a program, fakes, this
// package, and a test that drives both, once in the module and once in another module within it.
type workshop struct {
	*testing.T
	root string
	env  []string
	old  time.Time // of the file written last; go's cache keeps nothing that depends on a new file
}

const drive = `package drive

import (
	"os/exec"
	"testing"

	"agent/scripts/testkit/testbin"
)

func TestDrive(t *testing.T) {
	for _, program := range []string{testbin.Agent(t), testbin.Fake(t, "mcptest")} {
		out, err := exec.Command(program).CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s", out)
	}
}
`

func newWorkshop(t *testing.T) *workshop {
	w := &workshop{T: t, root: t.TempDir(), old: time.Now().Add(-24 * time.Hour)}
	w.env = append(os.Environ(), "AGENT_TESTBIN="+w.base(), "GOFLAGS=", "CGO_ENABLED=0", "GOWORK=off")
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			w.write("src/scripts/testkit/testbin/"+name, string(text))
		}
	}
	w.write("src/go.mod", "module agent\n\ngo 1.26\n")
	w.write("src/go.sum", "")
	w.write("src/host/command/app.go", "package command\n\nvar Revision = \"\"\n")
	w.write("src/main.go", "package main\n\nimport \"agent/host/command\"\n\nfunc main() { println(command.Revision) }\n")
	w.write("src/scripts/fakes/main.go", "package main\n\nvar revision = \"\"\n\nfunc main() { println(revision) }\n")
	w.write("src/drive/drive_test.go", drive)
	w.write("src/inner/go.mod", "module inner\n\ngo 1.26\n\nrequire agent v0.0.0\n\nreplace agent => ..\n")
	w.write("src/inner/drive/drive_test.go", drive)
	return w
}

func (w *workshop) base() string { return filepath.Join(w.root, "base") }

// write writes a file with a time that no other one has.
func (w *workshop) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.root, filepath.FromSlash(name))
	w.old = w.old.Add(time.Second)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err == nil {
		err = os.Chtimes(path, w.old, w.old)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// tests runs the test of a module and returns what go prints.
func (w *workshop) tests(module string, flags ...string) (string, error) {
	c := exec.Command("go", append(append([]string{"test"}, flags...), "./drive")...)
	c.Dir, c.Env = filepath.Join(w.root, "src", module), w.env
	out, err := c.CombinedOutput()
	return string(out), err
}

// wants runs the tests of both modules, and expects them to pass, from go's cache or not.
func (w *workshop) wants(what string, cached bool) {
	w.Helper()
	for _, module := range []string{".", "inner"} {
		out, err := w.tests(module)
		if err != nil {
			w.Fatalf("%s, module %s: %v\n%s", what, module, err, out)
		}
		if strings.Contains(out, "(cached)") != cached {
			w.Errorf("%s, module %s: want from the cache: %v\n%s", what, module, cached, out)
		}
	}
}

// states are the folders that were built.
func (w *workshop) states() (folders []string) {
	w.Helper()
	entries, err := os.ReadDir(w.base())
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range entries {
		if isDigest(e.Name()) {
			folders = append(folders, filepath.Join(w.base(), e.Name()))
		}
	}
	return folders
}

// What go remembers of a test that drives the program holds for as long as the program's sources
// are what they were.
func TestGoRemembersTheSources(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go test twenty times")
	}
	w := newWorkshop(t)
	w.wants("at first", false)
	w.wants("with nothing changed", true)

	w.write("src/host/command/app.go", "package command\n\nvar Revision = \"none\"\n")
	w.wants("with a source edited", false)
	w.wants("with nothing changed since the edit", true)

	w.write("src/host/command/more.go", "package command\n\nvar More = 1\n")
	w.wants("with a source added", false)
	w.write("src/more.go", "package main\n\nconst more = 1\n")
	w.wants("with a source added beside main.go", false)
	w.wants("with nothing changed since then", true)
	if n := len(w.states()); n != 4 {
		t.Errorf("%d states were built of four", n)
	}

	// A program that was made of others is refused, whatever its folder is called.
	for _, folder := range w.states() {
		if err := os.WriteFile(filepath.Join(folder, "agent"), []byte(mark(name(1))), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, err := w.tests(".", "-count=1")
	refused := slices.ContainsFunc(w.states(), func(folder string) bool {
		return strings.Contains(out, "testbin: "+folder+"/agent was made from other sources: remove "+folder+"\n")
	})
	if err == nil || !refused {
		t.Errorf("with a program of other sources: %v\n%s", err, out)
	}
}
