package objects

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What two commits have in different ways is said of each path, seen from the folder, and git is
// asked nothing that its settings could change.
func TestMoved(t *testing.T) {
	top := t.TempDir()
	git := func(script string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		c.Dir, c.Env = top, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1"}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(`git init -q -b main; git config user.name A; git config user.email a@example.org; git config diff.renames copies
mkdir sub; echo a >sub/a; echo b >sub/b; echo m >sub/m; echo top >top; ln -s a sub/l; git add .; git commit -q -m one
git mv sub/a sub/a2; echo 2 >sub/b; chmod +x sub/m; ln -sfn b sub/l; echo 2 >top; echo n >"sub/new
line"; git add .; git commit -q -m two`)
	from, to := git("git rev-parse HEAD~1"), git("git rev-parse HEAD")
	r, ok, err := Find(filepath.Join(top, "sub"))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	got, err := r.Moved(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	blob := func(text string) string { return BlobID([]byte(text), false) }
	want := map[string]Moved{
		"a":         {From: Tracked{blob("a\n"), ModeFile}},
		"a2":        {To: Tracked{blob("a\n"), ModeFile}},
		"b":         {Tracked{blob("b\n"), ModeFile}, Tracked{blob("2\n"), ModeFile}},
		"m":         {Tracked{blob("m\n"), ModeFile}, Tracked{blob("m\n"), ModeExecutable}},
		"l":         {Tracked{blob("a"), ModeLink}, Tracked{blob("b"), ModeLink}},
		"new\nline": {To: Tracked{blob("n\n"), ModeFile}},
	}
	for name, m := range want {
		if got[name] != m {
			t.Errorf("%q: %+v, wanted %+v", name, got[name], m)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%+v", got)
	}
	if all, err := r.Moved(t.Context(), "", from); err != nil || len(all) != 4 || all["a"].To.Blob != blob("a\n") {
		t.Errorf("from no commit: %+v %v", all, err)
	}
	for _, id := range []string{"--output=x", "HEAD", strings.Repeat("0", 40)} {
		if _, err := r.Moved(t.Context(), from, id); err == nil {
			t.Errorf("%s: no error", id)
		}
	}
}
