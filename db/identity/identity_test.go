package identity

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A copy is another file, however it is made; a file that is moved or written to is the same.
func TestOfACopy(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "file")
	if err := os.WriteFile(at, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	was := look(t, at)
	if was.Inode == 0 {
		t.Skip("this file system is not known to keep the numbers of its inodes")
	}
	if err := os.WriteFile(at, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(at, moved); err != nil {
		t.Fatal(err)
	}
	if what := was.Differs(look(t, moved)); what != "" {
		t.Errorf("written to and moved: %s", what)
	}
	if out, err := exec.Command("cp", "-a", moved, at).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if was.Differs(look(t, at)) == "" {
		t.Error("a copy is taken for the file")
	}
}

func look(t *testing.T, path string) File {
	t.Helper()
	f, err := Of(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDiffers(t *testing.T) {
	was := File{Inode: 7, Born: 9, Machine: "m"}
	for _, tt := range []struct {
		now  File
		same bool
	}{
		{was, true},
		{File{}, true},
		{File{Inode: 7, Machine: "m"}, true}, // a system that does not say when it was made
		{File{Inode: 8, Born: 9, Machine: "m"}, false},
		{File{Inode: 7, Born: 8, Machine: "m"}, false},
		{File{Inode: 7, Born: 9, Machine: "n"}, false},
		{File{Machine: "n"}, false},
	} {
		if got := was.Differs(tt.now) == ""; got != tt.same {
			t.Errorf("%+v: the same is %t", tt.now, got)
		}
	}
	if (File{}).Known() || (File{}).Differs(was) != "" {
		t.Error("what is not known differs from something")
	}
}
