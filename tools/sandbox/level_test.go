//go:build linux && !portable

package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools/gitrepo"
	"agent/tools/sandbox"
)

// What may be promised follows from what the system has, and nothing is promised beyond it. S13.
func TestHolds(t *testing.T) {
	cases := []struct {
		name               string
		s                  sandbox.Support
		read, write, full  bool
		lread, lwrite, lfu string
	}{
		{"everything", sandbox.Support{Landlock: 7, Namespaces: true, Hiding: true, Seccomp: true}, yes, yes, yes,
			"namespaces+landlock-7+seccomp", "namespaces+landlock-7+seccomp", "namespaces"},
		{"no Landlock", sandbox.Support{Namespaces: true, Hiding: true, Seccomp: true}, no, yes, yes,
			"namespaces+seccomp", "namespaces+seccomp", "namespaces"},
		{"no namespaces", sandbox.Support{Landlock: 7, Seccomp: true}, yes, no, no, "landlock-7+seccomp", "landlock-7+seccomp", "none"},
		{"an old Landlock alone", sandbox.Support{Landlock: 5, Seccomp: true}, no, no, no, "landlock-5+seccomp", "landlock-5+seccomp", "none"},
		{"no filter of system calls", sandbox.Support{Landlock: 7, Namespaces: true, Hiding: true}, no, no, yes,
			"namespaces+landlock-7", "namespaces+landlock-7", "namespaces"},
		{"left open", sandbox.Support{Landlock: 7, Namespaces: true, Hiding: true, Seccomp: true, Open: true}, yes, yes, no,
			"namespaces+landlock-7+seccomp", "namespaces+landlock-7+seccomp", "none"},
		{"nothing", sandbox.Support{}, no, no, no, "none", "none", "none"},
	}
	for _, c := range cases {
		for a, want := range map[sandbox.Access]bool{sandbox.Read: c.read, sandbox.Write: c.write, sandbox.Full: c.full} {
			if got := c.s.Holds(a); got != want {
				t.Errorf("%s: Holds(%s) is %v", c.name, a, got)
			}
		}
		for a, want := range map[sandbox.Access]string{sandbox.Read: c.lread, sandbox.Write: c.lwrite, sandbox.Full: c.lfu} {
			if got := c.s.Level(a); got != want {
				t.Errorf("%s: Level(%s) is %s", c.name, a, got)
			}
		}
	}
}

// Where the system's own program gets namespaces, so does this: the other tests must not be skipped
// by a fault of ours.
func TestProbeFindsNamespaces(t *testing.T) {
	// As in the sandbox: a user, mount, pid, network and ipc namespace with its own /proc.
	if out, err := exec.Command("unshare", "-Urmpnif", "--mount-proc", "mount", "-t", "tmpfs", "t", "/tmp").CombinedOutput(); err != nil {
		t.Skipf("unshare gets none: %v %s", err, out)
	}
	if s := sandbox.Probe(self); !s.Namespaces || !s.Hiding {
		t.Errorf("unshare gets namespaces, and this finds none: %+v", s)
	}
}

// A level that was promised and cannot be reached is a refused start, never a start with less. S13.
func TestDowngradeIsLoud(t *testing.T) {
	s := newScene(t)
	p := s.profile(sandbox.Write)
	p.Support.Landlock = 99
	out, err := s.run(p, "touch ran")
	if err == nil || !strings.Contains(out, "landlock: ABI 99 was promised, this kernel has") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(s.work + "/ran"); err == nil {
		t.Error("the command ran all the same")
	}
}

// Where there are no namespaces, Landlock and the filter alone keep a command from writing, from
// the network and from the state folder.
func TestReadWithoutNamespaces(t *testing.T) {
	s := newScene(t)
	if s.support.Landlock < 6 || !s.support.Seccomp {
		t.Skipf("Landlock ABI %d", s.support.Landlock)
	}
	v := listen(t, s)
	p := s.profile(sandbox.Read)
	p.Support.Namespaces, p.Support.Hiding = false, false
	differs := []string{"listen on the loopback and connect to it", "scratch file", "netlink for addresses"}
	for _, r := range rows(v) {
		s.reset()
		want := r.r && !slices.Contains(differs, r.name)
		switch r.name {
		case "signal the host", "see other processes":
			want = r.name == "see other processes"
		case "open a disk":
			continue // names can be seen, nothing more
		case "read the host's environment":
			want = false
		}
		out, err := s.run(p, r.script)
		if (err == nil) != want {
			t.Errorf("%s: worked %v, want %v: %v %s", r.name, err == nil, want, err, out)
		}
		s.untouched(r.name)
	}
	for name, script := range barred(v) {
		switch name {
		case "trace the confining process", "report as the confining process", "read the order of the sandbox", "end the confining process":
			continue // there is none
		}
		if out, err := s.run(p, script); err == nil {
			t.Errorf("%s: it worked: %s", name, out)
		}
		s.kept()
	}
}

