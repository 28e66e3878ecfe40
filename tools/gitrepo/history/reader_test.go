package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools/gitrepo/objects"
)

// both runs a test with objects of either kind.
func both(t *testing.T, test func(s *scene)) {
	t.Helper()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) { test(newScene(t, "--object-format="+format)) })
	}
}

// Commits are read loose and packed; what is gone, is no commit or is no id is named.
func TestCommits(t *testing.T) {
	both(t, func(s *scene) {
		t := s.t
		one := s.commit("a", "1\n", "one\n\nbody\n\nAgent-Checkpoint: k-abc")
		tree := s.id("HEAD^{tree}")
		raw := fmt.Sprintf("tree %s\nparent %s\nauthor Ä <ä@b> 1700000100 -0230\ncommitter C D <c@d> 1700000200 +0000\ngpgsig -----BEGIN\n change-id no\n \n -----END\nchange-id zzyx\nencoding latin1\n\nby jj\n", tree, one)
		s.write("../raw", raw)
		jj := s.git("hash-object", "-t", "commit", "-w", "../raw")
		none := strings.Repeat("1", len(one))
		rd := s.open()
		for range 2 {
			all, missing, err := rd.Commits(t.Context(), []string{one, none, jj, tree, "HEAD", ""})
			s.must(err)
			if !same(missing, []string{none, tree, "HEAD", ""}) || len(all) != 2 {
				t.Errorf("missing %q", missing)
			}
			if c := all[one]; c.Subject() != "one" || c.Tree != tree || len(c.Parents) != 0 || c.Author != "A B <a@b>" || c.CommitTime.Unix() < 1_700_000_000 || !strings.HasSuffix(c.Message, "k-abc\n") {
				t.Errorf("%+v", c)
			}
			c := all[jj]
			if c.ChangeID != "zzyx" || c.Encoding != "latin1" || !same(c.Parents, []string{one}) || c.Message != "by jj\n" || c.Committer != "C D <c@d>" ||
				c.AuthorTime.Unix() != 1_700_000_100 || c.CommitTime.Unix() != 1_700_000_200 || c.AuthorLine != "Ä <ä@b> 1700000100 -0230" {
				t.Errorf("%+v", c)
			}
			s.git("branch", "-f", "jj", jj)
			s.git("gc", "-q") // the second time they are packed, and git runs on
		}
	})
}

// What a commit changed is said of each path as the system has it.
func TestChanges(t *testing.T) {
	both(t, func(s *scene) {
		t := s.t
		one := s.script(`mkdir sub; echo a >sub/a; echo b >b; echo m >m; ln -s a l; git add .; git commit -q -m one; git rev-parse HEAD`)
		two := s.script("git mv sub/a sub/a2; echo 2 >b; chmod +x m; ln -sfn b l; printf x >'new\n\"ö'; git add .; git commit -q -m two; git rev-parse HEAD")
		merge := s.script("git checkout -q -b side HEAD~; git commit -q --allow-empty -m side; git merge -q -m merge main; git rev-parse HEAD")
		rd := s.open()
		blob := func(text string) string { return objects.BlobID([]byte(text), rd.repo.SHA256) }
		file, exe, link := objects.ModeFile, objects.ModeExecutable, objects.ModeLink
		want := []Change{
			{"b", Side{blob("b\n"), file}, Side{blob("2\n"), file}},
			{"l", Side{blob("a"), link}, Side{blob("b"), link}},
			{"m", Side{blob("m\n"), file}, Side{blob("m\n"), exe}},
			{"new\n\"ö", Side{}, Side{blob("x"), file}},
			{"sub/a", Side{blob("a\n"), file}, Side{}},
			{"sub/a2", Side{}, Side{blob("a\n"), file}},
		}
		got, err := rd.Changes(t.Context(), two)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := rd.Changes(t.Context(), one); err != nil || len(got) != 4 || got[0] != (Change{"b", Side{}, Side{blob("b\n"), file}}) {
			t.Errorf("the first: %+v, %v", got, err)
		}
		if got, err := rd.Changes(t.Context(), merge); err != nil || len(got) != 0 {
			t.Errorf("a merge: %+v, %v", got, err)
		}
		for _, id := range []string{blob("b\n"), "HEAD", "--output=x"} {
			if _, err := rd.Changes(t.Context(), id); !errors.Is(err, ErrMissing) {
				t.Errorf("%s: %v", id, err)
			}
		}
		content, err := rd.Blob(t.Context(), blob("2\n"), 2)
		if err != nil || string(content) != "2\n" {
			t.Errorf("%q, %v", content, err)
		}
		if _, err := rd.Blob(t.Context(), blob("2\n"), 1); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		if _, err := rd.Blob(t.Context(), blob("no"), 9); !errors.Is(err, ErrMissing) {
			t.Error(err)
		}
		if _, err := rd.Blob(t.Context(), one, 1<<20); err == nil {
			t.Error("a commit is read as a blob")
		}
	})
}

