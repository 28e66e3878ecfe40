package relate

import (
	"os"
	"strings"
	"testing"

	"agent/recovery/workspace/origin"
)

// rewrite is one thing that people do to commits. Of each commit that is new on a branch then,
// oldest first, want lists the checkpoints that it belongs to, and how it came to.
type rewrite struct {
	name string
	do   func(l *lab)
	want []string       // ids, or "" for none
	how  string         // relations, in the same order
	miss map[string]int // by trailer: how many of those are not found
}

// two has two commits of two runs on a branch, and one of a person's between them.
func two(l *lab) {
	l.git("checkout", "-qb", "side")
	l.call(0, "a", with(numbered("a", 20), 3, "one wrote this", "}")...)
	l.agent(0, "k-one", "first")
	l.write("p", with(numbered("p", 20), 5, "a person wrote this")...)
	l.git("commit", "-qam", "between")
	l.call(1, "b", with(numbered("b", 20), 7, "two wrote this", "}")...)
	l.agent(1, "k-two", "second")
}

// one has one commit of a run at the tip of main.
func one(l *lab) {
	l.call(0, "a", with(numbered("a", 20), 3, "one wrote this", "}")...)
	l.agent(0, "k-one", "first")
}

// moveMain has main go on, in the files of both runs.
func moveMain(l *lab) {
	l.git("checkout", "-q", "main")
	l.write("a", with(numbered("a", 20), 18, "main went on")...)
	l.write("b", with(numbered("b", 20), 18, "main went on, too")...)
	l.git("commit", "-qam", "main went on")
	l.read()
}

func onto(l *lab, words ...string) {
	moveMain(l)
	l.git("checkout", "-q", "side")
	l.git(append([]string{"rebase", "-q"}, words...)...)
}

func todo(l *lab, script string, words ...string) {
	l.gitEnv([]string{"GIT_SEQUENCE_EDITOR=sed -i '" + script + "'"}, append([]string{"rebase", "-q", "-i"}, words...)...)
}

func rewrites() []rewrite { return append(plain(), hard()...) }

// hard is what changes the content too, or says nothing.
func hard() []rewrite {
	return []rewrite{
		{name: "rebase with a conflict", how: "rebased none rebased", want: []string{"k-one", "", "k-two"}, do: func(l *lab) {
			two(l)
			l.git("checkout", "-q", "main")
			l.write("a", with(numbered("a", 20), 3, "main wrote this")...)
			l.git("commit", "-qam", "main went on")
			l.read()
			l.git("checkout", "-q", "side")
			if out, err := l.run("", nil, "rebase", "-q", "main"); err == nil {
				l.t.Fatalf("no conflict: %s", out)
			}
			l.write("a", with(numbered("a", 20), 3, "main wrote this", "one wrote this", "}")...)
			l.git("add", "a")
			l.git("rebase", "--continue")
		}},
		{name: "amend after a formatter", how: "amended", want: []string{"k-one"}, do: func(l *lab) {
			one(l)
			l.write("a", with(numbered("a", 20), 3, "\tone wrote this", "\t}")...)
			l.git("commit", "-qa", "--amend", "-m", l.message("formatted", "k-one"))
		}},
		{name: "one commit split into two", how: "rewritten rewritten", want: []string{"k-one", "k-one"}, do: func(l *lab) {
			l.call(0, "b", with(numbered("b", 20), 3, "one wrote that")...)
			one(l)
			l.git("reset", "-q", "HEAD~1")
			l.git("commit", "-qm", l.message("half", "k-one"), "a")
			l.git("commit", "-qm", l.message("the other half", "k-one"), "b")
		}},
		{name: "a host's squash after a formatter", how: "squashed", want: []string{"k-one k-two"}, miss: map[string]int{"kept": 1, "lost": 2, "forged": 2}, do: func(l *lab) {
			two(l)
			moveMain(l)
			host(l, func(h *lab) {
				h.git("merge", "-q", "--squash", "origin/side")
				h.write("a", with(with(numbered("a", 20), 18, "main went on"), 3, "\tone wrote this", "\t}")...)
				h.git("-c", "user.name=host", "commit", "-qam", l.message("A change (#7)", "k-two"))
				h.git("push", "-q")
			})
			l.git("pull", "-q", "--ff-only", "../host.git", "main")
		}},
		{name: "typed again elsewhere with other words", how: "rewritten", want: []string{"k-one"}, miss: map[string]int{"lost": 1, "forged": 1}, do: func(l *lab) {
			one(l)
			l.git("checkout", "-q", "--detach", "HEAD~1")
			l.write("a", with(numbered("a", 20), 3, "one wrote this", "}", "and more")...)
			l.git("commit", "-qam", l.message("other words", "k-one"))
			l.git("branch", "typed")
			l.lines = 1 << 20 // as if it had come by a pull
		}},
	}
}

