//go:build !portable

// What a file of a lost command tells stands on the time at which it was made, which POSIX has not.

package inspect

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agent/tools/files"
)

// What a look says when somebody else was at work: before the command's moment, in it, or after it.
func TestLookTable(t *testing.T) {
	run := func(script string) func(b *bench) {
		return func(b *bench) {
			cmd := exec.Command("/bin/sh", "-c", script)
			cmd.Dir = b.Dir
			if out, err := cmd.CombinedOutput(); err != nil {
				b.T.Fatalf("%s: %v %s", script, err, out)
			}
		}
	}
	none := func(*bench) {}
	for name, c := range map[string]struct {
		script            string
		before, in, after func(b *bench)
		want              found
		why               string
	}{
		"mkdir":                    {"mkdir n", none, run("mkdir n"), none, foundNew, "made in the moment"},
		"mkdir, nothing":           {"mkdir n", none, none, none, foundOld, "still not there"},
		"mkdir, earlier":           {"mkdir n", run("mkdir n"), none, none, foundOdd, "not made in the moment"},
		"mkdir, later":             {"mkdir n", none, none, run("mkdir n"), foundOdd, "not made in the moment"},
		"mkdir, another mode":      {"mkdir n", none, run("mkdir -m 711 n"), none, foundOdd, "another mode"},
		"mkdir, used since":        {"mkdir n", none, run("mkdir n"), run("touch n/x"), foundOdd, "touched since"},
		"mkdir, chmod since":       {"mkdir n", none, run("mkdir n"), run("chmod 700 n; chmod 755 n"), foundOdd, "touched since"},
		"mkdir, removed since":     {"mkdir n", none, run("mkdir n"), run("rmdir n"), foundOdd, "made and removed"},
		"mkdir, a file":            {"mkdir n", none, run("touch n"), none, foundOdd, "no folder"},
		"mkdir, a link":            {"mkdir n", none, run("ln -s dir n"), none, foundOdd, "no folder"},
		"mkdir, other work beside": {"mkdir n", none, run("mkdir n"), run("touch beside"), foundNew, "made in the moment"},
		"mkdir, parent replaced":   {"mkdir dir/n", none, none, run("mv dir old; mkdir dir; mkdir dir/n"), foundOdd, "was replaced"},
		"mkdir -m":                 {"mkdir -m 711 n", none, run("mkdir -m 711 n"), none, foundNew, "made in the moment"},
		"mkdir -p":                 {"mkdir -p n/m/o", none, run("mkdir -p n/m/o"), none, foundNew, "n/m/o is there"},
		"mkdir -p, in part":        {"mkdir -p n/m/o", none, run("mkdir -p n/m"), none, foundOdd, "m/o in it is not"},
		"mkdir -p, half earlier":   {"mkdir -p n/m", run("mkdir n"), run("mkdir n/m"), none, foundOdd, "not made in the moment"},
		"mkdir two, one done":      {"mkdir n m", none, run("mkdir n"), none, foundOdd, "m is not there"},
		"touch new":                {"touch n", none, run("touch n"), none, foundNew, "has the time"},
		"touch new, later":         {"touch n", none, none, run("touch n"), foundOdd, "moment"},
		"touch new, written":       {"touch n", none, run("touch n"), run("echo x > n"), foundOdd, "moment"},
		"touch new, other mode":    {"touch n", none, run("umask 0; touch n"), none, foundOdd, "not what the command makes"},
		"touch old":                {"touch file", none, run("touch file"), none, foundNew, "has the time"},
		"touch old, written":       {"touch file", none, run("printf x > file"), none, foundOdd, "one time"},
		"touch old, earlier":       {"touch file", run("touch file"), none, none, foundOdd, "moment"},
		"touch old, later":         {"touch file", none, none, run("touch file"), foundOdd, "moment"},
		"touch old, replaced":      {"touch file", none, run("rm file; printf x > file; touch file"), none, foundOdd, ""},
		"touch old, gone":          {"touch file", none, none, run("rm file"), foundOdd, "is gone"},
		"touch old, nothing":       {"touch file", none, none, none, foundOld, "exactly as it was"},
		"rm":                       {"rm file", none, run("rm file"), none, foundNew, "gone since the moment"},
		"rm, earlier":              {"rm file", run("rm file"), none, none, foundOdd, "another time"},
		"rm, later":                {"rm file", none, none, run("rm file"), foundOdd, "another time"},
		"rm, work beside since":    {"rm file", none, run("rm file"), run("touch beside"), foundOdd, "another time"},
		"rm, another in its place": {"rm file", none, run("rm file; echo y > file"), none, foundOdd, "touched since"},
		"rm, nothing":              {"rm file", none, none, none, foundOld, "exactly as it was"},
		"rm -r":                    {"rm -r dir", none, run("rm -r dir"), none, foundNew, "gone since"},
		"rm -r, deep part":         {"rm -r dir", none, run("rm dir/sub/deep"), none, foundOdd, "not all of what was in it"},
		"rm -r, nothing":           {"rm -r dir", none, none, none, foundOld, "all that is in it"},
		"mv":                       {"mv file n", none, run("mv file n"), none, foundNew, "the same file"},
		"mv over":                  {"mv file other", none, run("mv file other"), none, foundNew, "the same file"},
		"mv into":                  {"mv file dir", none, run("mv file dir"), none, foundNew, "dir/file"},
		"mv, earlier":              {"mv file n", run("mv file n"), none, none, foundOdd, "neither"},
		"mv, later":                {"mv file n", none, none, run("mv file n"), foundOdd, "neither"},
		"mv, copied":               {"mv file n", none, run("cp -p file n; rm file"), none, foundOdd, "neither"},
		"mv, moved on":             {"mv file n", none, run("mv file n; mv n o"), none, foundOdd, "neither"},
		"mv, moved back":           {"mv file n", none, run("mv file n; mv n file"), none, foundOdd, "neither"},
		"mv, linked":               {"mv file n", none, run("ln file n"), none, foundOdd, "neither"},
		"mv, work beside":          {"mv file n", none, none, run("touch beside"), foundOdd, "neither"},
		"mv, nothing":              {"mv file n", none, none, none, foundOld, "exactly as they were"},
		"mv a folder":              {"mv dir n", none, run("mv dir n"), none, foundNew, "the same file"},
	} {
		b := newBench(t)
		b.Write("file", "x")
		b.Write("other", "y")
		b.Write("dir/sub/deep", "z")
		old := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(b.Path("file"), old, old); err != nil {
			t.Fatal(err)
		}
		d, ok := parse(c.script, "")
		if !ok {
			t.Fatalf("%s: not read", name)
		}
		w, err := files.OpenWorkspace(b.Dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.tick()
		sc, ok := record(w, d)
		if !ok {
			t.Fatalf("%s: nothing recorded", name)
		}
		b.tick()
		c.before(b)
		from := b.tick()
		c.in(b)
		to := b.tick()
		b.tick()
		c.after(b)
		f, why := inspect(w, sc, window{from, to})
		w.Close()
		if f != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %d, %s", name, f, why)
		}
	}
}

