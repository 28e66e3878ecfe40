package inspect

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/tools/gitrepo/hooklines"
	"agent/tools/gitrepo/objects"
)

// repoBench is a repository with one commit and something staged.
func repoBench(t *testing.T) *bench {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("HOME", "/nowhere")
	b := newBench(t)
	b.Git("init", "-q", "-b", "main")
	b.Git("config", "user.email", "a@b")
	b.Git("config", "user.name", "a")
	b.Write("file", "x\n")
	b.Git("add", ".")
	b.Git("commit", "-q", "-m", "first")
	b.Write("d/e/f", "y\n")
	b.Write("d.x", "z\n")
	b.Git("add", ".")
	return b
}

// The tree that is read out of the index is the one that git writes, for indexes of every version.
func TestGitIndexTree(t *testing.T) {
	b := repoBench(t)
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a.b", "a/b", "a-b/c", "a0", "z/y/x/w", "z/y.x", "long/" + strings.Repeat("n", 200), "ä/ö", "run"}
	for i := range 30 {
		for range 3 {
			name := names[r.IntN(len(names))]
			if os.RemoveAll(b.Path(name)) == nil && r.IntN(3) > 0 && !b.blocked(name) {
				b.Write(name, fmt.Sprint(r.IntN(100)))
				if r.IntN(4) == 0 {
					if err := os.Chmod(b.Path(name), 0o755); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		b.Git("add", "-A")
		b.Git("update-index", "--index-version", fmt.Sprint(2+i%3))
		repo, err := repoOf(b.Dir, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSpace(b.Git("write-tree")); repo.Tree != want {
			t.Fatalf("round %d: %s, git says %s\n%s", i, repo.Tree, want, b.Git("ls-files", "-s"))
		}
	}
}

// blocked says whether a folder stands where a file is to be, or the other way round.
func (b *bench) blocked(rel string) bool {
	for at := filepath.Dir(rel); at != "."; at = filepath.Dir(at) {
		if info, err := os.Lstat(b.Path(at)); err == nil && !info.IsDir() {
			return true
		}
	}
	info, err := os.Lstat(b.Path(rel))
	return err == nil && info.IsDir()
}

// What became of a commit: known where it is proved, and left open for everything that only looks
// like it.
func TestGitLook(t *testing.T) {
	for name, c := range map[string]struct {
		then func(b *bench)
		want found
		why  string
	}{
		"nothing":         {func(*bench) {}, foundOld, "exactly as before"},
		"made":            {func(b *bench) { b.Git("commit", "-q", "-m", "\nsecond  \n\n") }, foundNew, "with the tree and the message"},
		"index refreshed": {func(b *bench) { b.Git("update-index", "--refresh") }, foundOld, "exactly as before"},
		"another message": {func(b *bench) { b.Git("commit", "-q", "-m", "other") }, foundOdd, "message"},
		"another tree":    {func(b *bench) { b.Write("file", "n"); b.Git("commit", "-q", "-a", "-m", "second") }, foundOdd, "tree"},
		"another parent":  {func(b *bench) { b.Git("commit", "-q", "--amend", "-m", "second") }, foundOdd, "parent"},
		"two commits": {func(b *bench) {
			b.Git("commit", "-q", "-m", "x", "--allow-empty")
			b.Git("commit", "-q", "--allow-empty", "-m", "second")
		}, foundOdd, "parent"},
		"made and undone":    {func(b *bench) { b.Git("commit", "-q", "-m", "second"); b.Git("reset", "-q", "--soft", "HEAD~1") }, foundOdd, "moved since"},
		"another branch":     {func(b *bench) { b.Git("checkout", "-q", "-b", "b") }, foundOdd, "another branch"},
		"something unstaged": {func(b *bench) { b.Git("reset", "-q") }, foundOdd, ""},
		"a lock":             {func(b *bench) { b.Write(".git/index.lock", "") }, foundOdd, "index.lock"},
		"a lock of HEAD":     {func(b *bench) { b.Write(".git/HEAD.lock", "") }, foundOdd, "HEAD.lock"},
		"packed":             {func(b *bench) { b.Git("commit", "-q", "-m", "second"); b.Git("gc", "-q") }, foundOdd, ""},
	} {
		b := repoBench(t)
		repo, err := repoOf(b.Dir, "", false)
		if err != nil {
			t.Fatal(err)
		}
		repo.Message = "second\n"
		began := time.Now()
		c.then(b)
		f, why := repo.inspect(began)
		if f != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %d, %s", name, f, why)
		}
	}
	b := repoBench(t)
	repo, err := repoOf(b.Dir, "", false)
	if err != nil {
		t.Fatal(err)
	}
	repo.Message = "second\n"
	b.Git("commit", "-q", "-m", "second")
	if f, why := repo.inspect(time.Now().Add(time.Hour)); f != foundOdd || !strings.Contains(why, "older than the command") {
		t.Errorf("%d, %s", f, why)
	}
}

// The second of a commit comes from a clock that is a little behind.
func TestCommitAsASecondBegins(t *testing.T) {
	made := objects.Commit{When: 99}
	for began, want := range map[time.Time]string{
		time.Unix(99, 999e6): "",
		time.Unix(100, 7e6):  "",
		time.Unix(100, 2e8):  "it is older than the command",
	} {
		if why := differs(made, repository{}, began); why != want {
			t.Errorf("a commit of second 99, and the command began at %d.%03d: %q", began.Unix(), began.Nanosecond()/1e6, why)
		}
	}
}

// Where a commit may be another one than its command says, or run something, nothing is said
// afterwards.
func TestGitNotLookedAt(t *testing.T) {
	for name, before := range map[string]func(b *bench){
		"hooks path":       func(b *bench) { b.Git("config", "core.hooksPath", "elsewhere") },
		"an include":       func(b *bench) { b.Git("config", "include.path", "x") },
		"clean-up":         func(b *bench) { b.Git("config", "commit.cleanup", "verbatim") },
		"a hook after it":  func(b *bench) { b.hook("post-commit") },
		"a merge":          func(b *bench) { b.Write(".git/MERGE_HEAD", "x") },
		"a lock":           func(b *bench) { b.Write(".git/index.lock", "") },
		"a conflict":       func(b *bench) { b.conflict() },
		"meant to add":     func(b *bench) { b.Write("later", "x"); b.Git("add", "-N", "later") },
		"a split index":    func(b *bench) { b.Git("update-index", "--split-index") },
		"no repository":    func(b *bench) { b.Remove(".git") },
		"a damaged index":  func(b *bench) { b.Write(".git/index", "DIRCxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") },
		"a fifo for index": func(b *bench) { b.Remove(".git/index"); b.Git("-c", "x.y=z", "version"); b.fifo(".git/index") },
	} {
		b := repoBench(t)
		before(b)
		if r, err := repoOf(b.Dir, "", false); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	b := repoBench(t)
	b.hook("pre-commit")
	repo, err := repoOf(b.Dir, "", false)
	if err != nil || !repo.Hooks {
		t.Fatalf("%v, %+v", err, repo)
	}
	repo.Message = "second\n"
	if f, why := repo.inspect(time.Now()); f != foundOdd || !strings.Contains(why, "hook") {
		t.Errorf("%d, %s", f, why)
	}
	began := time.Now()
	b.Git("commit", "-q", "-m", "second")
	if f, why := repo.inspect(began); f != foundNew {
		t.Errorf("%d, %s", f, why)
	}
}

func (b *bench) hook(name string) {
	b.T.Helper()
	b.Write(".git/hooks/"+name, "#!/bin/sh\ntrue\n")
	if err := os.Chmod(b.Path(".git/hooks/"+name), 0o755); err != nil {
		b.T.Fatal(err)
	}
}

func (b *bench) conflict() {
	b.T.Helper()
	id := strings.TrimSpace(b.Git("hash-object", "-w", "file"))
	cmd := exec.Command("git", "update-index", "--index-info")
	cmd.Dir = b.Dir
	cmd.Stdin = strings.NewReader(fmt.Sprintf("100644 %s 2\tboth\n", id))
	if out, err := cmd.CombinedOutput(); err != nil {
		b.T.Fatalf("%v %s", err, out)
	}
}

func (b *bench) fifo(rel string) {
	b.T.Helper()
	if out, err := exec.Command("mkfifo", b.Path(rel)).CombinedOutput(); err != nil {
		b.T.Fatalf("%v %s", err, out)
	}
}

// on has git run the program of a test for messages: in the configuration, as a newer git reads it,
// and as files of hooks, as every git does. The program adds the trailer.
func (b *bench) on() (exe string) {
	b.T.Helper()
	exe = filepath.Join(b.T.TempDir(), "it's agent")
	script := "#!/bin/sh\n[ \"$2\" = strip ] || git interpret-trailers --in-place --trailer 'Agent-Checkpoint: k-6b0d81kq7xw2' \"$3\"\n"
	if err := os.WriteFile(exe, []byte(script), 0o755); err != nil {
		b.T.Fatal(err)
	}
	config, err := os.ReadFile(b.Path(".git/config"))
	if err != nil {
		b.T.Fatal(err)
	}
	b.Write(".git/config", string(config)+hooklines.Section(exe))
	for _, h := range hooklines.Hooks() {
		b.hook(h.Event)
		b.Write(".git/hooks/"+h.Event, h.Script(exe))
	}
	return exe
}

// A repository in which git runs this program for messages is inspected like any other, and a
// commit's message without the trailer is the one that was given.
func TestGitOn(t *testing.T) {
	for name, c := range map[string]struct {
		then func(b *bench)
		want found
		why  string
	}{
		"nothing":           {func(*bench) {}, foundOld, "exactly as before"},
		"made":              {func(b *bench) { b.Git("commit", "-q", "-m", "second") }, foundNew, "with the tree and the message"},
		"made, no verify":   {func(b *bench) { b.Git("commit", "-q", "--no-verify", "-m", "second") }, foundNew, ""},
		"another message":   {func(b *bench) { b.Git("commit", "-q", "-m", "second or third") }, foundOdd, "message"},
		"something between": {func(b *bench) { b.Git("commit", "-q", "-m", "second", "-m", "Seen-By: a") }, foundOdd, "message"},
		"another id": {func(b *bench) {
			b.Git("commit", "-q", "-m", "second", "-m", "Agent-Checkpoint: k-6b0d81kq7xwu")
		}, foundOdd, "message"},
	} {
		b := repoBench(t)
		repo, err := repoOf(b.Dir, b.on(), false)
		if err != nil || repo.Hooks {
			t.Fatalf("%s: %v %+v", name, err, repo)
		}
		repo.Message = "second\n"
		began := time.Now()
		c.then(b)
		if f, why := repo.inspect(began); f != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %d, %s", name, f, why)
		}
	}
}

// Lines that are nearly ours are somebody else's.
func TestGitOnOfOthers(t *testing.T) {
	for name, before := range map[string]func(b *bench){
		"another program": func(b *bench) { b.edit(".git/config", "s agent", "s agents") },
		"another event":   func(b *bench) { b.edit(".git/config", "event = commit-msg", "event = pre-commit") },
		"another command": func(b *bench) { b.edit(".git/config", "|| :", "|| touch x") },
		"one more line": func(b *bench) {
			b.edit(".git/config", "event = commit-msg", "event = commit-msg\n\tevent = pre-commit")
		},
		"another section":       func(b *bench) { b.Git("config", "hook.linter.command", "lint") },
		"our name once more":    func(b *bench) { b.Git("config", "hook.agent-strip.event", "pre-commit") },
		"a hook that runs more": func(b *bench) { b.edit(".git/hooks/commit-msg", "|| :", "; touch x") },
		"another condition":     func(b *bench) { b.edit(".git/hooks/commit-msg", "= : ||", "= : || touch x ||") },
	} {
		b := repoBench(t)
		exe := b.on()
		before(b)
		if r, err := repoOf(b.Dir, exe, false); err == nil && !r.Hooks {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func (b *bench) edit(rel, from, to string) {
	b.T.Helper()
	text, err := os.ReadFile(b.Path(rel))
	if err != nil || !strings.Contains(string(text), from) {
		b.T.Fatalf("%v %q is not in %s", err, from, text)
	}
	b.Write(rel, strings.ReplaceAll(string(text), from, to))
}

// A commit of all tracked files has the tree of what is on disk.
func TestGitCommitAll(t *testing.T) {
	run := func(script string) func(b *bench) {
		return func(b *bench) {
			cmd := exec.Command("/bin/sh", "-c", script)
			cmd.Dir = b.Dir
			if out, err := cmd.CombinedOutput(); err != nil {
				b.T.Fatalf("%s: %v %s", script, err, out)
			}
		}
	}
	for name, c := range map[string]struct {
		before, then string
		want         found
		why          string
	}{
		"nothing":          {"echo new > file", "", foundOld, "exactly as before"},
		"made":             {"echo new > file; rm d.x; chmod +x d/e/f; echo z > untracked", "git commit -qam second", foundNew, "with the tree"},
		"a link":           {"ln -sfn a file; git add file; ln -sfn b file", "git commit -qam second", foundNew, "with the tree"},
		"of the index":     {"echo new > file", "git commit -qm second", foundOdd, "tree"},
		"written later":    {"echo new > file", "echo newer > file; git commit -qam second", foundOdd, "tree"},
		"same size, later": {"echo one > file; git add file; echo two > file", "echo six > file; git commit -qam second", foundOdd, "tree"},
		"staged only":      {"echo new > file", "git add -u", foundOdd, "something else is staged"},
	} {
		b := repoBench(t)
		run(c.before)(b)
		repo, err := repoOf(b.Dir, "", true)
		if err != nil {
			t.Fatal(err)
		}
		repo.Message = "second\n"
		began := time.Now()
		run(c.then)(b)
		if f, why := repo.inspect(began); f != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %d, %s", name, f, why)
		}
	}
	for name, before := range map[string]string{
		"a filter": "echo '* text=auto' > .gitattributes; echo x > file", "a file mode": "git config core.fileMode false",
		"another kind": "rm file; mkdir file", "assumed": "git update-index --assume-unchanged file",
	} {
		b := repoBench(t)
		run(before)(b)
		if r, err := repoOf(b.Dir, "", true); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Linked worktrees have their files elsewhere.
func TestGitWorktree(t *testing.T) {
	b := repoBench(t)
	b.Git("worktree", "add", "-q", "-b", "side", "wt")
	b.Write("wt/new", "x")
	b.Git("-C", "wt", "add", "new")
	repo, err := repoOf(b.Path("wt"), "", false)
	if err != nil || repo.Ref != "refs/heads/side" {
		t.Fatalf("%v, %+v", err, repo)
	}
	repo.Message = "second\n"
	began := time.Now()
	b.Git("-C", "wt", "commit", "-q", "-m", "second")
	if f, why := repo.inspect(began); f != foundNew {
		t.Errorf("%d, %s", f, why)
	}
}
