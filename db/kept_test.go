package db

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/db/dbtest"
	"agent/db/keep"
	"agent/db/redact"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

const keptCanary = "kx7Qw2-canary-9fT4zLmV0bRs"

func contents(t *testing.T, s *Store) *keep.Contents {
	t.Helper()
	c, err := s.Contents()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func stageContent(t *testing.T, s *Store, content []byte) keep.Row {
	t.Helper()
	r, err := contents(t, s).Stage(context.Background(), content)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keepContents appends a fact with which contents are kept.
func keepContents(t *testing.T, s *Store, h Head, all ...[]byte) (Head, []string) {
	t.Helper()
	var rows []keep.Row
	var names []string
	for _, c := range all {
		r := stageContent(t, s, c)
		rows, names = append(rows, r), append(names, r.Name)
	}
	return appendAll(t, s, h, inTurn(1, journal.RunNoted{Text: "kept " + strings.Join(names, " ")}), AppendOptions{Kept: rows}), names
}

func wantKept(t *testing.T, s *Store, name string, want []byte) {
	t.Helper()
	ctx := context.Background()
	if got, err := contents(t, s).Get(ctx, name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes and %v, want %d", name, len(got), err, len(want))
	}
	if has, err := contents(t, s).Has(ctx, name); !has || err != nil {
		t.Errorf("%s is there: %v %v", name, has, err)
	}
}

func wantLost(t *testing.T, s *Store, name string) {
	t.Helper()
	lost := &keep.LostError{}
	if got, err := contents(t, s).Get(context.Background(), name); !errors.As(err, &lost) || lost.Name != name || got != nil {
		t.Errorf("%s: %d bytes and %v, want that no copy is usable", name, len(got), err)
	}
}

// noise is content that nothing makes smaller.
func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func keptFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, keep.Folder, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Contents come back byte for byte, once each, from the process that kept them, from the next one,
// and from one that only reads. What is long and does not become smaller is a file.
// W7, EN-21, EN-53.
func TestKeptContents(t *testing.T) {
	dir := stateDir(t)
	s := openStore(t, dir, func(o *Options) { o.Known = []redact.Known{{Rule: "env-canary", Value: keptCanary}} })
	all := [][]byte{
		{}, []byte("\x00"), []byte("token = " + keptCanary + "\n"), []byte("no text \xff\xfe"), bytes.Repeat([]byte("long and the same "), 1<<16),
		noise(256<<10-1000, 1), noise(256<<10, 2), noise(1<<20, 3),
	}
	h, names := keepContents(t, s, startRun(t, s, "r-keptkept"), all...)
	h, again := keepContents(t, s, h, all...)
	if !slices.Equal(names, again) {
		t.Errorf("the same contents are called %q and %q", names, again)
	}
	if n := count(t, s, "kept"); n != len(all) {
		t.Errorf("%d rows for %d contents", n, len(all))
	}
	if files := keptFiles(t, dir); len(files) != 2 {
		t.Errorf("files: %q", files)
	}
	note := loadAll(t, s, h.Run)[h.Seq-1].Body.(journal.RunNoted)
	if !strings.Contains(note.Text, names[0]) {
		t.Errorf("a name does not stand in a fact as it is: %s", note.Text)
	}
	other := openStore(t, stateDir(t))
	if r := stageContent(t, other, all[2]); r.Name == names[2] {
		t.Error("another store gives a content the same name: it can be guessed from outside")
	}
	read, err := OpenRead(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range all {
		wantKept(t, s, names[i], c)
		wantKept(t, read, names[i], c)
	}
	for _, err := range []error{read.Close(), s.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path := range dbtest.Snapshot(t, dir) {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(keptCanary)) {
			t.Errorf("a kept secret lies in the clear in %s", path)
		}
		if info, err := os.Stat(path); err != nil || path != dir && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: others can read it (%v, %v)", path, info.Mode(), err)
		}
	}
	s = openStore(t, dir)
	for i, c := range all {
		wantKept(t, s, names[i], c)
	}
	for _, name := range []string{"", "xyz", names[0][:30], names[0] + "00", strings.Repeat("0", 32), "../../../../etc/passwd"} {
		wantLost(t, s, name)
		if has, err := contents(t, s).Has(context.Background(), name); has || err != nil {
			t.Errorf("%q is there: %v %v", name, has, err)
		}
	}
}

// A content is kept with the fact that names it, or not at all.
// W3.
func TestKeptWithItsFact(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-keptfact")
	next, names := keepContents(t, s, h, []byte("first"))
	wantKept(t, s, names[0], []byte("first"))

	r := stageContent(t, s, []byte("second"))
	_, err := s.Append(context.Background(), h, inTurn(1, journal.RunNoted{Text: "late"}), AppendOptions{Kept: []keep.Row{r}})
	if !errors.Is(err, ErrLostRace) {
		t.Fatal(err)
	}
	wantLost(t, s, r.Name)

	// A commit that reports a full disk and keeps its batch all the same is not written twice.
	err = commitTwice(t, s, func() error {
		_, err := s.Append(context.Background(), next, inTurn(1, journal.RunNoted{Text: "again"}), AppendOptions{Kept: []keep.Row{r}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantKept(t, s, r.Name, []byte("second"))
}

// Whatever is damaged of a copy, it is no usable copy: other bytes are never given back. Who still
// has the content keeps it anew.
func TestDamagedKept(t *testing.T) {
	ctx := context.Background()
	small, large, other := []byte("small content"), noise(400<<10, 1), noise(400<<10, 2)
	atFile := func(damage func(path, other string) error) func(*testing.T, string, []string) {
		return func(t *testing.T, dir string, names []string) {
			path := func(name string) string { return filepath.Join(dir, keep.Folder, name[:2], name) }
			if err := damage(path(names[1]), path(names[2])); err != nil {
				t.Fatal(err)
			}
		}
	}
	inRow := func(text string) func(*testing.T, string, []string) {
		return func(t *testing.T, dir string, names []string) {
			tamper(t, dir, strings.NewReplacer("SMALL", "x'"+names[0]+"'", "LARGE", "x'"+names[1]+"'").Replace(text))
		}
	}
	for _, c := range []struct {
		name   string
		lost   int // which of the contents
		damage func(t *testing.T, dir string, names []string)
	}{
		{"its row is gone", 0, inRow("DELETE FROM kept WHERE id = SMALL")},
		{"its row has other bytes", 0, inRow("UPDATE kept SET data = zeroblob(length(data)) WHERE id = SMALL")},
		{"its row has the bytes of another", 0, inRow("UPDATE kept SET data = (SELECT data FROM kept WHERE data IS NOT NULL AND id <> SMALL) WHERE id = SMALL")},
		{"its size is too large", 0, inRow("UPDATE kept SET size = 9223372036854775806 WHERE id = SMALL")},
		{"its size is too small", 0, inRow("UPDATE kept SET size = size - 1 WHERE id = SMALL")},
		{"its size is 0", 0, inRow("UPDATE kept SET size = 0 WHERE id = SMALL")},
		{"it has the name of another", 1, inRow("UPDATE kept SET id = randomblob(16) WHERE id = LARGE")},
		{"its file is gone", 1, atFile(func(path, _ string) error { return os.Remove(path) })},
		{"its file is empty", 1, atFile(func(path, _ string) error { return os.Truncate(path, 0) })},
		{"its file is cut", 1, atFile(func(path, _ string) error { return os.Truncate(path, 300<<10) })},
		{"its file is another's", 1, atFile(func(path, other string) error { return os.Rename(other, path) })},
		{"a bit of its file is another", 1, atFile(func(path, _ string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 4
			return os.WriteFile(path, data, 0o600)
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := stateDir(t)
			s := openStore(t, dir)
			_, names := keepContents(t, s, startRun(t, s, "r-damaged0"), small, large, other, []byte("also small"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			c.damage(t, dir, names)
			s = openStore(t, dir)
			wantLost(t, s, names[c.lost])
			if r, err := contents(t, s).Check(ctx); err != nil || c.name != "its row is gone" && len(r.Problems) == 0 {
				t.Errorf("the check says %q, %v", r.Problems, err)
			}
			h, err := s.Head(ctx, "r-damaged0")
			if err != nil {
				t.Fatal(err)
			}
			want := [][]byte{small, large}[c.lost]
			_, again := keepContents(t, s, h, want)
			if again[0] != names[c.lost] {
				t.Errorf("it is called %s and %s", names[c.lost], again[0])
			}
			wantKept(t, s, again[0], want)
		})
	}
}

// A copy that cannot be read now is not taken for one that is lost, and without the key none is
// opened.
func TestUnreadableKept(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root reads everything: only the missing key is tried")
	}
	dir := stateDir(t)
	s := openStore(t, dir)
	_, names := keepContents(t, s, startRun(t, s, "r-unreadab"), noise(400<<10, 1))
	file := keptFiles(t, dir)[0]
	if os.Getuid() != 0 {
		if err := os.Chmod(file, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := contents(t, s).Get(context.Background(), names[0]); !errors.Is(err, fs.ErrPermission) || errors.As(err, new(*keep.LostError)) {
			t.Errorf("%v", err)
		}
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Close(), os.Remove(filepath.Join(dir, "key"))); err != nil {
		t.Fatal(err)
	}
	read, err := OpenRead(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := contents(t, read).Get(context.Background(), names[0]); err == nil || errors.As(err, new(*keep.LostError)) {
		t.Errorf("without a key: %v", err)
	}
	if r, err := contents(t, read).Check(context.Background()); err != nil || len(r.Problems) != 0 {
		t.Errorf("without a key: %+v %v", r, err)
	}
	if _, err := contents(t, read).Stage(context.Background(), []byte("x")); err == nil {
		t.Error("a content was kept without a key")
	}
}

// A file is durable before the row that names it. A process that ends in between leaves a file that
// harms nobody, is reported, and is used by whoever keeps the content next.
// W1.
func TestKeptFileComesFirst(t *testing.T) {
	ctx, content := context.Background(), noise(400<<10, 1)
	dir, committed := stateDir(t), 0
	s := openStore(t, dir, func(o *Options) {
		o.Hit = func(p fault.Point) {
			if p == fault.BeforeCommit && len(keptFiles(t, dir)) > 0 {
				committed++
			}
		}
	})
	h := startRun(t, s, "r-keptfile")
	r := stageContent(t, s, content)
	files := keptFiles(t, dir)
	if committed != 0 || len(files) != 1 || files[0] != contents(t, s).Path(r.Name) {
		t.Fatalf("%d commits, files %q", committed, files)
	}
	wantLost(t, s, r.Name)
	report, err := contents(t, s).Check(ctx)
	if err != nil || len(report.Problems) != 0 || !slices.Equal(report.Leftover, files) || report.Files < 400<<10 {
		t.Errorf("%+v %v", report, err)
	}
	_, names := keepContents(t, s, h, content)
	wantKept(t, s, names[0], content)
	if committed == 0 {
		t.Error("the row came before its file")
	}
	if report, err = contents(t, s).Check(ctx); err != nil || len(report.Leftover) != 0 {
		t.Errorf("%+v %v", report, err)
	}
}

// A full disk costs the ballast, and then keeping is refused as everything else is: nothing of the
// content is there, and what was kept stays.
func TestFullDiskAtAKeptContent(t *testing.T) {
	ctx, root := context.Background(), smallDisk(t, "64m")
	dir := filepath.Join(root, "state")
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-keptfull")
	s.file.WaitBallast()
	stuff(t, root)
	first := noise(1<<20, 1)
	h, names := keepContents(t, s, h, first)
	if !s.DiskFull() || sizeOf(filepath.Join(dir, "ballast")) != 0 {
		t.Error("the ballast is still there, or nothing is said")
	}
	var refused error
	for seed := byte(2); refused == nil && seed < 100; seed++ {
		_, refused = contents(t, s).Stage(ctx, noise(1<<20, seed))
	}
	if !errors.Is(refused, ErrDiskFull) {
		t.Errorf("%v", refused)
	}
	for _, file := range keptFiles(t, dir) {
		if name := filepath.Base(file); sizeOf(file) < 1<<20 {
			t.Errorf("half a copy is left: %s", name)
		} else if _, err := hex.DecodeString(name); err != nil {
			t.Errorf("a temporary file is left: %s", name)
		}
	}
	wantKept(t, s, names[0], first)
	if err := os.Remove(filepath.Join(root, "stuffing")); err != nil {
		t.Fatal(err)
	}
	second := noise(1<<20, 200)
	_, names = keepContents(t, s, h, second)
	wantKept(t, s, names[0], second)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
