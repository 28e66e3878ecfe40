package workspace

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/tools/scan"
)

// A base of a folder without git keeps each content; one in a repository only those that git has
// not, and pins the rest.
// P3.
func TestBase(t *testing.T) {
	b := newBench(t)
	b.sh("mkdir d; echo a >a; echo b >d/b; ln -s a link")
	base := baseOf(t, b.start(b.run("r-plainone", "")))
	if base.Mode != journal.KeepAll || base.Paths != 4 || base.Sealed != 2 || base.Pin != "" || base.Head != nil || base.Manifest == "" {
		t.Errorf("%+v", base)
	}

	b = newBench(t)
	b.repository("echo a >a; echo b >b; echo ignored/ >.gitignore; mkdir ignored; echo i >ignored/i")
	b.sh("echo more >>b; echo new >c; truncate -s 9M large")
	base = baseOf(t, b.start(b.run("r-gitone11", "")))
	if base.Sealed != 2 || base.Pin != "r-gitone11" || base.Head == nil || base.Head.Ref != "refs/heads/main" || len(base.Head.Commit) != 40 {
		t.Errorf("%+v", base)
	}
	if len(base.LeftOut) != 2 || base.LeftOut[0].Path != "large" || base.LeftOut[1] != (journal.LeftOut{Path: "ignored", Reason: journal.LeftIgnoredFolder}) {
		t.Errorf("left out: %+v", base.LeftOut)
	}
	b.sh("rm -rf .git a b")
	facts := b.settle(b.runs["r-gitone11"])
	b.expect(facts, "while a 644 -> -", "while b 644 -> -")
	b.before(facts, map[string]string{"a": "a\n", "b": "b\nmore\n"})
}

// A look finds whatever a call did to a path, and between calls that it was nobody's.
// W5.
func TestLook(t *testing.T) {
	b := newBench(t)
	b.sh("mkdir d e; echo a >a; echo b >d/b; echo c >c; ln -s a link; echo s >s")
	w := b.run("r-lookatit", "")
	b.start(w)
	b.expect(b.settle(w), "")
	for _, c := range []struct{ script, want string }{
		{"echo x >new", "while new - -> 644"},
		{"echo x >>a", "while a 644 -> 644"},
		{"rm c", "while c 644 -> -"},
		{"chmod 600 a", "while a 644 -> 600"},
		{"ln -sfn b link", "while link link a -> link b"},
		{"mv d d2", "while d dir -> -,while d/b 644 -> -,while d2 - -> dir,while d2/b - -> 644"},
		{"rm s; mkdir s; echo in >s/in", "while s 644 -> dir,while s/in - -> 644"},
		{"rm new; mv e new; mkdir new/x", "while e dir -> -,while new 644 -> dir,while new/x - -> dir"},
		{"rm -r new; mkfifo new", "while new dir -> special,while new/x dir -> -"},
		{"touch a", ""},
		{"cp a a2; mv a2 a", ""},
	} {
		b.expect(b.during(w, c.script), strings.Split(c.want, ",")...)
	}
	b.sh("echo mine >mine")
	b.expect(b.start(w), "outside mine - -> 644")
	b.expect(b.settle(w), "")
}

// A folder that is moved to where a file was brings paths with it that are as old as they were.
func TestLookFolderForAFile(t *testing.T) {
	b := newBench(t)
	b.sh("mkdir d; echo b >d/b; touch -d 2001-01-01 d/b; echo f >f")
	w := b.run("r-swapswap", "")
	b.start(w)
	b.settle(w)
	b.expect(b.during(w, "rm f; mv d f"), "while d dir -> -", "while d/b 644 -> -", "while f 644 -> dir", "while f/b - -> 644")
}

// A write that does not show in what the system says of a file is found, as what was changed right
// before a look is read again at the next. Without that it is missed.
func TestLookYoung(t *testing.T) {
	for _, young := range []bool{true, false} {
		b := newBench(t)
		w := b.run("r-youngone", "")
		b.sh("echo 0000 >f")
		b.start(w)
		at := b.k.trackers[where{"r-youngone", b.folder}]
		b.sh("echo 1111 >f")
		_, e, _, err := scan.Version(at.root, "f", maxFile)
		if err != nil {
			t.Fatal(err)
		}
		at.seen["f"] = seen{e, at.seen["f"].v, young} // as a coarse clock would have it
		at.due["f"] = true                            // as a look at a young file leaves it, whenever it was
		want := "while f 644 -> 644"
		if !young {
			want = ""
		}
		b.expect(b.settle(w), want)
	}
}

