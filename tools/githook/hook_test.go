package githook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/gitrepo/hooklines"
)

// What becomes of the trailer of HEAD, after a script that began at a commit of yesterday with one.
const (
	none  = "none"  // there is none
	fresh = "fresh" // one that no other commit has
	kept  = "kept"  // that of the commit at the beginning
)

// C6: an amend keeps its trailer in every form, a new commit has one of its own, and what git
// replays or puts together has none of its own; nor has one whose trailer was deleted. GIT-04,
// EN-19, EN-32, EN-35, EN-37.
func TestTrailerOfACommit(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"commit":                      {"echo 1 >> f; git commit -qam one", fresh},
		"commit of nothing":           {"git commit -q --allow-empty -m one", fresh},
		"no verify":                   {"git commit -q --no-verify --allow-empty -m one", fresh},
		"of a file":                   {"printf 'one\n\nbody\n' > m; git commit -q --allow-empty -F m", fresh},
		"of a file without an end":    {"printf 'fix: one' > m; git commit -q --allow-empty -F m", fresh},
		"with trailers":               {"git commit -q --allow-empty -m one -m 'Signed-off-by: a <a@b>'", fresh},
		"signed off":                  {"git commit -q -s --allow-empty -m one", fresh},
		"with a line of dashes":       {"printf 'one\n\nbody\n---\nmore\n' | git commit -q --allow-empty -F -", fresh},
		"in an editor":                {"GIT_EDITOR='sed -i 1s/^/one/' git commit -q --allow-empty", fresh},
		"verbose, in an editor":       {"echo 1 >> f; GIT_EDITOR='sed -i 1s/^/one/' git commit -qva", fresh},
		"a template":                  {"printf 'T: \n# write\n' > t; GIT_EDITOR='sed -i 1s/$/one/' git commit -q --allow-empty -t t", fresh},
		"another comment":             {"git config core.commentChar ';'; GIT_EDITOR='sed -i 1s/^/#one/' git commit -q --allow-empty", fresh},
		"verbatim":                    {"git config commit.cleanup verbatim; git commit -q --allow-empty -m '# one'", fresh},
		"scissors":                    {"git config commit.cleanup scissors; echo 1 >> f; GIT_EDITOR='sed -i 1s/^/one/' git commit -qva", fresh},
		"trailers of others":          {"git config trailer.sign.command 'echo x'; git config trailer.where start; git commit -q --allow-empty -m one", fresh},
		"one file":                    {"echo 1 >> f; echo 2 > g; git add g; git commit -qm one f", fresh},
		"a fixup":                     {"git commit -q --allow-empty --fixup HEAD", fresh},
		"deleted in the editor":       {"GIT_EDITOR='sed -i -e 1s/^/one/ -e /^Agent/d' git commit -q --allow-empty", none},
		"deleted, then amended":       {"GIT_EDITOR='sed -i -e 1s/^/one/ -e /^Agent/d' git commit -q --allow-empty; OLD; git commit -q --amend --allow-empty -m two", none},
		"amend":                       {"git commit -q --amend --no-edit", kept},
		"amend -m":                    {"git commit -q --amend -m two", kept},
		"amend -F":                    {"printf 'two\n\nbody\n' > m; git commit -q --amend -F m", kept},
		"amend in an editor":          {"GIT_EDITOR='sed -i 1s/.*/two/' git commit -q --amend", kept},
		"amend with more":             {"echo 1 >> f; git commit -qa --amend -m two", kept},
		"amend, verified by none":     {"git commit -q --amend --no-verify -m two", kept},
		"amend a second after":        {"git commit -q --allow-empty -m one; git commit -q --amend --allow-empty -m two", fresh},
		"revert":                      {"echo 1 >> f; git commit -qam one; git revert --no-edit HEAD", none},
		"revert with a conflict":      {"for i in 1 2; do echo $i > f; git commit -qam $i; done; git revert --no-edit HEAD~1 || { echo 3 > f; git commit -qa --no-edit; }", none},
		"cherry-pick":                 {"git checkout -q -b s; echo n > n; git add n; git -c core.hooksPath=/none -c hook.agent-prepare.enabled=false commit -qm n; git checkout -q main; echo 1 >> f; git commit -qam o; git cherry-pick s", none},
		"cherry-pick of one with it":  {"git checkout -q -b s HEAD~1; git cherry-pick main", kept},
		"cherry-pick with a conflict": {"git checkout -q -b s HEAD~1; echo 2 > f; git commit -qam o; git cherry-pick main || { echo 3 > f; git add f; git -c core.editor=true cherry-pick --continue; }", kept},
		"rebase":                      {"git checkout -q -b s HEAD~1; echo n > n; git add n; git -c core.hooksPath=/none -c hook.agent-prepare.enabled=false commit -qm n; git rebase -q main", none},
		"rebase of one with it":       {"git checkout -q -b s HEAD~1; git commit -q --allow-empty -m n; git rebase -q s main", kept},
		"reword":                      {"GIT_SEQUENCE_EDITOR='sed -i 1s/pick/reword/' GIT_EDITOR='sed -i 1s/.*/two/' git rebase -q -i HEAD~1", kept},
		"am":                          {"git format-patch -q -1 --stdout > p; git reset -q --hard HEAD~1; git am -q p", kept},
		"merge":                       {"git checkout -q -b s HEAD~1; git commit -q --allow-empty -m n; git checkout -q main; git merge -q --no-edit s", none},
		"merge with a message":        {"git checkout -q -b s HEAD~1; git commit -q --allow-empty -m n; git checkout -q main; git merge -q -m joined s", none},
		"merge with a conflict":       {"git checkout -q -b s HEAD~1; echo 2 > f; git commit -qam n; git checkout -q main; git merge -q s || { echo 3 > f; git commit -qa --no-edit; }", none},
		"squash":                      {"git checkout -q -b s HEAD~1; echo 2 > g; git add g; git commit -qm n; git checkout -q main; git merge -q --squash s; git commit -q --no-edit", none},
		"squash with a message":       {"git checkout -q -b s HEAD~1; echo 2 > g; git add g; git commit -qm n; git checkout -q main; git merge -q --squash s; git commit -qm joined", none},
		"reset and anew, same words":  {"git reset -q --soft HEAD~1; git commit -q -C ORIG_HEAD", kept},
		"one of yesterday":            {"git commit -q --allow-empty --date '2001-01-01 12:00' -m one", none},
		"slow before it":              {"printf '#!/bin/sh\nsleep 7\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git commit -q --allow-empty -m one", fresh},
		"in a linked worktree":        {"git worktree add -q -b s ../wt; cd ../wt; git commit -q --allow-empty -m one; git checkout -q --detach; cd - > /dev/null; git checkout -q s", fresh},
		"merge in a linked worktree":  {"git worktree add -q -b s ../wu HEAD~1; cd ../wu; git commit -q --allow-empty -m n; git merge -q -m joined main; git checkout -q --detach; cd - > /dev/null; git checkout -q s", none},
		"GIT_DIR":                     {"cd /; GIT_DIR=$REPO/.git GIT_WORK_TREE=$REPO git commit -q --allow-empty -m one", fresh},
		"GIT_DIR, in a merge":         {"git checkout -q -b s HEAD~1; git commit -q --allow-empty -m n; git merge -q --no-commit main; cd /; GIT_DIR=$REPO/.git GIT_WORK_TREE=$REPO git commit -qm one", none},
		"from a folder below":         {"mkdir d; cd d; git commit -q --allow-empty -m one", fresh},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(c.script, "sleep") && os.Getenv("AGENT_TESTS") != "whole" {
				t.Skip("a hook that takes its time takes ours")
			}
			r := newRepo(t)
			r.sh("echo start >> f; git commit -qam 'the beginning'")
			r.old()
			before := r.id("HEAD")
			if !hooklines.IsID(before) {
				t.Fatalf("the first commit has %q", before)
			}
			r.env = append(r.env, "REPO="+r.dir)
			first, second, split := strings.Cut(c.script, "OLD;")
			r.sh(first)
			if split {
				r.old()
				r.sh(second)
			}
			is := r.id("HEAD")
			switch {
			case c.want == none && is != "", c.want == kept && is != before, c.want == fresh && (!hooklines.IsID(is) || is == before):
				t.Errorf("want %s, HEAD has %q, at the beginning was %q:\n%s", c.want, is, before, r.git("log", "-1"))
			}
			if out := r.git("log", "-1", "--format=%B"); strings.Contains(out, "sign:") || strings.Count(out, "Agent-Checkpoint") > 1 && c.want != none {
				t.Errorf("the message is %q", out)
			}
			if _, err := os.Lstat(filepath.Join(r.dir, ".git/index.lock")); err == nil {
				t.Error("a lock is left")
			}
		})
	}
}

