package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What git logs of each way to change a history, with an event in HEAD and in its branch once.
func TestLinesOfEachCommand(t *testing.T) {
	for name, c := range map[string]struct {
		first, do string
		want      []string
	}{
		"nothing":                 {"", "git status", nil},
		"commit":                  {"", "git commit -qm two --allow-empty", []string{"HEAD+main commit"}},
		"amend with its message":  {"", "git commit -q --amend --no-edit", []string{"HEAD+main commit (amend)"}},
		"amend with another":      {"", "git commit -q --amend -m other", []string{"HEAD+main commit (amend)"}},
		"amend from a file":       {"", "echo x >../m; git commit -q --amend -F ../m", []string{"HEAD+main commit (amend)"}},
		"amend in the editor":     {"", "git commit -q --amend", []string{"HEAD+main commit (amend)"}},
		"amend of the author":     {"", "git commit -q --amend --no-edit --author 'C <c@d>'", []string{"HEAD+main commit (amend)"}},
		"rebase":                  {side, "git rebase -q main side", []string{"HEAD rebase (start)", "HEAD rebase (pick)", "HEAD rebase (finish)", "side rebase (finish)"}},
		"fixup":                   {"git tag base; echo 1 >f; git add f; git commit -qm f; echo 2 >f; git commit -qa --fixup HEAD", "git rebase -q -i --autosquash base", []string{"HEAD rebase (start)", "HEAD rebase (fixup)", "HEAD rebase (finish)", "main rebase (finish)"}},
		"squash":                  {"git tag base; echo 1 >f; git add f; git commit -qm f; echo 2 >f; git commit -qa --squash HEAD -m x", "git rebase -q -i --autosquash base", []string{"HEAD rebase (start)", "HEAD rebase (squash)", "HEAD rebase (finish)", "main rebase (finish)"}},
		"cherry-pick":             {side, "git cherry-pick side", []string{"HEAD+main cherry-pick"}},
		"revert":                  {side, "git revert --no-edit HEAD", []string{"HEAD+main revert"}},
		"merge":                   {side, "git merge -q side", []string{"HEAD+main merge side"}},
		"merge that goes forward": {side, "git checkout -q -b old main~; git merge -q main", []string{"HEAD checkout", "old branch", "HEAD+old merge main"}},
		"merge --squash":          {side, "git merge -q --squash side; git commit -qm squashed", []string{"HEAD+main commit"}},
		"filter-branch":           {"", "git filter-branch -f --msg-filter 'cat; echo x' HEAD", []string{"HEAD+main filter-branch"}},
		"stash":                   {"echo 1 >a", "echo 2 >a; git stash -q; git stash pop -q", []string{"HEAD reset"}},
		"reset":                   {side, "git reset -q --hard HEAD~", []string{"HEAD+main reset"}},
		"commit, and reset":       {"", "git commit -qm gone --allow-empty; git reset -q --hard HEAD~", []string{"HEAD+main commit", "HEAD+main reset"}},
		"detached":                {"git checkout -q --detach", "git commit -qm two --allow-empty", []string{"HEAD commit"}},
		"linked worktree":         {"git worktree add -q ../other -b other", "cd ../other; git commit -qm two --allow-empty", []string{"other:HEAD+other commit"}},
		"worktree is added":       {"", "git worktree add -q ../other -b other; cd ../other; git commit -qm two --allow-empty", nil},
		"branch only":             {side, "git branch -f side main", []string{"side branch"}},
		"branch is renamed":       {side, "git branch -m side wide", []string{"wide Branch"}},
		"branches with folders":   {"", "git checkout -q -b x/y/z; git commit -qm two --allow-empty", []string{"HEAD checkout", "x/y/z branch", "HEAD+x/y/z commit"}},
		"to and back":             {side, "git reset -q --hard HEAD~; git reset -q --hard HEAD@{1}", []string{"HEAD+main reset", "HEAD+main reset"}},
	} {
		s := newScene(t)
		s.commit("a", "1\n", "one")
		s.script(c.first + "\n:")
		n, before, after := s.news(func() { s.script(c.do + "\n:") })
		got := verbs(n.Lines)
		if name == "worktree is added" { // git's lines of the making differ by its version
			if !slices.Contains(got, "other:HEAD+other commit") || len(n.Broken) > 0 {
				t.Errorf("%s: %q, broken %v", name, got, n.Broken)
			}
			continue
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !same(got, c.want) || len(n.Broken) > 0 {
			t.Errorf("%s: %q, wanted %q, broken %v", name, got, c.want, n.Broken)
		}
		if Same(before, after) != (name == "nothing") {
			t.Errorf("%s: the marks are the same: %v", name, Same(before, after))
		}
		if id := s.id("HEAD"); after.Worktrees[0].Commit != id {
			t.Errorf("%s: HEAD is marked at %s, and is at %s", name, after.Worktrees[0].Commit, id)
		}
	}
}

const side = "git checkout -q -b side; echo s >s; git add s; git commit -qm side; git checkout -q main; echo m >m; git add m; git commit -qm main"

// A line holds who, when, from where and to where; lines come in the order of time.
func TestLineWhole(t *testing.T) {
	both(t, lineWhole)
}

func lineWhole(s *scene) {
	t := s.t
	one := s.commit("a", "1\n", "one")
	var two string
	n, _, _ := s.news(func() {
		two = s.commit("a", "2\n", "two: with a colon")
		s.git("reset", "-q", "--hard", one)
		s.git("branch", "later")
	})
	if got := verbs(n.Lines); !same(got, []string{"HEAD+main commit", "HEAD+main reset", "later branch"}) {
		t.Fatalf("%q", got)
	}
	l := n.Lines[0]
	if l.Old != one || l.New != two || l.Committer != "A B <a@b>" || l.Message != "two: with a colon" || l.Time.Unix() < 1_700_000_000 {
		t.Errorf("%+v", l)
	}
	if n.Lines[1].Old != two || n.Lines[1].New != one || n.Lines[1].Time.Before(l.Time) {
		t.Errorf("%+v", n.Lines[1])
	}
}

// Logs that do not tell what happened are named.
func TestBrokenLogs(t *testing.T) {
	for name, c := range map[string]struct{ first, do, log string }{
		"expired":       {"", "git reflog expire --expire=all --all", "HEAD"},
		"gc":            {"git commit -qm two --allow-empty", "git gc -q --prune=now; git reflog expire --expire=now --all", "HEAD"},
		"removed":       {"", "rm .git/logs/HEAD; git commit -qm two --allow-empty", "HEAD"},
		"shorter":       {"", ": >.git/logs/HEAD", "HEAD"},
		"replaced":      {"", "git commit -qm two --allow-empty; cat .git/logs/HEAD >x; mv x .git/logs/HEAD", "HEAD"},
		"a link":        {"", "mv .git/logs/HEAD x; ln -s ../../x .git/logs/HEAD", "HEAD"},
		"a folder":      {"", "rm .git/logs/HEAD; mkdir .git/logs/HEAD", "HEAD"},
		"not readable":  {"", "echo nonsense >>.git/logs/HEAD", "HEAD"},
		"branch gone":   {side, "git branch -D side", "refs/heads/side"},
		"worktree gone": {"git worktree add -q ../other", "git worktree remove ../other", "HEAD"},
		"nothing is logged": {"git config core.logAllRefUpdates false; rm -r .git/logs",
			"git commit -qm two --allow-empty", "HEAD"},
		"one branch is not logged": {side + "; git config core.logAllRefUpdates false; rm .git/logs/refs/heads/side",
			"git branch -f side main; git commit -qm two --allow-empty", "refs"},
		"only a tag": {"", "git tag x", "refs"},
	} {
		s := newScene(t)
		s.commit("a", "1\n", "one")
		s.script(c.first + "\n:")
		n, before, after := s.news(func() { s.script(c.do + "\n:") })
		if !slices.ContainsFunc(n.Broken, func(b Broken) bool { return b.Log == c.log && b.Why != "" }) {
			t.Errorf("%s: %+v", name, n)
		}
		if Same(before, after) {
			t.Errorf("%s: the marks are the same", name)
		}
	}
}

// What is packed or collected without a change of logs and tips is the same; a branch without a
// commit has marks too.
func TestSame(t *testing.T) {
	s := newScene(t)
	unborn := s.mark()
	if !Same(unborn, s.mark()) || unborn.Worktrees[0].Head != "ref: refs/heads/main" || unborn.Worktrees[0].Commit != "" {
		t.Errorf("%+v", unborn)
	}
	n, _, _ := s.news(func() { s.commit("a", "1\n", "one") })
	if got := verbs(n.Lines); !same(got, []string{"HEAD+main commit (initial)"}) || len(n.Broken) > 0 {
		t.Errorf("%q %v", got, n.Broken)
	}
	s.git("tag", "-a", "-m", "x", "annotated")
	before := s.mark()
	s.git("pack-refs", "--all")
	if after := s.mark(); !Same(before, after) || after.Worktrees[0].Commit != s.id("HEAD") {
		t.Errorf("packed: %+v, %+v", before, after)
	}
	if !slices.Contains(s.tips(), s.id("HEAD")) || len(s.tips()) != 3 {
		t.Errorf("tips: %v", s.tips())
	}
	old := s.id("HEAD")
	s.commit("a", "2\n", "two")
	if tips := s.tips(); len(tips) != 3 || tips[0] == old || s.mark().Worktrees[0].Commit != s.id("HEAD") {
		t.Errorf("what is packed hides what is loose: %v", s.tips())
	}
	text, err := json.Marshal(before)
	s.must(err)
	var again Marks
	s.must(json.Unmarshal(text, &again))
	if !Same(before, again) {
		t.Errorf("%s", text)
	}
}

// Half a line counts when it is whole.
func TestLineThatIsBeingWritten(t *testing.T) {
	s := newScene(t)
	s.commit("a", "1\n", "one")
	file := filepath.Join(s.dir, ".git", "logs", "HEAD")
	text, err := os.ReadFile(file)
	s.must(err)
	add := func(text string) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		s.must(err)
		_, err = f.WriteString(text)
		s.must(err)
		s.must(f.Close())
	}
	n, _, half := s.news(func() { add(string(text[:50])) })
	if len(n.Lines) > 0 {
		t.Errorf("%+v", n)
	}
	add(string(text[50:]))
	n, err = Lines(s.find(s.dir), half, s.mark())
	if err != nil || !same(verbs(n.Lines), []string{"HEAD commit (initial)"}) || len(n.Broken) > 0 {
		t.Errorf("%+v, %v", n, err)
	}
}

