package history

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Refs in reftables are marked by their tables; git says where they lead, and their logs are not
// read. A git that does not know reftables is why they cannot be listed.
func TestReftables(t *testing.T) {
	s := newScene(t)
	if err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "main", "--ref-format=reftable", s.base+"/tables").Run(); err != nil {
		s.commit("a", "1\n", "one")
		s.write(".git/reftable/tables.list", "one.ref\n")
		s.write(".git/config", "[core]\nrepositoryformatversion = 1\n[extensions]\nrefStorage = reftable\n")
		before := s.mark()
		if !Same(before, s.mark()) || before.Cut != "" {
			t.Errorf("%+v", before)
		}
		s.write(".git/reftable/tables.list", "one.ref\ntwo.ref\n")
		if Same(before, s.mark()) {
			t.Error("the marks are the same")
		}
		if _, err := Tips(t.Context(), s.find(s.dir)); err == nil || !strings.Contains(err.Error(), "for-each-ref") || !strings.Contains(strings.ToLower(err.Error()), "refstorage") {
			t.Errorf("the tips: %v", err)
		}
		return
	}
	s.dir = s.base + "/tables"
	s.git("config", "user.email", "a@b")
	s.git("config", "user.name", "A B")
	s.commit("a", "1\n", "one")
	s.git("worktree", "add", "-q", "--detach", "../other")
	n, before, after := s.news(func() { s.script("cd ../other; git commit -qm two --allow-empty") })
	if Same(before, after) || !Same(after, s.mark()) || len(n.Lines) > 0 || len(n.Broken) != 1 {
		t.Errorf("%+v", n)
	}
	two := s.script("cd ../other; git rev-parse HEAD")
	if tips := s.tips(); len(tips) != 3 || !slices.Contains(tips, two) || !slices.Contains(tips, s.id("HEAD")) {
		t.Errorf("%q", tips)
	}
	if ok, err := s.open().Reachable(t.Context(), two, s.tips()); err != nil || !ok {
		t.Errorf("%v, %v", ok, err)
	}
}
