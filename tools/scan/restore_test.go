package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/toolstest"
)

// The test binary also makes versions again in a process of its own, which a fault point ends.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "__restore" {
		os.Exit(restoreAndDie(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func restoreAndDie(dir, file string) int {
	var list []act
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err == nil {
		_, err = fault.Arm()
	}
	if err == nil {
		err = carryOut(dir, list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// thing is a version with its content.
type thing struct {
	Want    journal.FileVersion
	Content []byte
}

// tree is what a workspace holds.
type tree map[string]thing

// act is one Restore.
type act struct {
	Path    []byte
	Want    *journal.FileVersion
	Content []byte
}

// acts lead from one tree to another: what goes first, the deepest first, then folders, then files.
// What changes its kind is no removal of its own, which carried out once more would take away what
// was made instead.
func acts(from, to tree) []act {
	var gone, folders, files []act
	for p := range from {
		if _, ok := to[p]; !ok {
			gone = append(gone, act{Path: []byte(p)})
		}
	}
	for p, now := range to {
		a := act{[]byte(p), &now.Want, now.Content}
		if now.Want.Kind == journal.FileFolder {
			folders = append(folders, a)
		} else {
			files = append(files, a)
		}
	}
	by := func(a, b act) int { return bytes.Compare(a.Path, b.Path) }
	slices.SortFunc(gone, by)
	slices.Reverse(gone)
	slices.SortFunc(folders, by)
	slices.SortFunc(files, by)
	return slices.Concat(gone, folders, files)
}

func carryOut(dir string, list []act) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var f Folders
	for _, a := range list {
		if err := f.Restore(root, string(a.Path), a.Want, a.Content); err != nil {
			return err
		}
	}
	return f.Sync(root)
}

func randomTree(r *rand.Rand) tree {
	t := tree{}
	var grow func(at string, depth int)
	grow = func(at string, depth int) {
		for _, name := range []string{"a", "b", "c\xfe\n", "d"} {
			p := path.Join(at, name)
			switch n := r.IntN(10); {
			case n < 3 && depth < 3:
				modes := []uint32{0o755, 0o755, 0o700, 0o555, 0, 0o1777, 0o2750, 0o311}
				t[p] = thing{Want: journal.FileVersion{Kind: journal.FileFolder, Mode: modes[r.IntN(len(modes))]}}
				grow(p, depth+1)
			case n < 6:
				modes := []uint32{0o644, 0o644, 0o600, 0o755, 0, 0o444, 0o4755, 0o2755, 0o200}
				content := bytes.Repeat([]byte{byte('0' + r.IntN(4))}, r.IntN(3)*5000)
				t[p] = thing{journal.FileVersion{Mode: modes[r.IntN(len(modes))], Size: int64(len(content))}, content}
			case n < 7:
				to := []string{"a", "../b", "/nowhere", p, "."}
				t[p] = thing{Want: journal.FileVersion{Kind: journal.FileLink, Link: journal.LinkTarget(to[r.IntN(len(to))])}}
			}
		}
	}
	grow("", 0)
	return t
}

// build makes a tree by plain calls, from nothing.
func build(t testing.TB, dir string, what tree) {
	t.Helper()
	var names []string
	for p := range what {
		names = append(names, p)
	}
	slices.Sort(names)
	for _, p := range names {
		file, v := filepath.Join(dir, p), what[p]
		switch v.Want.Kind {
		case journal.FileFolder:
			must(t, os.Mkdir(file, 0o700))
		case journal.FileLink:
			must(t, os.Symlink(string(v.Want.Link), file))
		default:
			must(t, os.WriteFile(file, v.Content, 0o600))
		}
	}
	for _, p := range slices.Backward(names) {
		if v := what[p]; v.Want.Kind != journal.FileLink {
			must(t, os.Chmod(filepath.Join(dir, p), fileMode(v.Want.Mode)))
		}
	}
}

// seen reads a tree by plain calls. What may not be read is allowed for the moment.
func seen(t testing.TB, dir string) tree {
	t.Helper()
	got := tree{}
	var look func(rel string)
	look = func(rel string) {
		list, err := os.ReadDir(filepath.Join(dir, rel))
		must(t, err)
		for _, e := range list {
			p := path.Join(rel, e.Name())
			file := filepath.Join(dir, p)
			info, err := os.Lstat(file)
			must(t, err)
			v := thing{Want: journal.FileVersion{Mode: modeOf(info.Mode())}}
			if info.Mode()&fs.ModeSymlink == 0 {
				must(t, os.Chmod(file, 0o700))
			}
			switch {
			case info.IsDir():
				v.Want.Kind = journal.FileFolder
				look(p)
			case info.Mode().IsRegular():
				v.Content, err = os.ReadFile(file)
				must(t, err)
				v.Want.Size = int64(len(v.Content))
			default:
				v.Want.Kind, v.Want.Mode = journal.FileLink, 0
				to, err := os.Readlink(file)
				must(t, err)
				v.Want.Link = journal.LinkTarget(to)
			}
			if info.Mode()&fs.ModeSymlink == 0 {
				must(t, os.Chmod(file, info.Mode()))
			}
			got[p] = v
		}
	}
	look("")
	return got
}

// differ lists where two trees do.
func differ(got, want tree) []string {
	var list []string
	for p, w := range want {
		if g, ok := got[p]; !ok || g.Want != w.Want || !bytes.Equal(g.Content, w.Content) {
			list = append(list, fmt.Sprintf("%q is %+v and not %+v", p, g.Want, w.Want))
		}
	}
	for p, g := range got {
		if _, ok := want[p]; !ok {
			list = append(list, fmt.Sprintf("%q is there: %+v", p, g.Want))
		}
	}
	return list
}

// open lets a folder be removed by whoever runs the test.
func open(t testing.TB, dir string) {
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, _ error) error {
			if e != nil && e.IsDir() {
				return os.Chmod(p, 0o700)
			}
			return nil
		}) // what stays shut cannot be removed, which the test reports
	})
}

