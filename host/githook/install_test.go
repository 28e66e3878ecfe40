package githook

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/gitrepo/hooklines"
	"agent/tools/gitrepo/objects"
)

// place is a repository, and a git that reads hooks from its configuration or not.
func place(t *testing.T, reads bool) *Place {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	cmd := exec.Command("git", "init", "-q", dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	repo, ok, err := objects.Find(dir)
	if err != nil || !ok {
		t.Fatal(err, ok)
	}
	return &Place{repo: repo, exe: "/opt/it's/agent", version: "2.0", reads: reads, hooks: filepath.Join(repo.Common, "hooks")}
}

// listing is what lies in the repository, with its bytes and modes.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		b.WriteString(name + " " + info.Mode().String() + "\n" + string(text) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func edit(t *testing.T, name string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(change(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Off leaves every byte and mode as it was before on, however the configuration ends, and also
// where this program was elsewhere when it was put on.
// H2.
func TestOffIsExact(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"as git makes it":  func(s string) string { return s },
		"without an end":   func(s string) string { return strings.TrimSuffix(s, "\n") },
		"a comment behind": func(s string) string { return s + "# mine\n\n" },
		"a hook of others": func(s string) string { return s + "[hook \"lint\"]\n\tcommand = lint\n\tevent = commit-msg\n" },
		"nothing":          func(string) string { return "" },
	} {
		for _, reads := range []bool{true, false} {
			p := place(t, reads)
			edit(t, p.config(), change)
			before := listing(t, p.repo.Git)
			for _, exe := range []string{"/usr/bin/agent", "/opt/agent", "/opt/agent"} {
				p.exe = exe
				v, err := p.On()
				if err != nil || !v.On || v.Program != exe || len(v.Add) > 0 || !v.Missing {
					t.Fatalf("%s: %v %+v", name, err, v)
				}
			}
			if text := listing(t, p.repo.Git); strings.Count(text, hooklines.Trailer) != 0 || strings.Contains(text, "/usr/bin/agent") {
				t.Errorf("%s: %s", name, text)
			}
			p.exe = "/elsewhere/agent"
			if v, err := p.Off(); err != nil || v.On {
				t.Fatalf("%s: %v %+v", name, err, v)
			}
			if after := listing(t, p.repo.Git); after != before {
				t.Errorf("%s: before\n%s\nafter\n%s", name, before, after)
			}
		}
	}
}

// What belongs to somebody else is never replaced: the lines are for a person to add.
// H2.
func TestOnReplacesNothing(t *testing.T) {
	p := place(t, false)
	theirs := filepath.Join(p.hooks, "commit-msg")
	if err := os.WriteFile(theirs, []byte("#!/bin/sh\nlint\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	v, err := p.On()
	if err != nil || v.On || len(v.Add) != 1 || v.Add[0].File != theirs || len(v.Others) != 1 {
		t.Fatalf("%v %+v", err, v)
	}
	edit(t, theirs, func(s string) string { return s + v.Add[0].Line + "\n" })
	if v, err = p.On(); err != nil || !v.On || len(v.Add) != 0 {
		t.Errorf("%v %+v", err, v)
	}
	if v, err = p.Off(); err != nil || v.On {
		t.Errorf("%v %+v", err, v)
	}
	if text, err := os.ReadFile(theirs); err != nil || !strings.HasPrefix(string(text), "#!/bin/sh\nlint\n") {
		t.Errorf("%v %s", err, text)
	}

	p = place(t, false) // husky's
	p.moved, p.hooks = true, filepath.Join(p.repo.Top, ".husky", "_")
	before := listing(t, p.repo.Top)
	v, err = p.On()
	if err != nil || v.On || len(v.Add) != 2 || v.Add[0].File != filepath.Join(p.repo.Top, ".husky", "prepare-commit-msg") || listing(t, p.repo.Top) != before {
		t.Errorf("%v %+v", err, v)
	}
}

func TestOnIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before func(p *Place)
		why    string
	}{
		"a program in the repository": {func(p *Place) { p.exe = filepath.Join(p.repo.Top, "bin", "agent") }, "commands of runs may write"},
		"no path for a hook":          {func(p *Place) { p.exe = "/a\nb" }, "cannot stand in a hook"},
		"a lock":                      {func(p *Place) { _ = os.WriteFile(p.config()+".lock", nil, 0o600) }, "a git is changing it"},
		"changed since": {func(p *Place) {
			_ = os.WriteFile(p.config(), []byte(hooklines.Section(p.exe)+"\tenabled = false\n"), 0o600)
		}, "hook.agent-prepare was changed"},
		"damaged": {func(p *Place) { _ = os.WriteFile(p.config(), []byte("[x"), 0o600) }, "git cannot read it"},
	} {
		p := place(t, true)
		c.before(p)
		before := listing(t, p.repo.Git)
		var refused *RefusedError
		if _, err := p.On(); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.why) || listing(t, p.repo.Git) != before {
			t.Errorf("%s: %v", name, err)
		}
	}
}
