//go:build unix

package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readAll asks everything of a repository.
func (s *scene) readAll(rd *Reader, before Marks, tips []string) (wrong []error) {
	s.t.Helper()
	ctx, r := s.t.Context(), rd.repo
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	after, err := Mark(r)
	note(err)
	_, err = Lines(r, before, after)
	note(err)
	_, err = Tips(ctx, r)
	note(err)
	walked, err := rd.Walk(ctx, tips, nil, 0)
	note(err)
	var messages []string
	for _, c := range walked.Commits {
		messages = append(messages, c.Message)
		changes, err := rd.Changes(ctx, c.ID)
		note(err)
		for _, change := range changes {
			_, err := rd.Blob(ctx, change.After.Blob, 1<<20)
			note(err)
			_, err = rd.Blame(ctx, c.ID, change.Path, 1)
			note(err)
		}
		_, err = rd.Reachable(ctx, c.ID, tips)
		note(err)
	}
	_, err = rd.PatchIDs(ctx, idsOf(walked))
	note(err)
	_, err = rd.Trailers(ctx, messages)
	note(err)
	if len(walked.Commits) < 2 {
		note(fmt.Errorf("only %d commits were walked", len(walked.Commits)))
	}
	return wrong
}

// Nothing that a repository's or a person's settings name is run, nothing is fetched, nothing that
// they replace counts, and nothing below .git changes.
func TestNothingIsRunOrWritten(t *testing.T) {
	s := newScene(t)
	one := s.commit("a.txt", "1\n", "one\n\nA: b")
	two := s.commit("a.txt", "1\n2\n", "two")
	s.git("pack-refs", "--all")
	s.git("gc", "-q")
	three := s.commit("b.txt", "3\n", "three")
	mark := filepath.Join(s.base, "ran")
	touch := "touch " + mark
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "pager.blame", "core.editor", "core.askPass", "filter.x.smudge", "filter.x.clean", "filter.x.process", "diff.external",
		"diff.x.textconv", "diff.x.command", "gpg.program", "uploadpack.packObjectsHook", "alias.blame", "credential.helper", "core.alternateRefsCommand", "trailer.a.command", "trailer.a.cmd", "trailer.where"} {
		s.git("config", key, touch)
		s.git("config", "--global", key, touch)
	}
	s.git("config", "blame.ignoreRevsFile", "nothing")
	s.git("config", "remote.origin.url", "ext::sh -c "+touch)
	s.git("config", "remote.origin.promisor", "true")
	s.git("config", "extensions.partialClone", "origin")
	for _, hook := range []string{"post-index-change", "reference-transaction", "fsmonitor-watchman"} {
		s.write(".git/hooks/"+hook, "#!/bin/sh\n"+touch+"\n")
		s.must(os.Chmod(filepath.Join(s.dir, ".git/hooks", hook), 0o755))
	}
	s.write(".gitattributes", "* filter=x diff=x\n")
	s.write(".git/info/attributes", "* filter=x diff=x\n")
	s.write(".git/refs/replace/"+three, one+"\n")
	s.write(".git/info/grafts", three+"\n")
	s.must(os.RemoveAll(mark)) // git itself runs some of it
	t.Setenv("GIT_DIR", filepath.Join(s.base, "nowhere"))
	t.Setenv("GIT_EXTERNAL_DIFF", touch)
	before := s.listing()
	start, err := Mark(s.find(s.dir))
	s.must(err)
	rd := s.open()
	for _, err := range s.readAll(rd, start, []string{three}) {
		t.Error(err)
	}
	if all, _, err := rd.Commits(t.Context(), []string{three}); err != nil || !same(all[three].Parents, []string{two}) {
		t.Errorf("a replacement or a graft counts: %+v, %v", all, err)
	}
	if got, err := rd.Blame(t.Context(), three, "a.txt", 2); err != nil || got.Commit != two {
		t.Errorf("%+v, %v", got, err)
	}
	if _, missing, err := rd.Commits(t.Context(), []string{strings.Repeat("1", 40)}); err != nil || len(missing) != 1 {
		t.Errorf("%v, %v", missing, err)
	}
	s.must(rd.Close())
	if after := s.listing(); after != before {
		t.Errorf("changed from %s to %s", before, after)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("something was run")
	}
}

