package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What lies in a file's place neither holds anybody up nor is read: FIFOs, links, folders.
func TestOddFiles(t *testing.T) {
	odd := map[string]func(file string) error{
		"fifo":   func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"folder": func(file string) error { return os.Mkdir(file, 0o700) },
		"loop":   func(file string) error { return os.Symlink(filepath.Base(file), file) },
		"device": func(file string) error { return os.Symlink("/dev/zero", file) },
	}
	for kind, make := range odd {
		for _, name := range []string{"HEAD", "index", "packed-refs", "refs/heads/main", "config", "commondir", "objects/info/alternates", "info/attributes"} {
			s := newScene(t)
			s.commit("a")
			s.git("pack-refs", "--all")
			file := filepath.Join(s.dir, ".git", name)
			s.must(os.RemoveAll(file))
			s.must(os.MkdirAll(filepath.Dir(file), 0o700))
			s.must(make(file))
			r, ok, err := Find(s.dir)
			if err != nil {
				t.Errorf("%s %s: %v", kind, name, err)
			}
			if !ok {
				continue
			}
			r.Head()
			collected(r.Index())
			if of, err := converts(r); err == nil {
				of("a")
			}
			p, err := r.Pin(filepath.Join(s.base, "pin"), func(func(string) bool) {})
			s.must(err)
			s.must(p.Close())
		}
	}
}

