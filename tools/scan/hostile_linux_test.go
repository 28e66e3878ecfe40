package scan

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"agent/recovery/journal"
)

// at reads a path's version.
func at(t testing.TB, dir, path string) (*journal.FileVersion, []byte) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	v, e, content, err := Version(root, path, 1<<20)
	must(t, err)
	if v != nil && e != list(t, dir, Options{MaxFile: 1 << 20}).Entries[path] {
		t.Errorf("%q: the entry %+v is not the listed one", path, e)
	}
	return v, content
}

func TestStrangeFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "out\xff\n/na\nme\x01", "x")
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	must(t, os.Symlink("../..", filepath.Join(dir, "up")))
	must(t, os.Symlink("out\xff\n", filepath.Join(dir, "folder")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o640))
	must(t, syscall.Mkfifo(filepath.Join(dir, ".gitignore"), 0o600))
	s, err := net.Listen("unix", filepath.Join(dir, "sock"))
	must(t, err)
	defer s.Close()
	put(t, dir, "one", "x")
	must(t, os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "two")))
	must(t, os.Truncate(filepath.Join(dir, "one"), 100_000)) // sparse
	put(t, dir, "huge", "")
	must(t, os.Truncate(filepath.Join(dir, "huge"), 1<<40))
	deep := strings.Repeat("d/", 300)
	put(t, dir, deep+"x", "deep")
	must(t, os.Chmod(filepath.Join(dir, "one"), fileMode(0o7640)))

	l := list(t, dir, Options{})
	for path, kind := range map[string]journal.FileKind{
		"out\xff\n": journal.FileFolder, "out\xff\n/na\nme\x01": "", "loop": journal.FileLink, "up": journal.FileLink, "folder": journal.FileLink,
		"fifo": journal.FileSpecial, ".gitignore": journal.FileSpecial, "sock": journal.FileSpecial, "one": "", "two": "", "huge": "", deep + "x": "",
	} {
		e, ok := l.Entries[path]
		if !ok || e.Kind != kind || (e.Out == journal.LeftSpecial) != (kind == journal.FileSpecial) || e.Kind == journal.FileLink && e.Mode != 0 {
			t.Errorf("%q: %v %+v", path, ok, e)
		}
	}
	if e := l.Entries["two"]; len(l.Entries) != 11+300+1 || e.Links != 2 || e.Mode != 0o7640 || e.Size != 100_000 || e.Inode != l.Entries["one"].Inode || l.Skipped[journal.LeftSpecial] != 3 {
		t.Errorf("%d entries, %+v, %v", len(l.Entries), e, l.Skipped)
	}
	for _, path := range []string{"fifo", ".gitignore", "sock"} {
		if v, c := at(t, dir, path); v.Kind != journal.FileSpecial || v.Lost != journal.LeftSpecial || v.Stamp == "" || c != nil {
			t.Errorf("%s: %+v", path, v)
		}
	}
	if v, c := at(t, dir, deep+"x"); string(c) != "deep" || v.Size != 4 || v.Mode != 0o644 || v.Kept+v.Git+v.Stamp != "" {
		t.Errorf("%+v %q", v, c)
	}
	if v, c := at(t, dir, "two"); !bytes.Equal(c, append([]byte("x"), make([]byte, 99_999)...)) || v.Mode != 0o7640 {
		t.Errorf("%+v", v)
	}
	if v, c := at(t, dir, "huge"); v.Lost != journal.LeftTooLarge || v.Size != 1<<40 || c != nil {
		t.Errorf("%+v", v)
	}
	if v, c := at(t, dir, "up"); v.Link != "../.." || v.Kind != journal.FileLink || c != nil {
		t.Errorf("%+v", v)
	}
	for _, path := range []string{"folder/na\nme\x01", "loop/x", "one/x", "up/x", "none", "none/x"} {
		if v, _ := at(t, dir, path); v != nil {
			t.Errorf("%s: %+v", path, v)
		}
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for _, path := range []string{"", ".", "..", "/one", "a/../one", "a//b", "one/", "x\x00", ".git/config", "a/.GIT"} {
		if _, _, _, err := Version(root, path, 1); err == nil {
			t.Errorf("%q was looked at", path)
		}
		if err := Restore(root, path, nil, nil); err == nil {
			t.Errorf("%q was removed", path)
		}
	}
}

// What may not be read is listed, and known to be unreadable.
func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	put(t, dir, "shut/x", "x")
	put(t, dir, "names/x", "x")
	put(t, dir, "file", "x")
	for name, mode := range map[string]os.FileMode{"shut": 0, "names": 0o444, "file": 0} {
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(dir, "shut"), 0o700)  // for who removes the folder
		_ = os.Chmod(filepath.Join(dir, "names"), 0o700) // as above
	})
	l := list(t, dir, Options{})
	if got := paths(l); got != "file names shut" || !l.Unseen("shut/x") || !l.Unseen("names/x") || l.Skipped[journal.LeftUnreadable] != 2 {
		t.Errorf("%s %+v", got, l.LeftOut)
	}
	if v, c := at(t, dir, "file"); v.Lost != journal.LeftUnreadable || v.Stamp == "" || v.Size != 1 || c != nil {
		t.Errorf("%+v", v)
	}
	if v, _ := at(t, dir, "shut"); v.Lost != "" || v.Kind != journal.FileFolder {
		t.Errorf("%+v", v)
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	if v, _, _, err := Version(root, "shut/x", 1); err != nil || v == nil || v.Lost != journal.LeftUnreadable {
		t.Errorf("%+v %v", v, err) // nobody knows whether it is there
	}
	want := &journal.FileVersion{Mode: 0o600, Size: 3}
	for _, path := range []string{"shut/x", "names/x", "file", "shut/new"} {
		must(t, Restore(root, path, want, []byte("new")))
	}
	for _, name := range []string{"shut", "names"} {
		info, err := root.Lstat(name)
		must(t, err)
		if p := info.Mode().Perm(); p != 0 && p != 0o444 {
			t.Errorf("%s has the mode %v", name, p)
		}
		must(t, os.Chmod(filepath.Join(dir, name), 0o700))
	}
	for _, path := range []string{"shut/x", "names/x", "file", "shut/new"} {
		if v, c := at(t, dir, path); string(c) != "new" || v.Mode != 0o600 {
			t.Errorf("%s: %+v %q", path, v, c)
		}
	}
}