// A command starts in its folder with its own environment, files and exit status, and with nothing
// of the host's.
func TestEnvironment(t *testing.T) {
	s := newScene(t)
	for _, a := range sandbox.Accesses() {
		t.Setenv("CANARY_TOKEN", "hush")
		out, err := s.run(s.profile(a), `env; pwd; tr '\0' '\n' < /proc/self/environ; ls /proc/self/fd | wc -l; cat; exit 7`, "LANG=C")
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 7 {
			t.Errorf("%s: %v", a, err)
		}
		if strings.Contains(out, "hush") || strings.Contains(out, "AGENT_SANDBOX") {
			t.Errorf("%s: the host's environment is in it: %s", a, out)
		}
		if !strings.Contains(out, "\n"+s.work+"\n") || !strings.Contains(out, "\n5\n") {
			t.Errorf("%s: %s", a, out)
		}
		if a == sandbox.Write && !strings.Contains(out, "TMPDIR=/tmp\n") {
			t.Errorf("%s: no TMPDIR in %s", a, out)
		}
		// A command that reads gets a temporary folder in which nothing from outside shows: not the
		// one that this test works in.
		own := func(dir string) bool {
			return strings.Contains(out, "TMPDIR="+dir+"\n") && !strings.HasPrefix(s.work, dir+"/")
		}
		if a == sandbox.Read && !slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/dev/shm"}, own) {
			t.Errorf("%s: no TMPDIR of its own in %s", a, out)
		}
	}
	if _, err := s.run(s.profile(sandbox.Write), "kill -TERM $$"); err == nil || err.(*exec.ExitError).ExitCode() != 143 {
		t.Errorf("a command that ends by a signal: %v", err)
	}
}

