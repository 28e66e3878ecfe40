package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// S12: no path and no symlink leads out of the workspace, into the state folder, or to what is no regular file.
func TestNoWayOut(t *testing.T) {
	b := newBench(t)
	secret := filepath.Join(filepath.Dir(b.dir), "secret")
	if err := os.WriteFile(secret, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.state = b.path("inner/state") // a state folder inside the workspace
	b.write("inner/state/agent.db", "hush")
	b.write("inner/state/deep/key", "hush")
	b.build()
	b.write("ok", "fine")
	b.write("sub/ok", "fine")
	b.link(secret, "abs-file")
	b.link("../secret", "rel-file")
	b.link("..", "up")
	b.link("/", "top")
	b.link(b.path("inner/state"), "abs-state")
	b.link("inner/state/agent.db", "to-db")
	b.link("sub/../inner/./state", "winding")
	b.link("loop-b", "loop-a")
	b.link("loop-a", "loop-b")
	b.link("../../work/ok", "sub/out-and-in")
	long := strings.Repeat("x", 300)

	for path, why := range map[string]string{
		"../secret":                       "outside the workspace",
		"..":                              "outside the workspace",
		"sub/../../secret":                "outside the workspace",
		"../work/ok":                      "outside the workspace",
		secret:                            "outside the workspace",
		"/etc/passwd":                     "outside the workspace",
		"/proc/self/mem":                  "outside the workspace",
		b.dir + "/../secret":              "outside the workspace",
		b.dir + "x/ok":                    "outside the workspace",
		"abs-file":                        "symlink abs-file leads to",
		"rel-file":                        "outside the workspace",
		"up/secret":                       "outside the workspace",
		"top/etc/passwd":                  "symlink top leads to",
		"sub/out-and-in":                  "outside the workspace",
		"inner/state/agent.db":            "state folder",
		"inner/state/deep/key":            "state folder",
		"inner/state/new":                 "state folder",
		"inner/state":                     "state folder",
		b.dir + "/inner/state/agent.db":   "state folder",
		"inner/../inner/state/./agent.db": "state folder",
		"abs-state/agent.db":              "state folder",
		"to-db":                           "state folder",
		"winding/agent.db":                "state folder",
		"loop-a":                          "symlinks on the way",
		"ok/":                             "not a folder",
		"ok/.":                            "not a folder",
		"ok/more":                         "not a folder",
		"a\x00b":                          "NUL",
		long:                              "300 bytes",
		"sub/" + long:                     "300 bytes",
		strings.Repeat("a/", 3000):        "6000 bytes",
		"nothing/../ok":                   "does not exist",
	} {
		for _, tool := range []string{"read_file", "write_file", "edit_file", "search"} {
			a := args{"path": path}
			switch tool {
			case "write_file":
				a["content"] = "bad"
			case "edit_file":
				a["old"], a["new"] = "hush", "bad"
			case "search":
				a["pattern"] = "hush"
			}
			if got := b.refused(tool, a); !strings.Contains(got, why) {
				t.Errorf("%s %.60q: got %q, want %q", tool, path, got, why)
			}
		}
		for _, tool := range []string{"list_dir", "find_files"} {
			a := args{"path": path}
			if tool == "find_files" {
				a["pattern"] = "*"
			}
			b.refused(tool, a)
		}
	}
	if got := b.read("inner/state/agent.db"); got != "hush" {
		t.Errorf("the state folder was written: %q", got)
	}
}

func TestWaysThatStayInside(t *testing.T) {
	b := newBench(t)
	b.write("a/b/file", "fine")
	b.link("a/b", "short")
	b.link("../a/b/file", "a/round")
	b.link(b.path("a"), "absolute")
	other := filepath.Join(filepath.Dir(b.dir), "alias")
	if err := os.Symlink(b.dir, other); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"a/b/file", "./a//b/./file", "a/../a/b/file", "short/file", "short/../b/file", "a/round", "absolute/b/file",
		b.dir + "/a/b/file", b.dir + "//a/b/../b/file",
	} {
		if got := b.must("read_file", args{"path": path}); got != "fine" {
			t.Errorf("%s: %q", path, got)
		}
	}
	// The workspace named through a symlink is the same workspace.
	real := b.dir
	b.dir = other
	for _, path := range []string{"a/b/file", other + "/a/b/file", real + "/a/b/file", "absolute/b/file"} {
		if got := b.must("read_file", args{"path": path}); got != "fine" {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestStateFolderIsInvisible(t *testing.T) {
	b := newBench(t)
	b.state = b.path("inner/state")
	b.write("inner/state/agent.db", "hush")
	b.write("inner/note", "hush, said the note")
	b.build()
	if got := b.must("list_dir", args{"path": "inner"}); got != "note  19\n" {
		t.Errorf("list_dir shows %q", got)
	}
	if got := b.must("find_files", args{"pattern": "**"}); got != "inner/note\n" {
		t.Errorf("find_files shows %q", got)
	}
	if got := b.must("search", args{"pattern": "hush"}); got != "inner/note:1: hush, said the note\n" {
		t.Errorf("search shows %q", got)
	}
}

// A folder is barred by what it is, whatever it is called: a mount can give it a second path.
func TestBarredByIdentity(t *testing.T) {
	b := newBench(t)
	w, err := openWorkspace(b.dir, []string{b.state, filepath.Join(b.state, "later")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if !w.bars("/another/path", stat(t, b.state)) {
		t.Error("the state folder is let through under another path")
	}
	if !w.bars(filepath.Join(b.state, "later"), stat(t, b.dir)) {
		t.Error("a barred folder that was made since is let through")
	}
	if w.bars("/another/path", stat(t, b.dir)) {
		t.Error("any folder is barred")
	}
}

func TestWorkspaceInsideTheStateFolder(t *testing.T) {
	b := newBench(t)
	b.state = filepath.Dir(b.dir)
	b.build()
	contains(t, b.refused("list_dir", args{}), "state folder")
	b.state = b.dir
	b.build()
	contains(t, b.refused("write_file", args{"path": "a", "content": ""}), "state folder")
	b.dir = b.path("gone")
	contains(t, b.refused("list_dir", args{}), "no such file")
	b.dir = "relative"
	contains(t, b.refused("list_dir", args{}), "not an absolute path")
}

// A folder that is exchanged for a symlink between looking and opening is noticed by identity.
func TestFolderExchangedMeanwhile(t *testing.T) {
	b := newBench(t)
	b.write("a/file", "inside")
	b.write("b/file", "other")
	w, err := openWorkspace(b.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	info, err := w.root.Lstat("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(b.path("a"), b.path("c")); err != nil {
		t.Fatal(err)
	}
	b.link("b", "a")
	if sub, err := enter(w.root, "a", info); err == nil {
		_ = sub.Close()
		t.Error("another folder was entered in the place of the one that was looked at")
	}
}

// S12: a file that is exchanged between looking and opening is not read.
func TestFileExchangedMeanwhile(t *testing.T) {
	b := newBench(t)
	b.write("file", "inside")
	b.write("other", "something else")
	w, err := openWorkspace(b.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	s, err := w.find("file")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := os.Remove(b.path("file")); err != nil {
		t.Fatal(err)
	}
	b.link("other", "file")
	if _, _, err := s.open(); err == nil || !strings.Contains(err.Error(), "replaced meanwhile") {
		t.Errorf("opened what was put in the file's place: %v", err)
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{
		"a", "../x", "a/../../x", "up/x", "/etc/passwd", "l/l/l", "a/./b", "", "a\x00", "in/state", "abs/etc", "l/../..", "a/b/..", "up/..", "//", "in/../in/state/db",
	} {
		f.Add(s)
	}
	top, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	work, state := filepath.Join(top, "work"), filepath.Join(top, "work", "in", "state")
	for _, d := range []string{filepath.Join(work, "a", "b"), state} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			f.Fatal(err)
		}
	}
	for name, target := range map[string]string{"l": "a", "a/l": "../a", "up": "..", "abs": "/", "s": "in/state", "a/s": "../in"} {
		if err := os.Symlink(target, filepath.Join(work, name)); err != nil {
			f.Fatal(err)
		}
	}
	w, err := openWorkspace(work, []string{state})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, asked string) {
		s, err := w.find(asked)
		if err != nil {
			return
		}
		defer s.close()
		rel := s.rel
		if filepath.IsAbs(rel) || !filepath.IsLocal(rel) || rel == "in/state" || strings.HasPrefix(rel, "in/state/") {
			t.Fatalf("%q leads to %q", asked, rel)
		}
		if s.info != nil {
			real, err := filepath.EvalSymlinks(filepath.Join(work, rel))
			if err != nil || real != filepath.Join(work, rel) {
				t.Fatalf("%q is said to be %q and is %q (%v)", asked, rel, real, err)
			}
		}
	})
}
