//go:build unix

package db

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// SEC-04: nobody else can read what is stored, whatever the umask.
func TestModes(t *testing.T) {
	for _, mask := range []int{0, 0o077, 0o777} {
		old := syscall.Umask(mask)
		dir := stateDir(t)
		if mask == 0o777 { // a parent that can be entered
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s := openStore(t, dir, func(o *Options) { o.NoBallast = false })
		h := startRun(t, s, "r-modesmod")
		a, b := turnFacts(1, "c-11111111", strings.Repeat("large ", 100<<10))
		h = appendAll(t, s, h, a, AppendOptions{})
		appendAll(t, s, h, b, AppendOptions{})
		s.side.Wait()
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = fs.ModeDir | 0o700
			} else {
				files++
			}
			if info.Mode() != want {
				t.Errorf("umask %#o: %s has mode %s", mask, path, info.Mode())
			}
			return nil
		})
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		if files < 6 { // database, its log and index, key, ballast, body
			t.Errorf("only %d files were made", files)
		}
	}
}

// A folder that holds nothing but what agent makes is closed to others without a word, the first time and later; one that
// holds something else keeps its mode, each time, and that is said.
func TestFolderIsClosed(t *testing.T) {
	for _, c := range []struct {
		name  string
		file  string // that is there before the first start
		notes int
		mode  fs.FileMode
	}{
		{"empty", "", 0, 0o700},
		{"locks", "locks/store", 0, 0o700},
		{"others", "letter.txt", 1, 0o755},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := stateDir(t)
			path := filepath.Join(dir, c.file)
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
				t.Fatal(err)
			}
			if c.file != "" {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for start := range 2 {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				s := openStore(t, dir)
				info, err := os.Stat(dir)
				if err != nil {
					t.Fatal(err)
				}
				if n := s.Notices(); len(n) != c.notes || info.Mode().Perm() != c.mode {
					t.Errorf("start %d: mode %#o, %q", start, info.Mode().Perm(), n)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
