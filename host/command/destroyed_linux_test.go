package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/host/view"
)

// destroyed is one command of testdata/destroyed.txt.
type destroyed struct {
	name, script string
	words        []string
	lost         map[string]string // path to reason
	git, yours   []string
	out          []string // stays, and is not in scope
	notes        []string
}

func (d destroyed) is(word string) bool { return slices.Contains(d.words, word) }

// readDestroyed reads the table, whose first lines say how it is written.
func readDestroyed(t *testing.T) []destroyed {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "destroyed.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []destroyed
	for _, part := range strings.Split(string(text), "\n=== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		name, words, _ := strings.Cut(head, "|")
		d := destroyed{name: strings.TrimSpace(name), words: strings.Fields(words), lost: map[string]string{}}
		for line := range strings.Lines(body) {
			says, ok := strings.CutPrefix(strings.TrimSpace(line), "> ")
			if !ok {
				d.script += line
				continue
			}
			what, rest, _ := strings.Cut(says, " ")
			switch what {
			case "lost":
				cut := strings.LastIndexByte(rest, ' ')
				d.lost[rest[:cut]] = rest[cut+1:]
			case "git":
				d.git = append(d.git, rest)
			case "out":
				d.out = append(d.out, rest)
			case "yours":
				d.yours = append(d.yours, rest)
			case "note":
				d.notes = append(d.notes, rest)
			default:
				t.Fatalf("%s: %s is nothing that a command may say", name, what)
			}
		}
		all = append(all, d)
	}
	return all
}

// makeDestroyed makes the workspace that each command gets a copy of, with patches beside it.
const makeDestroyed = `
umask 022
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
git init -q -b main .
git config user.name Ada
git config user.email ada@example.org
git config gc.auto 0
mkdir -p src/a/b src/none empty readonly/in
printf 'one\n' >f
printf 'a\r\nb\r\n' >crlf
printf 'mod\n' >mod
printf 'staged\n' >staged
printf 'both\n' >both
printf 'gone\n' >gone
printf 'deep one\n' >src/a/b/deep
printf '#!/bin/sh\necho one\n' >src/run.sh
chmod 755 src/run.sh
ln -s ../f src/link
ln -s nowhere src/dangling
: >void
printf 'read only\n' >ro
printf 'x\n' >readonly/in/x
printf 'build/\n.env\n*.log\n' >.gitignore
git add .
git commit -q -m one
printf 'second\n' >second
printf 'space\n' >'sp ace'
git add .
git commit -q -m two
git checkout -q -b topic
printf 'topic\n' >topic-file
git add .
git commit -q -m topic
git checkout -q -b clash main
printf 'clash\n' >f
git commit -q -a -m clash
git checkout -q -b other main
printf 'other one\n' >f
printf 'c\n' >crlf
printf 'other\n' >other-file
git rm -q src/a/b/deep
git add .
git commit -q -m other
git checkout -q main
printf 'patched\n' >f
git diff >../patch
git commit -q -a -m patched
git format-patch -q --stdout HEAD~1 >../patch.mbox
git reset -q --hard HEAD~1
printf 'modified one\n' >mod
printf 'staged one\n' >staged
printf 'both one\n' >both
git add staged both
printf 'both two\n' >both
printf 'added\n' >added
git add added
rm gone
printf 'untracked one\n' >untracked
printf 'SECRET=one\n' >.env
printf 'latin\n' >"$(printf 'caf\351')"
printf 'line\n' >"$(printf 'new\nline')"
printf 'linked\n' >hl1
ln hl1 hl2
mkdir -p build/deep src/none empty
printf 'out\n' >build/deep/out
truncate -s 300K big.log
truncate -s 9M huge.bin
git init -q nested
printf 'own\n' >nested/own
chmod 600 untracked
chmod 444 ro
`

// workspaces makes the one to copy, with git and without.
func destroyedWorkspace(t *testing.T, dir string, git bool) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-e", "-c", makeDestroyed)
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(dir)}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("make the workspace: %v\n%s", err, out)
	}
	if !git {
		if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
			t.Fatal(err)
		}
	}
}

// copyDestroyed copies a workspace, and has git know its files again. Of some the index says that
// they are what was committed, so that a pin is all that keeps them.
func copyDestroyed(t *testing.T, from, to string, git bool) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy the workspace: %v\n%s", err, out)
	}
	if !git {
		return
	}
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"f", "second", "crlf", "ro", "src/run.sh", "src/a/b/deep"} {
		if err := os.Chtimes(filepath.Join(to, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("git", "update-index", "-q", "--refresh")
	c.Dir = to
	_ = c.Run() // it says by its status that files differ
}

// contentsOf is what lies in a folder, but for what is git's: of each path its kind, mode and
// content.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if !os.IsPermission(err) || !d.IsDir() {
				return err
			}
			return fs.SkipDir // it may not be entered, and its mode is there already
		}
		name, _ := filepath.Rel(dir, path)
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		if name == "." {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		one := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil && !os.IsPermission(err) {
				return err
			}
			if len(content) > 1<<20 {
				content = fmt.Appendf(nil, "%d bytes", len(content))
			}
			one += " " + string(content)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			one += " " + to
		}
		all[name] = one
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ruin is the place where the commands are tried.
type ruin struct {
	t    *testing.T
	base string
}