// What only comes into scope is nobody's creation: by a rule that leaves it out no more, or a
// repository that is none any more.
func TestLookScope(t *testing.T) {
	b := newBench(t)
	b.repository("printf 'out/\\n*.log\\n' >.gitignore; mkdir out; echo o >out/o; truncate -s 300K big.log")
	b.sh("git init -q n; echo n >n/n; touch -d 2001-01-01 out/o n/n")
	w := b.run("r-scopeone", "")
	b.start(w)
	b.expect(b.settle(w), "")
	b.expect(b.during(w, "echo >.gitignore; rm -rf n/.git"), "while .gitignore 644 -> 644")
	b.expect(b.during(w, "printf 'out/\\n' >.gitignore; echo x >out/o"), "while .gitignore 644 -> 644", "while out/o 644 -> 644")
	b.expect(b.during(w, "rm -rf out"), "while out dir -> -", "while out/o 644 -> -")
}

// What was left out and is gone is named: nothing gives it back.
func TestLookVanished(t *testing.T) {
	b := newBench(t)
	b.repository("printf 'out/\\n*.log\\n' >.gitignore; mkdir out; echo o >out/o; truncate -s 300K big.log")
	b.sh("git init -q n")
	w := b.run("r-vanished", "")
	b.start(w)
	b.sh("rm -rf out n")
	b.killed()
	b.expect(b.settle(w), "while n nested_repository -> -", "while out ignored_folder -> -")
	b.expect(b.during(w, "rm big.log"), "while big.log too_large -> -")
}

// A path is git's to give back only where both commits have what was there: what was modified, or
// only in the index, is not in any commit.
func TestLookGit(t *testing.T) {
	b := newBench(t)
	b.repository("echo a >a; echo m >m; echo s >s; mkdir d; echo d >d/d; echo e >e; chmod 755 e")
	b.sh(`git checkout -q -b other; echo 2 >a; echo 2 >m; echo 2 >e; git rm -q -r d; mkdir new; echo 2 >new/new; git add .; git commit -q -m two; git branch two
git checkout -q main; mkdir empty; echo mine >m; echo staged >s; echo added >added; git add s added; chmod 644 e`)
	w := b.run("r-gitmoves", "")
	b.start(w)
	b.sh("git checkout -q -f other; rmdir empty")
	facts := b.settle(w)
	b.expect(facts, "git a 644 -> 644", "while m 644 -> 644", "while s 644 -> 644", "while added 644 -> -", "while e 644 -> 755", "while empty dir -> -",
		"git d dir -> -", "git d/d 644 -> -", "git new - -> dir", "git new/new - -> 644")
	if c := facts[0].(journal.FilesChanged); c.Head == nil || c.Head.From.Ref != "refs/heads/main" || c.Head.To.Ref != "refs/heads/other" {
		t.Errorf("head %+v", c.Head)
	}
	b.expect(b.during(w, "git reset -q --hard main"), "git a 644 -> 644", "git m 644 -> 644", "git e 755 -> 755",
		"git d - -> dir", "git d/d - -> 644", "git new dir -> -", "git new/new 644 -> -")
	b.expect(b.during(w, "git reset -q --hard HEAD; git checkout -q main; git pull -q . two 2>/dev/null"), "git a 644 -> 644", "git m 644 -> 644", "git e 755 -> 755",
		"git d dir -> -", "git d/d 644 -> -", "git new - -> dir", "git new/new - -> 644")
	b.expect(b.during(w, "echo more >>a; git commit -q -a -m three"), "while a 644 -> 644")
}