func plain() []rewrite {
	return []rewrite{
		{name: "amend --no-edit", how: "amended", want: []string{"k-one"}, do: func(l *lab) {
			one(l)
			l.write("p", "other")
			l.git("commit", "-qa", "--amend", "--no-edit")
		}},
		{name: "amend -m", how: "amended", want: []string{"k-one"}, do: func(l *lab) {
			one(l)
			l.git("commit", "-q", "--amend", "-m", l.message("other words", "k-one"))
		}},
		{name: "amend with an edit of the same lines' file", how: "amended", want: []string{"k-one"}, do: func(l *lab) {
			one(l)
			l.write("a", with(numbered("a", 20), 3, "one wrote this", "}", "and the person this")...)
			l.git("commit", "-qa", "--amend", "-m", l.message("other words", "k-one"))
		}},
		{name: "amend after a partial commit", how: "amended", want: []string{"k-one"}, do: func(l *lab) {
			l.call(0, "a", with(with(numbered("a", 20), 15, "one wrote that"), 3, "one wrote this")...)
			l.write("a", with(numbered("a", 20), 3, "one wrote this")...)
			l.git("add", "a")
			l.write("a", with(with(numbered("a", 20), 15, "one wrote that"), 3, "one wrote this")...)
			l.git("commit", "-qm", l.message("first", "k-one"))
			l.link(0, "k-one")
			l.git("commit", "-qa", "--amend", "--no-edit")
		}},
		{name: "amend that leaves nothing of it", how: "none", want: []string{""}, do: func(l *lab) {
			one(l)
			l.write("a", numbered("a", 20)...)
			l.write("p", "other")
			l.git("commit", "-qa", "--amend", "--no-edit")
		}},
		{name: "rebase", how: "rebased none rebased", want: []string{"k-one", "", "k-two"}, do: func(l *lab) {
			two(l)
			onto(l, "main")
		}},
		{name: "rebase -i squash", how: "squashed", want: []string{"k-one k-two"}, do: func(l *lab) {
			two(l)
			todo(l, "2,$s/^pick/squash/", "main")
		}},
		{name: "rebase -i squash onto main", how: "squashed", want: []string{"k-one k-two"}, do: func(l *lab) {
			two(l)
			moveMain(l)
			l.git("checkout", "-q", "side")
			todo(l, "2,$s/^pick/squash/", "main")
		}},
		{name: "autosquash of a fixup", how: "rebased none rebased", want: []string{"k-one", "", "k-two"}, do: func(l *lab) {
			two(l)
			first := l.known.Linked[len(l.known.Linked)-2].ID
			l.write("a", with(numbered("a", 20), 3, "one wrote this", "}", "fixed by a person")...)
			l.git("commit", "-qa", "--fixup", first)
			l.read()
			todo(l, "", "--autosquash", "main")
		}},
		{name: "reword", how: "rebased none rebased", want: []string{"k-one", "", "k-two"}, do: func(l *lab) {
			two(l)
			l.gitEnv([]string{"GIT_SEQUENCE_EDITOR=sed -i 1s/^pick/reword/", "GIT_EDITOR=sed -i 1s/.*/reworded/"}, "rebase", "-q", "-i", "main")
		}},
		{name: "cherry-pick", how: "picked", want: []string{"k-two"}, do: func(l *lab) {
			two(l)
			moveMain(l)
			l.git("cherry-pick", "side")
		}},
		{name: "cherry-pick -x", how: "picked", want: []string{"k-one"}, do: func(l *lab) {
			two(l)
			moveMain(l)
			l.git("cherry-pick", "-x", "side~2")
		}},
		{name: "merge --squash", how: "squashed", want: []string{"k-one k-two"}, do: func(l *lab) {
			two(l)
			l.git("checkout", "-q", "main")
			l.git("merge", "-q", "--squash", "side")
			l.git("commit", "-q", "--no-edit")
		}},
		{name: "merge --squash with a title, main went on", how: "squashed", want: []string{"k-one k-two"}, do: func(l *lab) {
			two(l)
			moveMain(l)
			l.git("merge", "-q", "--squash", "side")
			l.git("commit", "-qm", l.message("side", "k-two"))
		}},
		{name: "a host's squash with its title", how: "squashed", want: []string{"k-one k-two"}, do: func(l *lab) {
			two(l)
			moveMain(l)
			host(l, func(h *lab) {
				h.git("merge", "-q", "--squash", "origin/side")
				h.git("-c", "user.name=host", "commit", "-qm", l.message("A change (#7)", "k-two"))
				h.git("push", "-q")
			})
			l.git("pull", "-q", "--ff-only", "../host.git", "main")
		}},
		{name: "filter-branch with another author", how: "rewritten none rewritten", want: []string{"k-one", "", "k-two"}, do: func(l *lab) {
			two(l)
			l.git("filter-branch", "-f", "--env-filter", "GIT_AUTHOR_NAME=new", "main..side")
			l.git("update-ref", "-d", "refs/original/refs/heads/side")
		}},
		{name: "force push and pull", how: "rebased none rebased", want: []string{"k-one", "", "k-two"}, do: func(l *lab) {
			two(l)
			moveMain(l)
			l.git("checkout", "-q", "side")
			host(l, func(h *lab) {
				h.git("checkout", "-q", "side")
				h.git("rebase", "-q", "origin/main")
				h.git("push", "-qf")
			})
			l.git("fetch", "-q", "../host.git", "side")
			l.git("reset", "-q", "--hard", "FETCH_HEAD")
		}},
		{name: "reset and commit anew", how: "rewritten", want: []string{"k-one"}, do: func(l *lab) {
			one(l)
			l.git("reset", "-q", "--soft", "HEAD~1")
			l.git("commit", "-qm", l.message("anew", "k-one"))
		}},
		{name: "reset and one commit of two", how: "squashed", want: []string{"k-one k-two"}, do: func(l *lab) {
			two(l)
			l.git("reset", "-q", "--soft", "main")
			l.git("commit", "-qm", l.message("anew", "k-two"))
		}},
		{name: "reset, and other work in the same file", how: "none", want: []string{""}, do: func(l *lab) {
			one(l)
			l.git("reset", "-q", "--hard", "HEAD~1")
			l.look(origin.Nobody, "a", false)
			l.write("a", with(numbered("a", 20), 3, "a person wrote this", "}")...)
			l.git("commit", "-qam", l.message("mine", "k-one"))
		}},
		{name: "revert", how: "none", want: []string{""}, do: func(l *lab) {
			one(l)
			l.git("revert", "--no-edit", "HEAD")
		}},
		{name: "revert of a revert", how: "none picked", want: []string{"", "k-one"}, do: func(l *lab) {
			one(l)
			l.git("revert", "--no-edit", "HEAD")
			l.git("revert", "--no-edit", "HEAD")
		}},
		{name: "reverted and written anew by hand", how: "none none", want: []string{"", ""}, do: func(l *lab) {
			one(l)
			l.git("revert", "--no-edit", "HEAD")
			l.look(origin.Nobody, "a", false)
			l.write("a", with(numbered("a", 20), 3, "one wrote this", "}")...)
			l.look(origin.Nobody, "a", false)
			l.git("commit", "-qam", l.message("mine", "k-one"))
		}},
		{name: "stash, pop and commit", how: "made", want: []string{"k-new"}, do: func(l *lab) {
			l.call(0, "a", with(numbered("a", 20), 3, "one wrote this")...)
			l.git("stash", "-q")
			l.look(origin.Nobody, "a", false)
			l.git("stash", "pop", "-q")
			l.look(origin.Nobody, "a", true)
			l.git("commit", "-qam", "mine")
		}},
		{name: "a part of it, and the rest later", how: "made made", want: []string{"k-new", "k-new"}, do: func(l *lab) {
			whole := with(with(numbered("a", 20), 15, "one wrote that"), 3, "one wrote this")
			l.call(0, "a", whole...)
			l.write("a", with(numbered("a", 20), 3, "one wrote this")...)
			l.git("commit", "-qam", "mine")
			l.write("a", whole...)
			l.git("commit", "-qam", "the rest")
		}},
		{name: "only the person's part of a file", how: "none", want: []string{""}, do: func(l *lab) {
			mine := with(numbered("a", 20), 15, "a person wrote this", "}")
			l.write("a", mine...)
			l.call(0, "a", with(mine, 3, "one wrote this", "}")...)
			l.write("a", mine...)
			l.git("commit", "-qam", l.message("mine", "k-decoy"))
		}},
		{name: "merge", how: "none", want: []string{""}, do: func(l *lab) {
			two(l)
			moveMain(l)
			l.git("merge", "-q", "-m", l.message("merge", "k-two"), "side")
		}},
		{name: "somebody else's commit", how: "none", want: []string{""}, do: func(l *lab) {
			one(l)
			l.write("c", "other")
			l.write("a", with(with(numbered("a", 20), 3, "one wrote this", "}"), 9, "}")...)
			l.look(origin.Nobody, "a", false)
			l.git("commit", "-qam", l.message("mine", "k-one"))
		}},
	}
}