func (r ruin) agent(dir string, wants int, args ...string) (stdout, stderr string) {
	r.t.Helper()
	c := exec.Command(filepath.Join(binDir(), "agent"), args...)
	var out, errs bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &out, &errs
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.base, "AGENT_HOME=" + filepath.Join(r.base, "state"), "NO_COLOR=1", "GORACE=" + noWait, "TMPDIR=" + r.base,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	}
	err := c.Run()
	if code := c.ProcessState.ExitCode(); wants >= 0 && code != wants {
		r.t.Errorf("agent %s: %v, wanted exit code %d\n%s%s", strings.Join(args, " "), err, wants, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// TestDestroyed: whatever of the files of a workspace a command destroys is given back by agent
// undo, to the byte and the mode, or is named with its reason before anything is touched.
// W1, and "an agent ran git reset --hard, git stash or git clean" (Claude #33850, #16098, #39394,
// #85879): testdata/destroyed.txt has the commands.
func TestDestroyed(t *testing.T) {
	notRaced(t)
	base := t.TempDir()
	began := spent(t)
	for _, git := range []bool{true, false} {
		from := filepath.Join(base, fmt.Sprintf("with git %v", git), "w")
		destroyedWorkspace(t, from, git)
		for _, d := range readDestroyed(t) {
			if !git && d.is("git") || !whole() && (!d.is("short") || !git && !strings.HasPrefix(d.name, "rm")) || d.is("user") && os.Geteuid() == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s, git %v", d.name, git), func(t *testing.T) {
				r := ruin{t: t, base: base}
				r.try(d, from, git)
			})
		}
	}
	t.Logf("%v of CPU", spent(t)-began)
}

// spent is the time of all processors that was used by children.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (r ruin) try(d destroyed, from string, git bool) {
	t := r.t
	dir := filepath.Join(filepath.Dir(from), "x")
	defer func() {
		_ = exec.Command("chmod", "-R", "u+rwx", dir).Run() // for the removal
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	copyDestroyed(t, from, dir, git)
	if err := os.Chmod(filepath.Join(dir, "readonly"), 0o555); err != nil {
		t.Fatal(err)
	}
	access := "write"
	if d.is("full") {
		access = "full"
	}
	book := filepath.Join(r.base, "book.md")
	text := "# destroy\n\n```sh access=" + access + "\nset +e\n" + d.script + "\n:\n```\n"
	if err := os.WriteFile(book, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	was := contentsOf(t, dir)
	_, said := r.agent(dir, 0, "run", "--mode", "yolo", "--runbook", "-f", book)
	ruined := contentsOf(t, dir)
	if maps.Equal(was, ruined) != d.is("same") {
		t.Errorf("was anything changed? %v:\n%s", !maps.Equal(was, ruined), said)
	}
	out, _ := r.agent(dir, 0, "undo", "--dry-run", "--json")
	var plan view.Rewind
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if now := contentsOf(t, dir); !maps.Equal(now, ruined) {
		t.Error("a dry run changed the workspace")
	}
	r.plan(d, plan, git)
	_, how := r.agent(dir, 0, "undo", "--yes")
	now := contentsOf(t, dir)
	excused := map[string]bool{}
	for _, list := range [][]view.RewindPath{plan.LeftOut, plan.Git, plan.Yours} {
		for _, p := range list {
			excused[p.Path] = true
		}
	}
	for _, name := range d.out {
		excused[name] = true
	}
	if different(t, was, now, excused) {
		t.Logf("the command said:\n%s\nthe undo said:\n%s", said, how)
	}
	if d.is("short") { // and that is undone
		r.agent(dir, 0, "undo", "--yes")
		different(t, ruined, contentsOf(t, dir), excused)
	}
	if t.Failed() {
		t.Logf("run:\n%s\nplan:\n%s", said, out)
	}
}

// plan compares what the plan says is not given back with what the table says.
func (r ruin) plan(d destroyed, plan view.Rewind, git bool) {
	r.t.Helper()
	lost := map[string]string{}
	for _, p := range plan.LeftOut {
		lost[p.Path] = string(p.Reason)
	}
	if !maps.Equal(lost, d.lost) {
		r.t.Errorf(d.name+": lost are %v, wanted %v", lost, d.lost)
	}
	same := func(what string, list []view.RewindPath, wanted []string) {
		r.t.Helper()
		names := []string{}
		for _, p := range list {
			names = append(names, p.Path)
		}
		slices.Sort(names)
		wanted = slices.Sorted(slices.Values(wanted))
		if !slices.Equal(names, wanted) {
			r.t.Errorf("%s: %s are %q, wanted %q", d.name, what, names, wanted)
		}
	}
	same("git's", plan.Git, d.git)
	same("yours", plan.Yours, d.yours)
	for _, n := range d.notes {
		if !git && n == ".git" {
			continue
		}
		if !slices.ContainsFunc(plan.Notes, func(have string) bool { return strings.Contains(have, n) }) {
			r.t.Errorf("no note has %q: %q", n, plan.Notes)
		}
	}
}

// different says whether two listings differ in what was not named.
func different(t *testing.T, was, now map[string]string, excused map[string]bool) bool {
	t.Helper()
	out := false
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if got, there := now[name]; got != was[name] && !strings.HasPrefix(was[name], "p") && !named(name, excused) { // a FIFO is not kept
			out = true
			t.Errorf("%q is %.60q (there: %v), wanted %.60q", name, got, there, was[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, there := was[name]; !there && !named(name, excused) {
			out = true
			t.Errorf("%q was made and stays: %.60q", name, now[name])
		}
	}
	return out
}

func named(name string, excused map[string]bool) bool {
	for ; name != "."; name = filepath.Dir(name) {
		if excused[name] {
			return true
		}
	}
	return false
}