// Of a log that grew beyond measure the newest lines are read, and that there are more is said.
func TestLogThatGrewBeyondMeasure(t *testing.T) {
	s := newScene(t)
	s.commit("a", "1\n", "one")
	n, _, _ := s.news(func() {
		file := filepath.Join(s.dir, ".git", "logs", "HEAD")
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		s.must(err)
		line := fmt.Sprintf("%040d %040d A <a@b> 1700000000 +0000\tmany: x\n", 0, 1)
		_, err = f.WriteString(strings.Repeat(line, 2*maxNewLog/len(line)))
		s.must(err)
		s.must(f.Close())
		s.commit("a", "2\n", "two")
	})
	if len(n.Broken) != 1 || len(n.Lines) == 0 || len(n.Lines) > maxNewLog/100 || n.Lines[len(n.Lines)-1].Verb != "commit" {
		t.Errorf("%d lines, broken %v", len(n.Lines), n.Broken)
	}
}

// Of many branches and worktrees few are listed, and the marks stay small. That one of the others
// moved is known.
func TestManyBranches(t *testing.T) {
	s := newScene(t)
	id := s.commit("a", "1\n", "one")
	s.many(id, 300)
	for i := range maxMarkedWorktrees + 2 {
		git := filepath.Join(s.dir, ".git", "worktrees", fmt.Sprintf("w%d", i))
		s.must(os.MkdirAll(git, 0o700))
		s.must(os.WriteFile(filepath.Join(git, "HEAD"), []byte(id+"\n"), 0o600))
	}
	m := s.mark()
	text, err := json.Marshal(m)
	s.must(err)
	if len(text) > 5000 || len(m.Logs) != maxMarkedLogs || len(m.Worktrees) != maxMarkedWorktrees || m.Cut != "" {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	if !slices.ContainsFunc(m.Logs, func(l LogMark) bool { return l.Name == "refs/heads/main" }) {
		t.Error("the branch that is checked out is not listed")
	}
	n, _, _ := s.news(func() { s.commit("a", "2\n", "two") })
	if !same(verbs(n.Lines), []string{"HEAD+main commit"}) || len(n.Broken) > 0 {
		t.Errorf("%q %v", verbs(n.Lines), n.Broken)
	}
	hidden := ""
	for i := range 300 {
		name := fmt.Sprintf("refs/heads/b/%03d", i)
		if !slices.ContainsFunc(m.Logs, func(l LogMark) bool { return l.Name == name }) {
			hidden = strings.TrimPrefix(name, "refs/heads/")
		}
	}
	n, before, after := s.news(func() { s.git("branch", "-f", hidden, "main") })
	if len(n.Broken) != 1 || n.Broken[0].Log != "refs" || Same(before, after) {
		t.Errorf("%+v", n)
	}
	n, before, after = s.news(func() {
		s.must(os.WriteFile(filepath.Join(s.dir, ".git", "worktrees", "w9", "HEAD"), []byte(s.id("HEAD")+"\n"), 0o600))
	})
	if len(n.Broken) != 1 || Same(before, after) {
		t.Errorf("%+v", n)
	}
}

// A worktree that was not listed before, and is now, has no new lines: where its log ended is not
// known.
func TestWorktreeThatBecomesListed(t *testing.T) {
	s := newScene(t)
	id := s.commit("a", "1\n", "one")
	trees := filepath.Join(s.dir, ".git", "worktrees")
	for i := range maxMarkedWorktrees + 1 {
		git := fmt.Sprintf(".git/worktrees/w%02d/", i)
		s.write(git+"HEAD", id+"\n")
		s.write(git+"logs/HEAD", fmt.Sprintf("%040d %s A <a@b> 1700000000 +0000\tcommit: old\n", 0, id))
	}
	n, _, _ := s.news(func() { s.must(os.RemoveAll(filepath.Join(trees, "w00"))) })
	if len(n.Lines) > 0 || len(n.Broken) == 0 {
		t.Errorf("%+v", n)
	}
}

// many makes branches with a log each, faster than git would.
func (s *scene) many(id string, count int) {
	s.t.Helper()
	for i := range count {
		name := filepath.Join("refs", "heads", "b", fmt.Sprintf("%03d", i))
		s.write(filepath.Join(".git", name), id+"\n")
		s.write(filepath.Join(".git", "logs", name), fmt.Sprintf("%040d %s A <a@b> 1700000000 +0000\tbranch: Created from main\n", 0, id))
	}
}

// BenchmarkWalk walks and reads 1,000 commits, with a git that runs already.
func BenchmarkWalk(b *testing.B) {
	s := newScene(b)
	var in strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&in, "commit refs/heads/long\ncommitter A <a@b> %d +0000\ndata 1\nx\n", 1_600_000_000+60*i)
	}
	s.write("../in", in.String())
	s.script("git fast-import --quiet <../in")
	rd, tip := s.open(), s.id("long")
	for b.Loop() {
		if w, err := rd.Walk(b.Context(), []string{tip}, nil, 0); err != nil || len(w.Commits) != 1000 {
			b.Fatal(len(w.Commits), err)
		}
	}
}

// BenchmarkMark takes the marks of a repository of 100 branches.
func BenchmarkMark(b *testing.B) {
	s := newScene(b)
	s.many(s.commit("a", "1\n", "one"), 100)
	r := s.find(s.dir)
	least := time.Hour // the machine may be busy
	for b.Loop() {
		begun := time.Now()
		if m, err := Mark(r); err != nil || m.Cut != "" {
			b.Fatal(m.Cut, err)
		}
		least = min(least, time.Since(begun))
	}
	b.ReportMetric(float64(least.Nanoseconds()), "least-ns")
}