// A patch keeps its id where it is carried elsewhere, and whitespace, modes and bytes count.
func TestPatchIDs(t *testing.T) {
	both(t, func(s *scene) {
		t := s.t
		text := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
		base := s.commit("f", text, "base")
		two := s.commit("f", text+"end\n", "two")
		three := s.commit("f", text+"end\nmore\n", "three")
		s.git("checkout", "-q", "-b", "other", base)
		s.commit("f", "0\n0\n"+text, "moves all lines")
		picked := s.script("git cherry-pick -x " + two + " >/dev/null; git rev-parse HEAD")
		s.git("checkout", "-q", "-b", "squash", base)
		squashed := s.commit("f", text+"end\nmore\n", "squashed")
		s.git("checkout", "-q", "-b", "white", base)
		white := s.commit("f", text+"end \n", "whitespace")
		empty := s.commit("f", text+"end \n", "empty")
		mode := s.script("chmod +x f; git commit -q -a -m mode; git rev-parse HEAD")
		binary := s.commit("bin", "\x00a", "binary")
		s.git("checkout", "-q", "-b", "binary", mode)
		binary2 := s.commit("bin", "\x00b", "another binary")
		s.git("checkout", "-q", "-b", "binary3", mode)
		binary3 := s.commit("bin", "\x00a", "the same binary")
		merge := s.script("git merge -q -s ours -m merge other; git rev-parse HEAD")
		all := []string{base, two, three, picked, squashed, white, empty, mode, binary, binary2, binary3, merge, strings.Repeat("2", len(base)), two}
		rd := s.open()
		ids, err := rd.PatchIDs(t.Context(), all)
		s.must(err)
		if len(ids) != len(all)-4 {
			t.Errorf("%d ids: %v", len(ids), ids)
		}
		for _, c := range []struct {
			a, b string
			want bool
		}{{two, picked, true}, {two, white, false}, {two, squashed, false}, {binary, binary2, false}, {binary, binary3, true}, {base, two, false}, {mode, binary, false}} {
			if got := ids[c.a] == ids[c.b]; got != c.want {
				t.Errorf("%s and %s: same %v", s.git("log", "-1", "--format=%s", c.a), s.git("log", "-1", "--format=%s", c.b), got)
			}
		}
		if id, err := rd.RangePatchID(t.Context(), base, three); err != nil || id == "" || id != ids[squashed] {
			t.Errorf("range: %s, %v", id, err)
		}
		if id, err := rd.RangePatchID(t.Context(), "", base); err != nil || id != ids[base] {
			t.Errorf("from nothing: %s, %v", id, err)
		}
		if id, err := rd.RangePatchID(t.Context(), two, two); err != nil || id != "" {
			t.Errorf("nothing: %s, %v", id, err)
		}
		// A commit whose content is gone has none, and the others have theirs.
		blob := s.id(three + ":f")
		s.must(os.Remove(filepath.Join(s.dir, ".git", "objects", blob[:2], blob[2:])))
		again, err := s.open().PatchIDs(t.Context(), all)
		s.must(err)
		if again[three] != "" || again[squashed] != "" || again[two] != ids[two] || again[binary] != ids[binary] || len(again) != len(ids)-2 {
			t.Errorf("%v", again)
		}
	})
}