// swap puts a link to a folder outside in the place of a folder, and back, until it is stopped.
func swap(t *testing.T, dir, outside string) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	a, b := filepath.Join(dir, "d"), filepath.Join(dir, "aside")
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			default:
			}
			if err := os.Rename(a, b); err != nil {
				t.Error(err)
				return
			}
			_ = os.Symlink(outside, a) // a Restore may have made the folder before
			for {
				if err := os.RemoveAll(a); err == nil && os.Rename(b, a) == nil {
					break
				}
			}
		}
	}()
	return func() { close(ended); <-done }
}

// A folder that becomes a link at any moment leads nowhere.
func TestSwappedFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put(t, dir, "d/inside", "inside")
	put(t, outside, "inside", "outside")
	put(t, outside, "secret", "outside")
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	stop := swap(t, dir, outside)
	defer stop()
	swapped, wrote := 0, 0
	for i := 0; i < 3000 && (i < 500 || swapped == 0 || wrote == 0); i++ {
		l := list(t, dir, Options{})
		if _, ok := l.Entries["d/secret"]; ok {
			t.Fatal("the walk went outside")
		}
		if l.Entries["d"].Kind == journal.FileLink || l.Entries["d"].Links == 0 {
			swapped++
		}
		if v, _, c, err := Version(root, "d/inside", 100); err == nil && v != nil && string(c) == "outside" {
			t.Fatal("a file outside was read")
		}
		content := []byte{byte('a' + i%26)}
		if Restore(root, "d/new", &journal.FileVersion{Mode: 0o644, Size: 1}, content) == nil {
			wrote++
		}
		_ = Restore(root, "d/secret", nil, nil) // it may fail: something else is there
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 2 {
		t.Errorf("outside are %v, %v", names, err)
	}
	if swapped == 0 || wrote == 0 {
		t.Errorf("swapped %d times, written %d times", swapped, wrote)
	}
}

// A file that is written to again and again is read, or known to be unstable. What is read may be
// half of a write that began before the look and was stopped on its way: nothing that the system
// says of a file shows that.
func TestUnstable(t *testing.T) {
	dir := t.TempDir()
	const size = 1 << 19
	file := filepath.Join(dir, "f")
	put(t, dir, "f", strings.Repeat("a", size))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for i := 0; ; i++ {
			select {
			case <-ended:
				return
			default:
			}
			if _, err := f.WriteAt(bytes.Repeat([]byte{byte('a' + i%26)}, size), 0); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	defer func() { close(ended); <-done }()
	unstable := 0
	for i := 0; i < 100_000 && (i < 200 || unstable == 0); i++ {
		v, _, c, err := Version(root, "f", size)
		must(t, err)
		switch {
		case v.Lost == journal.LeftUnstable && v.Stamp != "" && c == nil:
			unstable++
		case v.Lost != "" || len(c) != size:
			t.Fatalf("neither read nor unstable: %+v", v)
		}
	}
	if unstable == 0 {
		t.Error("never unstable")
	}
}

// A write that begins while a file is looked at is seen, or comes too late to be read.
func TestWrittenWhileLookedAt(t *testing.T) {
	dir := t.TempDir()
	const size = 1 << 22 // so that the write begins before it is read to its end
	put(t, dir, "f", strings.Repeat("a", size))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	f, err := os.OpenFile(filepath.Join(dir, "f"), os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()

	// The system tells the writer that the file was opened, which is behind the first look at it.
	events, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	must(t, err)
	opened := os.NewFile(uintptr(events), "inotify")
	defer opened.Close()
	_, err = unix.InotifyAddWatch(events, filepath.Join(dir, "f"), unix.IN_OPEN)
	must(t, err)

	unstable := 0
	for i := 0; i < 10_000 && (i < 50 || unstable == 0); i++ {
		written := make(chan error, 1)
		go func() {
			if _, err := opened.Read(make([]byte, 4096)); err != nil {
				written <- err
				return
			}
			_, err := f.WriteAt(bytes.Repeat([]byte{byte('b' + i%25)}, size), 0)
			written <- err
		}()

		v, _, c, err := look(root, "f", size)
		must(t, <-written)
		switch {
		case errors.Is(err, errReplaced):
			unstable++
		case err != nil || v.Lost != "" || len(c) != size || bytes.Count(c, c[:1]) != size:
			t.Fatalf("torn: %+v, %v", v, err)
		}
	}
	if unstable == 0 {
		t.Error("never unstable")
	}
}
