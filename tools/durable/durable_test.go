package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"agent/tools/durable"
)

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"a longer first content", "second", ""} {
		if err := durable.Replace(path, 0o640, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		wantOnly(t, path, content)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, want 0640", info.Mode().Perm())
	}
}

// What cannot be finished leaves the old file, and nothing beside it.
func TestReplaceFails(t *testing.T) {
	broken := errors.New("broken")
	path := filepath.Join(t.TempDir(), "file")
	if err := durable.Replace(path, 0o600, strings.NewReader("old")); err != nil {
		t.Fatal(err)
	}
	if err := durable.Replace(path, 0o600, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a content that cannot be read: got %v, want %v", err, broken)
	}
	wantOnly(t, path, "old")

	taken := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(taken, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.Replace(taken, 0o600, strings.NewReader("new")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if names := list(t, filepath.Dir(taken)); len(names) != 1 {
		t.Errorf("the folder holds %q, want only the folder that was there", names)
	}

	gone := filepath.Join(t.TempDir(), "gone", "file")
	if err := durable.Replace(gone, 0o600, strings.NewReader("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: got %v, want %v", err, fs.ErrNotExist)
	}
	if err := durable.SyncDir(filepath.Dir(gone)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of a folder that is not there: got %v, want %v", err, fs.ErrNotExist)
	}
}

func wantOnly(t *testing.T, path, content string) {
	t.Helper()
	if names := list(t, filepath.Dir(path)); len(names) != 1 || names[0] != filepath.Base(path) {
		t.Errorf("the folder holds %q, want only %q", names, filepath.Base(path))
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != content {
		t.Errorf("the file holds %q, %v; want %q", b, err, content)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
