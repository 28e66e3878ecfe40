package tools

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repoBench is a repository with one commit and something staged.
func repoBench(t *testing.T) *bench {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("HOME", "/nowhere")
	b := newBench(t)
	b.git("init", "-q", "-b", "main")
	b.git("config", "user.email", "a@b")
	b.git("config", "user.name", "a")
	b.write("file", "x\n")
	b.git("add", ".")
	b.git("commit", "-q", "-m", "first")
	b.write("d/e/f", "y\n")
	b.write("d.x", "z\n")
	b.git("add", ".")
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
			if os.RemoveAll(b.path(name)) == nil && r.IntN(3) > 0 && !b.blocked(name) {
				b.write(name, fmt.Sprint(r.IntN(100)))
				if r.IntN(4) == 0 {
					if err := os.Chmod(b.path(name), 0o755); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		b.git("add", "-A")
		b.git("update-index", "--index-version", fmt.Sprint(2+i%3))
		repo, err := repoOf(b.dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSpace(b.git("write-tree")); repo.Tree != want {
			t.Fatalf("round %d: %s, git says %s\n%s", i, repo.Tree, want, b.git("ls-files", "-s"))
		}
	}
}

// blocked says whether a folder stands where a file is to be, or the other way round.
func (b *bench) blocked(rel string) bool {
	for at := filepath.Dir(rel); at != "."; at = filepath.Dir(at) {
		if info, err := os.Lstat(b.path(at)); err == nil && !info.IsDir() {
			return true
		}
	}
	info, err := os.Lstat(b.path(rel))
	return err == nil && info.IsDir()
}

// What became of a commit: known where it is proved, and left open for everything that only looks like it.
func TestGitLook(t *testing.T) {
	for name, c := range map[string]struct {
		then func(b *bench)
		want found
		why  string
	}{
		"nothing":         {func(*bench) {}, foundOld, "exactly as before"},
		"made":            {func(b *bench) { b.git("commit", "-q", "-m", "\nsecond  \n\n") }, foundNew, "with the tree and the message"},
		"index refreshed": {func(b *bench) { b.git("update-index", "--refresh") }, foundOld, "exactly as before"},
		"another message": {func(b *bench) { b.git("commit", "-q", "-m", "other") }, foundOdd, "message"},
		"another tree":    {func(b *bench) { b.write("file", "n"); b.git("commit", "-q", "-a", "-m", "second") }, foundOdd, "tree"},
		"another parent":  {func(b *bench) { b.git("commit", "-q", "--amend", "-m", "second") }, foundOdd, "parent"},
		"two commits": {func(b *bench) {
			b.git("commit", "-q", "-m", "x", "--allow-empty")
			b.git("commit", "-q", "--allow-empty", "-m", "second")
		}, foundOdd, "parent"},
		"made and undone":    {func(b *bench) { b.git("commit", "-q", "-m", "second"); b.git("reset", "-q", "--soft", "HEAD~1") }, foundOdd, "moved since"},
		"another branch":     {func(b *bench) { b.git("checkout", "-q", "-b", "b") }, foundOdd, "another branch"},
		"something unstaged": {func(b *bench) { b.git("reset", "-q") }, foundOdd, ""},
		"a lock":             {func(b *bench) { b.write(".git/index.lock", "") }, foundOdd, "index.lock"},
		"a lock of HEAD":     {func(b *bench) { b.write(".git/HEAD.lock", "") }, foundOdd, "HEAD.lock"},
		"packed":             {func(b *bench) { b.git("commit", "-q", "-m", "second"); b.git("gc", "-q") }, foundOdd, ""},
	} {
		b := repoBench(t)
		repo, err := repoOf(b.dir)
		if err != nil {
			t.Fatal(err)
		}
		repo.Message = "second\n"
		began := time.Now()
		c.then(b)
		f, why := repo.look(began)()
		if f != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %d, %s", name, f, why)
		}
	}
	b := repoBench(t)
	repo, err := repoOf(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	repo.Message = "second\n"
	b.git("commit", "-q", "-m", "second")
	if f, why := repo.look(time.Now().Add(time.Hour))(); f != foundOdd || !strings.Contains(why, "older than the command") {
		t.Errorf("%d, %s", f, why)
	}
}

// Where a commit may be another one than its command says, or run something, nothing is said afterwards.
func TestGitNotLookedAt(t *testing.T) {
	for name, before := range map[string]func(b *bench){
		"hooks path":       func(b *bench) { b.git("config", "core.hooksPath", "elsewhere") },
		"an include":       func(b *bench) { b.git("config", "include.path", "x") },
		"clean-up":         func(b *bench) { b.git("config", "commit.cleanup", "verbatim") },
		"a hook after it":  func(b *bench) { b.hook("post-commit") },
		"a merge":          func(b *bench) { b.write(".git/MERGE_HEAD", "x") },
		"a lock":           func(b *bench) { b.write(".git/index.lock", "") },
		"a conflict":       func(b *bench) { b.conflict() },
		"meant to add":     func(b *bench) { b.write("later", "x"); b.git("add", "-N", "later") },
		"a split index":    func(b *bench) { b.git("update-index", "--split-index") },
		"no repository":    func(b *bench) { b.remove(".git") },
		"a damaged index":  func(b *bench) { b.write(".git/index", "DIRCxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") },
		"a fifo for index": func(b *bench) { b.remove(".git/index"); b.git("-c", "x.y=z", "version"); b.fifo(".git/index") },
	} {
		b := repoBench(t)
		before(b)
		if r, err := repoOf(b.dir); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	b := repoBench(t)
	b.hook("pre-commit")
	repo, err := repoOf(b.dir)
	if err != nil || !repo.Hooks {
		t.Fatalf("%v, %+v", err, repo)
	}
	repo.Message = "second\n"
	if f, why := repo.look(time.Now())(); f != foundOdd || !strings.Contains(why, "hook") {
		t.Errorf("%d, %s", f, why)
	}
	began := time.Now()
	b.git("commit", "-q", "-m", "second")
	if f, why := repo.look(began)(); f != foundNew {
		t.Errorf("%d, %s", f, why)
	}
}

func (b *bench) hook(name string) {
	b.t.Helper()
	b.write(".git/hooks/"+name, "#!/bin/sh\ntrue\n")
	if err := os.Chmod(b.path(".git/hooks/"+name), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) conflict() {
	b.t.Helper()
	id := strings.TrimSpace(b.git("hash-object", "-w", "file"))
	cmd := exec.Command("git", "update-index", "--index-info")
	cmd.Dir = b.dir
	cmd.Stdin = strings.NewReader(fmt.Sprintf("100644 %s 2\tboth\n", id))
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%v %s", err, out)
	}
}

func (b *bench) fifo(rel string) {
	b.t.Helper()
	if out, err := exec.Command("mkfifo", b.path(rel)).CombinedOutput(); err != nil {
		b.t.Fatalf("%v %s", err, out)
	}
}

// Linked worktrees have their files elsewhere.
func TestGitWorktree(t *testing.T) {
	b := repoBench(t)
	b.git("worktree", "add", "-q", "-b", "side", "wt")
	b.write("wt/new", "x")
	b.git("-C", "wt", "add", "new")
	repo, err := repoOf(b.path("wt"))
	if err != nil || repo.Ref != "refs/heads/side" {
		t.Fatalf("%v, %+v", err, repo)
	}
	repo.Message = "second\n"
	began := time.Now()
	b.git("-C", "wt", "commit", "-q", "-m", "second")
	if f, why := repo.look(began)(); f != foundNew {
		t.Errorf("%d, %s", f, why)
	}
}

// FuzzIndex: an index that is damaged is refused and never read beyond its end.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00xxxxxxxxxxxxxxxxxxxx"))
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01" + strings.Repeat("\x00", 62) + "\x00a\x00xxxxxxxxxxxxxxxxxxxx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		files, err := readIndex(b)
		if err == nil {
			treeOf(files, "")
		}
	})
}
