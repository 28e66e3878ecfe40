package diff

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// tree is what lies in a folder, by path.
type tree map[string]entry

type entry struct {
	content string
	mode    uint32
	link    bool
}

func (e entry) version() *journal.FileVersion {
	if e.link {
		return &journal.FileVersion{Kind: journal.FileLink, Link: journal.LinkTarget(e.content)}
	}
	return &journal.FileVersion{Mode: e.mode, Size: int64(len(e.content)), Kept: e.content}
}

func (tr tree) version(name string) *journal.FileVersion {
	if e, ok := tr[name]; ok {
		return e.version()
	}
	return nil
}

func (tr tree) write(t *testing.T, dir string) {
	t.Helper()
	for name, e := range tr {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if e.link {
			must(t, os.Symlink(e.content, path))
			continue
		}
		must(t, os.WriteFile(path, []byte(e.content), 0o600))
		must(t, os.Chmod(path, fs.FileMode(e.mode)))
	}
}

func read(t *testing.T, dir string) tree {
	t.Helper()
	tr := tree{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			tr[name] = entry{content: to, link: true}
			return err
		}
		content, err := os.ReadFile(path)
		tr[name] = entry{content: string(content), mode: uint32(info.Mode().Perm()) & 0o700}
		return err
	}))
	return tr
}

// modes leaves of modes what git keeps.
func (tr tree) modes() tree {
	out := maps.Clone(tr)
	for name, e := range out {
		e.mode &= 0o700
		out[name] = e
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plain shows contents that stand where the store's name of them would.
func plain(redact func(string) string) source {
	return source{redact: redact, content: func(_ context.Context, v *journal.FileVersion) ([]byte, error) { return []byte(v.Kept), nil }}
}

func unredacted(text string) string { return text }

// between is the diff of two trees.
func between(t *testing.T, s source, before, after tree) string {
	t.Helper()
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f, ok, err := s.file(t.Context(), name, before.version(name), after.version(name))
		must(t, err)
		if ok {
			b.WriteString(f.Diff)
		}
	}
	return b.String()
}

func git(t *testing.T, dir, in string, args ...string) (out string, err error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	c.Dir, c.Stdin = dir, strings.NewReader(in)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
	var shown bytes.Buffer
	c.Stderr = &shown
	text, err := c.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %v\n%s", strings.Join(args, " "), err, shown.String())
	}
	return string(text), err
}

// names are paths that are hard to write into a diff.
func names() []string {
	return []string{
		"plain.txt", "deep/er/file.go", "with space.txt", "with tab\t.txt", "new\nline", "esc\x1b[31mred", "quote\"d", `back\slash`,
		"ümlaut.txt", "latin\xfc.txt", "bidi\u202etxt", "-dash", "a", "b/b", "trailing ", "bell\a", "日本語",
	}
}

// random makes a version of a file, now and then of nothing. few lines make many that are the same.
func random(r *rand.Rand, few int) (entry, bool) {
	modes := []uint32{0o644, 0o755, 0o600, 0o700}
	e := entry{mode: modes[r.IntN(len(modes))]}
	switch r.IntN(10) {
	case 0:
		return e, false
	case 1:
		return entry{link: true, content: fmt.Sprintf("to/%d", r.IntN(3))}, true
	case 2:
		return e, true // empty
	}
	ends := []string{"\n", "\n", "\n", "\r\n"}[r.IntN(4)]
	var b strings.Builder
	for range r.IntN(30) {
		fmt.Fprintf(&b, "%s%d\xff\t\x1b[0m%s", []string{"line ", "- ", "+", "\\ No newline at end of file", "@@ -1 +1 @@", "diff --git a/x b/x", ""}[r.IntN(7)], r.IntN(few), ends)
	}
	e.content = b.String()
	if r.IntN(3) == 0 {
		e.content = strings.TrimSuffix(e.content, "\n")
	}
	return e, true
}

// edited changes some lines of a file.
func edited(r *rand.Rand, e entry, few int) (entry, bool) {
	if e.link || r.IntN(4) == 0 {
		return random(r, few)
	}
	lines := strings.SplitAfter(e.content, "\n")
	for range 1 + r.IntN(3) {
		at := r.IntN(len(lines))
		switch r.IntN(3) {
		case 0:
			lines = slices.Insert(lines, at, fmt.Sprintf("put in %d\n", r.IntN(few)))
		case 1:
			lines = slices.Delete(lines, at, min(at+2, len(lines)))
		default:
			lines[at] += "x"
		}
		if len(lines) == 0 {
			lines = []string{""}
		}
	}
	e.content = strings.Join(lines, "")
	return e, true
}