// A process that takes over a run whose host was killed finds what the call changed that was under
// way, and what changed before it started as nobody's.
func TestResume(t *testing.T) {
	b := newBench(t)
	b.repository("echo a >a; echo b >b; echo c >c")
	b.sh("echo mine >mine")
	w := b.run("r-resumeit", "")
	b.expect(b.start(w), "")
	b.expect(b.during2(w, "echo one >>a"), "while a 644 -> 644")
	b.start(w)
	b.sh("rm -rf .git b; echo lost >mine; echo new >new")
	b.killed()
	facts := b.settle(w)
	b.expect(facts, "while b 644 -> -", "while mine 644 -> 644", "while new - -> 644")
	b.before(facts, map[string]string{"b": "b\n", "mine": "mine\n"})
	b.killed()
	b.sh("echo theirs >c")
	b.expect(b.start(w), "outside c 644 -> 644")
}

// during2 is during of a call that was started already.
func (b *bench) during2(w *worker, script string) []journal.Body {
	b.Helper()
	b.sh(script)
	return b.settle(w)
}

// A call is looked at by its own paths, also where whoever took the run over has no tool of its
// name when it reads the journal, as of a rewind.
func TestResumePaths(t *testing.T) {
	b := newBench(t)
	b.sh("echo a >a; echo b >b")
	w := b.run("r-resumepaths", "")
	b.start(w, "a")
	b.sh("echo new >a; echo theirs >b")
	b.killed()
	b.expect(b.settle(w, "a"), "tool a 644 -> 644")
}

// A look that was cut short has seen nothing: the next one finds all of it.
func TestCutShort(t *testing.T) {
	b := newBench(t)
	b.sh("echo a >a; echo b >b; echo z >z")
	w := b.run("r-cutshort", "")
	b.during(w, "true")
	b.sh("rm a; echo two >z")
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if found, err := b.k.Before(ctx, w.call(nil)); err == nil {
		t.Fatalf("a look that was cut short found %v", found.Facts)
	}
	facts := b.start(w)
	b.expect(facts, "outside a 644 -> -", "outside z 644 -> 644")
	b.before(facts, map[string]string{"a": "a\n", "z": "z\n"})
}

// What did not become durable is found once more.
func TestDropped(t *testing.T) {
	b := newBench(t)
	b.sh("echo a >a")
	w := b.run("r-droppedit", "")
	b.start(w)
	b.sh("echo x >a")
	b.expect(b.k.After(b.Context(), w.call(nil), nil).Facts, "while a 644 -> 644")
	b.k.Dropped(w.created)
	facts := b.settle(w)
	b.expect(facts, "while a 644 -> 644")
	b.before(facts, map[string]string{"a": "a\n"})
}

// Two runs of a family whose calls are under way at once share what changes.
// W5.
func TestShared(t *testing.T) {
	b := newBench(t)
	b.sh("echo a >a; echo b >b")
	root, child := b.run("r-rootroot", ""), b.run("r-childone", "r-rootroot")
	b.start(root)
	b.start(child)
	b.sh("echo x >a")
	facts := b.settle(child)
	b.expect(facts, "while a 644 -> 644")
	c := facts[0].(journal.FilesChanged)
	if c.During == nil || len(c.Shared) != 1 || c.Shared[0].Run != "r-rootroot" {
		t.Errorf("%+v", c)
	}
	b.sh("echo x >b")
	if c := b.settle(root)[0].(journal.FilesChanged); c.During == nil || len(c.Shared) != 0 {
		t.Errorf("%+v", c)
	}
}

// A file tool's paths alone are looked at, with what they were; what is in an ignored folder too.
func TestPaths(t *testing.T) {
	b := newBench(t)
	b.repository("echo a >a; echo out/ >.gitignore; mkdir out; echo o >out/o; ln -s a link")
	w := b.run("r-pathsone", "")
	facts := b.during(w, "echo x >a; echo x >out/o; mkdir n; echo x >n/n", "a", "out/o", "n/n")
	b.expect(facts, "tool a 644 -> 644", "tool out/o 644 -> 644", "tool n - -> dir", "tool n/n - -> 644")
	b.before(facts, map[string]string{"a": "a\n", "out/o": "o\n"})
	b.start(w) // now all is listed
	b.settle(w)
	b.sh("mkdir out/deep; echo 1 >out/deep/x")
	b.expect(b.during(w, "echo 2 >out/deep/x", "out/deep/x"), "tool out/deep/x 644 -> 644")
	b.start(w, "link")
	b.sh("echo x >a")
	b.expect(b.settle(w, "link", "a"), "")
}

