package files

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/toolstest"
)

// everywhere calls every file tool with a path and returns what each answers, and whether it acted.
func (b *bench) everywhere(path string, each func(tool string, r journal.Result, err error)) {
	b.T.Helper()
	for tool, a := range map[string]args{
		"read_file":  {"path": path},
		"list_dir":   {"path": path},
		"find_files": {"path": path, "pattern": "**"},
		"search":     {"path": path, "pattern": "."},
		"write_file": {"path": path, "content": "bad"},
		"edit_file":  {"path": path, "old": "hush", "new": "bad"},
	} {
		r, err := b.Run(tool, a)
		each(tool, r, err)
	}
	quoted := strings.NewReplacer("\\", "\\\\", "\"", "\\\"").Replace(path)
	for name, text := range map[string]string{
		"make":   "diff --git \"a/%[1]s\" \"b/%[1]s\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/%[1]s\"\n@@ -0,0 +1 @@\n+bad\n",
		"change": "--- \"a/%[1]s\"\n+++ \"b/%[1]s\"\n@@ -1 +1 @@\n-hush\n+bad\n",
		"delete": "diff --git \"a/%[1]s\" \"b/%[1]s\"\ndeleted file mode 100644\n--- \"a/%[1]s\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-hush\n",
		"from":   "diff --git \"a/%[1]s\" b/taken\nrename from \"%[1]s\"\nrename to taken\n",
		"to":     "diff --git a/ok \"b/%[1]s\"\nrename from ok\nrename to \"%[1]s\"\n",
	} {
		r, err := b.Run("apply_patch", args{"patch": fmt.Sprintf(text, quoted)})
		each("apply_patch "+name, r, err)
	}
}

