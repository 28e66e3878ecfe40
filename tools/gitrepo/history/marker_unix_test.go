//go:build unix

package history

import (
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"agent/tools/gitrepo/objects"
)

// later is a clock by which no file is so young that it is read again.
func later() time.Time { return time.Now().Add(time.Hour) }

// tick goes on until the file system gives a change another time than all before.
func (s *scene) tick() {
	s.t.Helper()
	file := filepath.Join(s.base, "clock")
	changed := func() int64 {
		s.must(os.WriteFile(file, nil, 0o600))
		st, ok := stateOf(here, file)
		if !ok || !st.there {
			s.t.Fatalf("%s has no state", file)
		}
		return st.changed
	}
	for first := changed(); changed() == first; {
	}
}

// remembered says whether a marker gives marks without reading anything.
func (k *Marker) remembered(r objects.Repository) bool {
	was := k.last[r].of
	k.Mark(r)
	return was != nil && k.last[r].of == was
}

// What did not change is not read again; what has just changed is.
func TestMarkerRemembers(t *testing.T) {
	s := newScene(t)
	s.commit("a", "1\n", "one")
	s.script("git branch b; git tag t; git worktree add -q ../side")
	r := s.find(s.dir)
	k := Marker{now: later}
	for range 2 {
		if m, err := k.Mark(r); err != nil || !reflect.DeepEqual(m, s.mark()) {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if !k.remembered(r) {
		t.Error("nothing changed, and it was read")
	}
	s.git("branch", "c")
	if k.remembered(r) {
		t.Error("a branch came, and it was not read")
	}
	real := Marker{now: func() time.Time { return time.Now().Add(-time.Hour) }}
	if real.Mark(r); real.remembered(r) {
		t.Error("files that changed right now are not read again")
	}
}

// A marker gives the marks that are taken without it, whatever is done with git or to its files.
func TestMarkerAgainstMark(t *testing.T) {
	for seed := range int64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newScene(t)
			if seed == 5 {
				s.dir = s.base + "/tables"
				if exec.Command("git", "init", "-q", "-b", "main", "--ref-format=reftable", s.dir).Run() != nil {
					t.Skip("git has no reftables")
				}
				s.script("git config user.email a@b; git config user.name A")
			}
			s.script("echo 1 >a; git add a; git commit -q -m one; echo 2 >a; git commit -q -a -m two; git branch b; git branch x/y; git worktree add -q ../side")
			random := rand.New(rand.NewSource(seed))
			k := Marker{now: later}
			used, repos := 0, []objects.Repository{s.find(s.dir), s.find(filepath.Join(s.base, "side"))}
			for n := range 60 {
				r := repos[n%2]
				if k.last[r].of != nil && k.last[r].of.stands() {
					used++
				}
				got, err := k.Mark(r)
				want, wrong := Mark(r)
				if !reflect.DeepEqual(got, want) || (err == nil) != (wrong == nil) {
					t.Fatalf("step %d: %+v, %v\nwant %+v, %v", n, got, err, want, wrong)
				}
				s.tick()
				t.Log(s.disturb(random, n))
				if random.Intn(4) == 0 {
					s.tick()
					t.Log(s.tamper(random))
				}
			}
			if used == 0 {
				t.Error("nothing was ever remembered")
			}
		})
	}
}

// disturb changes something of a repository, or nothing.
func (s *scene) disturb(random *rand.Rand, n int) string {
	s.t.Helper()
	try := func(lines string) string { return s.script("("+lines+") >/dev/null 2>&1 || true") + lines }
	lines := []string{
		"true", "true", "true", "git commit -q --allow-empty -m x", "git -C ../side commit -q --allow-empty -m x", "git commit -q --amend -m y",
		fmt.Sprintf("git branch n%d", n), "git branch -m b c || git branch -m c b", "git branch -D n3 n7 n9", "git checkout -q x/y || git checkout -q main",
		"git pack-refs --all", "git reflog expire --expire=all --all", fmt.Sprintf("git worktree add -q --detach ../w%d", n), "git worktree remove --force $(ls -d ../w?* | grep -v work | head -1)",
		"git tag -f t HEAD~", "git update-ref refs/odd/ref HEAD", "git symbolic-ref refs/heads/link refs/heads/main", "git checkout -q --detach", "git checkout -q main",
		"git reset -q --hard HEAD~ || true", "git stash || true", "git gc -q",
	}
	if random.Intn(3) > 0 {
		return try(lines[random.Intn(len(lines))])
	}
	return s.tamper(random)
}

// tamper changes files of a repository as git would not, with the size and the time of before.
func (s *scene) tamper(random *rand.Rand) string {
	s.t.Helper()
	git := filepath.Join(s.dir, ".git")
	var files, folders []string
	for _, top := range []string{"HEAD", "packed-refs", "refs", "logs", "worktrees", "reftable"} {
		filepath.WalkDir(filepath.Join(git, top), func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
			case d.IsDir():
				folders = append(folders, name)
			case d.Type().IsRegular():
				files = append(files, name)
			}
			return nil
		})
	}
	file := files[random.Intn(len(files))]
	info, err := os.Stat(file)
	s.must(err)
	text, err := os.ReadFile(file)
	s.must(err)
	other := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return '0' + (c-'0'+1)%10
		}
		return c
	}, string(text))
	how := random.Intn(6)
	switch how {
	case 0, 1: // in its place
		s.must(os.WriteFile(file, []byte(other), 0o600))
	case 2: // renamed over
		s.must(os.WriteFile(file+".new", []byte(other), 0o600))
		s.must(os.Chtimes(file+".new", info.ModTime(), info.ModTime()))
		s.must(os.Rename(file+".new", file))
	case 3: // a folder becomes a copy of itself
		file = folders[random.Intn(len(folders))]
		s.script("cp -a '" + file + "' '" + s.base + "/copy'; rm -r '" + file + "'; mv '" + s.base + "/copy' '" + file + "'")
		return "copy " + file
	case 4: // what was there, and its target is another later
		moved := filepath.Join(s.base, "moved")
		if s.must(os.WriteFile(moved, []byte(other), 0o600)); random.Intn(2) == 0 {
			s.must(os.Remove(file))
			s.must(os.Symlink(moved, file))
		}
		return "link " + file
	default:
		s.must(os.WriteFile(file, append(text, '\n'), 0o600))
		return "append to " + file
	}
	s.must(os.Chtimes(file, info.ModTime(), info.ModTime()))
	return fmt.Sprintf("tamper %d with %s", how, file)
}
