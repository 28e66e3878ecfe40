//go:build unix

// Package testbin finds the program, and the fakes that it talks to, for tests, labs and scripts.
//
// They are built once for each state of the sources, and kept in a folder BASE/DIGEST: DIGEST is
// the hash of all that they are made of, BASE is the folder that AGENT_TESTBIN names, else
// agent-testbin below the user's cache folder. Nothing is written there after the build. A file
// that somebody else may have written, or that does not contain its own digest, is refused.
//
// A test reads each source by os.ReadFile and each folder of sources by os.ReadDir, which is how
// go test learns that its result depends on them: it is run again after a file was edited or added.
// That holds for what runs below m.Run only, so TestMain must leave it to the tests.
//
// When such a test ends, go keeps its result for the sources as they are then. So a test fails at
// its end if they were edited since the program was built.
//
// A process that uses a folder holds a shared lock on it until it ends, and such a folder is not
// removed. A script holds none: its folder is one of the eight that were used last.
package testbin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Form is how the program is built. Its zero value is what most tests drive.
type Form struct {
	Portable bool // as systems that are not Linux have it
	Race     bool // with the race detector
}

// Program is the name of the program's file.
func (f Form) Program() string {
	name := "agent"
	if f.Portable {
		name += "-portable"
	}
	if f.Race {
		name += "-race"
	}
	return name
}

// Fakes is the name of the file that has all fakes. It is made in the plain form only.
const Fakes = "fakes"

// fakes are those that the file has. Beside it lies a link to it for each.
func fakes() []string { return []string{"mcptest", "modelserver"} }

// TB is what is needed of *testing.T.
type TB interface {
	Helper()
	Fatal(args ...any)
	Error(args ...any)
	Cleanup(func())
}

// Agent returns the path of the program. A test with the race detector gets the program with it.
func Agent(t TB) string {
	t.Helper()
	f := Form{Race: raced}
	folder, err := Make(f)
	if err != nil {
		t.Fatal(err)
	}
	refuseEdits(t)
	return filepath.Join(folder, f.Program())
}

// Fake returns the path of a fake. It is a link with the name of the fake, by which the program
// behind it knows what it is to be: a configuration takes it wherever it takes a command, with the
// arguments of its own, and a list of processes has its name.
func Fake(t TB, name string) string {
	t.Helper()
	path, err := fake(name)
	if err != nil {
		t.Fatal(err)
	}
	refuseEdits(t)
	return path
}

func fake(name string) (string, error) {
	if !slices.Contains(fakes(), name) {
		return "", fmt.Errorf("testbin: no fake is called %s: there are %s", name, strings.Join(fakes(), ", "))
	}
	folder, err := Make(Form{})
	return filepath.Join(folder, name), err
}

// Install puts the program of a form, by the name agent, and fakes into a folder for PATH. Behind
// the tests that use it Unchanged is to be called.
func Install(folder string, f Form, fakes ...string) error {
	made, err := Make(f)
	if err != nil {
		return err
	}
	if err := install(filepath.Join(made, f.Program()), filepath.Join(folder, "agent")); err != nil {
		return fmt.Errorf("testbin: %w", err)
	}

	for _, name := range fakes {
		path, err := fake(name)
		if err != nil {
			return err
		}
		if err := os.Symlink(path, filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("testbin: %w", err)
		}
	}
	return nil
}

// install links to a program that has the name already. Another one is copied: the program starts
// itself by the path of its file, and tests know its processes by the name agent.
func install(program, path string) error {
	if filepath.Base(program) == filepath.Base(path) {
		return os.Symlink(program, path)
	}
	bytes, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes, 0o755)
}

// prepared has the folder of each form that this process asked for. It is a cache: what is in it
// is what asking again would give.
var prepared = new(sync.Map)

// Make builds the program in a form, unless that was done, and returns the folder that holds it.
// The sources are those of the module around the working folder, as they are at the first call.
func Make(f Form) (folder string, err error) {
	once, _ := prepared.LoadOrStore(f, sync.OnceValues(func() (*made, error) { return prepare(f) }))
	m, err := once.(func() (*made, error))()
	if err != nil {
		return "", err
	}
	return m.folder.Name(), nil
}

// prepare returns the folder of a form, open and locked.
func prepare(f Form) (m *made, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("testbin: %w", err)
		}
	}()
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	tree, err := findTree(wd, os.ReadFile)
	if err != nil {
		return nil, err
	}
	base, err := baseFolder()
	if err != nil {
		return nil, err
	}
	files := []string{f.Program()}
	if f == (Form{}) {
		files = append(files, Fakes)
	}
	s := store{base: base, user: os.Geteuid()}

	for tries := 3; ; tries-- {
		m = &made{again: func() (string, map[string]stamp, error) { return tree.digest(f) }}
		if m.digest, m.stamps, err = m.again(); err != nil {
			return nil, err
		}
		m.folder, err = s.open(m.digest, files, func(folder string, lock *os.File) error { return tree.build(f, m.digest, folder, lock) })
		if err == nil {
			return m, nil
		}
		if !errors.Is(err, errEdited) || tries == 1 {
			return nil, err
		}
	}
}

// baseFolder is where the folders of all states are.
func baseFolder() (string, error) {
	const variable = "AGENT_TESTBIN"
	if base := os.Getenv(variable); base != "" {
		if !filepath.IsAbs(base) {
			return "", fmt.Errorf("%s is %s, which is not an absolute path", variable, base)
		}
		return filepath.Clean(base), nil
	}

	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for programs: %w: set %s to one of yours", err, variable)
	}
	return filepath.Join(cache, "agent-testbin"), nil
}
