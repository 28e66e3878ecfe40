package githook_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/tools/githook"
	"agent/tools/gitrepo/hooklines"
)

// TestMain is the program that git runs, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hooklines.Command {
		if os.Getenv("HOOK_PANICS") != "" {
			h := githook.Here()
			h.Getenv = nil
			_ = h.Main(os.Args[2:]) // what it meets is no concern of git's
			os.Exit(0)
		}
		_ = githook.Here().Main(os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// repo is a repository in which git runs the hooks.
type repo struct {
	*testing.T
	dir, home string
	env       []string
}

// newRepo makes one with a commit. A git that reads hooks from its configuration gets them by its
// environment, as commands of a call do; any other has them as files. AGENT_GIT is the folder of
// the git to use.
func newRepo(t *testing.T) *repo {
	t.Helper()
	t.Parallel()
	search := os.Getenv("PATH")
	if dir := os.Getenv("AGENT_GIT"); dir != "" {
		search = dir + string(os.PathListSeparator) + search
	} else if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := &repo{T: t, dir: t.TempDir(), home: t.TempDir()}
	r.env = []string{
		"PATH=" + search, "HOME=" + r.home, "XDG_CONFIG_HOME=" + filepath.Join(r.home, ".config"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "EDITOR=true",
		"GIT_TERMINAL_PROMPT=0", "AGENT_CALL=c-1",
	}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.email", "a@b")
	r.git("config", "user.name", "a")
	r.git("config", "maintenance.auto", "false")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.install(exe)
	r.sh("echo 0 > f; git add f; git commit -qm start")
	return r
}

func (r *repo) install(exe string) {
	r.Helper()
	if r.newer() {
		pairs := hooklines.Pairs(exe)
		r.env = append(r.env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(pairs)))
		for i, p := range pairs {
			r.env = append(r.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, p.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, p.Value))
		}
		return
	}
	for _, h := range hooklines.Hooks() {
		r.write(".git/hooks/"+h.Event, h.Script(exe), 0o755)
	}
}

// newer says whether git reads hooks from its configuration.
func (r *repo) newer() bool {
	r.Helper()
	var major, minor int
	if _, err := fmt.Sscanf(r.git("version"), "git version %d.%d", &major, &minor); err != nil {
		r.Fatal(err)
	}
	return major > 2 || minor >= 54
}

func (r *repo) write(name, text string, mode os.FileMode) {
	r.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// try runs a script and says whether it ended well.
func (r *repo) try(script string) (string, bool) {
	out, err := r.command("/bin/sh", "-ec", script).CombinedOutput()
	return string(out), err == nil
}

func (r *repo) sh(script string) string {
	r.Helper()
	out, ok := r.try(script)
	if !ok {
		r.Fatalf("%s: %s", script, out)
	}
	return out
}

func (r *repo) git(args ...string) string {
	r.Helper()
	cmd := r.command("/bin/sh", append([]string{"-c", `git "$@"`, "git"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %q: %v %s", args, err, out)
	}
	return string(out)
}

// id is the trailer of a commit, as git reads it; "" where it has none.
func (r *repo) id(rev string) string {
	r.Helper()
	return strings.TrimSpace(r.git("log", "-1", "--format=%(trailers:key=Agent-Checkpoint,valueonly,separator=%x2c)", rev))
}

// old makes the commit at HEAD one of yesterday.
func (r *repo) old() {
	r.Helper()
	r.git("-c", "core.hooksPath=/none", "-c", "hook.agent-prepare.enabled=false", "commit", "-q", "--amend", "--no-edit", "--allow-empty", "--date=@1600000000 +0000")
}