// Of very many files that git has the pin stays what gives them back, and stays itself then.
// EN-44.
func TestManyPinned(t *testing.T) {
	b := newBench(t)
	b.k.MaxPinned = 3
	b.repository("for i in 1 2 3 4 5; do echo $i >f$i; done")
	w := b.run("r-manypins", "")
	b.start(w)
	b.sh("rm f*")
	facts := b.settle(w)
	git, want := 0, map[string]string{}
	for _, c := range facts[0].(journal.FilesChanged).Changes {
		if c.Before.Git != "" {
			git++
		}
		want[c.Path] = strings.TrimPrefix(c.Path, "f") + "\n"
	}
	if git != 2 {
		t.Errorf("%d contents are in the pin alone", git)
	}
	b.sh("rm -rf .git")
	b.before(facts, want)
	b.sh("git init -q")
	b.k.Ended(w.created)
	b.before(facts, want)
}

// The pin goes with the run, unless it has what nothing else has.
func TestPinGoes(t *testing.T) {
	b := newBench(t)
	b.repository("echo a >a; echo b >b")
	w := b.run("r-pingoes1", "")
	b.start(w)
	b.sh("rm a")
	facts := b.settle(w)
	if pins, err := Pins(b.k.Process); err != nil || len(pins) != 1 {
		t.Fatal(pins, err)
	}
	b.k.Ended(w.created)
	if pins, err := Pins(b.k.Process); err != nil || len(pins) != 0 {
		t.Error(pins, err)
	}
	b.before(facts, map[string]string{"a": "a\n"})

	w = b.run("r-pinstays", "")
	b.start(w)
	b.sh("rm -rf .git")
	b.settle(w)
	b.k.Ended(w.created)
	if pins, err := Pins(b.k.Process); err != nil || len(pins) != 1 {
		t.Error("the objects of a repository that is gone were removed", err)
	}
}

// Beyond the budget contents are lost, and named so.
// EN-66.
func TestBudget(t *testing.T) {
	b := newBench(t)
	b.k.MaxBytes = 10
	b.sh("echo 1234 >a; echo 1234 >b; echo 1234 >c")
	w := b.run("r-budgeted", "")
	base := baseOf(t, b.start(w))
	if base.Sealed != 2 || len(base.LeftOut) != 1 || base.LeftOut[0].Path != "c" || base.LeftOut[0].Reason != journal.LeftOverBudget {
		t.Errorf("%+v", base)
	}
	b.sh("echo x >a; rm c")
	b.expect(b.settle(w), "while a 644 -> 644", "while c over_budget -> -")
}

// In folders that are too wide, what file tools write is kept, and nothing else is claimed.
// W10.
func TestTooWide(t *testing.T) {
	for why, change := range map[string]func(b *bench){
		"a home folder":         func(b *bench) { b.k.Homes = []string{b.folder} },
		"the state folder":      func(b *bench) { b.folder = b.k.Process.Home },
		"the whole file system": func(b *bench) { b.folder = "/" },
	} {
		b := newBench(t)
		change(b)
		w := b.run("r-toowide1", "")
		base := baseOf(t, b.start(w))
		if base.Mode != journal.KeepTools || !strings.Contains(base.Why, why) || base.Manifest != "" {
			t.Errorf("%s: %+v", why, base)
		}
		b.expect(b.settle(w), "")
		if b.folder != "/" {
			b.sh("echo a >a")
			b.expect(b.during(w, "echo x >a", "a"), "tool a 644 -> 644")
		}
	}
}

// A workspace may hold the state folder, which is none of it.
func TestStateInside(t *testing.T) {
	b := newBench(t)
	b.folder = filepath.Dir(b.k.Process.Home)
	b.sh("echo mine >mine")
	w := b.run("r-stateins", "")
	if base := baseOf(t, b.start(w)); base.Mode != journal.KeepAll || base.Paths != 1 {
		t.Errorf("%+v", base)
	}
	b.settle(w)
	b.expect(b.during(w, "rm mine"), "while mine 644 -> -")
}