// What a person lists is writable too; the policy below it is not.
func TestWritable(t *testing.T) {
	s := newScene(t)
	p := s.profile(sandbox.Write)
	p.Writable = []string{s.outside, filepath.Dir(s.policy)}
	if out, err := s.run(p, "touch $OUTSIDE/new $HOME/.config/new"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := s.run(p, "touch $POLICY/new || mv $POLICY $POLICY.old"); err == nil {
		t.Errorf("the policy was changed: %s", out)
	}
	p.Access = sandbox.Read
	if out, err := s.run(p, "touch $OUTSIDE/other"); err == nil {
		t.Errorf("read wrote: %s", out)
	}
}

// What lies in the state folder is no workspace, and the whole file system is none to write.
func TestRefused(t *testing.T) {
	s := newScene(t)
	for _, work := range []string{s.state, s.state + "/x", "/", "work"} {
		p := s.profile(sandbox.Write)
		p.Workspace = work
		if err := p.Wrap(exec.Command("/bin/true"), self); err == nil {
			t.Errorf("%s was taken as a workspace", work)
		}
	}
}

// The private temporary folder is one for all commands of a run, and for nobody else.
func TestTemp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newScene(t)
	path, err := sandbox.MakeTemp("r-1")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	p := s.profile(sandbox.Write)
	p.Temp = path
	if out, err := s.run(p, "cd /tmp && mkdir d && echo kept > d/f && chmod 500 d"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := s.run(p, "cd /var/tmp && cat d/f"); err != nil || out != "kept\n" {
		t.Errorf("%v: %s", err, out)
	}
	if again, err := sandbox.MakeTemp("r-1"); err != nil || again != path {
		t.Errorf("%s %v", again, err)
	}
	if err := sandbox.RemoveTemp("r-1"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is still there")
	}
	if err := sandbox.RemoveTemp("r-1"); err != nil {
		t.Errorf("once more: %v", err)
	}
	if err := os.Symlink(s.home, path); err != nil {
		t.Fatal(err)
	}
	if got, err := sandbox.MakeTemp("r-1"); err == nil {
		t.Errorf("a link that somebody made was taken: %s", got)
	}
	if err := sandbox.RemoveTemp("r-1"); err == nil {
		t.Error("a link that somebody made was followed")
	}
	for _, id := range []string{"", "..", "a/b"} {
		if _, err := sandbox.MakeTemp(id); err == nil {
			t.Errorf("%q was taken for a run", id)
		}
	}
}

// The folder of the policy is made where it is missing, and what links in it lead to is guarded
// with it.
func TestSystem(t *testing.T) {
	s := newScene(t)
	dotfiles := s.home + "/dotfiles"
	if err := os.MkdirAll(dotfiles, 0o700); err != nil {
		t.Fatal(err)
	}
	s.put(dotfiles+"/rules.toml", "kept\n")
	if err := os.Symlink(dotfiles+"/rules.toml", s.policy+"/rules.toml"); err != nil {
		t.Fatal(err)
	}
	missing := s.home + "/.missing/agent"
	for _, policy := range []string{s.policy, missing} {
		y := &sandbox.System{Exe: self, Hidden: s.state, Guarded: []string{policy}}
		for _, a := range []sandbox.Access{sandbox.Write, sandbox.Full} {
			p, err := y.Profile(a, s.home, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.run(p, "echo x > "+policy+"/config.toml || echo x > "+policy+"/mcp.json || cat $STATE/key")
			if err == nil {
				t.Errorf("%s %s: %s", policy, a, out)
			}
			if policy == s.policy {
				if out, err := s.run(p, "echo x > dotfiles/rules.toml || mv dotfiles other || echo x > y && mv y dotfiles/rules.toml"); err == nil {
					t.Errorf("%s: what the policy links to was changed: %s", a, out)
				}
			}
		}
	}
	if info, err := os.Stat(missing); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
}

// What a system can enforce is found out once for commands and servers, though a person opens only
// commands.
func TestSharedProbe(t *testing.T) {
	asked := 0
	probed := func() sandbox.Support {
		asked++
		return sandbox.Support{Namespaces: true, Hiding: true}
	}
	commands := &sandbox.System{Exe: "/nowhere", Probed: probed, Settings: func() sandbox.Settings { return sandbox.Settings{Open: true} }}
	server := &sandbox.System{Exe: "/nowhere", Probed: probed}
	if commands.Support().Holds(sandbox.Full) || !server.Support().Holds(sandbox.Full) || !commands.Support().Namespaces {
		t.Errorf("commands %+v, server %+v", commands.Support(), server.Support())
	}
	if asked != 2 {
		t.Errorf("asked %d times for two systems", asked)
	}
}

// A command with write cannot lay a trap for whoever works in the folder next: what git or this
// program obeys outside of the sandbox stays as it is, wherever it is moved from. Git itself still
// works.
func TestSprings(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	s := newScene(t)
	s.plain(t, `git init -q . && git config user.email a@b && git config user.name a && echo hi > f.txt && git add f.txt && git commit -qm x &&
		mkdir -p .agent .git/modules/sub/hooks && echo 'mode = "plan"' > .agent/config.toml && cp .git/config .git/modules/sub/config`)
	s.plain(t, "rm -f .git/hooks/*; mkdir -p .git/modules/a/b .husky/_ .vscode; echo > .husky/x; echo '{}' > .vscode/tasks.json; "+
		"mv .git/hooks githooks; ln -s ../githooks .git/hooks; for n in HEAD config objects refs; do cp -r .git/$n .git/modules/a/b; cp -nr .git/$n .git/modules/sub; done; git config core.hooksPath .husky/_")
	y := &sandbox.System{Exe: self, Hidden: s.state, Guarded: []string{s.policy}}
	if !y.Support().Holds(sandbox.Write) {
		t.Skip("nothing is promised for write here")
	}
	obeyed, err := gitrepo.Obeyed(s.work)
	if err != nil {
		t.Fatal(err)
	}
	p, err := y.Profile(sandbox.Write, s.work, "", nil, obeyed.Fixed(false)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"echo evil > .git/hooks/pre-commit", "git config core.fsmonitor evil", "git config --worktree core.fsmonitor evil && cat .git/config.worktree",
		"mv .git .old && cp -r .old .git && git config core.fsmonitor evil", "mv .git/hooks .git/x && mkdir .git/hooks && touch .git/hooks/pre-commit",
		"rm -rf .agent", "mv .agent .x", "rm .agent/config.toml", "echo > .agent/config.toml", "cp f.txt x && mv x .git/config",
		"echo evil > .git/modules/sub/hooks/pre-commit", "echo evil >> .git/modules/sub/config",
		"echo evil >> .git/modules/a/b/config", "echo evil > githooks/pre-commit", "rm .git/hooks", "echo evil > .husky/_/pre-commit", "echo > .husky/x",
		"mv .husky .h && mkdir .husky", "echo evil > .vscode/tasks.json", "mv .vscode .v",
	} {
		if out, err := s.run(p, script); err == nil {
			t.Errorf("%s: %s", script, out)
		}
	}
	if out, err := s.run(p, "echo more >> f.txt && git commit -qam y && git checkout -q -b z && git log --oneline | wc -l | grep -q 2"); err != nil {
		t.Errorf("git does not work inside: %v %s", err, out)
	}
}
