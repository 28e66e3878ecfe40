//go:build linux

package gitrepo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools/gitrepo"
)

// place is a person's home with a workspace that is a repository.
type place struct {
	t          *testing.T
	home, work string
	mark       string // appears when something that was planted runs
}

func newPlace(t *testing.T, setup string) *place {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	base := t.TempDir()
	p := &place{t: t, home: filepath.Join(base, "home"), mark: filepath.Join(base, "ran")}
	p.work = filepath.Join(p.home, "work")
	if err := os.MkdirAll(p.work, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", p.home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("TMPDIR", filepath.Join(p.home, "temp"))
	p.sh(`git init -q . && git config user.email a@b && git config user.name a && mkdir plain && echo hi > f.txt && cp f.txt plain && git add . && git commit -qm x`)
	p.sh(setup)
	t.Cleanup(func() { p.sh("chmod -R u+rwX .") })
	return p
}

// sh runs a script in the workspace. $X is a command that leaves the mark.
func (p *place) sh(script string) string {
	p.t.Helper()
	cmd := exec.Command("/bin/bash", "-c", script)
	cmd.Dir = p.work
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + p.home, "GIT_CONFIG_NOSYSTEM=1", "X=touch " + p.mark, "GIT_EDITOR=true", "TERM=dumb",
		"GIT_ALLOW_PROTOCOL=file",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		out = fmt.Appendf(out, "%v", err)
	}
	return string(out)
}