// snapshot is all that lies in a folder: names, kinds, sizes, contents, links.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(text)
		}
		rel, err := filepath.Rel(dir, path)
		fmt.Fprintf(&all, "%q %s %q\n", rel, info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// S12, behaviour 3: a corpus of path tricks against every file tool. Nothing outside of the
// workspace and nothing in the state folder is read, written, made, renamed or deleted, and nothing
// waits.
func TestPathTricks(t *testing.T) {
	b := newBench(t)
	top := filepath.Dir(b.Dir)
	outside := filepath.Join(top, "outside")
	for name, content := range map[string]string{
		"secret": "hush\n", "dir/secret": "hush\n", "work-more/secret": "hush\n", "home/secret": "hush\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(outside, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outside, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(outside, "home"))
	b.State = b.Path("in/state")
	b.Write("in/state/key", "hush\n")
	b.Write("in/state/locks/r", "hush\n")
	b.build()
	b.Write("ok", "fine\n")
	b.Write("sub/ok", "fine\n")
	for name, target := range map[string]string{
		"l-file": outside + "/secret", "l-dir": outside, "l-rel": "../outside/secret", "l-up": "..", "l-root": "/", "l-none": outside + "/none",
		"l-none-rel": "../outside/none", "l-chain": "l-chain2", "l-chain2": "sub/l-chain3", "sub/l-chain3": "../l-file", "l-loop": "l-loop2",
		"l-loop2": "l-loop", "l-self": "l-self", "l-state": "in/state", "l-key": "in/state/key", "l-proc": "/proc/self/root", "l-cwd": "/proc/self/cwd",
		"l-fd": "/proc/self/fd/0", "l-env": "/proc/self/environ", "l-null": "/dev/null", "l-zero": "/dev/zero", "l-stdin": "/dev/stdin", "l-dots": "sub/../../outside/secret",
		"l-abs-state": b.State, "l-more": b.Dir + "-more/secret", "l-trail": outside + "/", "l-home": "~/secret",
	} {
		b.Link(target, name)
	}
	for i := range 60 {
		b.Link(fmt.Sprintf("many-%d", i+1), fmt.Sprintf("many-%d", i))
	}
	b.Link(outside+"/secret", "many-60")
	if err := os.Link(filepath.Join(outside, "secret"), b.Path("hard")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(b.Path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Link("fifo", "l-fifo")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: b.Path("socket")}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(b.Path("device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err != nil {
		b.Link("/dev/zero", "device") // only root makes devices
	}
	corpus := []string{
		"..", "../", "../.", "../outside/secret", "sub/../../outside/secret", "./../outside/secret", "sub/.././../outside/secret", "../work/../outside/secret",
		"..//outside//secret", outside + "/secret", outside, "/", "//", "/etc/passwd", "//etc/passwd", "/../etc/passwd", b.Dir + "/../outside/secret",
		b.Dir + "-more/secret", strings.ToUpper(b.Dir) + "/ok",
		"l-file", "l-dir", "l-dir/secret", "l-dir/", "l-dir/new", "l-rel", "l-up/outside/secret", "l-root/etc/passwd", "l-none", "l-none-rel", "l-chain", "l-loop",
		"l-self", "l-state", "l-state/key", "l-key", "l-proc/etc/passwd", "l-cwd", "l-fd", "l-env", "l-null", "l-zero", "l-stdin", "l-dots", "l-abs-state/key", "l-more",
		"l-trail", "l-trail/secret", "many-0",
		"in/state", "in/state/", "in/state/key", "in/state/new", "in/./state/key", "in/../in/state/key", "in/state/../state/key", "in/state/locks", "in/state/locks/r",
		b.State + "/key", b.Dir + "/in/state/key", "in//state///key",
		"/proc/self/root" + outside + "/secret", "/proc/self/cwd/ok", "/proc/self/environ", "/proc/self/mem", "/proc/1/environ", "/dev/null", "/dev/stdin", "/dev/fd/0",
		"fifo", "l-fifo", "socket", "device", "fifo/x", "socket/x", "ok/", "ok/x", "ok/../../outside/secret", "none/../../outside/secret",
		"\x00", "ok\x00/../../outside/secret", "../outside/secret\x00", strings.Repeat("x", 256), strings.Repeat("../", 2000) + "etc/passwd", strings.Repeat("x/", 2500) + "y",
		strings.Repeat("sub/../", 600) + "../outside/secret",
	}
	before := snapshot(t, outside)
	inside := snapshot(t, b.State)
	began := time.Now()
	for _, path := range corpus {
		b.everywhere(path, func(tool string, r journal.Result, err error) {
			if err == nil {
				t.Errorf("%s %.80q was let through: %+v", tool, path, r)
			}
			if r.Applied == journal.AppliedYes || r.Applied == journal.AppliedUnknown {
				t.Errorf("%s %.80q: applied %s with %v", tool, path, r.Applied, err)
			}
			if strings.Contains(fmt.Sprint(r.Content, err), "hush\n") || strings.Contains(r.Content, "root:") {
				t.Errorf("%s %.80q shows what it must not: %q, %v", tool, path, r.Content, err)
			}
		})
	}
	// What only looks like a way out is a plain name inside: it is made, changed and removed here,
	// and nowhere else.
	for _, path := range []string{
		"file:///x", "~/secret", "~root/x", "$HOME/secret", "${HOME}/secret", "%2e%2e/outside/secret", "..%2foutside", "..\\outside\\secret", "...", "....//outside", "\u2025/outside",
		"l-home", "..outside", "sub/..x", " ../x", "SUB/OK", "\u202e..", "-", "--", "CON", "nul\u2400", ".agent", "l\u0000"[:1] + "x", "\xff\xfe",
	} {
		r, err := b.Run("write_file", args{"path": path, "content": "hush\n"})
		if err != nil {
			t.Errorf("write_file %q: %v", path, err)
			continue
		}
		r, err = b.Run("read_file", args{"path": path})
		if err != nil || r.Content != "hush\n" {
			t.Errorf("read_file %q: %v, %q", path, err, r.Content)
		}
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s: something waited", took)
	}
	if after := snapshot(t, outside); after != before {
		t.Errorf("outside of the workspace\n%sbecame\n%s", before, after)
	}
	if after := snapshot(t, b.State); after != inside {
		t.Errorf("the state folder\n%sbecame\n%s", inside, after)
	}
	if got := b.Read("ok"); got != "fine\n" {
		t.Errorf("ok holds %q", got)
	}
	t.Logf("%d paths by 11 calls, %d that stay inside", len(corpus), 24)
}

// S12: a file with another name elsewhere can be read, and is never written, renamed or deleted:
// the other name may lie outside of the workspace.
func TestHardLinks(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.Dir), "outside")
	if err := os.WriteFile(outside, []byte("hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, b.Path("hard")); err != nil {
		t.Fatal(err)
	}
	b.Write("ok", "fine\n")
	b.everywhere("hard", func(tool string, _ journal.Result, err error) {
		switch tool {
		case "read_file", "search", "find_files", "list_dir":
		case "apply_patch make", "apply_patch to":
			if err == nil || !strings.Contains(err.Error(), "hard") {
				t.Errorf("%s: %v", tool, err)
			}
		default:
			if err == nil || !strings.Contains(err.Error(), "2 hard links") {
				t.Errorf("%s: %v", tool, err)
			}
		}
	})
	if got, err := os.ReadFile(outside); err != nil || string(got) != "hush\n" || !os.SameFile(toolstest.Stat(t, outside), toolstest.Stat(t, b.Path("hard"))) {
		t.Errorf("%q, %v", got, err)
	}
}

// What git would run later, or take for its configuration, is an external write by every spelling,
// and never reached by another name.
func TestGitsOwnFiles(t *testing.T) {
	b := newBench(t)
	b.Write(".git/config", "hush\n")
	b.Write("sub/.git/config", "hush\n")
	b.Link(".git", "g")
	b.Link(".git/config", "c")
	b.Link("sub", "s")
	for _, path := range []string{
		".git/config", ".git/hooks/pre-commit", "./.git/config", "x/../.git/config", ".GIT/config", ".Git/hooks/x", "sub/.git/config", ".git", ".git/", "s/.git/config",
		b.Dir + "/.git/config", ".git/modules/x/config", ".git /config", ".git./config", "GIT~1/config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/config",
	} {
		for _, tool := range []tools.Tool{writeFile{}, editFile{}} {
			raw, err := json.Marshal(args{"path": path})
			if err != nil {
				t.Fatal(err)
			}
			if got := tool.Describe("", raw).Effect; got != journal.EffectWriteExternal {
				t.Errorf("%s %q: %s", tool.Spec().Name, path, got)
			}
		}
		raw, err := json.Marshal(args{"patch": "diff --git a/ok \"b/" + path + "\"\nrename from ok\nrename to " + path + "\n"})
		if err != nil {
			t.Fatal(err)
		}
		if got := (applyPatch{}).Describe("", raw).Effect; got != journal.EffectWriteExternal {
			t.Errorf("apply_patch %q: %s", path, got)
		}
	}
	for _, path := range []string{"ok", ".gitignore", ".github/x", "git/x", "x.git", ".gitmodules"} {
		raw, err := json.Marshal(args{"path": path})
		if err != nil {
			t.Fatal(err)
		}
		if got := (writeFile{}).Describe("", raw).Effect; got != journal.EffectWriteLocal {
			t.Errorf("%q: %s", path, got)
		}
	}
	before := b.Read(".git/config")
	b.Write("ok", "fine\n")
	for _, path := range []string{"g/config", "c", "g/hooks/x"} {
		b.everywhere(path, func(tool string, _ journal.Result, err error) {
			if strings.HasPrefix(tool, "apply") || strings.HasPrefix(tool, "write") || strings.HasPrefix(tool, "edit") {
				if err == nil {
					t.Errorf("%s %s was let through", tool, path)
				}
			}
		})
	}
	if b.Read(".git/config") != before || b.There(".git/hooks/x") {
		t.Error("git's own files were written by another name")
	}
}

// S12: folders and files that are exchanged for ways out, again and again, never lead out: 200,000
// walks, reads and writes (a tenth of them in a quick run) beside somebody who swaps as fast as the
// system can.
func TestSwapRace(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.Dir), "outside")
	if err := os.MkdirAll(filepath.Join(outside, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "sub/file"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte("hush\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, outside)
	b.Write("a/sub/file", "fine\n")
	b.Write("f", "fine\n")
	b.Link(outside, "way")
	b.Link(outside+"/file", "leaf")
	b.Link("../../outside/sub", "a/out")
	done := make(chan struct{})
	var swapper sync.WaitGroup
	swaps := 0
	swapper.Go(func() {
		for ; ; swaps++ {
			select {
			case <-done:
				return
			default:
			}
			for _, pair := range [][2]string{{"a", "way"}, {"f", "leaf"}, {"a/sub", "a/out"}} {
				// The last pair is not there while the first is the other way round.
				_ = unix.Renameat2(unix.AT_FDCWD, b.Path(pair[0]), unix.AT_FDCWD, b.Path(pair[1]), unix.RENAME_EXCHANGE)
			}
		}
	})
	rounds := 200_000
	if !toolstest.Whole() {
		rounds = 20_000
	}
	w, err := OpenWorkspace(b.Dir, []string{b.State})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	inside, writes := 0, 0
	for i := range rounds {
		path := []string{"a/sub/file", "f"}[i%2]
		s, err := w.Find(path)
		if err != nil {
			continue
		}
		if _, content, err := s.look(100); err == nil && len(content) > 0 {
			if inside++; strings.ReplaceAll(string(content), "fine\n", "") != "" {
				t.Fatalf("read %q", content)
			}
		}
		s.Close()
		if i%20 == 0 {
			if r, err := b.Run("write_file", args{"path": path, "content": strings.Repeat("fine\n", 1+i%3)}); err == nil && r.Applied == journal.AppliedYes {
				writes++
			}
		}
		if i%50 == 0 {
			// It may be refused: what counts is that nothing is written outside.
			_, _ = b.Run("apply_patch", args{"patch": "--- a/a/sub/file\n+++ b/a/sub/file\n@@ -1 +1,2 @@\n fine\n+fine\n"})
		}
	}
	close(done)
	swapper.Wait()
	if after := snapshot(t, outside); after != before {
		t.Errorf("outside\n%sbecame\n%s", before, after)
	}
	if inside < rounds/100 || swaps < rounds/100 || writes == 0 {
		t.Errorf("the race did not take place: %d reads inside, %d swaps, %d writes", inside, swaps, writes)
	}
	t.Logf("%d rounds, %d swaps, %d reads inside, %d writes", rounds, swaps, inside, writes)
}
