package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/db"
	"agent/recovery/fault"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// What is asked of an output is asked of the bytes that are hashed and copied.
// CF-21, CF-25, CF-31.
func TestTakeValidates(t *testing.T) {
	const schema = `{"type": "array", "items": {"type": "object", "required": ["name"]}}`
	for _, c := range []struct {
		name, content string
		o             flow.Output
		invalid       string
	}{
		{"no more than that it is there", "x", flow.Output{}, ""},
		{"empty", "", flow.Output{}, "it is empty"},
		{"empty, which it may be", "", flow.Output{Empty: true}, ""},
		{"as long as asked for", "four", flow.Output{Min: 4}, ""},
		{"too short", "four", flow.Output{Min: 5}, "it has 4 bytes, at least 5 are asked for"},
		{"its lines", "# a\r\n## Steps \n\n## Tests", flow.Output{Has: []string{"## Steps", "## Tests"}}, ""},
		{"a line that is only a part of one", "see ## Steps", flow.Output{Has: []string{"## Steps"}}, `it has no line "## Steps"`},
		{"what must match", "x\nVERDICT: PASS\n", flow.Output{Match: `(?m)^VERDICT: (PASS|FAIL)$`}, ""},
		{"nothing that matches", "VERDICT: MAYBE\n", flow.Output{Match: `(?m)^VERDICT: (PASS|FAIL)$`}, `nothing in it matches (?m)^VERDICT`},
		{"JSON as asked for", `[{"name": "a"}]`, flow.Output{Schema: "s.json", SchemaText: schema}, ""},
		{"other JSON", `[{"title": "a"}]`, flow.Output{Schema: "s.json", SchemaText: schema}, "the schema s.json"},
		{"no JSON", `[{"name": "a"}`, flow.Output{Schema: "s.json", SchemaText: schema}, "not JSON"},
		{"JSON and more", `[] []`, flow.Output{Schema: "s.json", SchemaText: schema}, "not one value"},
		{"a schema that is none", `[]`, flow.Output{Schema: "s.json", SchemaText: `{"type": 3}`}, "read the schema"},
		{"a schema that is elsewhere", `[]`, flow.Output{Schema: "s.json", SchemaText: `{"$ref": "https://example.com/s"}`}, "read the schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.write("docs/out.md", c.content)
			c.o.Path = "docs/out.md"
			got := b.take(c.o)
			if c.invalid == "" && (got.Invalid != "" || got.Copy == "") || !strings.Contains(got.Invalid, c.invalid) || c.invalid != "" && got.Copy != "" {
				t.Errorf("%+v, want %q", got, c.invalid)
			}
			if got.SHA != digest([]byte(c.content)) || got.Size != int64(len(c.content)) || string(got.Content) != c.content || got.Mode != 0o644 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// What is no file of the workspace is refused by name, and nothing of it is read.
func TestTakeRefuses(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	b.must(os.WriteFile(filepath.Join(outside, "secret"), []byte("hush"), 0o600))
	b.write("real/file", "fine")
	b.write(".git/config", "git's")
	b.write(".agent/rules", "ours")
	b.write("state/agent.db", "ours")
	b.must(os.MkdirAll(b.path("folder"), 0o755))
	for from, to := range map[string]string{
		"link": "real/file", "gone": "nowhere", "out": filepath.Join(outside, "secret"), "way-out": outside, "way": "real", "to-git": ".git", "to-state": "state", "loop": "loop",
	} {
		b.must(os.Symlink(to, b.path(from)))
	}
	for path, why := range map[string]string{
		"link": "it is a symlink", "gone": "it is a symlink", "out": "outside", "way-out/secret": "outside", "loop": "symlink",
		"folder": "it is a folder", "real/file/": "it is not a folder", "real/file/below": "not a folder",
		".git/config": "no artifact", "a/.GIT/config": "no artifact", ".agent/rules": "no artifact", "to-git/config": "it leads to .git/config",
		"state/agent.db": "state folder", "to-state/agent.db": "state folder",
		"/etc/passwd": "not a path below", "../x": "outside", "real/../real/file": "not a path below", "": "not a path below", ".": "not a path below", "./x": "not a path below",
		"nowhere": missing, "no/where": missing,
	} {
		for _, o := range []flow.Output{{Path: path}, {Path: path, NoCopy: true, Empty: true}} {
			if got := b.take(o); !strings.Contains(got.Invalid, why) || got.SHA != "" || got.Content != nil || got.Copy != "" {
				t.Errorf("%q: %+v, want %q", path, got, why)
			}
		}
	}
	if got := b.take(flow.Output{Path: "way/file"}); got.Invalid != "" || string(got.Content) != "fine" {
		t.Errorf("through a link that stays in the workspace: %+v", got)
	}
	if rows := b.copies.Rows(); len(rows) != 1 {
		t.Errorf("%d contents are kept, want the one", len(rows))
	}
}

// A copy has the bytes that were hashed, also those that redaction would take out, and is there
// once the fact is that names it.
func TestTakeCopies(t *testing.T) {
	b := newBench(t)
	const content = "key = ghp_0123456789abcdefghijABCDEFGHIJ012345\n\x00\xff"
	b.write("out", content)
	got := b.take(flow.Output{Path: "out"})
	if _, why, err := b.copies.open(t.Context(), got.Copy, got.SHA); err != nil || why == "" {
		t.Errorf("a copy is there before its fact: %q %v", why, err)
	}
	b.record()
	back, why, err := b.copies.open(t.Context(), got.Copy, got.SHA)
	if err != nil || why != "" || string(back) != content {
		t.Errorf("%q %q %v", back, why, err)
	}
	if _, why, err := b.copies.open(t.Context(), got.Copy, digest([]byte("another"))); err != nil || !strings.Contains(why, "does not match") {
		t.Errorf("a copy of something else: %q %v", why, err)
	}

	if got := b.take(flow.Output{Path: "out", NoCopy: true}); got.Copy != "" || got.NoCopy != "" || got.SHA != digest([]byte(content)) {
		t.Errorf("copy = false: %+v", got)
	}
	b.copies.Room = int64(len(content)) - 1
	if got := b.take(flow.Output{Path: "out"}); got.Copy != "" || !strings.Contains(got.NoCopy, "left for copies") || got.Invalid != "" {
		t.Errorf("without room: %+v", got)
	}
	b.copies.Room = FlowLimit
	b.write("large", strings.Repeat("x", CopyLimit+1))
	got = b.take(flow.Output{Path: "large"})
	if got.Copy != "" || !strings.Contains(got.NoCopy, "at most") || got.Invalid != "" || got.Content != nil || got.SHA != digest([]byte(b.content("large"))) {
		t.Errorf("a large file: %.200v", got)
	}
	if got := b.take(flow.Output{Path: "large", Match: "x"}); !strings.Contains(got.Invalid, "looked for in at most") {
		t.Errorf("a large file that must match: %s", got.Invalid)
	}
	b.write("largest", strings.Repeat("x", CopyLimit))
	if got := b.take(flow.Output{Path: "largest", Match: "x"}); got.Copy == "" || got.Invalid != "" {
		t.Errorf("the largest file that is copied: %s %s", got.Invalid, got.NoCopy)
	}
	if b.copies.Room != FlowLimit-CopyLimit {
		t.Errorf("%d bytes are left", b.copies.Room)
	}
}

// The order of a taking: durable, then copied.
// Promise 3 of flows, CF-19.
func TestTakeOrder(t *testing.T) {
	b := newBench(t)
	var points []fault.Point
	b.f.hit = func(p fault.Point) {
		points = append(points, p)
		if p == fault.ArtifactSynced && b.copies.Room != FlowLimit {
			t.Error("it is copied before it is durable")
		}
	}
	b.write("out", "x")
	b.take(flow.Output{Path: "out"})
	if len(points) != 2 || points[0] != fault.ArtifactSynced || points[1] != fault.ArtifactCopied {
		t.Errorf("%q", points)
	}
	points = nil
	b.write("out", "")
	b.take(flow.Output{Path: "out"})
	if len(points) != 0 {
		t.Errorf("what is not valid passes %q", points)
	}
}

// A file that is written to while it is read is read again, and refused if that does not end: what
// is taken always is what was hashed and copied.
func TestTakeWhileItIsWritten(t *testing.T) {
	b := newBench(t)
	b.write("out", strings.Repeat("a", 4<<20))
	done, stopped := make(chan struct{}), make(chan struct{})
	file, err := os.OpenFile(b.path("out"), os.O_WRONLY, 0)
	b.must(err)
	defer file.Close()
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if _, err := file.WriteAt([]byte{byte(i)}, int64(i%(4<<20))); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	refused := 0
	for range 10 {
		got := b.take(flow.Output{Path: "out"})
		if got.Invalid != "" {
			refused++
			if !strings.Contains(got.Invalid, "being written") || got.Copy != "" {
				t.Errorf("%s %s", got.Invalid, got.Copy)
			}
			continue
		}
		b.record()
		if back, why, err := b.copies.open(t.Context(), got.Copy, got.SHA); err != nil || why != "" || digest(back) != got.SHA {
			t.Errorf("a copy of other bytes: %q %v", why, err)
		}
	}
	close(done)
	<-stopped
	if refused == 0 {
		t.Error("no change was noticed")
	}
	if got := b.take(flow.Output{Path: "out"}); got.Invalid != "" || digest(got.Content) != got.SHA {
		t.Errorf("%s", got.Invalid)
	}
}

// Of a file that is saved again and again, as an editor does, one of its versions is taken, never a
// mixture, and never one that is gone by then.
func TestTakeWhileItIsSaved(t *testing.T) {
	b := newBench(t)
	versions := map[string]bool{}
	for _, c := range "ab" {
		versions[digest([]byte(strings.Repeat(string(c), 1<<20)))] = true
	}
	b.write("out", strings.Repeat("a", 1<<20))
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			err := os.WriteFile(b.path("saving"), []byte(strings.Repeat("ab"[i%2:i%2+1], 1<<20)), 0o644)
			if err == nil {
				err = os.Rename(b.path("saving"), b.path("out"))
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	}()
	taken := 0
	for range 30 {
		if got := b.take(flow.Output{Path: "out", NoCopy: true}); got.Invalid == "" {
			taken++
			if !versions[got.SHA] {
				t.Errorf("no version that was saved: %s", got.SHA)
			}
		}
	}
	close(done)
	<-stopped
	t.Logf("%d of 30 were taken", taken)
}

// What cannot be read is a reason for the phase that made it to try again.
func TestTakeWithoutPermission(t *testing.T) {
	needsUser(t)
	b := newBench(t)
	b.write("out", "x")
	b.must(os.Chmod(b.path("out"), 0))
	if got := b.take(flow.Output{Path: "out"}); !strings.Contains(got.Invalid, "cannot be read") {
		t.Errorf("%+v", got)
	}
}

// A store that cannot keep the copy ends the taking: nothing may be claimed.
func TestTakeWithoutStore(t *testing.T) {
	b := newBench(t)
	b.write("out", "x")
	read, err := db.OpenRead(t.Context(), b.store.Dir())
	b.must(err)
	defer read.Close()
	b.must(os.Rename(filepath.Join(b.store.Dir(), "key"), b.path("key")))
	contents, err := read.Contents()
	b.must(err)
	if got, err := b.f.Take(t.Context(), flow.Output{Path: "out"}, &Copies{Contents: contents, Room: FlowLimit}); err == nil || !strings.Contains(err.Error(), "take out: ") {
		t.Errorf("%+v %v", got, err)
	}
	b.must(os.Rename(b.path("key"), filepath.Join(b.store.Dir(), "key")))
}

// Promise 15: what lay there before the phase began, and nobody wrote since, is not what it made;
// the same bytes written anew are.
func TestFresh(t *testing.T) {
	b := newBench(t)
	b.write("old", "last week's")
	b.write("same", "the same")
	before, err := b.f.Before(t.Context(), []flow.Output{{Path: "old"}, {Path: "same"}, {Path: "new"}}, b.copies)
	b.must(err)
	b.save("same", "the same")
	b.write("new", "x")
	for i, want := range []bool{false, true, true} {
		now := b.take(flow.Output{Path: before[i].Path})
		if got := Fresh(before[i].Artifact, now.Artifact); got != want {
			t.Errorf("%s is fresh: %v", now.Path, got)
		}
	}
	if Fresh(journal.Artifact{Path: "x", SHA: "y"}, journal.Artifact{Path: "x"}) {
		t.Error("what is gone is fresh")
	}
}

// Promise 10: whatever lies at the outputs of a phase that begins is copied, also what a person
// left there, valid or not. What no artifact can be is named.
func TestBefore(t *testing.T) {
	b := newBench(t)
	b.write("person", "mine")
	b.write("empty", "")
	b.write("dir/a", "1")
	b.must(os.Symlink("person", b.path("link")))
	got, err := b.f.Before(t.Context(), []flow.Output{{Path: "person", Min: 100}, {Path: "empty"}, {Path: "gone"}, {Path: "dir/"}, {Path: "link"}}, b.copies)
	b.must(err)
	b.record()
	if back, why, err := b.copies.open(t.Context(), got[0].Copy, got[0].SHA); err != nil || why != "" || string(back) != "mine" {
		t.Errorf("%q %q %v", back, why, err)
	}
	if got[1].Copy == "" || got[2].SHA != "" || got[2].Invalid != "" || got[3].SHA == "" || got[3].Copy != "" || got[4].Invalid != "it is a symlink" {
		t.Errorf("%+v", got)
	}
	if os.Getuid() != 0 {
		b.must(os.Chmod(b.path("person"), 0))
		if _, err := b.f.Before(t.Context(), []flow.Output{{Path: "person"}}, b.copies); !errors.Is(err, os.ErrPermission) {
			t.Errorf("what cannot be copied: %v", err)
		}
	}
}

// dir/ is all files below, by a manifest: any file that is another one, more or fewer, shows.
func TestTakeFolder(t *testing.T) {
	b := newBench(t)
	b.write("dist/a", "1")
	b.write("dist/sub/b", "22")
	b.must(os.Symlink("a", b.path("dist/link")))
	first := b.take(flow.Output{Path: "dist/"})
	if first.Invalid != "" || first.SHA == "" || first.Size != 3 || first.Copy != "" || first.Changed.IsZero() {
		t.Fatalf("%+v", first)
	}
	if again := b.take(flow.Output{Path: "dist/", Min: 3}); again.SHA != first.SHA || again.Stamp != first.Stamp || again.Invalid != "" {
		t.Errorf("%+v, was %+v", again, first)
	}
	if got := b.take(flow.Output{Path: "dist/", Min: 4}); got.Invalid == "" {
		t.Error("it is too small, and nobody says so")
	}
	for name, change := range map[string]func(){
		"other bytes":   func() { b.write("dist/a", "2") },
		"another name":  func() { b.must(os.Rename(b.path("dist/a"), b.path("dist/c"))) },
		"a file more":   func() { b.write("dist/sub/d", "") },
		"a file less":   func() { b.must(os.Remove(b.path("dist/sub/b"))) },
		"another link":  func() { b.must(os.Remove(b.path("dist/link"))); b.must(os.Symlink("sub", b.path("dist/link"))) },
		"an executable": func() { b.must(os.Chmod(b.path("dist/a"), 0o755)) },
	} {
		before := b.take(flow.Output{Path: "dist/"})
		change()
		if after := b.take(flow.Output{Path: "dist/"}); after.SHA == before.SHA {
			t.Errorf("%s: not seen", name)
		}
		b.must(os.RemoveAll(b.path("dist")))
		b.write("dist/a", "1")
		b.write("dist/sub/b", "22")
		b.must(os.Symlink("a", b.path("dist/link")))
	}
	b.must(os.MkdirAll(b.path("none/below"), 0o755))
	b.write("repo/.git/config", "x")
	if got := b.take(flow.Output{Path: "repo/"}); !strings.Contains(got.Invalid, "it holds .git") {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{"nowhere/", "dist/a/"} {
		if got := b.take(flow.Output{Path: path}); got.Invalid == "" {
			t.Errorf("%s is taken", path)
		}
	}
	b.must(os.RemoveAll(b.path("none")))
	b.must(os.MkdirAll(b.path("none"), 0o755))
	if got := b.take(flow.Output{Path: "none/"}); got.Invalid != "it holds no file" {
		t.Errorf("%+v", got)
	}
	if got := b.take(flow.Output{Path: "none/", Empty: true}); got.Invalid != "" {
		t.Errorf("%+v", got)
	}
	b.must(os.MkdirAll(b.path("around/state"), 0o755))
	b.f.Close()
	var err error
	b.f, err = Open(b.dir, []string{b.path("around/state")}, "r-artifact")
	b.must(err)
	if got := b.take(flow.Output{Path: "around/"}); got.Invalid != "it holds the state folder" {
		t.Errorf("%+v", got)
	}
}
