package files

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/patch"
	"agent/tools/toolstest"
)

// tree is every file of the workspace with its content, its permission bits and its inode.
func (b *bench) tree() string {
	b.T.Helper()
	var all strings.Builder
	err := filepath.WalkDir(b.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := []byte("folder")
		if info.Mode().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(b.Dir, path)
		fmt.Fprintf(&all, "%s %s %d %q\n", rel, info.Mode(), IDOf(info).Inode, content)
		return err
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return all.String()
}

// contents is every file of the workspace with its content.
func (b *bench) contents() string {
	b.T.Helper()
	var all []string
	err := filepath.WalkDir(b.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(b.Dir, path)
		all = append(all, fmt.Sprintf("%s=%q", filepath.ToSlash(rel), content))
		return err
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return strings.Join(all, " ")
}

// fivefold changes five files in five ways. Its first hunk would fit a second time.
const fivefold = `diff --git a/log b/log
--- a/log
+++ b/log
@@ -1 +1,2 @@
 one
+one
diff --git a/new/deep/file b/new/deep/file
new file mode 100755
--- /dev/null
+++ b/new/deep/file
@@ -0,0 +1,2 @@
+#!/bin/sh
+true
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-x
-y
diff --git a/from b/dir/to
similarity index 50%
rename from from
rename to dir/to
--- a/from
+++ b/dir/to
@@ -1,2 +1,2 @@
-a
+A
 b
diff --git a/run b/run
old mode 100644
new mode 100755
`

func fivefoldBench(t *testing.T) *bench {
	b := newBench(t)
	b.Write("log", "one\n")
	b.Write("gone", "x\ny\n")
	b.Write("from", "a\nb\n")
	b.Write("run", "echo\n")
	b.Write("other", "stays\n")
	return b
}

const fivefoldDone = `dir/to="A\nb\n" log="one\none\n" new/deep/file="#!/bin/sh\ntrue\n" other="stays\n" run="echo\n"`

// One patch makes, changes, deletes, renames and makes executable.
func TestPatch(t *testing.T) {
	b := fivefoldBench(t)
	if err := os.Chmod(b.Path("from"), 0o640); err != nil {
		t.Fatal(err)
	}
	got := b.Must("apply_patch", args{"patch": fivefold})
	toolstest.Contains(t, got, "patched log: 1 line added, 0 removed", "created new/deep/file: 2 lines, executable now", "deleted gone: 2 removed",
		"renamed from to dir/to: 1 line added, 1 removed", "patched run: 0 lines added, 0 removed, executable now")
	if got := b.contents(); got != fivefoldDone {
		t.Errorf("%s", got)
	}
	if b.mode("new/deep/file")&0o111 == 0 || b.mode("run") != 0o755 || b.mode("dir/to") != 0o640 {
		t.Errorf("modes %v %v %v", b.mode("new/deep/file"), b.mode("run"), b.mode("dir/to"))
	}
}

// What one line keeps from happening keeps all of it from happening: not a byte, not an inode, not
// a folder is another one.
func TestPatchAllOrNothing(t *testing.T) {
	const fine = "--- /dev/null\n+++ b/made/x\n@@ -0,0 +1 @@\n+x\n--- a/log\n+++ b/log\n@@ -1 +1 @@\n-one\n+two\n"
	for name, c := range map[string]struct{ text, want string }{
		"a misfit":       {"--- a/gone\n+++ b/gone\n@@ -1,2 +1,2 @@\n x\n-z\n+Z\n", `gone, hunk 1 (line 12 of the patch): it does not fit: the patch has the line "z", and line 2 of the file is "y"`},
		"twice":          {"--- a/log\n+++ b/log\n@@ -1 +1 @@\n-one\n+three\n", "log is in the patch twice"},
		"twice, hidden":  {"--- a/./log\n+++ b/./log\n@@ -1 +1 @@\n-one\n+three\n", "log is in the patch twice"},
		"by a link":      {"--- a/ln\n+++ b/ln\n@@ -1 +1 @@\n-one\n+three\n", "log is in the patch twice"},
		"made twice":     {"--- /dev/null\n+++ b/MADE/X\n@@ -0,0 +1 @@\n+y\n", "is in the patch twice"},
		"over a file":    {"--- /dev/null\n+++ b/gone\n@@ -0,0 +1 @@\n+y\n", "gone exists already"},
		"over a rename":  {"diff --git a/from b/gone\nrename from from\nrename to gone\n", "gone exists already"},
		"changed delete": {"--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-z\n", "does not fit"},
		"partial delete": {"--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "all of them"},
		"nothing there":  {"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n", "none does not exist"},
		"no change":      {"--- a/gone\n+++ b/gone\n@@ -1 +1 @@\n-x\n+x\n", "changes nothing in gone"},
		"a link's end":   {"--- a/ln2\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n", "is a symlink to gone"},
		"old mode":       {"diff --git a/run b/run\nold mode 100755\nnew mode 100644\n", "the patch's old mode is 100755"},
		"a folder":       {"--- /dev/null\n+++ b/other/x\n@@ -0,0 +1 @@\n+y\n", "other is not a folder"},
		"file, folder":   {"--- /dev/null\n+++ b/made/x/y\n@@ -0,0 +1 @@\n+y\n", "made/x would have to be a file and the folder of made/x/y"},
		"outside":        {"--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+y\n", "outside the workspace"},
		"absolute":       {"--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+y\n", "outside the workspace"},
		"out by a link":  {"--- /dev/null\n+++ b/out/x\n@@ -0,0 +1 @@\n+y\n", "outside the workspace"},
		"git by a link":  {"--- /dev/null\n+++ b/g/hooks/x\n@@ -0,0 +1 @@\n+y\n", "git's own files"},
		"two readings":   {"--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+y\n", "there is a folder b"},
	} {
		b := fivefoldBench(t)
		b.Link("log", "ln")
		b.Link("gone", "ln2")
		b.Link("/tmp", "out")
		b.Link(".git", "g")
		for _, dir := range []string{".git", "b"} {
			if dir == "b" && name != "two readings" {
				continue
			}
			if err := os.Mkdir(b.Path(dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		text := fine
		if name == "two readings" {
			text = "--- a/log\n+++ b/log\n@@ -1 +1 @@\n-one\n+two\n"
		}
		before := b.tree()
		toolstest.Contains(t, b.Refused("apply_patch", args{"patch": text + c.text}), c.want)
		if after := b.tree(); after != before {
			t.Errorf("%s: before\n%safter\n%s", name, before, after)
		}
	}
}

// What git would run later, and what cannot be read, is an external write.
func TestPatchEffect(t *testing.T) {
	for text, want := range map[string]journal.Effect{
		"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n":                                      journal.EffectWriteLocal,
		"--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+a\n":              journal.EffectWriteExternal,
		"diff --git a/x b/sub/.GIT/config\nrename from x\nrename to sub/.GIT/config\n": journal.EffectWriteExternal,
		"no patch": journal.EffectWriteExternal,
	} {
		raw, err := json.Marshal(args{"patch": text})
		if err != nil {
			t.Fatal(err)
		}
		if got := (applyPatch{}).Describe("", raw).Effect; got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// A file that somebody changes between the look and the write is not written over, and neither is
// any other.
func TestPatchChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"content":  func(b *bench) { b.Write("log", "other\n") },
		"replaced": func(b *bench) { b.put("log", "one\n") },
		"removed":  func(b *bench) { b.Remove("gone") },
		"made":     func(b *bench) { b.Write("dir/to", "mine") },
		"leads":    func(b *bench) { b.Remove("run"); b.Link("other", "run") },
	} {
		b := fivefoldBench(t)
		c, err := b.Prepare("apply_patch", b.Call("apply_patch", args{"patch": fivefold}))
		if err != nil {
			t.Fatal(err)
		}
		change(b)
		before := b.tree()
		r, err := b.Tool("apply_patch").(tools.Caller).Call(b.Context(), c)
		if name == "removed" {
			if err != nil || b.contents() != fivefoldDone {
				t.Errorf("%s: what was to be deleted is gone already: %v, %s", name, err, b.contents())
			}
			continue
		}
		if err == nil || r.Applied != journal.AppliedNo || b.tree() != before {
			t.Errorf("%s: %v, %+v\n%s", name, err, r, b.tree())
		}
	}
}

// An error in the middle takes back what was done before it; what was changed meanwhile is left as
// it is, and said.
func TestPatchTakenBack(t *testing.T) {
	for n := range 6 {
		b := fivefoldBench(t)
		before := b.contents()
		j, p := b.staged(fivefold)
		s := j.todo[n]
		if s.Before.Exists {
			b.Write(s.Path, "somebody's")
		} else {
			b.Write(s.Path, "in its place")
		}
		var err error
		applied := journal.AppliedYes
		for _, gone := range []bool{false, true} {
			if err == nil {
				applied, err = j.place(gone)
			}
		}
		if err == nil || applied != journal.AppliedNo {
			t.Fatalf("%d: %v, %s", n, err, applied)
		}
		toolstest.Contains(t, err.Error(), "nothing was changed", s.Path)
		if s.Before.Exists {
			b.Write(s.Path, string(s.old))
		} else {
			b.Remove(s.Path)
		}
		if got := b.contents(); got != before {
			t.Errorf("%d (%s of %d files): %s", n, s.Path, len(p.Files), got)
		}
		if s.Path != "new/deep/file" {
			if _, err := os.Stat(b.Path("new")); err == nil {
				t.Errorf("%d: the folder that was made stays", n)
			}
		}
		j.close()
	}
	b := fivefoldBench(t)
	j, _ := b.staged(fivefold)
	defer j.close()
	if err := j.todo[0].act(); err != nil {
		t.Fatal(err)
	}
	b.Write("log", "somebody's")
	applied, err := j.back(j.todo[:1], fmt.Errorf("the disk is gone"))
	if applied != journal.AppliedUnknown || b.Read("log") != "somebody's" {
		t.Errorf("%v, %s", err, applied)
	}
	toolstest.Contains(t, err.Error(), "done in part", "log (it was changed by someone else meanwhile)")
}

// staged brings a patch to where everything lies ready.
func (b *bench) staged(text string) (*patching, patch.Patch) {
	b.T.Helper()
	c, err := b.Prepare("apply_patch", b.Call("apply_patch", args{"patch": text}))
	if err != nil {
		b.T.Fatal(err)
	}
	changes, err := tools.Decode[[]change](c.Before)
	if err != nil {
		b.T.Fatal(err)
	}
	w, err := OpenWorkspace(b.Dir, nil)
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(w.Close)
	p, err := patch.Parse(text)
	if err != nil {
		b.T.Fatal(err)
	}
	j := &patching{w: w, call: c, changes: changes}
	if err := j.ready(p); err != nil {
		b.T.Fatal(err)
	}
	if err := j.stageAll(); err != nil {
		b.T.Fatal(err)
	}
	return j, p
}

// What a look finds: each file is provably as before or as wanted, or the outcome is unknown.
func TestPatchInspect(t *testing.T) {
	look := func(b *bench, c tools.Call) recovery.Inspection {
		return b.Tool("apply_patch").(tools.Inspector).Inspect(b.Context(), c)
	}
	for name, odd := range map[string]func(b *bench){
		"third content":     func(b *bench) { b.Write("log", "three\n") },
		"put back":          func(b *bench) { b.put("log", "one\n") },
		"touched":           func(b *bench) { b.touch("run") },
		"another is made":   func(b *bench) { b.Write("dir/to", "x") },
		"removed":           func(b *bench) { b.Remove("log") },
		"deleted too early": func(b *bench) { b.Remove("gone") },
		"content, no mode":  func(b *bench) { b.Write("new/deep/file", "#!/bin/sh\ntrue\n") },
	} {
		b := fivefoldBench(t)
		c, err := b.Prepare("apply_patch", b.Call("apply_patch", args{"patch": fivefold}))
		if err != nil {
			t.Fatal(err)
		}
		if i := look(b, c); i.Answer != recovery.InspectionNotHappened {
			t.Fatalf("%s: %+v", name, i)
		}
		odd(b)
		if i := look(b, c); i.Answer != recovery.InspectionUnclear || i.Why == "" {
			t.Errorf("%s: %+v", name, i)
		}
	}
	b := fivefoldBench(t)
	c, err := b.Prepare("apply_patch", b.Call("apply_patch", args{"patch": fivefold}))
	if err != nil {
		t.Fatal(err)
	}
	b.act(c)
	i := look(b, c)
	if i.Answer != recovery.InspectionHappened || i.Result == nil {
		t.Fatalf("%+v", i)
	}
	toolstest.Contains(t, i.Result.Content, "renamed from to dir/to", "seen after an interruption")
	b.Remove("dir/to")
	if i := look(b, c); i.Answer != recovery.InspectionUnclear {
		t.Errorf("%+v", i)
	}
}

// touch goes on until the file system's clock has moved.
func (b *bench) touch(rel string) {
	b.T.Helper()
	before := toolstest.Stat(b.T, b.Path(rel))
	for IDOf(toolstest.Stat(b.T, b.Path(rel))).Ctime == IDOf(before).Ctime {
		if err := os.Chtimes(b.Path(rel), before.ModTime(), before.ModTime()); err != nil {
			b.T.Fatal(err)
		}
	}
}

// act carries out a prepared patch.
func (b *bench) act(c tools.Call) {
	b.T.Helper()
	if _, err := b.Tool("apply_patch").(tools.Caller).Call(b.Context(), c); err != nil {
		b.T.Fatal(err)
	}
}
