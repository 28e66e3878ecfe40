package host

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"agent/recovery"
	"agent/tools/runner"
)

// The folder of a call is read back to the call that it was made for.
func TestCallFolder(t *testing.T) {
	id := runner.Identity{Run: "r-7k2m9qx4", Turn: 12, Index: 3, Attempt: 2}
	run, place, ok := parseCallFolder(id.Folder("/state/calls"))
	if !ok || run != id.Run || place != (recovery.Place{Turn: 12, Index: 3, Attempt: 2}) {
		t.Errorf("read %q %+v %t", run, place, ok)
	}
	for _, other := range []string{"/state/calls/r-1/x", "/state/calls/r-1/1-2", "/state/calls/r-1/a-b-c"} {
		if _, _, ok := parseCallFolder(other); ok {
			t.Errorf("%s is taken for a call's folder", other)
		}
	}
}

// An absent state folder is no fault, and a file in its place, or in it for others to read, is one.
func TestExamineFolder(t *testing.T) {
	bad := func(home string) (areas []string) {
		for _, f := range ExamineFolder(home) {
			if f.Level == LevelBad {
				areas = append(areas, f.Area)
			}
		}
		return areas
	}
	home := filepath.Join(t.TempDir(), "state")
	if got := bad(home); len(got) > 0 {
		t.Errorf("an absent folder: bad %q", got)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := bad(home); len(got) > 0 {
		t.Errorf("a closed folder: bad %q", got)
	}
	if got := bad(filepath.Join(home, "key")); len(got) != 1 || got[0] != areaFolder {
		t.Errorf("a file in its place: bad %q", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(filepath.Join(home, "key"), 0o640); err != nil {
		t.Fatal(err)
	}
	if got := bad(home); len(got) != 1 || got[0] != areaModes {
		t.Errorf("a file that others can read: bad %q", got)
	}
}
