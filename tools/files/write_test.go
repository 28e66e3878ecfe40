package files

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/toolstest"
)

func (b *bench) mode(rel string) os.FileMode {
	b.T.Helper()
	info, err := os.Stat(b.Path(rel))
	if err != nil {
		b.T.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestWriteFile(t *testing.T) {
	b := newBench(t)
	r, err := b.Run("write_file", args{"path": "new/deep/file.txt", "content": "one\n"})
	if err != nil || r.Outcome != journal.OutcomeOK || r.Applied != journal.AppliedYes || r.How != journal.HowExecuted {
		t.Fatalf("%v, %+v", err, r)
	}
	if r.Content != "created new/deep/file.txt: 4 bytes" || b.Read("new/deep/file.txt") != "one\n" {
		t.Errorf("%q, %q", r.Content, b.Read("new/deep/file.txt"))
	}
	var f facts
	if err := json.Unmarshal(r.Data, &f); err != nil || f.Hash != hashOf([]byte("one\n")) || f.Path != "new/deep/file.txt" || f.Size != 4 {
		t.Errorf("data %s, %v", r.Data, err)
	}
	if b.Names("new/deep") != "file.txt" {
		t.Errorf("left behind: %s", b.Names("new/deep"))
	}
	if err := os.Chmod(b.Path("new/deep/file.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	if got := b.Must("write_file", args{"path": "new/deep/file.txt", "content": "two"}); got != "replaced new/deep/file.txt: 3 bytes" {
		t.Errorf("%q", got)
	}
	if b.Read("new/deep/file.txt") != "two" || b.mode("new/deep/file.txt") != 0o751 {
		t.Errorf("%q, mode %o", b.Read("new/deep/file.txt"), b.mode("new/deep/file.txt"))
	}
}

func TestWriteFileThatIsThereAlready(t *testing.T) {
	b := newBench(t)
	b.Write("a", "same")
	before, err := os.Stat(b.Path("a"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Run("write_file", args{"path": "a", "content": "same"})
	if err != nil || r.Outcome != journal.OutcomeOK || r.Applied != journal.AppliedNo {
		t.Fatalf("%v, %+v", err, r)
	}
	toolstest.Contains(t, r.Content, "already had exactly this content")
	after, err := os.Stat(b.Path("a"))
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("the file was touched: %v", err)
	}
}

func TestWriteThroughSymlink(t *testing.T) {
	b := newBench(t)
	b.Write("real/file", "old")
	b.Link("real/file", "link")
	b.Link("real/later", "dangling")
	if got := b.Must("write_file", args{"path": "link", "content": "new"}); got != "replaced real/file: 3 bytes" {
		t.Errorf("%q", got)
	}
	b.Must("write_file", args{"path": "dangling", "content": "made"})
	if b.Read("real/file") != "new" || b.Read("real/later") != "made" {
		t.Error("the content went somewhere else")
	}
	if info, err := os.Lstat(b.Path("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the symlink was replaced: %v", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	b := newBench(t)
	b.Write("dir/file", "x")
	b.Write("frozen", "x")
	b.Write("twin", "x")
	b.Write(".git/config", "x")
	b.Link(".git", "dot")
	if err := os.Chmod(b.Path("frozen"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(b.Path("twin"), b.Path("twin2")); err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		"dir": "is a folder", ".": "is a folder", b.Dir: "is a folder", "dir/new/": "not a folder", "dir/": "is a folder",
		"frozen": "read-only (mode 0444)", "twin": "2 hard links", "dot/config": "git's own files", "dir/file/x": "not a folder",
	} {
		toolstest.Contains(t, b.Refused("write_file", args{"path": path, "content": "bad"}), why)
		toolstest.Contains(t, b.Refused("edit_file", args{"path": path, "old": "x", "new": "bad"}), why)
	}
	for _, f := range []string{"dir/file", "frozen", "twin", "twin2", ".git/config"} {
		if b.Read(f) != "x" {
			t.Errorf("%s was written", f)
		}
	}
	b.Must("write_file", args{"path": ".git/config", "content": "named as it is"})
}

func TestEditFile(t *testing.T) {
	b := newBench(t)
	b.Write("a.txt", "one two one\n")
	for _, tt := range []struct {
		old, new string
		all      bool
		want     string // in the refusal
	}{
		{"three", "x", false, "not in a.txt"},
		{"one", "x", false, "2 times in a.txt"},
		{"One", "x", true, "not in a.txt"},
		{" one\r\n", "x", false, "not in a.txt"},
	} {
		toolstest.Contains(t, b.Refused("edit_file", args{"path": "a.txt", "old": tt.old, "new": tt.new, "all": tt.all}), tt.want)
	}
	r, err := b.Run("edit_file", args{"path": "a.txt", "old": "two", "new": "2"})
	if err != nil || r.Applied != journal.AppliedYes || r.Content != "edited a.txt: 1 replacement, now 10 bytes" {
		t.Errorf("%v, %+v", err, r)
	}
	if got := b.Must("edit_file", args{"path": "a.txt", "old": "one", "new": "", "all": true}); got != "edited a.txt: 2 replacements, now 4 bytes" {
		t.Errorf("%q", got)
	}
	if b.Read("a.txt") != " 2 \n" {
		t.Errorf("%q", b.Read("a.txt"))
	}
	b.Write("dos.txt", "a\r\nb\r\n")
	toolstest.Contains(t, b.Refused("edit_file", args{"path": "dos.txt", "old": "a\nb", "new": "x"}), "CR LF")
	toolstest.Contains(t, b.Refused("edit_file", args{"path": "none", "old": "a", "new": "b"}), "does not exist; write_file")
}

// An edit is computed from what Prepare saw; if that changed, nothing is written.
func TestEditOfAChangedFile(t *testing.T) {
	b := newBench(t)
	b.Write("a", "one two")
	c, err := b.Prepare("edit_file", b.Call("edit_file", args{"path": "a", "old": "one", "new": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	b.Write("a", "one two three")
	r, err := b.Tool("edit_file").(tools.Caller).Call(b.Context(), c)
	if err == nil || r.Applied != journal.AppliedNo {
		t.Fatalf("%v, %+v", err, r)
	}
	toolstest.Contains(t, err.Error(), "changed by someone else meanwhile")
	if b.Read("a") != "one two three" || b.Names(".") != "a" {
		t.Errorf("%q, %s", b.Read("a"), b.Names("."))
	}
}

// A call that leads elsewhere than its recorded start is not carried out: nobody could look for it
// after a crash.
func TestWriteThatLeadsElsewhere(t *testing.T) {
	b := newBench(t)
	b.Write("a", "old a")
	b.Write("b", "old b")
	b.Link("a", "link")
	for tool, a := range map[string]args{
		"write_file": {"path": "link", "content": "new"}, "edit_file": {"path": "link", "old": "old", "new": "new"},
	} {
		c, err := b.Prepare(tool, b.Call(tool, a))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(b.Path("link")), os.Symlink("b", b.Path("link"))); err != nil {
			t.Fatal(err)
		}
		r, err := b.Tool(tool).(tools.Caller).Call(b.Context(), c)
		if err == nil || r.Applied != journal.AppliedNo {
			t.Errorf("%s: %v, %+v", tool, err, r)
		}
		b.Write("b", "new")
		if tool == "edit_file" {
			b.Write("b", "new a")
		}
		if i := b.Tool(tool).(tools.Inspector).Inspect(b.Context(), c); i.Answer != recovery.InspectionUnclear {
			t.Errorf("%s: %+v", tool, i)
		}
		if err := errors.Join(os.Remove(b.Path("link")), os.Symlink("a", b.Path("link"))); err != nil {
			t.Fatal(err)
		}
	}
	if b.Read("a") != "old a" {
		t.Error("something was written")
	}
}

func TestWriteCancelledBeforeItsRename(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("write_file", b.Call("write_file", args{"path": "a", "content": "x"}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := b.Tool("write_file").(tools.Caller).Call(ctx, c)
	if !errors.Is(err, context.Canceled) || r.Applied != journal.AppliedNo || b.Names(".") != "" {
		t.Errorf("%v, %+v, left %q", err, r, b.Names("."))
	}
}

// The folder cannot take the file: nothing happened, and that is what the result says.
func TestWriteThatFailsBeforeItsRename(t *testing.T) {
	b := newBench(t)
	if os.Geteuid() == 0 {
		// Root writes anywhere; a name that is taken by a folder stops it too.
		if err := os.MkdirAll(b.Path(tempName(b.Call("", args{}), 1)+"/x"), 0o755); err != nil {
			t.Fatal(err)
		}
	} else if err := os.Chmod(b.Dir, 0o500); err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, b.Refused("write_file", args{"path": "a", "content": "x"}), "write a: ")
	if _, err := os.Stat(b.Path("a")); err == nil {
		t.Error("a file was made")
	}
}

// A temporary file that a killed write left is hidden, and taken away by the call's next attempt.
func TestLeftoverOfAKilledWrite(t *testing.T) {
	b := newBench(t)
	c, err := b.Prepare("write_file", b.Call("write_file", args{"path": "a", "content": "whole"}))
	if err != nil {
		t.Fatal(err)
	}
	left := tempName(c, 1)
	b.Write(left, "who")
	i := b.Tool("write_file").(tools.Inspector).Inspect(b.Context(), c)
	if i.Answer != recovery.InspectionNotHappened {
		t.Errorf("%+v", i)
	}
	toolstest.Contains(t, i.Why, left)
	if b.Names(".") != left {
		t.Errorf("looking changed something: %s", b.Names("."))
	}
	for tool, a := range map[string]args{"list_dir": {}, "find_files": {"pattern": "**"}, "search": {"pattern": "who"}} {
		if got := b.Must(tool, a); strings.Contains(got, left) {
			t.Errorf("%s shows %q", tool, got)
		}
	}
	again := b.Call("write_file", args{"path": "a", "content": "whole"})
	again.Attempt = 2
	if again, err = b.Prepare("write_file", again); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Tool("write_file").(tools.Caller).Call(b.Context(), again); err != nil {
		t.Fatal(err)
	}
	if b.Names(".") != "a" || b.Read("a") != "whole" {
		t.Errorf("%s, %q", b.Names("."), b.Read("a"))
	}
}

// put writes a file as an editor does: a new one in the old one's place.
func (b *bench) put(rel, content string) {
	b.T.Helper()
	b.Write(rel+".new", content)
	if err := os.Rename(b.Path(rel+".new"), b.Path(rel)); err != nil {
		b.T.Fatal(err)
	}
}

// Only what was not touched at all counts as not happened: each of content, inode and ctime must be
// the recorded one.
func TestJudge(t *testing.T) {
	was := seen{Exists: true, Hash: "h", Inode: 1, Ctime: 1}
	for name, tt := range map[string]struct {
		was, now seen
		want     recovery.InspectionAnswer
	}{
		"untouched":         {was, was, recovery.InspectionNotHappened},
		"another inode":     {was, seen{Exists: true, Hash: "h", Inode: 2, Ctime: 1}, recovery.InspectionUnclear},
		"another ctime":     {was, seen{Exists: true, Hash: "h", Inode: 1, Ctime: 2}, recovery.InspectionUnclear},
		"another content":   {was, seen{Exists: true, Hash: "x", Inode: 1, Ctime: 1}, recovery.InspectionUnclear},
		"the new content":   {was, seen{Exists: true, Hash: "after", Inode: 1, Ctime: 1}, recovery.InspectionHappened},
		"nothing":           {was, seen{}, recovery.InspectionUnclear},
		"absent":            {seen{}, seen{}, recovery.InspectionNotHappened},
		"absent, now there": {seen{}, seen{Exists: true, Hash: "after"}, recovery.InspectionHappened},
		"no inodes here":    {seen{Exists: true, Hash: "h"}, seen{Exists: true, Hash: "h"}, recovery.InspectionUnclear},
	} {
		if got, why := judge(evidence{Path: "a", Before: tt.was, After: "after"}, tt.now); got != tt.want || why == "" {
			t.Errorf("%s: %s, %s", name, got, why)
		}
	}
}

// putBack writes the old content until the file system's clock has moved on, as it always has when
// a person does it.
func (b *bench) putBack(c tools.Call, write func(rel, content string)) {
	b.T.Helper()
	var e evidence
	if err := json.Unmarshal(c.Before, &e); err != nil {
		b.T.Fatal(err)
	}
	content := "old"
	if e.Before.Hash == e.After {
		content = "new"
	}
	for {
		write("d/a", content)
		if IDOf(toolstest.Stat(b.T, b.Path("d/a"))).Ctime != e.Before.Ctime {
			return
		}
	}
}

// The inspection table: what a look finds after a write of "new" over `before` was killed and the
// world is as `then` made it.
func TestInspectWrite(t *testing.T) {
	if IDOf(toolstest.Stat(t, ".")).Inode == 0 {
		t.Skip("this system tells no inodes, so an untouched file is never sure")
	}
	none := ""
	for name, tt := range map[string]struct {
		before string // content; none if the file is not there
		then   func(b *bench, c tools.Call)
		want   recovery.InspectionAnswer
		why    string
	}{
		"killed before, file there":    {"old", func(*bench, tools.Call) {}, recovery.InspectionNotHappened, "exactly as it was"},
		"killed before, file absent":   {none, func(*bench, tools.Call) {}, recovery.InspectionNotHappened, "still not there"},
		"killed after":                 {"old", (*bench).carryOut, recovery.InspectionHappened, "holds the new content"},
		"killed after, file absent":    {none, (*bench).carryOut, recovery.InspectionHappened, "holds the new content"},
		"a person wrote the same":      {"old", func(b *bench, _ tools.Call) { b.put("d/a", "new") }, recovery.InspectionHappened, "new content"},
		"a third content":              {"old", func(b *bench, _ tools.Call) { b.put("d/a", "third") }, recovery.InspectionUnclear, "neither"},
		"a third content in place":     {"old", func(b *bench, _ tools.Call) { b.Write("d/a", "third") }, recovery.InspectionUnclear, "neither"},
		"a third content, was absent":  {none, func(b *bench, _ tools.Call) { b.Write("d/a", "third") }, recovery.InspectionUnclear, "neither"},
		"happened, then changed":       {"old", func(b *bench, c tools.Call) { b.carryOut(c); b.put("d/a", "third") }, recovery.InspectionUnclear, "neither"},
		"happened, old put back":       {"old", func(b *bench, c tools.Call) { b.carryOut(c); b.putBack(c, b.put) }, recovery.InspectionUnclear, "put back"},
		"old written over itself":      {"old", func(b *bench, c tools.Call) { b.putBack(c, b.Write) }, recovery.InspectionUnclear, "put back"},
		"happened, then removed":       {"old", func(b *bench, c tools.Call) { b.carryOut(c); b.Remove("d/a") }, recovery.InspectionUnclear, "is gone"},
		"was absent, made and removed": {none, func(b *bench, c tools.Call) { b.carryOut(c); b.Remove("d/a") }, recovery.InspectionNotHappened, "still not there"},
		"a folder in its place":        {"old", func(b *bench, _ tools.Call) { b.Remove("d/a"); b.Write("d/a/x", "") }, recovery.InspectionUnclear, "is a folder"},
		"its folder gone":              {"old", func(b *bench, _ tools.Call) { b.Remove("d") }, recovery.InspectionUnclear, "is gone"},
		"its folder gone, was absent":  {none, func(b *bench, _ tools.Call) { b.Remove("d") }, recovery.InspectionUnclear, "is gone"},
		"its folder replaced, was absent": {none, func(b *bench, _ tools.Call) {
			b.Write("e/x", "")
			b.Remove("d")
			if err := os.Rename(b.Path("e"), b.Path("d")); err != nil {
				b.T.Fatal(err)
			}
		}, recovery.InspectionUnclear, "replaced by another"},
		"the workspace gone":     {"old", func(b *bench, _ tools.Call) { b.Remove(".") }, recovery.InspectionUnclear, "no such file"},
		"same content as before": {"new", func(*bench, tools.Call) {}, recovery.InspectionNotHappened, "exactly as it was"},
		"same content, touched":  {"new", func(b *bench, c tools.Call) { b.putBack(c, b.Write) }, recovery.InspectionHappened, "new content"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Write("d/keep", "")
			if tt.before != none {
				b.Write("d/a", tt.before)
			}
			c, err := b.Prepare("write_file", b.Call("write_file", args{"path": "d/a", "content": "new"}))
			if err != nil {
				t.Fatal(err)
			}
			tt.then(b, c)
			i := b.Tool("write_file").(tools.Inspector).Inspect(b.Context(), c)
			if i.Answer != tt.want || !strings.Contains(i.Why, tt.why) {
				t.Fatalf("got %+v, want %s with %q", i, tt.want, tt.why)
			}
			if (i.Answer == recovery.InspectionHappened) != (i.Result != nil) {
				t.Fatalf("%+v", i)
			}
			if i.Result != nil && (i.Result.How != journal.HowVerified || i.Result.Applied != journal.AppliedYes ||
				i.Result.Outcome != journal.OutcomeOK || len(i.Result.Data) == 0) {
				t.Errorf("%+v", i.Result)
			}
		})
	}
}

func (b *bench) carryOut(c tools.Call) {
	b.T.Helper()
	if _, err := b.Tool("write_file").(tools.Caller).Call(b.Context(), c); err != nil {
		b.T.Fatal(err)
	}
}

// Missing parents: whether the killed call had made them or not, the file is not there.
func TestInspectWithMissingParents(t *testing.T) {
	for name, made := range map[string]string{"none made": "", "one made": "x", "all made": "x/y"} {
		b := newBench(t)
		c, err := b.Prepare("write_file", b.Call("write_file", args{"path": "x/y/a", "content": "new"}))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(b.Path(made), 0o755); err != nil {
			t.Fatal(err)
		}
		inspect := b.Tool("write_file").(tools.Inspector).Inspect
		if i := inspect(b.Context(), c); i.Answer != recovery.InspectionNotHappened && IDOf(toolstest.Stat(t, ".")).Inode != 0 {
			t.Errorf("%s: %+v", name, i)
		}
		b.carryOut(c)
		if i := inspect(b.Context(), c); i.Answer != recovery.InspectionHappened {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

func TestInspectEdit(t *testing.T) {
	b := newBench(t)
	b.Write("a", "one two")
	c, err := b.Prepare("edit_file", b.Call("edit_file", args{"path": "a", "old": "one", "new": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	edit := b.Tool("edit_file")
	if i := edit.(tools.Inspector).Inspect(b.Context(), c); i.Answer != recovery.InspectionNotHappened && IDOf(toolstest.Stat(t, ".")).Inode != 0 {
		t.Errorf("%+v", i)
	}
	if _, err := edit.(tools.Caller).Call(b.Context(), c); err != nil {
		t.Fatal(err)
	}
	i := edit.(tools.Inspector).Inspect(b.Context(), c)
	if i.Answer != recovery.InspectionHappened || i.Result.Content != "edited a: 1 replacement, now 5 bytes (seen after an interruption)" {
		t.Errorf("%+v", i)
	}
	c.Before = nil
	if i := edit.(tools.Inspector).Inspect(b.Context(), c); i.Answer != recovery.InspectionUnclear {
		t.Errorf("without evidence: %+v", i)
	}
}

// What is about to be replaced is looked at once more right before the rename.
func TestReplaceOfWhatChangedMeanwhile(t *testing.T) {
	for name, tt := range map[string]struct {
		before string
		then   func(b *bench)
		want   string
	}{
		"changed": {"old", func(b *bench) { b.put("a", "person's") }, "changed by someone else"},
		"removed": {"old", func(b *bench) { b.Remove("a") }, "removed meanwhile"},
		"made":    {"", func(b *bench) { b.Write("a", "person's") }, "made by someone else"},
	} {
		b := newBench(t)
		if tt.before != "" {
			b.Write("a", tt.before)
		}
		w, err := OpenWorkspace(b.Dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		s, err := w.Find("a")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		tt.then(b)
		left := b.Names(".")
		applied, err := s.replace(b.Context(), b.Call("write_file", args{}), []byte("ours"))
		if err == nil || applied != journal.AppliedNo {
			t.Fatalf("%s: %v, %v", name, applied, err)
		}
		toolstest.Contains(t, err.Error(), tt.want)
		if b.Names(".") != left || left != "" && b.Read("a") != "person's" {
			t.Errorf("%s: left %q", name, b.Names("."))
		}
	}
}
