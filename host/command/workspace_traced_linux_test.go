package command_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// traced is a folder in which the binary works under strace.
type traced struct {
	*testing.T
	root, dir string
}

// newTraced makes a repository with a file in a folder, and one that git ignores.
func newTraced(t *testing.T) traced {
	t.Helper()
	for _, name := range []string{"strace", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := traced{t, root, filepath.Join(root, "work")}
	c := exec.Command("sh", "-ec", `
git init -q -b main . && git config user.name P && git config user.email p@example.com
mkdir sub && echo one > sub/one.txt && echo notes > notes.txt && echo .env > .gitignore
git add . && git commit -q -m one && echo SET=1 > .env && echo more >> notes.txt`)
	c.Dir, c.Env = w.dir, append(plainEnv(), "HOME="+root)
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return w
}

// traceCall is one call of the system that names a path.
type traceCall struct {
	host bool // by the process that drives the run, or a helper of it; not by a command that it runs
	name string
	args string
}

// agent runs the binary, and gives the calls that it and its children made with a path below the
// workspace.
func (w traced) agent(args ...string) []traceCall {
	w.Helper()
	return w.parse(w.trace("%file,%process", args...))
}

// trace runs the binary, and gives the calls of these names that it and its children made.
func (w traced) trace(names string, args ...string) string {
	w.Helper()
	trace := filepath.Join(w.root, "trace")
	c := exec.Command("strace", append([]string{
		"-f", "-y", "-qq", "-o", trace, "-e", "trace=" + names, "-e", "signal=none", filepath.Join(binDir(), "agent"),
	}, args...)...)
	c.Dir = w.dir
	c.Env = append(plainEnv(), "HOME="+filepath.Join(w.root, "home"), "AGENT_HOME="+filepath.Join(w.root, "home", "state"), "NO_COLOR=1")
	if out, err := c.CombinedOutput(); err != nil {
		w.Fatalf("agent %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// parse reads a trace. The host is the first process, with all that descends from it but who was
// started to run a command. In such a command's namespace processes have other numbers, so it is
// nobody's descendant as far as the trace shows.
func (w traced) parse(text string) (calls []traceCall) {
	line := regexp.MustCompile(`^(\d+) +(\w+)\((.*)`)
	started := regexp.MustCompile(`= (\d+)\s*$`)
	begun, parent, runs := map[string]string{}, map[string]string{}, map[string]bool{}
	var by []string
	first := ""
	for l := range strings.Lines(text) {
		thread, _, _ := strings.Cut(l, " ")
		first = cmp.Or(first, thread)
		if head, ok := strings.CutSuffix(strings.TrimRight(l, "\n"), " <unfinished ...>"); ok {
			begun[thread] = head
			continue
		}
		if _, rest, ok := strings.Cut(l, " resumed>"); ok {
			l = begun[thread] + rest
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		if id := started.FindStringSubmatch(l); id != nil && (strings.HasPrefix(m[2], "clone") || strings.HasSuffix(m[2], "fork")) {
			parent[id[1]] = thread
		}
		runs[thread] = runs[thread] || strings.HasPrefix(m[2], "execve") && strings.Contains(l, `"__`)
		if strings.Contains(m[3], w.dir) {
			calls, by = append(calls, traceCall{true, m[2], m[3]}), append(by, thread)
		}
	}
	for i, thread := range by {
		for calls[i].host = false; thread != "" && !runs[thread]; thread = parent[thread] {
			calls[i].host = thread == first
		}
	}
	return calls
}

// paths are the paths of the workspace that a call names, seen from there.
func (w traced) paths(c traceCall) (paths []string) {
	at := regexp.MustCompile(regexp.QuoteMeta(w.dir) + `(/[^">]*)?(>, "([^"]*)")?`)
	for _, m := range at.FindAllStringSubmatch(c.args, -1) {
		path := filepath.Join(w.dir, m[1], m[3])
		if filepath.IsAbs(m[3]) {
			path = m[3]
		}
		if rel, err := filepath.Rel(w.dir, path); err == nil && filepath.IsLocal(rel) {
			paths = append(paths, rel)
		}
	}
	return paths
}

// writes says whether a call changes something below .git.
func (w traced) writes(c traceCall) bool {
	switch {
	case strings.HasPrefix(c.name, "open"):
		if !regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC`).MatchString(c.args) {
			return false
		}
	case strings.HasPrefix(c.name, "link"): // the first path stays as it is
		_, c.args, _ = strings.Cut(c.args, `", `)
	case !regexp.MustCompile(`^(creat|rename|unlink|mkdir|rmdir|symlink|truncate|f?chmod|f?chown|lchown|utime|futimes|mknod|l?setxattr|l?removexattr)`).MatchString(c.name):
		return false
	}
	return slices.ContainsFunc(w.paths(c), func(p string) bool { return p == ".git" || strings.HasPrefix(p, ".git/") })
}

// run carries out a runbook.
func (w traced) run(text string) []traceCall {
	w.Helper()
	return w.agent("run", "--runbook", "--mode", "yolo", "-f", w.book(text))
}

func (w traced) book(text string) (path string) {
	w.Helper()
	path = filepath.Join(w.root, "book.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

// head is the commit where git stands.
func (w traced) head() string {
	w.Helper()
	c := exec.Command("git", "rev-parse", "HEAD")
	c.Dir = w.dir
	out, err := c.Output()
	if err != nil {
		w.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// W4: a run of reads looks at no path but those of its tools and the configuration's, and one that
// may write has all looked at.
func TestReadsLookAtNothingElse(t *testing.T) {
	w := newTraced(t)
	met := func(book string) (met []string) {
		for _, c := range w.run(book) {
			if c.host {
				met = append(met, w.paths(c)...)
			}
		}
		slices.Sort(met)
		return slices.Compact(met)
	}
	got := met("# Reads\n\n- read_file notes.txt\n\n```sh access=read\ncat sub/one.txt notes.txt\n```\n\n```sh access=read\nls\n```\n")
	for _, path := range got {
		if path != "." && path != "notes.txt" && path != ".agent" && !strings.HasPrefix(path, ".agent/") {
			t.Errorf("a run of reads looks at %s", path)
		}
	}
	if !slices.Contains(got, "notes.txt") {
		t.Errorf("the file that was read is not among %v", got)
	}
	got = met("# Writes\n\n```sh\ntrue\n```\n")
	for _, path := range []string{"sub/one.txt", ".env", ".git/index"} {
		if !slices.Contains(got, path) {
			t.Errorf("before a command that may write nobody looks at %s, but at %v", path, got)
		}
	}
}

// W9: whatever is kept, given back, linked and looked up, nothing below .git is written, locked or
// renamed but by a command of the run (Cline #5598, #9590), and no index is refreshed, not even by
// a git that is asked something (Entire #2111).
// GIT-14, EN-61.
func TestNothingBelowGitIsWritten(t *testing.T) {
	w := newTraced(t)
	all := map[string][]traceCall{
		"run":   w.run("# Writes\n\n```sh\ngit add notes.txt; rm -rf sub .env\n```\n\n```sh\ngit commit -q -m two; git checkout -q -- . ; echo x > made.txt\n```\n"),
		"log":   w.agent("log"),
		"show":  w.agent("show", w.head()),
		"why":   w.agent("why", "notes.txt:2"),
		"diff":  w.agent("diff", "last"),
		"turns": w.agent("checkpoints", "last"),
		"hooks": w.agent("git", "status"),
		"undo":  w.agent("undo", "--yes"),
		"again": w.agent("undo", "--yes"),
	}
	for name, calls := range all {
		for _, c := range calls {
			if c.host && w.writes(c) {
				t.Errorf("%s: the host makes the call %s(%s", name, c.name, c.args)
			}
		}
	}
	if !slices.ContainsFunc(all["run"], func(c traceCall) bool { return !c.host && w.writes(c) }) {
		t.Error("git add was not seen to write below .git")
	}
	if !slices.ContainsFunc(all["undo"], func(c traceCall) bool { return c.host && slices.Contains(w.paths(c), "sub/one.txt") }) {
		t.Error("the undo was not seen to make sub/one.txt again")
	}
}

// W3, and the syncs of P2: what calls changed of small files is in the commits that settle them, so
// that keeping it syncs nothing more. A large content is a file, which is durable first, and that
// costs two: the file, and the folder that names it.
func TestKeepingSyncsNothingMore(t *testing.T) {
	onlyWhole(t)
	w, calls := newTraced(t), 5
	syncs := func(command string) (n int) {
		book := w.book("# Work\n\n" + strings.Repeat("```sh\n"+command+"\n```\n\n", calls))
		for l := range strings.Lines(w.trace("fsync,fdatasync", "run", "--runbook", "--mode", "yolo", "-f", book)) {
			if !strings.Contains(l, "resumed>") {
				n++
			}
		}
		return n
	}
	syncs("true") // it makes the state folder
	none, few, many := syncs("true"), syncs("echo more >> notes.txt; rm -f sub/one.txt"), syncs("head -c 500000 /dev/urandom > large")
	// Two commits that meet are one, so the sums may differ a little; one more a call is five.
	if none < calls || few >= none+calls-1 || many < none+calls {
		t.Errorf("%d syncs where nothing changes, %d where small files do, %d where large ones do", none, few, many)
	}
}
