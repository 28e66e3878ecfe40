//go:build unix

package testbin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// name is a digest with a number in it.
func name(n int) string { return fmt.Sprintf("%032x", n) }

// shelf is a store in a folder of its own, whose programs are a few bytes.
type shelf struct {
	*testing.T
	store
	built atomic.Int32
}

func newShelf(t *testing.T) *shelf {
	return &shelf{T: t, store: store{base: filepath.Join(t.TempDir(), "below", "base"), user: os.Geteuid()}}
}

// writes is a build: a file that contains a mark.
func (s *shelf) writes(text string) maker {
	return func(folder string, _ *os.File) error {
		s.built.Add(1)
		return os.WriteFile(filepath.Join(folder, "agent"), []byte("\x7fELF "+text), 0o775)
	}
}

func (s *shelf) take(n int) *os.File {
	s.Helper()
	f, err := s.open(name(n), []string{"agent"}, s.writes(mark(name(n))))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { f.Close() }) // a test may have closed it
	return f
}

// refused expects an error, in which BASE is the folder of the store.
func (s *shelf) refused(n int, want string) {
	s.Helper()
	_, err := s.open(name(n), []string{"agent"}, s.writes(mark(name(n))))
	if err == nil {
		s.Errorf("it is taken, want %s", want)
	} else if got := strings.ReplaceAll(err.Error(), s.base, "BASE"); got != want {
		s.Errorf("refused by %s, want %s", got, want)
	}
}

func (s *shelf) exists(path string) bool {
	s.Helper()
	_, err := os.Stat(filepath.Join(s.base, path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Fatal(err)
	}
	return err == nil
}

func (s *shelf) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func TestBuiltOnce(t *testing.T) {
	s := newShelf(t)
	if got, want := s.take(1).Name(), filepath.Join(s.base, name(1)); got != want {
		t.Errorf("in %s, want %s", got, want)
	}
	s.check(os.Remove(filepath.Join(s.base, ".lock")))
	s.take(1)
	if s.built.Load() != 1 {
		t.Errorf("built %d times", s.built.Load())
	}
	if s.exists(".lock") || s.exists(".new") {
		t.Error("what is there already was not only read")
	}
	info, err := os.Stat(filepath.Join(s.base, name(1), "agent"))
	s.check(err)
	if info.Mode().Perm() != 0o755 {
		t.Errorf("a program has mode %v", info.Mode())
	}
}

func TestTwoBuildAtOnce(t *testing.T) {
	s := newShelf(t)
	under, goOn := make(chan bool), make(chan bool)
	slow := func(folder string, lock *os.File) error {
		close(under)
		<-goOn
		return s.writes(mark(name(1)))(folder, lock)
	}
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := s.open(name(1), []string{"agent"}, slow); err != nil {
			t.Error(err)
		}
	})
	<-under
	both.Go(func() {
		if _, err := s.open(name(1), []string{"agent"}, s.writes(mark(name(1)))); err != nil {
			t.Error(err)
		}
	})
	close(goOn)
	both.Wait()
	if s.built.Load() != 1 {
		t.Errorf("built %d times", s.built.Load())
	}
}

func TestHalfBuilt(t *testing.T) {
	s := newShelf(t)
	broken := errors.New("does not compile")
	_, err := s.open(name(1), nil, func(folder string, _ *os.File) error {
		return errors.Join(broken, os.WriteFile(filepath.Join(folder, "half"), nil, 0o644))
	})
	if !errors.Is(err, broken) || s.exists(name(1)) || s.exists(".new") {
		t.Errorf("a build that fails: %v, and something of it is left", err)
	}

	// As a kill leaves it.
	s.check(os.MkdirAll(filepath.Join(s.base, ".new", "deep"), 0o755))
	s.check(os.WriteFile(filepath.Join(s.base, ".new", "agent"), []byte("half"), 0o755))
	s.check(os.MkdirAll(filepath.Join(s.base, ".old", "deep"), 0o755))
	folder := s.take(1).Name()
	entries, err := os.ReadDir(folder)
	s.check(err)
	if len(entries) != 1 || s.exists(".new") || s.exists(".old") {
		t.Errorf("what a kill left is still there: %v", entries)
	}
}

func TestProgramOfOtherSources(t *testing.T) {
	s := newShelf(t)
	s.take(1)
	s.check(os.Rename(filepath.Join(s.base, name(1)), filepath.Join(s.base, name(2))))
	s.refused(2, "BASE/"+name(2)+"/agent was made from other sources: remove BASE/"+name(2))
	s.check(os.Remove(filepath.Join(s.base, name(2), "agent")))
	s.refused(2, "BASE/"+name(2)+"/agent is missing: remove BASE/"+name(2))
	s.check(os.Remove(filepath.Join(s.base, name(2))))
	s.take(2)
}

