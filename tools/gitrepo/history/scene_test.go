package history

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools/gitrepo/objects"
)

// scene is a folder in which git is used, as a person would.
type scene struct {
	t    testing.TB
	base string
	dir  string // of the work tree
	n    int    // of the calls: each has a second of its own
}

func newScene(t testing.TB, init ...string) *scene {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, base: base, dir: filepath.Join(base, "work")}
	s.must(os.Mkdir(s.dir, 0o700))
	s.git(append([]string{"init", "-q", "-b", "main"}, init...)...)
	s.git("config", "user.email", "a@b")
	s.git("config", "user.name", "A B")
	s.git("config", "gc.auto", "0")
	return s
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// script runs lines of shell, of which none may fail.
func (s *scene) script(lines string) string {
	s.t.Helper()
	s.n++
	when := fmt.Sprintf("%d +0100", 1_700_000_000+s.n)
	cmd := exec.Command("sh", "-e", "-c", lines)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.base, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
		"GIT_COMMITTER_DATE=" + when, "GIT_AUTHOR_DATE=" + when, "FILTER_BRANCH_SQUELCH_WARNING=1",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", lines, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *scene) git(words ...string) string {
	s.t.Helper()
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return s.script("git " + strings.Join(words, " "))
}

func (s *scene) write(rel, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, rel)
	s.must(os.MkdirAll(filepath.Dir(file), 0o700))
	s.must(os.WriteFile(file, []byte(text), 0o600))
}

// commit commits a content, and returns the id.
func (s *scene) commit(rel, text, message string) string {
	s.t.Helper()
	s.write(rel, text)
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", message)
	return s.id("HEAD")
}

func (s *scene) id(rev string) string { s.t.Helper(); return s.git("rev-parse", rev) }

func (s *scene) find(dir string) objects.Repository {
	s.t.Helper()
	r, ok, err := objects.Find(dir)
	if err != nil || !ok {
		s.t.Fatalf("%s: %v %v", dir, ok, err)
	}
	return r
}

func (s *scene) mark() Marks {
	s.t.Helper()
	m, err := Mark(s.find(s.dir))
	s.must(err)
	return m
}

// news is what is logged while something is done, and the marks before and after it.
func (s *scene) news(do func()) (News, Marks, Marks) {
	s.t.Helper()
	before := s.mark()
	do()
	after := s.mark()
	n, err := Lines(s.find(s.dir), before, after)
	s.must(err)
	return n, before, after
}

func (s *scene) open() *Reader {
	s.t.Helper()
	rd, err := Open(s.find(s.dir), filepath.Join(s.base, "reader"))
	s.must(err)
	s.t.Cleanup(func() { s.must(rd.Close()) })
	return rd
}

func (s *scene) tips() (ids []string) {
	s.t.Helper()
	list, err := Tips(s.t.Context(), s.find(s.dir))
	s.must(err)
	for _, tip := range list {
		ids = append(ids, tip.ID)
	}
	return ids
}

// listing is what is below .git, with times and contents.
func (s *scene) listing() string {
	s.t.Helper()
	var all strings.Builder
	s.must(filepath.WalkDir(filepath.Join(s.dir, ".git"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		var sum [32]byte
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			s.must(err)
			sum = sha256.Sum256(text)
		}
		fmt.Fprintln(&all, path, info.Size(), info.Mode(), info.ModTime().UnixNano(), inodeOf(info), sum)
		return err
	}))
	return all.String()
}

// verbs are the lines, short.
func verbs(lines []Line) (all []string) {
	for _, l := range lines {
		name := strings.TrimPrefix(l.Log, "refs/heads/")
		if l.Branch != "" {
			name += "+" + strings.TrimPrefix(l.Branch, "refs/heads/")
		}
		if l.Worktree != "" {
			name = l.Worktree + ":" + name
		}
		all = append(all, name+" "+l.Verb)
	}
	return all
}

func same(a, b []string) bool { return slices.Equal(a, b) }