// Of a store only packs and objects that are files are linked.
func TestOddObjects(t *testing.T) {
	s := newScene(t)
	s.commit("a", "b", "c")
	s.git("gc", "-q")
	s.commit("d", "e", "f")
	secret := filepath.Join(s.base, "secret")
	s.must(os.WriteFile(secret, []byte("s"), 0o600))
	r := s.find(s.dir)
	all, err := collected(r.Index())
	s.must(err)
	loose := func(name string) string {
		id := all[name].Blob
		return filepath.Join(r.Common, "objects", id[:2], id[2:])
	}
	for name, make := range map[string]func(file string) error{
		"d": func(file string) error { return os.Symlink(secret, file) },
		"e": func(file string) error { return syscall.Mkfifo(file, 0o600) },
	} {
		s.must(os.Remove(loose(name)))
		s.must(make(loose(name)))
	}
	pack := filepath.Join(r.Common, "objects", "pack")
	ids := strings.Repeat("a", 39)
	s.must(os.Symlink(secret, filepath.Join(pack, "pack-"+ids+"1.pack")))
	s.must(os.Symlink(secret, filepath.Join(pack, "pack-"+ids+"1.idx")))
	s.must(syscall.Mkfifo(filepath.Join(pack, "pack-"+ids+"2.pack"), 0o600))
	s.must(syscall.Mkfifo(filepath.Join(pack, "pack-"+ids+"2.idx"), 0o600))
	s.must(os.WriteFile(filepath.Join(pack, "other.pack"), nil, 0o600))
	dir := filepath.Join(s.base, "pin")
	p, err := r.Pin(dir, named(all))
	s.must(err)
	defer p.Close()
	s.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() || strings.Contains(path, "other") {
			t.Errorf("%s is pinned as %v", path, d.Type())
		}
		return err
	}))
	for name, e := range all {
		got, err := p.Read(context.Background(), e.Blob, large)
		if name == "d" || name == "e" {
			if err == nil {
				t.Errorf("%s: %q", name, got)
			}
		} else if err != nil || string(got) != "content of "+name+"\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Alternates that lead to one another or nowhere end.
func TestAlternates(t *testing.T) {
	s := newScene(t)
	s.commit("a")
	other := newScene(t)
	other.commit("b")
	var text strings.Builder
	fmt.Fprintf(&text, "# a comment\n\n../objects\n%s\n/nowhere\n/dev/zero\n/etc\n", filepath.Join(other.dir, ".git", "objects"))
	s.write(".git/objects/info/alternates", text.String())
	other.write(".git/objects/info/alternates", fmt.Sprintf("%q\n", filepath.Join(s.dir, ".git", "objects")))
	id := BlobID([]byte("content of b\n"), false)
	p, err := s.find(s.dir).Pin(filepath.Join(s.base, "pin"), func(yield func(string) bool) {
		for _, odd := range []string{id, "", "xy", "../../../../etc/passwd", strings.Repeat("/", 40), strings.Repeat(".", 40)} {
			if !yield(odd) {
				return
			}
		}
	})
	s.must(err)
	defer p.Close()
	if got, err := p.Read(context.Background(), id, large); err != nil || string(got) != "content of b\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// Nothing that a repository's settings name is run, and nothing below .git changes.
func TestNothingIsRunOrWritten(t *testing.T) {
	s := newScene(t)
	s.commit("a", "b")
	s.git("gc", "-q")
	s.commit("c")
	mark := filepath.Join(s.base, "ran")
	touch := "touch " + mark
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy", "filter.x.smudge", "filter.x.clean", "filter.x.process", "diff.external", "gpg.program", "uploadpack.packObjectsHook", "alias.cat-file", "credential.helper", "core.alternateRefsCommand"} {
		s.git("config", key, touch)
	}
	s.git("config", "core.hooksPath", ".git/hooks")
	s.git("config", "remote.origin.url", "ext::sh -c "+touch)
	s.git("config", "remote.origin.promisor", "true")
	s.git("config", "extensions.partialClone", "origin")
	for _, hook := range []string{"post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"} {
		s.write(".git/hooks/"+hook, "#!/bin/sh\n"+touch+"\n")
		s.must(os.Chmod(filepath.Join(s.dir, ".git/hooks", hook), 0o755))
	}
	s.write(".gitattributes", "* filter=x\n")
	s.write("a", "changed")
	before := s.listing()
	r := s.find(s.dir)
	if head, err := r.Head(); err != nil || head.Commit == "" {
		t.Errorf("%+v, %v", head, err)
	}
	of, err := converts(r)
	s.must(err)
	of("a")
	p, all := s.pin(s.dir)
	for _, e := range all {
		if _, err := p.Read(context.Background(), e.Blob, large); err != nil {
			t.Error(err)
		}
	}
	none := strings.Repeat("1", 40)
	if missing, err := p.Has(context.Background(), []string{none}); err != nil || len(missing) != 1 {
		t.Errorf("%v, %v", missing, err)
	}
	if _, err := p.Read(context.Background(), none, large); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if after := s.listing(); after != before {
		t.Errorf("changed from %s to %s", before, after)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("something was run")
	}
}

// listing is what is below .git, with times. Links to objects are counted in the ctime, and so it
// is left out.
func (s *scene) listing() string {
	s.t.Helper()
	var all strings.Builder
	s.must(filepath.WalkDir(filepath.Join(s.dir, ".git"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		fmt.Fprintln(&all, path, info.Size(), info.Mode(), info.ModTime().UnixNano())
		return err
	}))
	return all.String()
}

// An object that is written over in its file is found out.
func TestDamagedObjects(t *testing.T) {
	s := newScene(t)
	s.commit("a", "b", "c")
	p, all := s.pin(s.dir)
	file := func(name string) string {
		id := all[name].Blob
		return filepath.Join(s.dir, ".git", "objects", id[:2], id[2:])
	}
	other, err := os.ReadFile(file("b"))
	s.must(err)
	for name, content := range map[string][]byte{"a": other, "c": []byte("x\x9c\x00")} {
		s.must(os.Chmod(file(name), 0o600))
		s.must(os.WriteFile(file(name), content, 0o600))
		if got, err := p.Read(context.Background(), all[name].Blob, large); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, err := p.Read(context.Background(), all["b"].Blob, large); err != nil || string(got) != "content of b\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// A pin is on the file system of the objects, or is none. What is no pin is neither opened nor
// removed, and a second call adds what is new.
func TestPinFolder(t *testing.T) {
	s := newScene(t)
	s.commit("a")
	if shm, err := os.MkdirTemp("/dev/shm", "pin-"); err == nil && deviceOf(shm) != deviceOf(s.base) {
		defer os.RemoveAll(shm)
		all, err := collected(s.find(s.dir).Index())
		s.must(err)
		if _, err := s.find(s.dir).Pin(filepath.Join(shm, "pin"), named(all)); !errors.Is(err, ErrOtherFS) {
			t.Errorf("on another file system: %v", err)
		}
	}
	if _, err := Open(s.dir); err == nil {
		t.Error("a folder is opened as a pin")
	}
	for _, dir := range []string{s.dir, filepath.Join(s.dir, ".git")} {
		if err := Remove(dir); err == nil {
			t.Fatal("a folder is removed as a pin")
		}
	}
	s.pin(s.dir)
	s.commit("b")
	s.git("gc", "-q")
	// A pack without its index is what a killed call leaves.
	packs, err := filepath.Glob(filepath.Join(s.dir, ".git", "objects", "pack", "*.pack"))
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.base, "pin", "objects", "pack", filepath.Base(packs[0])), []byte("torn"), 0o600))
	p, all := s.pin(s.dir)
	s.must(os.RemoveAll(filepath.Join(s.dir, ".git")))
	for name, e := range all {
		if got, err := p.Read(context.Background(), e.Blob, large); err != nil || string(got) != "content of "+name+"\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for range 2 {
		s.must(Remove(filepath.Join(s.base, "pin")))
	}
}

// FuzzIndex: an index that is damaged is refused, and never read beyond its end.
func FuzzIndex(f *testing.F) {
	for version := 2; version <= 5; version++ {
		s := newScene(f)
		s.commit("a", "b/c", "b/d")
		s.write("later", "x")
		s.git("add", "-N", "later")
		if version == 5 {
			s.git("update-index", "--split-index")
			s.commit("b/d")
		} else {
			s.git("update-index", "--index-version", fmt.Sprint(version))
		}
		b, err := os.ReadFile(filepath.Join(s.dir, ".git", "index"))
		s.must(err)
		f.Add(b)
	}
	f.Add([]byte("DIRC\x00\x00\x00\x02\xff\xff\xff\xffxxxxxxxxxxxxxxxxxxxx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, size := range []int{20, 32} {
			if len(b) < size {
				continue
			}
			b = append(bytes.Clone(b[:len(b)-size]), make([]byte, size)...) // no checksum, as index.skipHash has it
			ix, err := parseIndex(b, size)
			if err != nil {
				continue
			}
			if whole, err := ix.over(ix); err == nil {
				ix = whole
			}
			for _, e := range ix.list {
				e.indexed(0)
				isPath(e.name)
			}
			treeOf(ix.list, "", size == 32)
		}
	})
}
