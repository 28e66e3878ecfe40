//go:build linux && !portable

package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"agent/tools/sandbox"
)

// trap is a repository that runs a program when git looks at it. X stands for that program, which
// leaves a mark outside.
type trap struct{ name, set, git string }

// traps are the 16 trials of git's settings that run programs.
func traps() []trap {
	const changed = "; echo changed >> f.txt"
	return []trap{
		{"fsmonitor", `git config core.fsmonitor "X; false"`, "status --porcelain"},
		{"fsmonitor", `git config core.fsmonitor "X; false"`, "diff"},
		{"clean filter", `git config filter.x.clean "X; cat"; echo '*.txt filter=x' > .gitattributes` + changed, "status --porcelain"},
		{"clean filter", `git config filter.x.clean "X; cat"; echo '*.txt filter=x' > .gitattributes` + changed, "diff"},
		{"textconv", `git config diff.x.textconv "X; cat"; echo '*.txt diff=x' > .gitattributes` + changed, "diff"},
		{"textconv kept off", `git config diff.x.textconv "X; cat"; echo '*.txt diff=x' > .gitattributes` + changed, "diff --no-textconv --no-ext-diff"},
		{"diff command", `git config diff.x.command "X; true"; echo '*.txt diff=x' > .gitattributes` + changed, "diff"},
		{"diff command kept off", `git config diff.x.command "X; true"; echo '*.txt diff=x' > .gitattributes` + changed, "diff --no-ext-diff"},
		{"external diff", `git config diff.external "X; true"` + changed, "diff"},
		{"hook of the index", `printf '#!/bin/sh\nX\n' > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change; touch f.txt`, "status"},
		{"hook of a commit", `printf '#!/bin/sh\nX\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit` + changed, "commit -qam y"},
		{"gpg", `printf '#!/bin/sh\nX\n' > gpg.sh; chmod +x gpg.sh; git config gpg.program "$PWD/gpg.sh"; git config commit.gpgsign true` + changed, "commit -qam y"},
		{"signatures", `printf '#!/bin/sh\nX\n' > gpg.sh; chmod +x gpg.sh; git config gpg.program "$PWD/gpg.sh"`, "log -1 --show-signature"},
		{"pager", `git config core.pager "X; cat"; git config pager.log true`, "-p log -1"},
		{"alias", `git config alias.st '!X'`, "st"},
		{"repository in a folder", `mkdir -p sub/objects sub/refs; cd sub; echo 'ref: refs/heads/master' > HEAD; ` +
			`printf '[core]\n repositoryformatversion=0\n bare=false\n worktree=..\n fsmonitor="X; false"\n' > config`, "-C sub status --porcelain"},
	}
}

// In a repository that its settings have set a trap in, git runs nothing outside the sandbox: no
// mark appears outside, and no connection is made. Issue 4, behaviour 1; S11.
func TestGitInATrap(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	sprung, tried := 0, 0
	for i, c := range traps() {
		both := []sandbox.Access{sandbox.Read, sandbox.Write}
		if !whole() {
			both = both[i%2:][:1] // each trap in one of them
		}
		for _, a := range both {
			tried++
			t.Run(fmt.Sprintf("%d %s", i, a), func(t *testing.T) {
				if s := newScene(t); s.sprung(t, c, a) {
					sprung++
				}
			})
		}
	}
	// The control: the same repositories do spring without a sandbox.
	if sprung*len(traps()) < 9*tried {
		t.Errorf("only %d of %d traps work at all", sprung, tried)
	}
	t.Logf("%d of %d traps spring without a sandbox", sprung, tried)
}

// sprung runs git in a trap inside, looks that nothing came of it, and says whether it springs
// outside.
func (s *scene) sprung(t *testing.T, c trap, a sandbox.Access) bool {
	t.Helper()
	s.reset()
	v := listen(t, s)
	mark := s.outside + "/ran"
	program := "touch " + mark + " ran-inside; echo x > $POLICY/config.toml; cat $STATE/key > ran-inside; exec 9<>/dev/tcp/" +
		strings.Replace(v.tcp, ":", "/", 1) + " && touch " + mark
	program = "bash -c '" + program + "'"
	setup := `git init -q . && git config user.email a@b && git config user.name a && echo hi > f.txt && git add . && git commit -qm x; `
	s.plain(t, setup+strings.ReplaceAll(c.set, "X", mark+".sh"))
	if err := os.WriteFile(mark+".sh", []byte("#!/bin/sh\n"+program+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := s.run(s.profile(a), "git "+c.git+" < /dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if _, merr := os.Lstat(mark); merr == nil {
		t.Errorf("%s, git %s, access %s: it ran outside: %v %s", c.name, c.git, a, err, out)
	}
	s.kept()
	if a == sandbox.Write && strings.HasPrefix(c.git, "status") && err != nil {
		t.Errorf("%s, git %s does not work inside: %v %s", c.name, c.git, err, out)
	}
	s.plain(t, "git "+c.git+" < /dev/null || true")
	_, err = os.Lstat(mark)
	return err == nil
}

// plain runs a script as it is.
func (s *scene) plain(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.Dir = s.work
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.base, "GIT_CONFIG_NOSYSTEM=1", "POLICY=" + s.base, "STATE=" + s.base, "TERM=dumb"}
	if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(script, "sub/objects") {
		t.Logf("%s: %v %s", script, err, out)
	}
}