// What git apply makes of the diff is what was there after, and what git apply -R makes of that is
// what was there before, whatever the files hold and are called.
func TestGitApplies(t *testing.T) {
	rounds := 60
	if os.Getenv("AGENT_TESTS") == "whole" {
		rounds = 1500
	}
	for seed := range seed.Numbers(t, uint64(rounds)) {
		r := rand.New(rand.NewPCG(seed, 15))
		few := []int{2, 5, 1000}[seed%3]
		before, after := tree{}, tree{}
		for _, name := range names() {
			e, is := random(r, few)
			if is {
				before[name] = e
			}
			if e, is = edited(r, e, few); is {
				after[name] = e
			}
		}
		text := between(t, plain(unredacted), before, after)
		dir := t.TempDir()
		before.write(t, dir)
		if text == "" {
			continue
		}
		for _, step := range []struct {
			args []string
			want tree
		}{{[]string{"apply", "--whitespace=nowarn", "-"}, after}, {[]string{"apply", "-R", "--whitespace=nowarn", "-"}, before}} {
			if _, err := git(t, dir, text, step.args...); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			// A mode that git has not stays as it is.
			got, want := read(t, dir), step.want.modes()
			for name, e := range want {
				if g := got[name]; g.content != e.content || g.link != e.link || g.mode&0o100 != e.mode&0o100 {
					t.Fatalf("seed %d: after git %v %q is\n%q, not\n%q\n%s", seed, step.args, name, g.content, e.content, text)
				}
			}
			if len(got) != len(want) {
				t.Fatalf("seed %d: after git %v there are %d files, not %d", seed, step.args, len(got), len(want))
			}
		}
	}
}

// The diff is, but for the lines with object ids, what git diff prints.
func TestAsGitPrints(t *testing.T) {
	lines := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("line %d\n", i))
		}
		return all
	}
	text := strings.Join(lines(40), "")
	for _, c := range []struct {
		name          string
		before, after entry
		was, is       bool
	}{
		{"edited", entry{content: text, mode: 0o644}, entry{content: strings.Replace(text, "line 7\n", "LINE 7\n", 1), mode: 0o644}, true, true},
		{"two places", entry{content: text, mode: 0o644}, entry{content: strings.NewReplacer("line 7\n", "", "line 33\n", "a\nb\n").Replace(text), mode: 0o644}, true, true},
		{"made", entry{}, entry{content: text, mode: 0o644}, false, true},
		{"one line", entry{}, entry{content: "one\n", mode: 0o644}, false, true},
		{"deleted", entry{content: text, mode: 0o755}, entry{}, true, false},
		{"made empty", entry{}, entry{mode: 0o644}, false, true},
		{"empty deleted", entry{mode: 0o644}, entry{}, true, false},
		{"emptied", entry{content: "a\n", mode: 0o644}, entry{mode: 0o644}, true, true},
		{"executable", entry{content: "a\n", mode: 0o644}, entry{content: "a\n", mode: 0o755}, true, true},
		{"executable and edited", entry{content: "a\n", mode: 0o644}, entry{content: "b\n", mode: 0o755}, true, true},
		{"no newline", entry{content: "a\nb", mode: 0o644}, entry{content: "a\nb\n", mode: 0o644}, true, true},
		{"never a newline", entry{content: "a\nb", mode: 0o644}, entry{content: "c\nb", mode: 0o644}, true, true},
		{"crlf", entry{content: "a\r\nb\r\n", mode: 0o644}, entry{content: "a\nb\r\n", mode: 0o644}, true, true},
		{"link", entry{content: "to", link: true}, entry{content: "elsewhere", link: true}, true, true},
		{"file to link", entry{content: "a\n", mode: 0o644}, entry{content: "to", link: true}, true, true},
		{"link to file", entry{content: "to", link: true}, entry{content: "a\n", mode: 0o644}, true, true},
		{"binary", entry{content: "a\x00", mode: 0o644}, entry{content: "b\x00", mode: 0o644}, true, true},
		{"binary made", entry{}, entry{content: "b\x00", mode: 0o644}, false, true},
		{"nul far behind", entry{content: strings.Repeat("x\n", 5000), mode: 0o644}, entry{content: strings.Repeat("x\n", 5000) + "\x00", mode: 0o644}, true, true},
		{"quote\"d and\ttab", entry{content: "a\n", mode: 0o644}, entry{content: "b\n", mode: 0o644}, true, true},
		{"ümlaut", entry{content: "a\n", mode: 0o644}, entry{content: "b\n", mode: 0o644}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			before, after := tree{}, tree{}
			if c.was {
				before[c.name] = c.before
			}
			if c.is {
				after[c.name] = c.after
			}
			must(t, os.MkdirAll(filepath.Join(dir, "a"), 0o700))
			must(t, os.MkdirAll(filepath.Join(dir, "b"), 0o700))
			before.write(t, filepath.Join(dir, "a"))
			after.write(t, filepath.Join(dir, "b"))
			out, _ := git(t, dir, "", "-c", "core.quotePath=false", "diff", "--no-index", "--no-prefix", "a", "b") // 1: they differ
			want := ""
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "@@ ") {
					line = line[:strings.LastIndex(line, "@@")+2] + "\n" // without the function that it is in
				}
				// Without prefixes of its own, git names the one that there is twice.
				line = regexp.MustCompile(`^diff --git ("?)[ab]/(.*) ("?)[ab]/`).ReplaceAllString(line, "diff --git ${1}a/$2 ${3}b/")
				if !strings.HasPrefix(line, "index ") {
					want += line
				}
			}
			got := strings.Replace(between(t, plain(unredacted), before, after), "index 0000000..0000000 100644\n", "", 1)
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Secrets are shown as placeholders, over several lines too; what changed in them alone is no empty
// change; and git applies nothing of it.
func TestSecrets(t *testing.T) {
	redact := strings.NewReplacer("hunter2\nhunter3", "[secret:x:1]", "hunter2", "[secret:x:2]").Replace
	before := tree{"conf": entry{content: "a\nhunter2\nb\n", mode: 0o644}, "hunter2.txt": entry{content: "a\n", mode: 0o644}}
	after := tree{"conf": entry{content: "a\nhunter2\nhunter3\nb\n", mode: 0o644}}
	text := between(t, plain(redact), before, after)
	if strings.Contains(text, "hunter") || !strings.Contains(text, "-[secret:x:2]\n+[secret:x:1]\n") {
		t.Error(text)
	}
	dir := t.TempDir()
	after.write(t, dir)
	if _, err := git(t, dir, text, "apply", "-R", "-"); err == nil {
		t.Error("git applied a diff with placeholders")
	}
	all := func(string) string { return "[secret:x:1]\n" }
	f, ok, err := plain(all).file(t.Context(), "x", entry{content: "one", mode: 0o644}.version(), entry{content: "two", mode: 0o644}.version())
	if err != nil || !ok || !f.Secrets || !strings.HasSuffix(f.Diff, "differ\n") {
		t.Error(f, ok, err)
	}
}