// host does something in another clone, over a bare repository between the two.
func host(l *lab, do func(h *lab)) {
	l.git("clone", "-q", "--bare", ".", "../host.git")
	l.git("clone", "-q", "../host.git", "../other")
	h := &lab{t: l.t, base: l.base, dir: l.base + "/other", clock: l.clock + 5}
	h.git("config", "user.email", "h@b")
	h.git("config", "user.name", "h")
	h.git("checkout", "-q", "main")
	do(h)
}

// recall is how many of the links of the corpus are found, per trailer. None is found that is none.
func recall() map[string]string {
	return map[string]string{
		"kept":   "40 right, 0 false, 1 missed: precision 1.000, recall 0.976",
		"lost":   "38 right, 0 false, 3 missed: precision 1.000, recall 0.927",
		"forged": "38 right, 0 false, 3 missed: precision 1.000, recall 0.927",
	}
}

// TestCorpus has real git rewrite commits with the trailer kept, lost and forged. In part it tries
// each rewrite with one of the three.
// C4.
func TestCorpus(t *testing.T) {
	var whole score
	all := os.Getenv("AGENT_TESTS") == "whole"
	for n, trailer := range []string{"kept", "lost", "forged"} {
		var sum score
		for i, r := range rewrites() {
			if !all && i%3 != n {
				continue
			}
			t.Run(r.name+", trailer "+trailer, func(t *testing.T) {
				l := newLab(t, trailer)
				l.call(2, "c", with(numbered("c", 20), 3, "decoy wrote this")...)
				l.git("commit", "-qam", "decoy\n\nAgent-Checkpoint: k-decoy")
				l.link(2, "k-decoy")
				r.do(l)
				var got, how []string
				for _, c := range l.read() {
					v := l.judge(c)
					ids := append(v.Also, v.Checkpoint)
					got, how = append(got, strings.TrimSpace(strings.Join(ids, " "))), append(how, string(v.Relation))
					if trailer == "forged" && len(c.Trailers) > 0 && (len(v.Claims) == 0 || v.Trailer != TrailerForeign) {
						t.Errorf("%s: a forged trailer claims %v and is %s", c.Subject, v.Claims, v.Trailer)
					}
				}
				s := compare(got, r.want)
				sum.add(s)
				if s.wrong > 0 || s.missed != r.miss[trailer] || len(got) != len(r.want) {
					t.Errorf("linked to %q (%s), want %q", got, how, r.want)
				}
				if s.missed == 0 && strings.Join(how, " ") != r.how {
					t.Errorf("%s, want %s", how, r.how)
				}
			})
		}
		t.Logf("trailer %s: %v", trailer, sum)
		if want := recall()[trailer]; all && sum.String() != want {
			t.Errorf("trailer %s: %v, want %s", trailer, sum, want)
		}
		whole.add(sum)
	}
	t.Logf("in all: %v", whole)
	if whole.wrong > 0 {
		t.Errorf("%d false links", whole.wrong)
	}
}