// What lies in a file's place holds nobody up: FIFOs, links to themselves, to devices and upwards,
// folders.
func TestOddFiles(t *testing.T) {
	odd := map[string]func(file string) error{
		"fifo":   func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"folder": func(file string) error { return os.Mkdir(file, 0o700) },
		"loop":   func(file string) error { return os.Symlink(filepath.Base(file), file) },
		"device": func(file string) error { return os.Symlink("/dev/zero", file) },
		"upward": func(file string) error { return os.Symlink("..", file) },
	}
	names := []string{"HEAD", "packed-refs", "shallow", "refs/heads/main", "refs/heads/odd", "refs/heads", "logs", "logs/HEAD", "logs/refs/heads", "logs/refs/heads/main", "logs/refs/heads/odd",
		"worktrees", "worktrees/x", "worktrees/x/HEAD", "objects/info/alternates", "objects/pack/pack-1.idx", "objects/pack/multi-pack-index", "info/grafts", "objects/info/commit-graph", "reftable/tables.list"}
	template := newScene(t)
	template.commit("a", "1\n", "one")
	id := template.commit("a", "2\n", "two")
	template.git("pack-refs", "--all")
	for kind, make := range odd {
		for _, name := range names {
			s := &scene{t: t, base: t.TempDir(), dir: ""}
			s.dir = filepath.Join(s.base, "work")
			s.must(os.CopyFS(s.dir, os.DirFS(template.dir)))
			r := s.find(s.dir)
			before := s.mark()
			rd := s.open()
			file := filepath.Join(s.dir, ".git", name)
			s.must(os.RemoveAll(file))
			s.must(os.MkdirAll(filepath.Dir(file), 0o700))
			s.must(make(file))
			begun := time.Now()
			after, err := Mark(r)
			if err == nil {
				_, err = Lines(r, before, after)
			}
			if err == nil && strings.HasPrefix(name, "logs/") && Same(before, after) && kind+name != "folderlogs/refs/heads/odd" {
				t.Errorf("%s %s: it does not show", kind, name)
			}
			if name == "objects/info/alternates" || name == "objects/pack/multi-pack-index" {
				if _, err := Open(r, filepath.Join(s.base, "other")); kind == "fifo" && err == nil {
					t.Error("git would wait for " + name)
				}
			}
			if !strings.Contains(name, "logs") && !strings.Contains(name, "worktrees") {
				s.readAll(rd, before, []string{id})
			}
			s.must(rd.Close())
			if took := time.Since(begun); took > gitTime/2 {
				t.Errorf("%s %s: it took %v", kind, name, took)
			}
		}
	}
}

// Git waits for a pipe in an object's place until the question is ended, and the next is answered.
func TestPipeInAnObjectsPlace(t *testing.T) {
	s := newScene(t)
	one, two := s.commit("a", "1\n", "one"), s.commit("a", "2\n", "two")
	file := filepath.Join(s.dir, ".git", "objects", two[:2], two[2:])
	s.must(os.Remove(file))
	s.must(syscall.Mkfifo(file, 0o600))
	rd := s.open()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel) // time: git never answers, so it ends in any time
	if all, _, err := rd.Commits(ctx, []string{one, two}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", all, err)
	}
	if all, _, err := rd.Commits(t.Context(), []string{one}); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// Alternates that lead to one another end, and objects there are found.
func TestAlternates(t *testing.T) {
	s, other := newScene(t), newScene(t)
	s.commit("a", "1\n", "one")
	id := other.commit("b", "2\n", "two")
	s.write(".git/objects/info/alternates", "../objects\n"+filepath.Join(other.dir, ".git", "objects")+"\n/nowhere\n")
	other.write(".git/objects/info/alternates", filepath.Join(s.dir, ".git", "objects")+"\n")
	if all, _, err := s.open().Commits(t.Context(), []string{id}); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// A repository whose path git would have to quote is read, and the folder of another repository is
// not taken.
func TestFolders(t *testing.T) {
	s := newScene(t)
	id := s.commit("a", "1\n", "one")
	odd := filepath.Join(s.base, "o\"d\\d\nname")
	s.must(os.Rename(s.dir, odd))
	s.dir = odd
	rd := s.open()
	if all, _, err := rd.Commits(t.Context(), []string{id}); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if again, err := Open(rd.repo, rd.dir); err != nil || again.Close() != nil {
		t.Errorf("a second time: %v", err)
	}
	for _, dir := range []string{filepath.Join(odd, ".git"), filepath.Join(odd, "a"), filepath.Join(odd, "a", "b")} {
		if _, err := Open(rd.repo, dir); err == nil {
			t.Errorf("%q is taken", dir)
		}
	}
}

// Trees without end are cut, which the marks state.
func TestTreesWithoutEnd(t *testing.T) {
	s := newScene(t)
	s.commit("a", "1\n", "one")
	deep := filepath.Join(s.dir, ".git", "logs", "refs", "heads", strings.Repeat("d/", maxDepth+2))
	s.must(os.MkdirAll(deep, 0o700))
	m := s.mark()
	if m.Cut == "" || Same(m, m) {
		t.Errorf("deep: %+v", m)
	}
	if n, err := Lines(s.find(s.dir), m, m); err != nil || len(n.Broken) == 0 {
		t.Errorf("deep: %+v, %v", n, err)
	}
	s.must(os.RemoveAll(filepath.Join(s.dir, ".git", "logs", "refs", "heads", "d")))
	wide := filepath.Join(s.dir, ".git", "refs", "wide")
	s.must(os.Mkdir(wide, 0o700))
	for i := range maxEntries + 1 {
		s.must(os.Symlink("x", filepath.Join(wide, fmt.Sprint(i))))
	}
	if m := s.mark(); m.Cut == "" {
		t.Errorf("wide: %+v", m)
	}
	if _, err := Tips(t.Context(), s.find(s.dir)); err == nil {
		t.Error("wide: the tips are whole")
	}
}