func (p *place) look() gitrepo.Snapshot {
	p.t.Helper()
	s, err := gitrepo.Obeyed(p.work)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// ran says whether the mark is there, and removes it.
func (p *place) ran() bool { return os.Remove(p.mark) == nil }

const evil = `printf '[core]\n\tfsmonitor = "%s; false"\n' "$X"`

// plant is a way to have a person's next command run something: what is there before, what the
// agent does, what the person does.
type plant struct{ name, before, plant, person string }

// plants are those that are seen by looking alone.
func plants() []plant {
	const sub = "git init -q sub && (cd sub && git config user.email a@b && git config user.name a && echo x > g && git add g && git commit -qm y)"
	return []plant{
		{"commondir", "", `cp -r .git other && ` + evil + ` >> other/config && echo ../other > .git/commondir`, "git status"},
		{"config of a nested repository", sub, "cd sub && git config core.fsmonitor \"$X; false\"", "cd sub && git status"},
		{"hook of a nested repository", sub, `printf '#!/bin/sh\n%s\n' "$X" > sub/.git/hooks/pre-commit && chmod +x sub/.git/hooks/pre-commit`, "cd sub && git commit -q --allow-empty -m z"},
		{"new repository", "", "git init -q new && cd new && git config core.fsmonitor \"$X; false\"", "cd new && git status"},
		{"new repository deep below", "", "mkdir -p a/b/c/d && git init -q a/b/c/d/e && cd a/b/c/d/e && git config core.fsmonitor \"$X; false\"", "cd a/b/c/d/e && git status"},
		{"bare repository as files", "", `mkdir -p plain/objects plain/refs && echo 'ref: refs/heads/x' > plain/HEAD && printf '[remote "o"]\nurl = ..\nuploadpack = "%s; false"\n' "$X" > plain/config`, "cd plain && git fetch o"},
		{"replaced gitfile", "mkdir -p .git/modules/a && git init -q --separate-git-dir=.git/modules/a/b sub", "cp -r .git/modules/a/b evil && " + evil + " >> evil/config && echo 'gitdir: ../evil' > sub/.git", "cd sub && git status"},
		{"config of a module with a slash in its name", "mkdir -p .git/modules/a && git init -q --separate-git-dir=.git/modules/a/b sub", evil + " >> .git/modules/a/b/config", "cd sub && git status"},
		{".git as a link", sub, "cp -r sub/.git evil && " + evil + " >> evil/config && rm -rf sub/.git && ln -s ../evil sub/.git", "cd sub && git status"},
		{"a link for the config", sub, evil + " > c && cat sub/.git/config >> c && ln -sf ../../c sub/.git/config", "cd sub && git status"},
		{"a replaced repository", sub, "cp -r sub/.git k && " + evil + " >> k/config && rm -rf sub/.git && mv k sub/.git", "cd sub && git status"},
		{"config of a linked worktree", "git config extensions.worktreeConfig true && git worktree add -q wt", evil + " > .git/worktrees/wt/config.worktree", "cd wt && git status"},
		{"commondir of a linked worktree", "git worktree add -q wt", "cp -r .git evil && rm -rf evil/worktrees && " + evil + " >> evil/config && echo ../../../evil > .git/worktrees/wt/commondir", "cd wt && git status"},
		{"the folder of core.hooksPath", "mkdir -p .husky/_ && git config core.hooksPath .husky/_", `printf '#!/bin/sh\n%s\n' "$X" > .husky/_/pre-commit && chmod +x .husky/_/pre-commit`, "git commit -q --allow-empty -m z"},
		{"a missing folder of core.hooksPath", "git config core.hooksPath tools/hooks", `mkdir -p tools/hooks && printf '#!/bin/sh\n%s\n' "$X" > tools/hooks/pre-commit && chmod +x tools/hooks/pre-commit`, "git commit -q --allow-empty -m z"},
		{"a person's core.hooksPath", "git config --global core.hooksPath .githooks", `mkdir .githooks && printf '#!/bin/sh\n%s\n' "$X" > .githooks/pre-commit && chmod +x .githooks/pre-commit`, "git commit -q --allow-empty -m z"},
		{"an included file", "touch shared.config && git config include.path ../shared.config", evil + " > shared.config", "git status"},
		{"a conditionally included file", "git config includeIf.gitdir:~/.path ../shared.config", evil + " > shared.config", "git status"},
		{"a file that the person's own configuration includes", "git config --global include.path work/shared.config", evil + " > shared.config", "git status"},
		{"the program of a filter", `git config filter.x.clean ./clean.sh && echo '*.txt filter=x' > .gitattributes && printf '#!/bin/sh\ncat\n' > clean.sh && chmod +x clean.sh`,
			`printf '#!/bin/sh\n%s\ncat\n' "$X" > clean.sh && echo more >> f.txt`, "git diff"},
		{"the template of new repositories", "mkdir -p tpl/hooks && git config --global init.templateDir ~/work/tpl",
			`printf '#!/bin/sh\n%s\n' "$X" > tpl/hooks/post-checkout && chmod +x tpl/hooks/post-checkout`, "git clone -q . ../copy"},
		{"steps of a rebase", "", `git commit -q --allow-empty -m z && GIT_SEQUENCE_EDITOR="sed -i s/^pick/edit/" git rebase -q -i HEAD~1 2>/dev/null; echo "exec $X" > .git/rebase-merge/git-rebase-todo`, "git rebase --continue"},
		{"hooks in a linked worktree", "git config core.hooksPath .githooks && git worktree add -q wt",
			`mkdir wt/.githooks && printf '#!/bin/sh\n%s\n' "$X" > wt/.githooks/pre-commit && chmod +x wt/.githooks/pre-commit`, "cd wt && git commit -q --allow-empty -m z"},
		{"a hook among many files", "mkdir hk && git config core.hooksPath hk",
			`for i in {1..700}; do : > hk/a$i; done; printf '#!/bin/sh\n%s\n' "$X" > hk/pre-commit && chmod +x hk/pre-commit`, "git commit -q --allow-empty -m z"},
		{"many files of its own", "", `mkdir -p z/y && seq 25000 | sed s/^/.f/ | xargs touch && git init -q z/y/new && ` + evil + ` >> z/y/new/.git/config`, "cd z/y/new && git status"},
		{"commondir beside many files", "seq 25000 | sed s/^/.f/ | xargs touch", `cp -r .git other && ` + evil + ` >> other/config && echo ../other > .git/commondir`, "git status"},
		{"a repository that cannot be listed", "", "git init -q new && " + evil + " >> new/.git/config && chmod 311 new/.git && chmod 511 new", "cd new && git status"},
		{"a repository that cannot be written", "", "git init -q new && " + evil + " >> new/.git/config && chmod 555 new/.git new", "cd new && git status"},
		{"a tool that is a path", sub, `echo "$X" > t && cd sub && git config diff.tool "../../../../../../../../../../../../../..$HOME/work/t" && echo y > g`, "cd sub && git -c difftool.none.cmd=true -c merge.tool=none difftool -y"},
		{"steps in the titles of a rebase", sub, `cd sub && git checkout -q -b side && git commit -q --allow-empty -m s && git checkout -q - && echo z > h && git add h && git commit -qm h && git config rebase.instructionFormat "%s%nexec $X"`, "cd sub && git rebase -q side"},
		{"a link to temporary files that is no absolute path", "git config core.hooksPath hk && mkdir -p $HOME/temp/agent-0-r-x",
			`ln -s ../temp/agent-0-r-x hk && printf '#!/bin/sh\n%s\n' "$X" > ../temp/agent-0-r-x/pre-commit && chmod +x ../temp/agent-0-r-x/pre-commit`, "git commit -q --allow-empty -m z"},
		{"an alias", sub, "cd sub && git config alias.st '!'\"$X\"", "cd sub && git st"},
		{"a setting on the line of its section", sub, `printf '[core] fsmonitor = "%s; false"\n' "$X" >> sub/.git/config`, "cd sub && git status"},
		{"a setting that goes on in the next line", sub, `printf '[core]\nfsmon\\\nitor = x\n[CORE]\n fsMonitor = "%s; \\\nfalse"\n' "$X" | sed 1,3d | cat - > x && cat x >> sub/.git/config`, "cd sub && git status"},
	}
}

// around are plants that go around what the system keeps from changing.
func around() []plant {
	return []plant{
		{"a missing folder of hooks", "git config core.hooksPath tools/hooks", `mkdir -p tools/hooks && printf '#!/bin/sh\n%s\n' "$X" > tools/hooks/pre-commit && chmod +x tools/hooks/pre-commit`, "git commit -q --allow-empty -m z"},
		{"the missing file that a hook is a link to", "ln -s ../../tools/check .git/hooks/pre-commit",
			`mkdir tools && printf '#!/bin/sh\n%s\n' "$X" > tools/check && chmod +x tools/check`, "git commit -q --allow-empty -m z"},
		{"another name of a hook", "echo '#!/bin/sh' > check && chmod +x check && ln check .git/hooks/pre-commit", `printf '#!/bin/sh\n%s\n' "$X" > check`, "git commit -q --allow-empty -m z"},
		{"another name of the config", "ln .git/config copy", evil + " >> copy", "git status"},
	}
}

// What an agent plants for a person's next git command is found, and put back it does not run; each
// of them does run otherwise. Issue 11, B10.
func TestPlants(t *testing.T) {
	for i, c := range plants() {
		t.Run(c.name, func(t *testing.T) {
			if i%3 != 2 { // those with many files are left out with the others
				onlyWhole(t)
			}
			c.check(t, false)
		})
	}
	for _, c := range around() {
		t.Run(c.name+", beside what is kept", func(t *testing.T) { c.check(t, true) })
	}
}

func (c plant) check(t *testing.T, kept bool) {
	p := newPlace(t, c.before)
	before := p.look()
	if kept {
		before.Kept = before.Fixed(false)
	}
	p.ran()
	out := p.sh(c.plant)
	p.ran()
	after, err := before.Again()
	if err != nil {
		t.Fatal(err)
	}
	changes := gitrepo.Changed(before, after)
	if len(changes) == 0 {
		t.Fatalf("nothing was found: %s", out)
	}
	// The control: it does run.
	said := p.sh(c.person)
	if !p.ran() {
		t.Fatalf("the plant does not work at all: %s\n%s", out, said)
	}
	again, err := before.Again() // what ran may have changed something
	if err != nil {
		t.Fatal(err)
	}
	notes := gitrepo.PutBack(p.work, gitrepo.Changed(before, again))
	said = p.sh(c.person)
	if p.ran() {
		t.Errorf("it ran after %q: %s", notes, said)
	}
	for _, n := range notes {
		if strings.Contains(n, "could not") {
			t.Error(n)
		}
	}
	if last, err := before.Again(); err != nil || len(gitrepo.Changed(before, last)) > 0 {
		t.Errorf("there is still %v, %v", gitrepo.Changed(before, last), err)
	}
}

// The file that a hook is a link to is kept from changing like the hook, and so is a file of
// another folder of hooks.
func TestLinkedHook(t *testing.T) {
	p := newPlace(t, "mkdir tools && echo '#!/bin/sh' > tools/check && ln -s ../../tools/check .git/hooks/pre-commit && mkdir part && ln -s ../../part/own .git/hooks/pre-push")
	if fixed := p.look().Fixed(false); !slices.Contains(fixed, "tools/check") {
		t.Errorf("%q", fixed)
	}
	// A workspace may be a part of a repository.
	p.work = filepath.Join(p.work, "part")
	before := p.look()
	p.sh("echo true > own")
	after, err := before.Again()
	if changes := gitrepo.Changed(before, after); err != nil || len(changes) != 1 || changes[0].Path != "own" {
		t.Errorf("%v %v", changes, err)
	}
}

// A file tool is asked about where what it writes is obeyed in a repository below, or where several
// files at once make one.
func TestObeys(t *testing.T) {
	p := newPlace(t, "git init -q n && git -C n config core.hooksPath hk && mkdir tools && ln -s ../../tools/check .git/hooks/pre-commit && touch tools/check && "+
		"git config core.hooksPath .git/hooks && git worktree add -q wt && git config core.hooksPath hk")
	for _, c := range []struct {
		paths []string
		want  bool
	}{
		{[]string{"n/hk/pre-commit"}, true},
		{[]string{"wt/hk/pre-commit"}, true},
		{[]string{"tools/check"}, true},
		{[]string{"foo/HEAD", "foo/objects/x", "foo/refs/x", "foo/config"}, true},
		{[]string{"foo/HEAD", "foo/commondir"}, true},
		{[]string{"foo/HEAD", "bar/objects/x", "foo/refs/x"}, false},
		{[]string{"n/main.go", "wt/main.go", "hooks/pre-commit"}, false},
	} {
		if got := gitrepo.Obeys(p.work, c.paths...); got != c.want {
			t.Errorf("%q: %v", c.paths, got)
		}
	}
}

// What is obeyed by the name of its folder is found where that folder is a link.
func TestLinkedFolder(t *testing.T) {
	for _, c := range []struct{ before, plant string }{
		{"mkdir -p conf/vs && ln -s conf/vs .vscode", "echo '{}' > conf/vs/tasks.json"},
		{"mkdir conf && ln -s conf/vs .vscode", "mkdir conf/vs; echo '{}' > conf/vs/tasks.json"},
		{"mkdir conf && ln -s conf .devcontainer", "echo '{}' > conf/devcontainer.json"},
		{"mkdir -p conf && ln -s conf .config", "mkdir conf/mise && echo > conf/mise/config.toml"},
		{"ln -s tools/env .envrc", "mkdir tools && echo > tools/env"},
		{"", "mkdir conf && ln -s conf .config && mkdir conf/mise && echo > conf/mise/config.toml"},
		{"", "echo '{}' > x.set-aside.code-workspace"},
	} {
		p := newPlace(t, c.before)
		before := p.look()
		before.Kept = before.Fixed(false)
		out := p.sh(c.plant)
		after, err := before.Again()
		if changes := gitrepo.Changed(before, after); err != nil || len(changes) == 0 {
			t.Errorf("%s: %s: nothing was found: %v %s", c.before, c.plant, err, out)
		}
	}
}

// Work that plants nothing is no change, and so is not undone.
func TestHarmless(t *testing.T) {
	for _, script := range []string{
		"git init -q new && cd new && git config user.name b && echo x > y && git add y && git -c user.email=a@b commit -qm x",
		"git clone -q . copy && cd copy && git fetch -q && git checkout -q -b other",
		"git init -q --bare bare.git && git push -q ./bare.git HEAD:refs/heads/main",
		"git -c protocol.file.allow=always submodule add -q ./bare sub/mod 2>&1; true",
		"git worktree add -q wt && cd wt && git commit -q --allow-empty -m y",
		"git checkout -q -b b2 && echo more >> f.txt && git commit -qam y && git checkout -q - && git merge -q b2",
		"git remote add origin https://example.org/x.git && git branch -m trunk",
		"git gc -q && git stash list && git tag v1",
		"git config user.email c@d", "mkdir -p deep/er && echo x > deep/er/HEAD && mkdir deep/er/objects", "ln -s f.txt link && ln -s plain folder",
		"mv nested elsewhere", "rm -rf nested", "mv vs other",
	} {
		p := newPlace(t, `git init -q nested && git -C nested config core.pager cat && mkdir -p vs/.vscode && echo '{}' > vs/.vscode/settings.json`)
		before := p.look()
		out := p.sh(script)
		after, err := before.Again()
		if err != nil {
			t.Fatal(err)
		}
		if changes := gitrepo.Changed(before, after); len(changes) > 0 {
			t.Errorf("%s: %v\n%s", script, changes, out)
		}
	}
}

// What an editor or a shell obeys on entering a folder is found at any depth, by its name.
func TestOpened(t *testing.T) {
	for _, path := range []string{
		".envrc", "a/.envrc", ".vscode/tasks.json", "a/b/.vscode/settings.json", "x.code-workspace", ".devcontainer/devcontainer.json", ".husky/pre-commit",
		".husky/_/h", ".idea/runConfigurations/x.xml", ".pre-commit-config.yaml", ".claude/settings.json", ".agent/config.toml", ".mcp.json", "a/.vimrc",
	} {
		p := newPlace(t, "")
		before := p.look()
		p.sh("mkdir -p $(dirname " + path + ") && echo x > " + path)
		after, err := before.Again()
		if err != nil {
			t.Fatal(err)
		}
		changes := gitrepo.Changed(before, after)
		if len(changes) != 1 || changes[0].Path != path {
			t.Errorf("%s: %v", path, changes)
		}
		if notes := gitrepo.PutBack(p.work, changes); len(notes) != 1 || !strings.Contains(notes[0], "was set aside as "+filepath.Base(path)+".set-aside") {
			t.Errorf("%q", notes)
		}
		if _, err := os.Lstat(filepath.Join(p.work, path)); err == nil {
			t.Errorf("%s is still there", path)
		}
		if !gitrepo.Obeys(p.work, path) || gitrepo.Obeys(p.work, "a/main.go") || gitrepo.Obeys(p.work, ".vscode/launch.json") {
			t.Errorf("%s is not known by its name", path)
		}
	}
}

// A file of before comes back with its content and its mode.
func TestPutBack(t *testing.T) {
	p := newPlace(t, "git init -q sub && chmod 640 sub/.git/config && mkdir d && echo kept > d/.envrc && ln -s ../f.txt d/.vimrc")
	before := p.look()
	want, err := os.ReadFile(p.work + "/sub/.git/config")
	if err != nil {
		t.Fatal(err)
	}
	p.sh("git -C sub config alias.x '!true'; chmod 600 sub/.git/config; echo other > d/.envrc; ln -sf /etc/passwd d/.vimrc")
	after, err := before.Again()
	if err != nil {
		t.Fatal(err)
	}
	notes := gitrepo.PutBack(p.work, gitrepo.Changed(before, after))
	if len(notes) != 3 {
		t.Errorf("%q", notes)
	}
	got, err := os.ReadFile(p.work + "/sub/.git/config")
	info, serr := os.Stat(p.work + "/sub/.git/config")
	if err != nil || serr != nil || string(got) != string(want) || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v %v %s", err, serr, info, got)
	}
	if to, err := os.Readlink(p.work + "/d/.vimrc"); err != nil || to != "../f.txt" {
		t.Errorf("%s %v", to, err)
	}
}

