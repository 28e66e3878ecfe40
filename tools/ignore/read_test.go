package ignore

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools/ignore/ignoretest"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// temp is a new folder, by the path that it has without links.
func temp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// What holds from outside has the rank that it has in git, and is seen from where git sees it, in
// every kind of work tree and in the folders of it.
func TestAboveAsGitDoes(t *testing.T) {
	dir := temp(t)
	git := func(at string, args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)
		ignoretest.Git(t, filepath.Join(dir, at), args...)
	}
	for _, at := range []string{"own", "part"} {
		write(t, filepath.Join(dir, at, "file"), "")
		git(at, "init", "-q")
		git(at, "add", "file")
		git(at, "commit", "-q", "-m", "one")
	}
	git("own", "submodule", "add", "-q", filepath.Join(dir, "part"), "sub")
	git("own", "worktree", "add", "-q", "--detach", filepath.Join(dir, "linked"))
	for common, rules := range map[string]string{"own/.git": "excluded\n!taken\n/top2\nsub/below2\n", "own/.git/modules/sub": "ofsub\n"} {
		write(t, filepath.Join(dir, common, "info/exclude"), rules)
	}
	// The top's rules are seen from it, but the submodule is a top of its own.
	ruled := map[string]string{"own": "!both\n", "linked": "!both\n", "own/sub": "!both\n"}
	for at, rules := range ruled {
		write(t, filepath.Join(dir, at, Name), rules)
	}
	person := filepath.Join(dir, "person")
	for _, file := range []string{person, filepath.Join(dir, "own", "mine"), filepath.Join(dir, "own", "sub", "mine"), filepath.Join(dir, "linked", "mine")} {
		write(t, file, "everywhere\ntaken\nboth\n/top\nsub/below\n*.p\n!a.p\nonly/\n")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("person", link); err != nil {
		t.Fatal(err)
	}
	names := []string{"everywhere", "taken", "both", "top", "top2", "below", "below2", "excluded", "ofsub", "a.p", "b.p", "only", "none"}
	for at, top := range map[string]string{"own": "own", "own/sub": "own/sub", "linked": "linked", "own/in/sub": "own", "linked/sub": "linked"} {
		real := filepath.Join(dir, at)
		for _, name := range names { // a file, and a folder with a file
			write(t, filepath.Join(real, "f", name), "")
			write(t, filepath.Join(real, name, "x"), "")
		}
		for _, file := range []string{"", person, link, "mine"} {
			rules, err := Above(real, file, nil)
			if err != nil {
				t.Fatal(err)
			}
			if at == top {
				rules = rules.Below("", ruled[top])
			}
			var got []string
			for _, name := range names {
				if rules.LeavesOut(path.Join("f", name), false) {
					got = append(got, path.Join("f", name))
				}
				if rules.LeavesOut(name, true) {
					got = append(got, name+"/")
				}
			}
			want := ignoretest.Lists(t, real, "-c", "core.excludesFile="+file, "ls-files", "-z", "-o", "-i", "--directory", "--exclude-standard")
			// What is in another of these folders is judged there.
			want = slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, "sub/") || strings.HasPrefix(line, "in/") })
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s with %q:\ngot  %s\nwant %s", at, file, strings.Join(got, " "), strings.Join(want, " "))
			}
		}
	}
}

// Without a repository what the person ignores is seen from the workspace, and a file that is not
// absolute from the top.
func TestAboveOfPerson(t *testing.T) {
	dir := temp(t)
	write(t, filepath.Join(dir, "w", "mine"), "/a\nb/c\n")
	for _, file := range []string{filepath.Join(dir, "w", "mine"), "mine"} {
		g, err := Above(filepath.Join(dir, "w"), file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !g.LeavesOut("a", false) || g.LeavesOut("b/a", false) || !g.LeavesOut("b/c", true) {
			t.Errorf("%s: %+v", file, g)
		}
		if again, err := Above(filepath.Join(dir, "w"), file, g); err != nil || !again.Same(g) || &again.rules[0] != &g.rules[0] {
			t.Errorf("%s is parsed again: %v", file, err)
		}
	}
	for _, file := range []string{"", "none", dir, filepath.Join(dir, "w", "mine", "x")} {
		if g, err := Above(filepath.Join(dir, "w"), file, nil); g != nil || err != nil {
			t.Errorf("%q: %+v, %v", file, g, err)
		}
	}
}