// Two commits within a second have an id each.
// GIT-01.
func TestTwoCommitsWithinASecond(t *testing.T) {
	r := newRepo(t)
	r.sh("for i in 1 2 3 4 5 6; do git commit -q --allow-empty -m same; done")
	ids := map[string]bool{}
	for _, rev := range []string{"HEAD", "HEAD~1", "HEAD~2", "HEAD~3", "HEAD~4", "HEAD~5"} {
		ids[r.id(rev)] = true
	}
	if len(ids) != 6 || ids[""] {
		t.Errorf("%v", ids)
	}
}

// A message that would be none without the trailer is none: git refuses it as it always did.
// C6, GIT-09, EN-36.
func TestNothingButTheTrailer(t *testing.T) {
	for name, script := range map[string]string{
		"left empty":              "GIT_EDITOR=true git commit -q --allow-empty",
		"emptied":                 "GIT_EDITOR='sed -i 1d' git commit -q --allow-empty",
		"empty, no verify":        "GIT_EDITOR=true git commit -q --allow-empty --no-verify",
		"empty, -n with others":   "GIT_EDITOR=true git commit -qan --allow-empty",
		"verbose":                 "echo 1 >> f; GIT_EDITOR=true git commit -qva",
		"no message":              "git commit -q --allow-empty -m ''",
		"an empty file":           "git commit -q --allow-empty -F /dev/null",
		"a template, untouched":   "printf 'T: \n\n# write\n' > ../t; git config commit.template ../t; GIT_EDITOR=true git commit -q --allow-empty",
		"another comment":         "git config core.commentChar %; GIT_EDITOR=true git commit -q --allow-empty",
		"another comment, by -c":  "GIT_EDITOR=true git -c core.commentChar=% commit -q --allow-empty",
		"the trailer in a file":   "printf 'Agent-Checkpoint: k-6b0d81kq7xw2\n' | git commit -q --allow-empty -F -",
		"only comments in a file": "GIT_EDITOR='echo \"# x\" >' git commit -q --allow-empty",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			before := r.git("rev-parse", "HEAD")
			if out, ok := r.try(script); ok || !strings.Contains(out, "bort") || r.git("rev-parse", "HEAD") != before {
				t.Errorf("%v %s\n%s", ok, out, r.git("log", "-1", "--format=%B"))
			}
		})
	}
	t.Run("allowed", func(t *testing.T) {
		r := newRepo(t)
		r.sh("git commit -q --allow-empty --allow-empty-message -m ''")
		r.sh("GIT_EDITOR=true git commit -q --allow-empty --allow-empty-message")
		if is := r.git("log", "-2", "--format=%B"); strings.TrimSpace(is) != "" {
			t.Errorf("%q", is)
		}
	})
}