// Where the command would fail or do nothing, or where too little could be seen afterwards, nothing
// is recorded.
func TestLookNotSet(t *testing.T) {
	b := newBench(t)
	b.Write("file", "x")
	b.Write("dir/in", "x")
	b.Link("dir", "link")
	outside := t.TempDir()
	b.Link(outside, "out")
	if err := os.Link(b.Path("file"), b.Path("twin")); err != nil {
		t.Fatal(err)
	}
	w, err := files.OpenWorkspace(b.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, script := range []string{
		"mkdir file", "mkdir dir", "mkdir none/n", "mkdir -p dir", "mkdir ../n", "mkdir " + outside + "/n", "mkdir out/n", "mkdir file/n", "rm none", "rm -f none", "rm dir",
		"rm file none", "rm /etc/passwd", "rm out/x", "touch dir", "touch link", "touch none/n", "mv none n", "mv file twin", "mv -n file dir/in", "mv -T file dir",
		"mv dir dir/in", "mv dir dir/n", "mv file file", "mv file " + outside + "/n", "mv dir link/n",
	} {
		d, ok := parse(script, "")
		if !ok {
			t.Errorf("%s: not read", script)
			continue
		}
		if sc, ok := record(w, d); ok {
			t.Errorf("%s: %+v", script, sc)
		}
	}
	if trusted("mkdir", []string{"PATH=" + b.Dir + ":/usr/bin:/bin"}) != true || trusted("mkdir", []string{"PATH="}) {
		t.Error("a plain PATH is not known")
	}
	b.Write("mkdir", "#!/bin/sh\n")
	if err := os.Chmod(b.Path("mkdir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if trusted("mkdir", []string{"PATH=" + b.Dir + ":/usr/bin:/bin"}) {
		t.Error("another program of that name counts as the system's")
	}
}