// A build that makes something else is no way around that.
func TestBuildOfOtherSources(t *testing.T) {
	s := newShelf(t)
	_, err := s.open(name(1), []string{"agent"}, s.writes(mark(name(2))))
	if err == nil || !strings.Contains(err.Error(), "was made from other sources") {
		t.Errorf("it is taken: %v", err)
	}
}

func TestOpenToOthers(t *testing.T) {
	s := newShelf(t)
	s.take(1)
	for _, path := range []string{"", "/" + name(1), "/" + name(1) + "/agent"} {
		s.check(os.Chmod(s.base+path, 0o777))
		text := fmt.Sprintf("BASE%s may be written by others (0777, owner %d): set AGENT_TESTBIN to a folder of yours", path, s.user)
		s.refused(1, text)
		if path == "" {
			s.refused(2, text) // nothing is built there either
		}
		s.check(os.Chmod(s.base+path, 0o755))
	}
	s.take(1)
}

func TestForeignOwner(t *testing.T) {
	s := newShelf(t)
	s.take(1)
	s.user++ // whoever that is, it is not who owns the folder, unless root does
	if os.Geteuid() == 0 {
		s.check(os.Chown(s.base, s.user+1, -1))
	}
	s.refused(1, fmt.Sprintf("BASE may be written by others (0755, owner %d): set AGENT_TESTBIN to a folder of yours", owner(t, s.base)))
}

func owner(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

func TestKeepsWhatIsUsed(t *testing.T) {
	s := newShelf(t)
	s.take(0) // stays open
	for n := 1; n < mostKept+3; n++ {
		s.check(s.take(n).Close())
	}
	if !s.exists(name(0)) {
		t.Error("a folder that is in use was removed")
	}
	for n, want := range map[int]bool{1: false, 2: false, 3: true, mostKept + 2: true} {
		if got := s.exists(name(n)); got != want {
			t.Errorf("the folder of state %d is there: %v", n, got)
		}
	}
	if s.exists(".old") {
		t.Error("what was removed is still there")
	}
	s.take(1) // is built again
}

func TestWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := prepare(Form{})
	if want := "testbin: go, which lists and builds the sources, is not on PATH"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Whatever form it has, the program is called agent where it is installed.
func TestInstall(t *testing.T) {
	made, folder := t.TempDir(), t.TempDir()
	for _, f := range []Form{{}, {Portable: true}, {Race: true}, {Portable: true, Race: true}} {
		program, agent := filepath.Join(made, f.Program()), filepath.Join(folder, f.Program()+".d", "agent")
		if err := errors.Join(os.WriteFile(program, []byte(f.Program()), 0o755), os.Mkdir(filepath.Dir(agent), 0o755), install(program, agent)); err != nil {
			t.Fatal(err)
		}

		text, err := os.ReadFile(agent)
		if err != nil || string(text) != f.Program() {
			t.Errorf("%+v: %q %v", f, text, err)
		}
		path, err := filepath.EvalSymlinks(agent)
		if err != nil || filepath.Base(path) != "agent" {
			t.Errorf("%+v: it starts itself as %s (%v)", f, path, err)
		}
	}
	if n := len(map[string]bool{Form{}.Program(): true, Form{Portable: true}.Program(): true, Form{Race: true}.Program(): true, Form{Portable: true, Race: true}.Program(): true}); n != 4 {
		t.Errorf("four forms have %d names", n)
	}
}

func TestUnknownFake(t *testing.T) {
	_, err := fake("nobody")
	if want := "testbin: no fake is called nobody: there are mcptest, modelserver"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestBaseFolder(t *testing.T) {
	t.Setenv("AGENT_TESTBIN", "")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	t.Setenv("HOME", "/home")
	got, err := baseFolder()
	cache, cacheErr := os.UserCacheDir()
	if err != nil || cacheErr != nil || got != cache+"/agent-testbin" {
		t.Errorf("%s %v", got, err)
	}
	t.Setenv("AGENT_TESTBIN", "/one/./two/")
	if got, err := baseFolder(); err != nil || got != "/one/two" {
		t.Errorf("%s %v", got, err)
	}
	t.Setenv("AGENT_TESTBIN", "bin")
	if _, err := baseFolder(); err == nil || err.Error() != "AGENT_TESTBIN is bin, which is not an absolute path" {
		t.Errorf("a relative path: %v", err)
	}
}