// Whatever is wrong with the hook, the commit is made as if there were none, and nothing is
// printed.
// H1, GIT-10, EN-38, EN-39.
func TestNothingStopsACommit(t *testing.T) {
	for name, c := range map[string]struct {
		before func(r *repo)
		script string
	}{
		"no program":          {func(r *repo) { r.install("/nowhere/agent") }, "git commit -q --allow-empty -m one"},
		"a program that dies": {func(r *repo) { r.install(r.program("kill -9 $$")) }, "git commit -q --allow-empty -m one"},
		"one that fails":      {func(r *repo) { r.install(r.program("exit 3")) }, "git commit -q --allow-empty -m one"},
		"a panic":             {func(r *repo) { r.env = append(r.env, "HOOK_PANICS=1") }, "git commit -q --allow-empty -m one"},
		"outside of a call":   {func(r *repo) { r.env = append(r.env, "AGENT_CALL=") }, "git commit -q --allow-empty -m one"},
		"a message that only others may write": {func(r *repo) {
			r.install(r.program(`chmod a-w "$3"; "` + r.exe() + `" "$@"; chmod u+w "$3"`))
		}, "git commit -q --allow-empty -m one"},
		"a huge message": {func(r *repo) {
			r.write("../m", strings.Repeat("many words\n", 2<<20), 0o600)
		}, "git commit -q --allow-empty -F ../m"},
		"git is gone": {func(r *repo) { r.install(r.program(`PATH=/nowhere exec "` + r.exe() + `" "$@"`)) }, "git commit -q --allow-empty -m one"},
		"git hangs": {func(r *repo) {
			r.write("../hang/git", "#!/bin/sh\nexec sleep 60\n", 0o755)
			r.install(r.program(`PATH=` + filepath.Join(r.dir, "../hang") + `:$PATH exec "` + r.exe() + `" "$@"`))
		}, "git commit -q --allow-empty -m one"},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() == 0 && strings.HasPrefix(name, "a message that only") {
				t.Skip("root may write it")
			}
			r := newRepo(t)
			c.before(r)
			if out := r.sh(c.script); out != "" {
				t.Errorf("it prints %q", out)
			}
			if is := r.id("HEAD"); is != "" || strings.HasPrefix(r.git("log", "-1", "--format=%s"), "start") {
				t.Errorf("%q %s", is, r.git("log", "-1", "--format=%s"))
			}
		})
	}
}