// From any tree to any other, and what is as wanted is not written.
func TestRestoreTrees(t *testing.T) {
	seeds := uint64(150)
	if !toolstest.Whole() {
		seeds = 15
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := randomTree(r), randomTree(r)
		dir := t.TempDir()
		open(t, dir)
		build(t, dir, a)
		if d := differ(seen(t, dir), a); d != nil {
			t.Fatalf("seed %d, as built: %s", seed, d)
		}
		if err := carryOut(dir, acts(a, b)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if d := differ(seen(t, dir), b); d != nil {
			t.Fatalf("seed %d: %s", seed, strings.Join(d, "\n"))
		}
		before := list(t, dir, Options{})
		if err := carryOut(dir, acts(b, b)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for p, e := range list(t, dir, Options{}).Entries {
			unread := e.Kind == journal.FileRegular && e.Mode&0o400 == 0 // it is written again, unless by root
			if was := before.Entries[p]; e.Kind != journal.FileFolder && !unread && e != was {
				t.Errorf("seed %d: %q was written again: %+v, %+v", seed, p, was, e)
			}
		}
		if err := carryOut(dir, acts(b, a)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if d := differ(seen(t, dir), a); d != nil {
			t.Fatalf("seed %d, back: %s", seed, strings.Join(d, "\n"))
		}
	}
}

// Killed at every point, each file is old or new, and the same acts lead to the end.
// R8.
func TestKilledRestore(t *testing.T) {
	exe, err := os.Executable()
	must(t, err)
	kills := 0
	seeds := uint64(8)
	if !toolstest.Whole() {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		a, b := randomTree(r), randomTree(r)
		list := acts(a, b)
		text, err := json.Marshal(list)
		must(t, err)
		plan := filepath.Join(t.TempDir(), "acts")
		must(t, os.WriteFile(plan, text, 0o600))
		for _, point := range fault.Restoring() {
			for n := 1; ; n++ {
				dir := t.TempDir()
				open(t, dir)
				build(t, dir, a)
				cmd := exec.CommandContext(t.Context(), exe, "__restore", dir, plan)
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%d", fault.EnvPoint, point, n), fault.EnvUnsafe+"=1")
				out, err := cmd.CombinedOutput()
				if err != nil && !strings.Contains(err.Error(), "killed") {
					t.Fatalf("%s:%d: %v %s", point, n, err, out)
				}
				torn(t, seen(t, dir), a, b)
				if err == nil {
					break
				}
				kills++
				must(t, carryOut(dir, list))
				if d := differ(seen(t, dir), b); d != nil {
					t.Fatalf("seed %d, %s:%d: %s", seed, point, n, strings.Join(d, "\n"))
				}
			}
		}
	}
	if kills < 10 {
		t.Errorf("killed %d times", kills)
	}
}

// torn fails where a file is neither old nor new.
func torn(t *testing.T, got, a, b tree) {
	t.Helper()
	for p, g := range got {
		is := func(w thing, ok bool) bool {
			return ok && g.Want == w.Want && bytes.Equal(g.Content, w.Content)
		}
		old, wasThere := a[p]
		now, isThere := b[p]
		switch {
		case g.Want.Kind == journal.FileFolder, IsTemp(path.Base(p)):
		case !is(old, wasThere) && !is(now, isThere):
			t.Fatalf("%q is torn: %+v", p, g.Want)
		}
	}
}

// The cases that random trees do not come to.
func TestRestoreCases(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	file := func(content string) (*journal.FileVersion, []byte) {
		return &journal.FileVersion{Mode: 0o640, Size: int64(len(content))}, []byte(content)
	}
	restore := func(path, content string) error {
		v, c := file(content)
		return Restore(root, path, v, c)
	}

	put(t, dir, "full/x", "x")
	if err := Restore(root, "full", nil, nil); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("%v", err)
	}
	if err := restore("full", "x"); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("%v", err)
	}
	put(t, dir, "left/"+tempName("x"), "half")
	must(t, Restore(root, "left", nil, nil))
	put(t, dir, "deep/"+tempName("f"), "half")
	must(t, restore("deep/f", "whole"))
	must(t, restore("new/way/f", "whole"))
	if info, err := root.Lstat("new/way"); err != nil || !info.IsDir() {
		t.Errorf("%v", err)
	}

	put(t, dir, "one", "old")
	must(t, os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "two")))
	must(t, restore("one", "old")) // another mode alone
	if info, err := root.Lstat("two"); err != nil || info.Mode() != 0o644 {
		t.Errorf("the other name has %v, %v", info.Mode(), err)
	}
	must(t, os.Symlink("two", filepath.Join(dir, "link")))
	must(t, os.Symlink("deep", filepath.Join(dir, "way")))
	must(t, restore("link", "instead"))
	if text, err := root.ReadFile("two"); err != nil || string(text) != "old" {
		t.Errorf("a link was followed: %q %v", text, err)
	}
	if err := restore("way/f", "through"); err == nil {
		t.Error("a link on the way was followed")
	}
	must(t, Restore(root, "way/f", nil, nil))
	must(t, Restore(root, "one/f", nil, nil))
	if text, err := root.ReadFile("deep/f"); err != nil || string(text) != "whole" {
		t.Errorf("%q %v", text, err)
	}
	for _, bad := range []*journal.FileVersion{{Size: 2}, {Kind: journal.FileSpecial}, {Kind: journal.FileLink}, {Kind: "odd"}} {
		if err := Restore(root, "bad", bad, []byte("x")); err == nil {
			t.Errorf("%+v was made", bad)
		}
	}
	var left []string
	for p := range seen(t, dir) {
		left = append(left, p)
	}
	slices.Sort(left)
	if got := strings.Join(left, " "); got != "deep deep/f full full/x link new new/way new/way/f one two way" {
		t.Errorf("left are %s", got)
	}
}

// What a killed Restore left goes where nobody carries it out again; what else is there stays.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	left, stays := filepath.Join(dir, "sub", tempName("a")), filepath.Join(dir, "sub", tempName("b"))
	for _, path := range []string{left, stays} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, path := range []string{"sub/a", "sub/a", "gone/a"} {
		if err := Clear(root, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is there still: %v", err)
	}
	if _, err := os.Lstat(stays); err != nil {
		t.Error(err)
	}
}
