package objects

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scene is a folder in which git is used, as a person would.
type scene struct {
	t    testing.TB
	base string
	dir  string // of the work tree
}

func newScene(t testing.TB, init ...string) *scene {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, base: base, dir: filepath.Join(base, "work")}
	s.must(os.Mkdir(s.dir, 0o700))
	s.git(append([]string{"init", "-q", "-b", "main"}, init...)...)
	s.settle()
	return s
}

// settle sets what each repository needs.
func (s *scene) settle() {
	s.git("config", "user.email", "a@b")
	s.git("config", "user.name", "a")
	s.git("config", "gc.auto", "0")
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) try(words ...string) (string, error) {
	cmd := exec.Command("git", words...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.base, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (s *scene) git(words ...string) string {
	s.t.Helper()
	out, err := s.try(words...)
	if err != nil {
		s.t.Fatalf("git %v: %v %s", words, err, out)
	}
	return out
}

func (s *scene) write(rel, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, rel)
	s.must(os.MkdirAll(filepath.Dir(file), 0o700))
	s.must(os.WriteFile(file, []byte(text), 0o600))
}

func (s *scene) commit(files ...string) {
	s.t.Helper()
	for _, f := range files {
		s.write(f, "content of "+f+"\n")
	}
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", "x")
}

func (s *scene) find(dir string) Repository {
	s.t.Helper()
	r, ok, err := Find(dir)
	if err != nil || !ok {
		s.t.Fatalf("%s: %v %v", dir, ok, err)
	}
	return r
}

// pin pins what the index of a folder names.
func (s *scene) pin(dir string) (*Pin, map[string]Indexed) {
	s.t.Helper()
	r := s.find(dir)
	all, err := collected(r.Index())
	s.must(err)
	p, err := r.Pin(filepath.Join(s.base, "pin"), named(all))
	s.must(err)
	s.t.Cleanup(func() { s.must(p.Close()) })
	return p, all
}

// collected is an index as a map.
func collected(ix Index, err error) (map[string]Indexed, error) { return maps.Collect(ix.All()), err }

// conversions are those of a repository whose work tree nobody has listed.
func conversions(r Repository) (func(path string) Conversion, error) {
	ix, err := r.Index()
	return r.Conversions(ix, nil), err
}

// converts says of paths whether their bytes could differ from the blob.
func converts(r Repository) (func(path string) bool, error) {
	of, err := conversions(r)
	return func(path string) bool { return of(path) != Same }, err
}

const large = 1 << 20

// clean lists the paths that count as clean, with what is on disk.
func (s *scene) clean(dir string, p *Pin) map[string]string {
	s.t.Helper()
	r := s.find(dir)
	all, err := collected(r.Index())
	s.must(err)
	of, err := conversions(r)
	s.must(err)
	var ids []string
	for _, e := range all {
		ids = append(ids, e.Blob)
	}
	sizes, err := p.Sizes(context.Background(), ids)
	s.must(err)
	found := map[string]string{}
	for name, e := range all {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || !e.Clean(statOf(info)) {
			continue
		}
		how := of(name)
		if how == Any || sizes[slices.Index(ids, e.Blob)] != info.Size() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		s.must(err)
		found[e.Blob] = string(content)
	}
	return found
}

// readAll compares what the pin has with what was on disk.
func (s *scene) readAll(p *Pin, clean map[string]string) {
	s.t.Helper()
	for id, want := range clean {
		got, err := p.Read(context.Background(), id, large)
		if err != nil || string(got) != want {
			s.t.Fatalf("%s: %q, %v; on disk was %q", id, got, err, want)
		}
	}
}

// Whatever is called clean is byte for byte its blob, in the pin too: before and after the
// repository is packed, pruned and destroyed.
func TestRandomRepositories(t *testing.T) {
	rounds := 6
	if os.Getenv("AGENT_TESTS") == "whole" {
		rounds = 60
	}
	total := 0
	for seed := range rounds {
		var init []string
		if seed%3 == 2 {
			init = []string{"--object-format=sha256"}
		}
		s := newScene(t, init...)
		names := fileNames()
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		s.commit(names...)
		for range 25 {
			s.step(r, seed%2 == 0)
		}
		s.try("update-index", "--force-write-index")
		p, all := s.pin(s.dir)
		clean := s.clean(s.dir, p)
		total += len(clean)
		if missing, err := p.Has(context.Background(), missingOf(clean)); err != nil || len(missing) > 0 {
			t.Fatalf("seed %d: the pin lacks %v of %d, %v", seed, missing, len(all), err)
		}
		s.readAll(p, clean)
		s.git("read-tree", "--empty")
		s.git("update-ref", "-d", "HEAD")
		s.git("reflog", "expire", "--expire=all", "--all")
		s.git("gc", "-q", "--prune=now")
		s.readAll(p, clean)
		s.must(os.RemoveAll(filepath.Join(s.dir, ".git")))
		s.must(p.Close())
		again, err := Open(filepath.Join(s.base, "pin"))
		s.must(err)
		s.readAll(again, clean)
		s.must(again.Close())
		s.must(Remove(filepath.Join(s.base, "pin")))
	}
	if total < 6*rounds {
		t.Errorf("only %d files were clean in %d repositories: the test tries nothing", total, rounds)
	}
}

func missingOf(clean map[string]string) []string {
	var ids []string
	for id := range clean {
		ids = append(ids, id)
	}
	return ids
}

func fileNames() []string {
	return []string{"a.txt", "b.bin", "d/c.txt", "d/e/f.md", "d/e/g", "h-x.c", "ä ö.txt", "d/.hidden", "j.c", "d/k.md", "d/e/l.bin"}
}

// step does something that a person does. What git refuses then, it refuses.
func (s *scene) step(r *rand.Rand, converts bool) {
	names := fileNames()
	name := names[r.IntN(len(names))]
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	switch r.IntN(19) {
	case 0, 1, 2:
		s.write(name, strings.Repeat(pick("x\n", "y\r\n", "$Id$\n", "zz", "long line\n"), r.IntN(40))+fmt.Sprint(r.IntN(9)))
	case 3, 4:
		s.try("add", "-A")
	case 5, 6:
		s.try("commit", "-q", "-a", "-m", "x")
	case 7:
		if !converts {
			s.git("add", "-A")
			return
		}
		s.write(pick(".gitattributes", "d/.gitattributes"), pick("*.txt text=auto\n", "* text=auto eol=crlf\n", "*.c filter=swap\n", "[attr]odd filter=swap\nh-* odd\n", "*.md ident\n", "/d/e/* ident\n", "*.bin -text\n"))
	case 8:
		s.try("config", "core.autocrlf", pick("true", "input", "false"))
	case 9:
		s.try("config", "filter.swap.clean", "sed s/z/zz/")
		s.try("config", "filter.swap.smudge", "sed s/zz/z/")
	case 10:
		s.try("checkout", "-q", "-b", pick("one", "two", "three"))
	case 11:
		s.try("checkout", "-q", pick("one", "two", "main"))
	case 12:
		s.try("merge", "-q", "-m", "m", pick("one", "two", "main"))
	case 13:
		s.try(pick("gc", "repack"), "-q", pick("--no-quiet", "-q"))
	case 14:
		s.try("update-index", pick("--split-index", "--no-split-index", "--index-version=4", "--index-version=2", "--refresh"))
	case 15:
		s.write("new", "x")
		s.try("add", "-N", "new")
	case 16:
		s.try("update-index", pick("--assume-unchanged", "--skip-worktree", "--no-assume-unchanged"), name)
	case 17:
		s.try("reset", "-q", "--hard")
	case 18:
		s.try("stash", "-q")
	}
}

// The index is read as git prints it.
func TestIndexAsGitHasIt(t *testing.T) {
	for _, version := range []string{"2", "4", "split"} {
		for _, format := range []string{"sha1", "sha256"} {
			s := newScene(t, "--object-format="+format)
			s.commit("a", "b/c", "b/d", "b/d.e/f", "z")
			s.write("run", "#!/bin/sh\n")
			s.must(os.Chmod(filepath.Join(s.dir, "run"), 0o755))
			s.must(os.Symlink("a", filepath.Join(s.dir, "link")))
			s.git("add", "-A")
			s.git("config", "splitIndex.maxPercentChange", "100")
			if version == "split" {
				s.git("update-index", "--split-index")
				s.write("b/d", "changed")
				s.write("y", "added")
				s.must(os.Remove(filepath.Join(s.dir, "a")))
				s.git("add", "-A")
				if shared, _ := filepath.Glob(filepath.Join(s.dir, ".git", "sharedindex.*")); len(shared) == 0 {
					t.Fatal("the index is not split")
				}
			} else {
				s.git("update-index", "--index-version", version)
			}
			s.git("update-index", "--assume-unchanged", "z")
			s.git("update-index", "--skip-worktree", "b/c")
			s.write("later", "x")
			s.git("add", "-N", "later")
			all, err := collected(s.find(s.dir).Index())
			s.must(err)
			s.compare(all)
			if !all["z"].Assume || !all["b/c"].Skip || !all["later"].Intent || all["b/d"].Assume || all["b/d"].Skip || all["b/d"].Intent {
				t.Errorf("%s, %s: %+v", version, format, all)
			}
			below, err := collected(s.find(filepath.Join(s.dir, "b")).Index())
			s.must(err)
			if _, ok := below["d.e/f"]; !ok || len(below) != 3 {
				t.Errorf("below: %+v", below)
			}
		}
	}
}

func (s *scene) compare(all map[string]Indexed) {
	s.t.Helper()
	lines := strings.Split(s.git("-c", "core.quotePath=off", "ls-files", "-s"), "\n")
	if len(lines) != len(all) {
		s.t.Errorf("%d paths, git has %d", len(all), len(lines))
	}
	for _, line := range lines {
		head, name, _ := strings.Cut(line, "\t")
		e := all[name]
		if got := fmt.Sprintf("%06o %s %d", e.Mode, e.Blob, e.Stage); got != head {
			s.t.Errorf("%s: %s, git has %s", name, got, head)
		}
	}
	debug := strings.Split(s.git("-c", "core.quotePath=off", "ls-files", "--debug"), "\n")
	for i := 0; i+5 < len(debug); i += 6 {
		e := all[debug[i]]
		got := fmt.Sprintf("%d:%d %d:%d %d %d", e.Ctime/1e9, e.Ctime%1e9, e.Mtime/1e9, e.Mtime%1e9, e.Inode, e.Size)
		var size, inode string
		for _, line := range debug[i : i+6] {
			for _, part := range strings.Split(strings.TrimSpace(line), "\t") {
				if v, ok := strings.CutPrefix(part, "size: "); ok {
					size = v
				}
				if v, ok := strings.CutPrefix(part, "ino: "); ok {
					inode = v
				}
			}
		}
		want := strings.TrimPrefix(strings.TrimSpace(debug[i+1]), "ctime: ") + " " + strings.TrimPrefix(strings.TrimSpace(debug[i+2]), "mtime: ") + " " + inode + " " + size
		if got != want {
			s.t.Errorf("%s: %s, git has %s", debug[i], got, want)
		}
	}
}

// A file that was written right before the index, or marked to be left alone, proves nothing.
func TestNotClean(t *testing.T) {
	e := Indexed{Blob: emptySHA1, Mode: ModeFile, Inode: 5, Mtime: 10, Ctime: 11}
	if !e.Clean(5, 0, 10, 11) || !e.Clean(1<<32+5, 1<<32, 10, 11) {
		t.Error("the same is not clean")
	}
	for _, odd := range []Indexed{
		{Blob: "aa", Mode: ModeFile, Inode: 5, Mtime: 10, Ctime: 11}, {Blob: emptySHA1, Mode: ModeLink, Inode: 5, Mtime: 10, Ctime: 11},
		{Blob: emptySHA1, Mode: ModeFile, Inode: 5, Mtime: 10, Ctime: 11, Racy: true}, {Blob: emptySHA1, Mode: ModeFile, Inode: 5, Mtime: 10, Ctime: 11, Assume: true},
		{Blob: emptySHA1, Mode: ModeFile, Inode: 5, Mtime: 10, Ctime: 11, Skip: true}, {Blob: emptySHA1, Mode: ModeFile, Inode: 5, Mtime: 10, Ctime: 11, Intent: true},
		{Blob: emptySHA1, Mode: ModeFile, Inode: 5, Mtime: 10, Ctime: 11, Stage: 2},
	} {
		if odd.Clean(5, 0, 10, 11) {
			t.Errorf("%+v is clean", odd)
		}
	}
	if e.Clean(6, 0, 10, 11) || e.Clean(5, 1, 10, 11) || e.Clean(5, 0, 9, 11) || e.Clean(5, 0, 10, 12) {
		t.Error("another file is clean")
	}
}

// A filter may give a file other bytes of the same number: nothing but the attributes shows it.
func TestFilterOfEqualSize(t *testing.T) {
	s := newScene(t)
	s.git("config", "filter.swap.clean", "tr ab ba")
	s.git("config", "filter.swap.smudge", "tr ab ba")
	s.write(".gitattributes", "*.x filter=swap\n")
	s.write("f.x", "aabb")
	s.write("g", "aabb")
	s.git("add", "-A")
	s.git("commit", "-qm", "x")
	r := s.find(s.dir)
	of, err := converts(r)
	s.must(err)
	all, err := collected(r.Index())
	s.must(err)
	p, _ := s.pin(s.dir)
	blob, err := p.Read(context.Background(), all["f.x"].Blob, large)
	s.must(err)
	if string(blob) != "bbaa" {
		t.Fatalf("git did not filter: %q", blob)
	}
	if !of("f.x") || of("g") {
		t.Errorf("f.x %v, g %v", of("f.x"), of("g"))
	}
	// Once the attributes on disk say nothing, those in the index still count.
	s.must(os.Remove(filepath.Join(s.dir, ".gitattributes")))
	if of, err = converts(r); err != nil || !of("f.x") {
		t.Errorf("without .gitattributes: %v", err)
	}
}

// Linked worktrees, submodules, shared clones and sparse checkouts have their parts elsewhere.
func TestElsewhere(t *testing.T) {
	s := newScene(t)
	s.commit("a", "d/b", "e/c")
	s.git("worktree", "add", "-q", "-b", "side", filepath.Join(s.base, "side"))
	s.git("clone", "-q", "--shared", ".", filepath.Join(s.base, "shared"))
	s.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", s.dir, "sub")
	s.git("commit", "-qm", "sub")
	s.git("gc", "-q")
	s.git("clone", "-q", "--no-local", ".", filepath.Join(s.base, "sparse"))
	sparse := &scene{t: t, base: s.base, dir: filepath.Join(s.base, "sparse")}
	sparse.git("sparse-checkout", "set", "--cone", "--sparse-index", "d")
	for place, ref := range map[string]string{"work": "main", "side": "side", "shared": "main", "work/sub": "main", "sparse": "main"} {
		dir := filepath.Join(s.base, place)
		at := &scene{t: t, base: s.base, dir: dir}
		r := s.find(dir)
		head, err := r.Head()
		s.must(err)
		if head.Ref != "refs/heads/"+ref || head.Commit != at.git("rev-parse", "HEAD") || r.Top != dir || r.Prefix != "" {
			t.Errorf("%s: %+v, %+v", place, r, head)
		}
		all, err := collected(r.Index())
		s.must(err)
		if len(all) < 2 {
			t.Errorf("%s: %v", place, all)
		}
		pin := filepath.Join(s.base, "pin-"+strings.ReplaceAll(place, "/", "-"))
		p, err := r.Pin(pin, named(all))
		s.must(err)
		for name, e := range all {
			if e.Mode == ModeSubmodule {
				continue
			}
			want, _ := os.ReadFile(filepath.Join(dir, name))
			if got, err := p.Read(context.Background(), e.Blob, large); err != nil || !e.Skip && string(got) != string(want) {
				t.Errorf("%s %s: %q, %v", place, name, got, err)
			}
		}
		s.must(p.Close())
	}
	if r := s.find(filepath.Join(s.dir, "d")); r.Prefix != "d" || r.Top != s.dir {
		t.Errorf("%+v", r)
	}
	s.git("init", "-q", "--bare", filepath.Join(s.base, "bare"))
	for _, dir := range []string{"bare", "bare/refs", "work/.git", "work/.git/refs", "."} {
		if r, ok, err := Find(filepath.Join(s.base, dir)); ok || err != nil {
			t.Errorf("%s: %+v, %v", dir, r, err)
		}
	}
	if _, _, err := Find(filepath.Join(s.base, "nowhere")); err == nil {
		t.Error("a folder that is not there has no error")
	}
}

// HEAD is where git says it is.
func TestHead(t *testing.T) {
	s := newScene(t)
	check := func(when string) {
		t.Helper()
		head, err := s.find(s.dir).Head()
		ref, _ := s.try("symbolic-ref", "-q", "HEAD")
		id, _ := s.try("rev-parse", "-q", "--verify", "HEAD")
		if err != nil || head.Ref != ref || head.Commit != id {
			t.Errorf("%s: %+v, %v; git has %s %s", when, head, err, ref, id)
		}
	}
	check("no commit")
	s.commit("a")
	check("a commit")
	s.git("pack-refs", "--all")
	check("packed")
	s.git("checkout", "-q", "-b", "main2/x")
	s.commit("b")
	check("a branch")
	s.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	s.git("symbolic-ref", "HEAD", "refs/heads/alias")
	check("a ref that leads on")
	s.git("checkout", "-q", "--detach", "main2/x")
	check("detached")
	s.git("symbolic-ref", "refs/heads/r1", "refs/heads/r2")
	s.git("symbolic-ref", "refs/heads/r2", "refs/heads/r1")
	s.write(".git/HEAD", "ref: refs/heads/r1\n")
	if head, err := s.find(s.dir).Head(); err == nil {
		t.Errorf("a cycle: %+v", head)
	}
	for _, odd := range []string{"ref: refs/../../x", "ref: refs/heads/.x", "ref: refs/heads/a b"} {
		s.write(".git/HEAD", odd+"\n")
		if head, err := s.find(s.dir).Head(); err == nil {
			t.Errorf("%s: %+v", odd, head)
		}
	}
}

// A blob is found again by its content, and by nothing else.
func TestRead(t *testing.T) {
	for _, packed := range []bool{false, true} {
		s := newScene(t)
		s.commit("a", "b")
		if packed {
			s.git("gc", "-q")
		}
		p, all := s.pin(s.dir)
		ctx := context.Background()
		id := all["a"].Blob
		for range 2 {
			if _, err := p.Read(ctx, id, 3); !errors.Is(err, ErrTooLarge) {
				t.Errorf("packed %v: %v", packed, err)
			}
			if got, err := p.Read(ctx, id, 13); err != nil || string(got) != "content of a\n" || BlobID(got, false) != id {
				t.Errorf("packed %v: %q, %v", packed, got, err)
			}
		}
		none := strings.Repeat("0", 40)
		for _, odd := range []string{none, "", "HEAD", "x", id[:39], id + "\n" + id, strings.ToUpper(id)} {
			if _, err := p.Read(ctx, odd, large); !errors.Is(err, ErrMissing) {
				t.Errorf("%q: %v", odd, err)
			}
		}
		tree := s.git("rev-parse", "HEAD^{tree}")
		if _, err := p.Read(ctx, tree, large); err == nil {
			t.Error("a tree is read as a blob")
		}
		if missing, err := p.Has(ctx, []string{id, none, "x"}); err != nil || len(missing) != 2 {
			t.Errorf("%v, %v", missing, err)
		}
		ended, end := context.WithCancel(ctx)
		end()
		if _, err := p.Read(ended, none, large); !errors.Is(err, context.Canceled) {
			t.Errorf("ended: %v", err)
		}
		if got, err := p.Read(ctx, id, large); err != nil || string(got) != "content of a\n" {
			t.Errorf("after one that was ended: %q, %v", got, err)
		}
	}
}
