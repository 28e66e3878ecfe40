package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/toolstest"
)

// S12: no path and no symlink leads out of the workspace, into the state folder, or to what is no
// regular file.
func TestNoWayOut(t *testing.T) {
	b := newBench(t)
	secret := filepath.Join(filepath.Dir(b.Dir), "secret")
	if err := os.WriteFile(secret, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.State = b.Path("inner/state") // a state folder inside the workspace
	b.Write("inner/state/agent.db", "hush")
	b.Write("inner/state/deep/key", "hush")
	b.build()
	b.Write("ok", "fine")
	b.Write("sub/ok", "fine")
	b.Link(secret, "abs-file")
	b.Link("../secret", "rel-file")
	b.Link("..", "up")
	b.Link("/", "top")
	b.Link(b.Path("inner/state"), "abs-state")
	b.Link("inner/state/agent.db", "to-db")
	b.Link("sub/../inner/./state", "winding")
	b.Link("loop-b", "loop-a")
	b.Link("loop-a", "loop-b")
	b.Link("../../work/ok", "sub/out-and-in")
	long := strings.Repeat("x", 300)

	for path, why := range map[string]string{
		"../secret":                       "outside the workspace",
		"..":                              "outside the workspace",
		"sub/../../secret":                "outside the workspace",
		"../work/ok":                      "outside the workspace",
		secret:                            "outside the workspace",
		"/etc/passwd":                     "outside the workspace",
		"/proc/self/mem":                  "outside the workspace",
		b.Dir + "/../secret":              "outside the workspace",
		b.Dir + "x/ok":                    "outside the workspace",
		"abs-file":                        "symlink abs-file leads to",
		"rel-file":                        "outside the workspace",
		"up/secret":                       "outside the workspace",
		"top/etc/passwd":                  "symlink top leads to",
		"sub/out-and-in":                  "outside the workspace",
		"inner/state/agent.db":            "state folder",
		"inner/state/deep/key":            "state folder",
		"inner/state/new":                 "state folder",
		"inner/state":                     "state folder",
		b.Dir + "/inner/state/agent.db":   "state folder",
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
			if got := b.Refused(tool, a); !strings.Contains(got, why) {
				t.Errorf("%s %.60q: got %q, want %q", tool, path, got, why)
			}
		}
		for _, tool := range []string{"list_dir", "find_files"} {
			a := args{"path": path}
			if tool == "find_files" {
				a["pattern"] = "*"
			}
			b.Refused(tool, a)
		}
	}
	if got := b.Read("inner/state/agent.db"); got != "hush" {
		t.Errorf("the state folder was written: %q", got)
	}
}

func TestWaysThatStayInside(t *testing.T) {
	b := newBench(t)
	b.Write("a/b/file", "fine")
	b.Link("a/b", "short")
	b.Link("../a/b/file", "a/round")
	b.Link(b.Path("a"), "absolute")
	other := filepath.Join(filepath.Dir(b.Dir), "alias")
	if err := os.Symlink(b.Dir, other); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"a/b/file", "./a//b/./file", "a/../a/b/file", "short/file", "short/../b/file", "a/round", "absolute/b/file",
		b.Dir + "/a/b/file", b.Dir + "//a/b/../b/file",
	} {
		if got := b.Must("read_file", args{"path": path}); got != "fine" {
			t.Errorf("%s: %q", path, got)
		}
	}
	// The workspace named through a symlink is the same workspace.
	real := b.Dir
	b.Dir = other
	for _, path := range []string{"a/b/file", other + "/a/b/file", real + "/a/b/file", "absolute/b/file"} {
		if got := b.Must("read_file", args{"path": path}); got != "fine" {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestStateFolderIsInvisible(t *testing.T) {
	b := newBench(t)
	b.State = b.Path("inner/state")
	b.Write("inner/state/agent.db", "hush")
	b.Write("inner/note", "hush, said the note")
	b.build()
	if got := b.Must("list_dir", args{"path": "inner"}); got != "note  19\n" {
		t.Errorf("list_dir shows %q", got)
	}
	if got := b.Must("find_files", args{"pattern": "**"}); got != "inner/note\n" {
		t.Errorf("find_files shows %q", got)
	}
	if got := b.Must("search", args{"pattern": "hush"}); got != "inner/note:1: hush, said the note\n" {
		t.Errorf("search shows %q", got)
	}
}

// A folder is denied by what it is, whatever it is called: a mount can give it a second path.
func TestBarredByIdentity(t *testing.T) {
	b := newBench(t)
	w, err := OpenWorkspace(b.Dir, []string{b.State, filepath.Join(b.State, "later")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if !w.Denies("/another/path", toolstest.Stat(t, b.State)) {
		t.Error("the state folder is let through under another path")
	}
	if !w.Denies(filepath.Join(b.State, "later"), toolstest.Stat(t, b.Dir)) {
		t.Error("a denied folder that was made since is let through")
	}
	if w.Denies("/another/path", toolstest.Stat(t, b.Dir)) {
		t.Error("any folder is barred")
	}
}

func TestWorkspaceInsideTheStateFolder(t *testing.T) {
	b := newBench(t)
	b.State = filepath.Dir(b.Dir)
	b.build()
	toolstest.Contains(t, b.Refused("list_dir", args{}), "state folder")
	b.State = b.Dir
	b.build()
	toolstest.Contains(t, b.Refused("write_file", args{"path": "a", "content": ""}), "state folder")
	b.Dir = b.Path("gone")
	toolstest.Contains(t, b.Refused("list_dir", args{}), "no such file")
	b.Dir = "relative"
	toolstest.Contains(t, b.Refused("list_dir", args{}), "not an absolute path")
}

// A folder that is exchanged for a symlink between looking and opening is noticed by identity.
func TestFolderExchangedMeanwhile(t *testing.T) {
	b := newBench(t)
	b.Write("a/file", "inside")
	b.Write("b/file", "other")
	w, err := OpenWorkspace(b.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	info, err := w.root.Lstat("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(b.Path("a"), b.Path("c")); err != nil {
		t.Fatal(err)
	}
	b.Link("b", "a")
	if sub, err := Enter(w.root, "a", info); err == nil {
		_ = sub.Close() // it should not be open at all
		t.Error("another folder was entered in the place of the one that was looked at")
	}
}

// S12: a file that is exchanged between looking and opening is not read.
func TestFileExchangedMeanwhile(t *testing.T) {
	b := newBench(t)
	b.Write("file", "inside")
	b.Write("other", "something else")
	w, err := OpenWorkspace(b.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, err := w.Find("file")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Remove(b.Path("file")); err != nil {
		t.Fatal(err)
	}
	b.Link("other", "file")
	if _, _, err := s.Open(); err == nil || !strings.Contains(err.Error(), "replaced meanwhile") {
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
	w, err := OpenWorkspace(work, []string{state})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, asked string) {
		s, err := w.Find(asked)
		if err != nil {
			return
		}
		defer s.Close()
		rel := s.Rel
		if filepath.IsAbs(rel) || !filepath.IsLocal(rel) || rel == "in/state" || strings.HasPrefix(rel, "in/state/") {
			t.Fatalf("%q leads to %q", asked, rel)
		}
		if s.Info != nil {
			real, err := filepath.EvalSymlinks(filepath.Join(work, rel))
			if err != nil || real != filepath.Join(work, rel) {
				t.Fatalf("%q is said to be %q and is %q (%v)", asked, rel, real, err)
			}
		}
	})
}
