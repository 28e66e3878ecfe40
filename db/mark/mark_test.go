package mark

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func file(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "mark"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // what was written was read back by then
	return f
}

func example() Mark {
	return Mark{
		Version: Version, Store: "0123456789abcdef", Runs: 549755813887, Run: "r-7k2mx3y1", No: 549755813887, Seq: 16777215,
		Digest: strings.Repeat("f", 32), At: time.Date(2026, 11, 22, 8, 30, 0, 123456000, time.UTC), Decided: time.Date(2026, 11, 21, 8, 30, 0, 123456000, time.UTC),
	}
}

// What is written is read again, also over a mark that was longer; the file keeps its size.
func TestWriteAndRead(t *testing.T) {
	f := file(t)
	for _, m := range []Mark{example(), {Version: Version, Store: "s"}} {
		if err := Write(f, m); err != nil {
			t.Fatal(err)
		}
		got, err := Read(f.Name())
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("read %+v, %v; want %+v", got, err, m)
		}
		if info, err := f.Stat(); err != nil || info.Size() != Size {
			t.Errorf("size: %v, %v", info.Size(), err)
		}
	}
}

// A mark that is torn, flipped, cut or of a newer format is no mark: it never makes a store look
// behind.
func TestDamaged(t *testing.T) {
	f := file(t)
	if _, err := Read(f.Name()); !errors.Is(err, ErrNone) {
		t.Errorf("empty file: %v", err)
	}
	if _, err := Read(f.Name() + ".not"); !errors.Is(err, ErrNone) {
		t.Errorf("no file: %v", err)
	}
	if err := Write(f, example()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(strings.TrimRight(string(whole), " \n")); at++ {
		b := append([]byte(nil), whole...)
		b[at] ^= 1
		if err := os.WriteFile(f.Name(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := Read(f.Name()); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d flipped: %+v, %v", at, m, err)
		}
	}
	if err := os.WriteFile(f.Name(), whole[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(f.Name()); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut: %v", err)
	}
	newer := example()
	newer.Store = strings.Repeat("s", Size)
	if err := Write(f, newer); err == nil {
		t.Error("a mark that is too long was written")
	}
}

// What is no file has no mark, and none is written into it: the store's other witnesses decide.
func TestMarkThatIsNoFile(t *testing.T) {
	for name, put := range map[string]func(dir string) error{
		"its folder is a file": func(dir string) error { return os.WriteFile(filepath.Join(dir, Folder), nil, 0o600) },
		"it is a folder":       func(dir string) error { return os.MkdirAll(Path(dir), 0o700) },
	} {
		dir := t.TempDir()
		if err := put(dir); err != nil {
			t.Fatal(err)
		}
		if m, err := Read(Path(dir)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		f := File{Path: Path(dir)}
		if err := f.Leave(example()); err == nil {
			t.Errorf("%s: it was written", name)
		}
	}
}
