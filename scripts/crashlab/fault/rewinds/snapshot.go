//go:build linux

package rewinds

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/world"
)

// snapshot is what lies in a workspace, without the repository: mode and content or target by path.
type snapshot map[string]string

// repo is where a repository stands.
type repo struct{ head, refs, index string }

// temporary begins the names of files that wait for their place, and that a killed rewind leaves
// until somebody goes on with it.
const temporary = ".agent-restore-"

func look(dir string) (snapshot, error) {
	s := snapshot{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if e.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + to
		}
		rel, err := filepath.Rel(dir, path)
		s[rel] = text
		return err
	})
	return s, err
}

// standing reads where a repository stands, by its files alone.
func standing(dir string) (repo, error) {
	var r repo
	git := filepath.Join(dir, ".git")
	read := func(name string) (string, error) {
		b, err := os.ReadFile(filepath.Join(git, name))
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return string(b), err
	}
	head, err := read("HEAD")
	index, err2 := read("index")
	packed, err3 := read("packed-refs")
	sum := sha256.Sum256([]byte(index))
	r = repo{head: head, refs: packed, index: hex.EncodeToString(sum[:])}
	err4 := filepath.WalkDir(filepath.Join(git, "refs"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		r.refs += strings.TrimPrefix(path, git) + " " + string(b)
		return err
	})
	return r, errors.Join(err, err2, err3, err4)
}

// git asks git, which writes nothing.
func git(w *world.World, args ...string) (string, error) {
	c := exec.Command("git", append([]string{"-C", w.Dir}, args...)...)
	c.Env = append(slices.Clone(w.Env), "GIT_OPTIONAL_LOCKS=0")
	text, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %v: %s", strings.Join(args, " "), err, text)
	}
	return string(text), nil
}

// differ lists the paths that are not as they are to be; only those of which given says so.
func (s snapshot) differ(want snapshot, given func(string) bool, kind, when string) (f judge.Findings) {
	paths := slices.Sorted(maps.Keys(s))
	for path := range want {
		if _, ok := s[path]; !ok {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		if s[path] != want[path] && given(path) {
			f.Add(kind, "%s %s is %s, and is to be %s", when, path, shown(s[path]), shown(want[path]))
		}
	}
	return f
}

// torn lists what is neither as before a rewind nor as behind it, and what is not as it was where
// the rewind leaves it.
func (s snapshot) torn(before, behind snapshot) (f judge.Findings) {
	paths := maps.Clone(before)
	maps.Copy(paths, s)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		now, was, becomes := s[path], before[path], behind[path]
		waits := was == "" && strings.HasPrefix(filepath.Base(path), temporary)
		switch {
		case now == was || now == becomes || waits:
		case strings.HasPrefix(now, "d"): // it may get its mode at the end
		case was == becomes:
			f.Add(judge.Differs, "in the middle of a rewind that leaves it %s is %s, and was %s", path, shown(now), shown(was))
		default:
			f.Add(Torn, "in the middle of a rewind %s is %s, was %s and becomes %s", path, shown(now), shown(was), shown(becomes))
		}
	}
	return f
}

func shown(text string) string {
	if text == "" {
		return "not there"
	}
	return fmt.Sprintf("%q", text)
}