// A walk has a bound, and says what it did not look at; what is near the top is looked at all the
// same.
func TestBound(t *testing.T) {
	onlyWhole(t)
	p := newPlace(t, "for i in {1..210}; do mkdir -p many/$i; for j in {1..100}; do : > many/$i/$j; done; done; mkdir -p z/deep/er")
	before := p.look()
	if len(before.Unseen) == 0 || !strings.Contains(before.Missed(), "not looked at") {
		t.Fatalf("%q", before.Unseen)
	}
	p.sh("echo x > z/.envrc")
	after, err := before.Again()
	if err != nil || len(gitrepo.Changed(before, after)) != 1 {
		t.Errorf("%v %v", gitrepo.Changed(before, after), err)
	}
}

// Every key that this machine's git lists is classified. The control: a key that nobody classified
// is found.
func TestEveryKeyIsClassified(t *testing.T) {
	out, err := exec.Command("git", "help", "--config").Output()
	if err != nil {
		t.Skipf("git lists no keys: %v", err)
	}
	keys := strings.Fields(string(out))
	keys = slices.DeleteFunc(keys, func(k string) bool { return !strings.Contains(k, ".") || strings.HasPrefix(k, "'") })
	if len(keys) < 500 {
		t.Fatalf("git lists only %d keys", len(keys))
	}
	for _, key := range gitrepo.Unclassified(keys) {
		t.Errorf("say in keys.txt what %s can do", key)
	}
	if got := gitrepo.Unclassified(append(keys, "core.newCommand", "newsection.<name>.program")); len(got) != 2 {
		t.Errorf("a key that nobody classified is not found: %v", got)
	}
}

// Walking a workspace of 1,000 files stays far below what a command takes to start.
func BenchmarkObeyed(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		for j := range 10 {
			sub := filepath.Join(dir, fmt.Sprintf("d%d", i%20), fmt.Sprintf("e%d", i))
			if err := os.MkdirAll(sub, 0o700); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", j)), []byte("x"), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		b.Skipf("%v %s", err, out)
	}
	for b.Loop() {
		if _, err := gitrepo.Obeyed(dir); err != nil {
			b.Fatal(err)
		}
	}
}
