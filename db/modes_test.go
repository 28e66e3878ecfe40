//go:build unix

package db

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// envModes makes TestModes the process that makes a state folder, in the folder that it names: an
// umask belongs to a whole process, and every other test here makes files too.
const envModes = "AGENT_DB_TEST_MODES"

// SEC-04: nobody else can read what is stored, whatever the umask.
func TestModes(t *testing.T) {
	if dir := os.Getenv(envModes); dir != "" {
		fillState(t, dir)
		return
	}
	for _, mask := range []string{"0000", "0077", "0777"} {
		t.Run(mask, func(t *testing.T) {
			t.Parallel()
			dir := stateDir(t)
			if mask == "0777" { // the folder itself is made by somebody who can enter it
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			c := exec.Command("sh", "-c", `umask `+mask+`; exec "$0" "$@"`, os.Args[0], "-test.run=^TestModes$")
			c.Env = append(os.Environ(), envModes+"="+dir)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if files := checkModes(t, dir); files < 6 { // database, its log and index, key, ballast, body
				t.Errorf("only %d files were made", files)
			}
		})
	}
}

// fillState makes every kind of file that a state folder has, and leaves them as a killed process
// does: the database's log and index would go with the last one who closes it.
func fillState(t *testing.T, dir string) {
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-modesmod")
	a, b := turnFacts(1, "c-11111111", strings.Repeat("large ", 100<<10))
	h = appendAll(t, s, h, a, AppendOptions{})
	appendAll(t, s, h, b, AppendOptions{})
	s.file.WaitBallast()
}

// checkModes looks at everything in a state folder and returns how many files it holds.
func checkModes(t *testing.T, dir string) (files int) {
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
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A folder that holds nothing but what agent makes is closed to others silently, the first time and
// later; one that holds something else keeps its mode, each time, and that is said.
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