// What is not kept is named, and git refuses the whole diff.
func TestLost(t *testing.T) {
	s := plain(unredacted)
	for _, reason := range journal.LeftReasons() {
		lost := &journal.FileVersion{Mode: 0o644, Size: 9 << 20, Lost: reason, Stamp: "1"}
		text := entry{content: "a\n", mode: 0o644}.version()
		for _, c := range [][2]*journal.FileVersion{{lost, text}, {text, lost}, {nil, lost}, {lost, nil}} {
			f, ok, err := s.file(t.Context(), "x", c[0], c[1])
			if err != nil || !ok || !strings.Contains(strings.Join(f.Notes, "\n"), "("+string(reason)+"), 9.0 MiB") {
				t.Error(f, ok, err)
			}
			dir := t.TempDir()
			if c[0] != nil {
				tree{"x": entry{content: "a\n", mode: 0o644}}.write(t, dir)
			}
			if _, err := git(t, dir, f.Diff, "apply", "--check", "-"); err == nil || !strings.Contains(err.Error(), "cannot apply binary patch") {
				t.Errorf("%v\n%s", err, f.Diff)
			}
		}
	}
	broken := source{redact: unredacted, content: func(context.Context, *journal.FileVersion) ([]byte, error) { return nil, fs.ErrInvalid }}
	f, _, err := broken.file(t.Context(), "x", entry{content: "a\n", mode: 0o644}.version(), nil)
	if err != nil || f.Before.Lost != journal.LeftUnreadable {
		t.Error(f, err)
	}
}

// The largest files that are kept take no longer than a moment, however they differ.
func TestHuge(t *testing.T) {
	line := func(n int) string { return fmt.Sprintf("%d\n", n) }
	var one, other strings.Builder
	r := rand.New(rand.NewPCG(1, 1))
	for one.Len() < 8<<20 {
		one.WriteString(line(r.IntN(1000)))
		other.WriteString(line(r.IntN(1000)))
	}
	_, added, removed := hunks([]byte(one.String()), []byte(other.String()))
	if added == 0 || removed == 0 {
		t.Error(added, removed)
	}
	_, added, removed = hunks([]byte(strings.Repeat("x\n", 4<<20)), []byte(strings.Repeat("x\n", 2<<20)+"y\n"+strings.Repeat("x\n", 2<<20)))
	if added != 1 || removed != 0 {
		t.Error(added, removed)
	}
}
