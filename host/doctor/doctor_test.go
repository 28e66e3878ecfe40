package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"agent/tools/runner"
)

// What the system does not keep of a command is a warning each; where that is nothing, it says so.
func TestPlatform(t *testing.T) {
	var f Findings
	f.platform()
	lost := runner.Limits()
	if runtime.GOOS == "linux" && len(lost) == 0 {
		lost = []string{"every promise is kept here"}
	}
	for _, what := range lost {
		if !slices.ContainsFunc(f, func(f Finding) bool { return strings.Contains(f.What, what) }) {
			t.Errorf("nothing says that %s: %+v", what, f)
		}
	}
}

// An absent state folder is no fault, and a file in its place, or in it for others to read, is one.
func TestFolder(t *testing.T) {
	bad := func(home string) (areas []string) {
		for _, f := range Folder(home) {
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
