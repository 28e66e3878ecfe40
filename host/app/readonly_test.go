package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"agent/db"
)

// A state folder that cannot be made, or whose lock cannot be written, is refused with what helps:
// that is what the error says which stands for all of it.
func TestStoreLockOfOthers(t *testing.T) {
	if os.Geteuid() <= 0 || runtime.GOOS == "windows" {
		t.Skip("for root, and on Windows, no mode keeps anybody out")
	}
	for name, prepare := range map[string]func(home string) error{
		"no folder": func(home string) error { return os.Chmod(home, 0o500) },
		"no file": func(home string) error {
			if err := os.MkdirAll(filepath.Join(home, "state", "locks"), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(home, "state", "locks", "store"), nil, 0o400)
		},
	} {
		home := t.TempDir()
		if err := prepare(home); err != nil {
			t.Fatal(err)
		}
		_, _, err := storeLock(t.Context(), filepath.Join(home, "state"))
		if !errors.Is(err, db.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