// Trailers are those that git finds, in the last block of each message, and nobody can write into
// those of another.
// C5, GIT-05, EN-32.
func TestTrailers(t *testing.T) {
	s := newScene(t)
	rd := s.open()
	messages := []string{
		"one\n\nbody\n\nAgent-Checkpoint: k-1\nSigned-off-by: A <a@b>\n",
		"two\n\nAgent-Checkpoint: k-2\n\nnot the last block\n",
		"Agent-Checkpoint: k-3",
		"",
		"folded\n\nA-Key: one\n  two\nB-Key:\n",
		"four\r\n\r\nAgent-Checkpoint: k-4\r\n",
		"divider\n\n---\nA: b\n\nAgent-Checkpoint: k-5\n",
		"comments\n\nAgent-Checkpoint: k-6\n# a comment\n",
		"no trailers: at all\n\nbut text\n",
		"picked\n\nAgent-Checkpoint: k-7\n(cherry picked from commit 123)\n",
		"last\n\nX: 1\n",
	}
	want := []string{
		"[{Agent-Checkpoint k-1} {Signed-off-by A <a@b>}]", "[]", "[]", "[]", "[{A-Key one two} {B-Key }]", "[{Agent-Checkpoint k-4}]",
		"[{Agent-Checkpoint k-5}]", "[{Agent-Checkpoint k-6}]", "[]", "[{Agent-Checkpoint k-7}]", "[{X 1}]",
	}
	for range maxMessages {
		messages, want = append(messages, "more\n\nKey: v\n"), append(want, "[{Key v}]")
	}
	all, err := rd.Trailers(t.Context(), messages)
	s.must(err)
	for i, m := range messages {
		if got := fmt.Sprint(all[i]); got != want[i] {
			t.Errorf("%q: %s, wanted %s", m, got, want[i])
		}
	}
	if left, err := filepath.Glob(filepath.Join(rd.dir, "messages-*")); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

// A walk finds what git's own finds, newest first; it says if there is more and what is missing.
func TestWalk(t *testing.T) {
	both(t, func(s *scene) {
		t := s.t
		var ids []string
		for i := range 8 {
			ids = append(ids, s.commit("a", fmt.Sprint(i), fmt.Sprint(i)))
		}
		s.git("checkout", "-q", "-b", "side", ids[2])
		s.commit("b", "1", "side")
		s.git("merge", "-q", "-m", "merge", ids[5])
		s.git("tag", "-a", "-m", "t", "tagged", "side")
		s.git("tag", "-a", "-m", "t", "twice", "tagged")
		rd := s.open()
		for _, c := range []struct{ tips, known []string }{
			{[]string{"main"}, nil}, {[]string{"main", "side"}, nil}, {[]string{"twice"}, []string{"main"}}, {[]string{"main"}, []string{"side"}},
			{[]string{"main", "tagged"}, []string{ids[3]}}, {[]string{ids[1]}, []string{"main"}}, {[]string{"main"}, []string{"main"}},
		} {
			words := append([]string{"rev-list"}, c.tips...)
			words = append(append(words, "--not"), c.known...)
			want := strings.Fields(s.git(words...))
			got, err := rd.Walk(t.Context(), s.ids(c.tips), append(s.ids(c.known), strings.Repeat("3", len(ids[0]))), 0)
			s.must(err)
			if !same(idsOf(got), want) || got.More || len(got.Missing) > 0 {
				t.Errorf("%v not %v: %q, wanted %q", c.tips, c.known, idsOf(got), want)
			}
		}
		got, err := rd.Walk(t.Context(), s.ids([]string{"main"}), nil, 3)
		if s.must(err); !same(idsOf(got), []string{ids[7], ids[6], ids[5]}) || !got.More {
			t.Errorf("%q", idsOf(got))
		}
		for id, want := range map[string]bool{ids[4]: true, s.id("side"): false, s.id("side~"): false, ids[7]: true} {
			if ok, err := rd.Reachable(t.Context(), id, s.ids([]string{"main"})); err != nil || ok != want {
				t.Errorf("%s is reachable: %v, %v", id, ok, err)
			}
		}
		if _, err := rd.Reachable(t.Context(), strings.Repeat("3", len(ids[0])), ids); !errors.Is(err, ErrMissing) {
			t.Error(err)
		}
		s.must(os.Remove(filepath.Join(s.dir, ".git", "objects", ids[4][:2], ids[4][2:])))
		got, err = s.open().Walk(t.Context(), ids[7:], nil, 0)
		if s.must(err); !same(idsOf(got), []string{ids[7], ids[6], ids[5]}) || !same(got.Missing, ids[4:5]) {
			t.Errorf("%q, missing %q", idsOf(got), got.Missing)
		}
	})
}

// What is below tips is what they lead to, in whatever order it is asked for: commits of the same
// time, of times out of order, merged, of no branch, and gone.
func TestBelow(t *testing.T) {
	both(t, func(s *scene) {
		t := s.t
		for i := range 4 {
			s.commit("a", fmt.Sprint(i), fmt.Sprint(i))
		}
		s.script("git checkout -q -b side HEAD~2; git commit -q --allow-empty -m side; git merge -q -m merge main; git checkout -q main; git branch -m side other")
		s.script("GIT_COMMITTER_DATE='1000000000 +0000' git commit -q --allow-empty -m old; git commit -q --allow-empty -m on")
		gone := s.script("git commit -q --allow-empty -m gone; git rev-parse HEAD; git reset -q --hard HEAD~")
		s.git("tag", "-a", "-m", "t", "tagged")
		all := append(strings.Fields(s.git("rev-list", "--all")), gone)
		want := map[string][]string{"main": strings.Fields(s.git("rev-list", "main")), "other": strings.Fields(s.git("rev-list", "other"))}
		want["tagged"] = want["main"]
		for _, order := range []bool{false, true} {
			if order {
				slices.Reverse(all)
			}
			for tip, ids := range want {
				b := s.open().Below(s.ids([]string{tip}))
				for _, id := range all {
					if has, err := b.Has(t.Context(), id); err != nil || has != slices.Contains(ids, id) {
						t.Errorf("%s leads to %s: %v, %v", tip, id, has, err)
					}
				}
				if _, err := b.Has(t.Context(), strings.Repeat("3", len(gone))); !errors.Is(err, ErrMissing) {
					t.Error(err)
				}
			}
		}
	})
}

// What is listed ahead is what is listed of each commit alone: of the first one, an empty one, a
// merge and one whose parent is gone, too.
func TestAhead(t *testing.T) {
	both(t, func(s *scene) {
		t := s.t
		ids := []string{s.commit("a", "1", "one"), s.commit("sub/b", "1", "two\n\nChange-Id: I1\n"), s.commit("a", "2", "three: 3"), s.commit("a", "2", "empty")}
		s.script("git checkout -q -b side HEAD~2; git rm -q sub/b; ln -s x a2; git add -A; git commit -q -m side; git merge -q -m merge main || git commit -q -a -m merge")
		ids = append(ids, s.id("HEAD"), s.id("HEAD~"), strings.Repeat("3", len(ids[0])))
		s.git("replace", "--graft", ids[3])
		first := s.script("git commit-tree -p " + ids[0] + " -m orphan HEAD^{tree}")
		ids = append(ids, first)
		rd, alone := s.open(), func() *Reader { return s.open() }
		known, err := rd.Ahead(t.Context(), ids)
		if s.must(err); len(known) != 6 {
			t.Errorf("%q", known)
		}
		patches, err := rd.PatchIDs(t.Context(), ids)
		s.must(err)
		for _, id := range ids {
			one := alone()
			want, wrong := one.Changes(t.Context(), id)
			got, err := rd.Changes(t.Context(), id)
			if !slices.Equal(got, want) || (err == nil) != (wrong == nil) || errors.Is(err, ErrMissing) != errors.Is(wrong, ErrMissing) {
				t.Errorf("%s: %+v, %v; wanted %+v, %v", id, got, err, want, wrong)
			}
			patch, err := one.PatchIDs(t.Context(), []string{id})
			again, wrong := rd.PatchIDs(t.Context(), []string{id})
			if s.must(errors.Join(err, wrong)); patch[id] != patches[id] || patch[id] != again[id] {
				t.Errorf("%s: patch %q, %q, %q", id, patch[id], patches[id], again[id])
			}
		}
		for range 2 {
			list, err := rd.Trailers(t.Context(), []string{"x\n\nA: b\n", "none: here", "y\n\nC: d\nE: f\n"})
			if err != nil || len(list) != 3 || len(list[0]) != 1 || len(list[1]) != 0 || len(list[2]) != 2 {
				t.Errorf("%+v, %v", list, err)
			}
		}
	})
}

// A walk from what is new does not go through the whole history.
func TestWalkIsShort(t *testing.T) {
	s := newScene(t)
	var in strings.Builder
	const many = 3000
	for i := range many {
		fmt.Fprintf(&in, "commit refs/heads/long\ncommitter A <a@b> %d +0000\ndata 1\nx\n", 1_600_000_000+60*i)
	}
	s.write("../in", in.String())
	s.script("git fast-import --quiet <../in")
	s.git("checkout", "-q", "-b", "old", fmt.Sprintf("long~%d", 100))
	fork := s.id("HEAD")
	one := s.commit("a", "1\n", "one")
	long, rd := s.id("long"), s.open()
	for _, c := range []struct {
		tips, known []string
		limit, want int
		more        bool
	}{{[]string{one}, []string{long}, 0, 1, false}, {[]string{long}, []string{fork}, 0, 100, false}, {[]string{long}, nil, 10, 10, true}, {[]string{long}, []string{one}, 0, 100, false}} {
		w := walk{rd: rd, nodes: map[string]*node{}}
		s.must(w.begin(t.Context(), c.tips, c.known))
		limit := c.limit
		if limit == 0 {
			limit = maxWalk
		}
		s.must(w.steps(t.Context(), limit))
		if got := w.found(limit); len(got.Commits) != c.want || got.More != c.more || len(w.nodes) > 2*slop {
			t.Errorf("%v: %d commits of %d that were read, more %v", c, len(got.Commits), len(w.nodes), got.More)
		}
	}
	if got, err := rd.Walk(t.Context(), []string{long}, nil, 0); err != nil || len(got.Commits) != maxWalk || !got.More {
		t.Errorf("%d commits, more %v, %v", len(got.Commits), got.More, err)
	}
}

func (s *scene) ids(revs []string) (all []string) {
	s.t.Helper()
	for _, r := range revs {
		all = append(all, s.id(r))
	}
	return all
}

func idsOf(w Walked) (all []string) {
	for _, c := range w.Commits {
		all = append(all, c.ID)
	}
	return all
}

// A line is followed through renames to the commit that brought it, with what is not committed left
// out; the border of a shallow clone is named.
func TestBlame(t *testing.T) {
	both(t, func(s *scene) {
		t := s.t
		one := s.commit("ö", "1\n2\n3\n", "one")
		two := s.commit("ö", "0\n1\n2\n3\n", "two")
		s.git("mv", "ö", "b")
		s.commit("other", "x", "three")
		s.write("b", "another\n0\n1\n2\n3\n")
		rd, head := s.open(), s.id("HEAD")
		for line, want := range map[int]Blamed{1: {two, "ö", 1, false}, 2: {one, "ö", 1, false}, 4: {one, "ö", 3, false}} {
			if got, err := rd.Blame(t.Context(), head, "b", line); err != nil || got != want {
				t.Errorf("line %d: %+v, %v", line, got, err)
			}
		}
		for _, c := range []struct {
			rev, file string
			line      int
		}{{head, "b", 5}, {head, "b", 0}, {head, "../b", 1}, {head, "none", 1}, {"HEAD", "b", 1}, {strings.Repeat("4", len(head)), "b", 1}, {head, "--output=x", 1}} {
			if got, err := rd.Blame(t.Context(), c.rev, c.file, c.line); err == nil {
				t.Errorf("%+v: %+v", c, got)
			}
		}
		s.git("clone", "-q", "--depth", "1", "file://"+s.dir, "../shallow")
		shallow, err := Open(s.find(filepath.Join(s.base, "shallow")), filepath.Join(s.base, "reader2"))
		s.must(err)
		defer shallow.Close()
		if got, err := shallow.Blame(t.Context(), head, "b", 1); err != nil || got != (Blamed{head, "b", 1, true}) {
			t.Errorf("%+v, %v", got, err)
		}
		got, err := shallow.Walk(t.Context(), []string{head}, nil, 0)
		if err != nil || len(got.Commits) != 1 || !same(got.Missing, []string{two}) {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := shallow.Changes(t.Context(), head); !errors.Is(err, ErrMissing) {
			t.Errorf("what the border changed: %v", err)
		}
		if ids, err := shallow.PatchIDs(t.Context(), []string{head}); err != nil || len(ids) != 0 {
			t.Errorf("%v, %v", ids, err)
		}
	})
}

// A git that is killed behind its log and before its ref leaves a line whose commit nothing leads
// to.
// C2.
func TestKilledBeforeTheRefMoved(t *testing.T) {
	s := newScene(t)
	one := s.commit("a", "1\n", "one")
	var lost string
	n, _, after := s.news(func() {
		lost = s.git("commit-tree", "-p", "HEAD", "-m", "lost", "HEAD^{tree}")
		for _, log := range []string{"HEAD", "refs/heads/main"} {
			f, err := os.OpenFile(filepath.Join(s.dir, ".git", "logs", log), os.O_APPEND|os.O_WRONLY, 0)
			s.must(err)
			_, err = fmt.Fprintf(f, "%s %s A B <a@b> 1700000900 +0000\tcommit: lost\n", one, lost)
			s.must(err)
			s.must(f.Close())
		}
	})
	if !same(verbs(n.Lines), []string{"HEAD+main commit"}) || n.Lines[0].New != lost || after.Worktrees[0].Commit != one {
		t.Fatalf("%+v", n)
	}
	if ok, err := s.open().Reachable(t.Context(), lost, s.tips()); ok || err != nil {
		t.Errorf("reachable: %v, %v", ok, err)
	}
}

// A question may be ended, and the next one is answered.
func TestEnded(t *testing.T) {
	s := newScene(t)
	one := s.commit("a", "1\n", "one")
	rd := s.open()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := rd.Commits(ended, []string{one}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := rd.PatchIDs(ended, []string{one}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if all, _, err := rd.Commits(t.Context(), []string{one}); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	rd.git.stop() // somebody kills git
	if _, _, err := rd.Commits(t.Context(), []string{one}); err == nil {
		if all, _, err := rd.Commits(t.Context(), []string{one}); err != nil || len(all) != 1 {
			t.Errorf("%v, %v", all, err)
		}
	}
	if all, _, err := rd.Commits(t.Context(), []string{one}); err != nil || len(all) != 1 {
		t.Errorf("behind a killed git: %v, %v", all, err)
	}
}

// Large objects are passed over, and those behind them are read.
func TestLargeObjects(t *testing.T) {
	s := newScene(t)
	one := s.commit("a", strings.Repeat("x", passOut+1), "one")
	rd := s.open()
	all, missing, err := rd.Commits(t.Context(), []string{s.id("HEAD:a"), one})
	if err != nil || len(all) != 1 || len(missing) != 1 {
		t.Errorf("%v, %v, %v", all, missing, err)
	}
}

// An object that is written over with another one is not taken for what its id says.
func TestDamagedObjects(t *testing.T) {
	s := newScene(t)
	one, two := s.commit("a", "1\n", "one"), s.commit("a", "2\n", "two")
	file := func(id string) string { return filepath.Join(s.dir, ".git", "objects", id[:2], id[2:]) }
	for from, to := range map[string]string{one: two, s.id("HEAD~:a"): s.id("HEAD:a")} {
		text, err := os.ReadFile(file(from))
		s.must(err)
		s.must(os.Chmod(file(to), 0o600))
		s.must(os.WriteFile(file(to), text, 0o600))
	}
	rd := s.open()
	if all, _, err := rd.Commits(t.Context(), []string{one, two}); err == nil && all[two].ID != "" {
		t.Errorf("%+v", all)
	}
	if got, err := rd.Blob(t.Context(), objects.BlobID([]byte("2\n"), false), 9); err == nil {
		t.Errorf("%q", got)
	}
	if all, _, err := rd.Commits(t.Context(), []string{one}); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}
