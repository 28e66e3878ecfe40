package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Caches of tools are bounded: what nothing used for long goes, and the oldest files of one that is
// too large. Nothing outside is reached, wherever commands let links lead. // issue 17, part 4
func TestTrimCaches(t *testing.T) {
	base, outside, now := t.TempDir(), filepath.Join(t.TempDir(), "mine"), time.Now()
	write := func(path string, size int, age time.Duration) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	there := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	old, used := filepath.Join(base, "old"), filepath.Join(base, "used")
	write(filepath.Join(old, "x"), 1, 0)
	for i, age := range []time.Duration{3 * time.Hour, 2 * time.Hour, time.Hour} {
		write(filepath.Join(used, "go-build", string(rune('a'+i))), 100, age)
	}
	write(outside, 1000, 9*time.Hour)
	for name, to := range map[string]string{"link": outside, ".trimmed": outside, "dir": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(used, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, now.Add(-31*24*time.Hour), now.Add(-31*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(base, "used"), now, now); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(used, ".trimmed")); err != nil { // a link there counts as a look of now
		t.Fatal(err)
	}
	if err := trimCache(used, now, 250); err != nil {
		t.Fatal(err)
	}
	if a, b := filepath.Join(used, "go-build", "a"), filepath.Join(used, "go-build", "b"); there(a) || !there(b) {
		t.Errorf("the oldest is there: %t, the next: %t", there(a), there(b))
	}
	if err := trimCache(used, now, 0); err != nil || !there(filepath.Join(used, "go-build", "b")) {
		t.Errorf("it looks again at once: %v", err)
	}
	if err := trimCache(used, now.Add(25*time.Hour), 0); err != nil || there(filepath.Join(used, "go-build", "b")) {
		t.Errorf("it does not look again: %v", err)
	}
	if err := TrimCaches(base, now); err != nil || there(old) || !there(used) {
		t.Errorf("unused: %t, used: %t, %v", there(old), there(used), err)
	}
	if info, err := os.Stat(outside); err != nil || info.Size() != 1000 {
		t.Errorf("what lies outside: %v", err)
	}
	if err := TrimCaches(filepath.Join(base, "none"), now); err != nil {
		t.Error(err)
	}
}