// program makes one that git runs instead of ours.
func (r *repo) program(script string) string {
	r.Helper()
	name := filepath.Join(r.home, "program")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		r.Fatal(err)
	}
	return name
}

func (r *repo) exe() string {
	r.Helper()
	exe, err := os.Executable()
	if err != nil {
		r.Fatal(err)
	}
	return exe
}

// Other hooks run beside ours: those that lie where husky has them, and pre-commit's.
func TestOtherHooksRun(t *testing.T) {
	r := newRepo(t)
	if !r.newer() {
		t.Skip("this git reads no hooks from its configuration, and what lies elsewhere has to call ours")
	}
	r.write(".husky/_/commit-msg", "#!/bin/sh\necho husky >> ran\n", 0o755)
	r.write(".husky/_/pre-commit", "#!/bin/sh\necho before >> ran\n", 0o755)
	r.git("config", "core.hooksPath", ".husky/_")
	r.sh("git commit -q --allow-empty -m one")
	if ran := r.sh("cat ran"); ran != "before\nhusky\n" || r.id("HEAD") == "" {
		t.Errorf("%q, %q", ran, r.id("HEAD"))
	}
}

// A signature is made over the message with its trailer, and stays valid.
// H3.
func TestSignedCommit(t *testing.T) {
	r := newRepo(t)
	if _, ok := r.try("ssh-keygen -q -t ed25519 -N '' -f ../key"); !ok {
		t.Skip("ssh-keygen is not installed")
	}
	r.sh(`printf 'a@b %s\n' "$(cat ../key.pub)" > ../signers; git config gpg.format ssh; git config user.signingKey ../key.pub; git config gpg.ssh.allowedSignersFile ../signers`)
	r.sh("git commit -q -S --allow-empty -m one; git verify-commit HEAD")
	if !hooklines.IsID(r.id("HEAD")) {
		t.Errorf("it has %q", r.id("HEAD"))
	}
}

// A message that nobody edits takes one start of the program: it is as it was prepared.
func TestStartsOfACommit(t *testing.T) {
	for script, want := range map[string]string{
		"git commit -q --allow-empty -m one":                                   "prepare\n",
		"echo one | git commit -q --allow-empty -F -":                          "prepare\n",
		"git commit -q --amend --no-edit":                                      "prepare\n",
		"GIT_EDITOR='sed -i 1s/^/one/' git commit -q --allow-empty":            "prepare\nstrip\n",
		"GIT_EDITOR='sed -i 1s/^/one/' git commit -q --allow-empty --amend":    "prepare\nstrip\n",
		"GIT_EDITOR='sed -i 1s/^/one/' git commit -q --allow-empty -v -e -m x": "prepare\nstrip\n",
	} {
		t.Run(script, func(t *testing.T) {
			r := newRepo(t)
			r.install(r.program(`echo "$2" >> ` + filepath.Join(r.home, "started") + `; exec "` + r.exe() + `" "$@"`))
			r.sh(script)
			if is := r.sh("cat " + filepath.Join(r.home, "started")); is != want {
				t.Errorf("%q", is)
			}
		})
	}
}
