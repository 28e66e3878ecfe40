package restore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/scan"
)

// contents are kept under themselves.
type contents struct{}

func (contents) Content(_ context.Context, v *journal.FileVersion) ([]byte, error) {
	if v.Kept == "" {
		return nil, fmt.Errorf("its content is not kept (%s)", v.Lost)
	}
	return []byte(v.Kept), nil
}

func (contents) Named(v *journal.FileVersion, e scan.Entry, content []byte) *journal.FileVersion {
	if v == nil || v.Kind != journal.FileRegular {
		return v
	}
	named := *v
	named.Stamp, named.Kept = e.Stamp(), string(content)
	return &named
}

func (contents) Close() error { return nil }

func file(text string) *journal.FileVersion {
	return &journal.FileVersion{Mode: 0o644, Size: int64(len(text)), Kept: text}
}

func dir() *journal.FileVersion { return &journal.FileVersion{Kind: journal.FileFolder, Mode: 0o755} }

// restored carries a call out in a folder that a script-like list of files makes: "d/" is a folder.
func restored(t *testing.T, folder string, files ...File) journal.Result {
	t.Helper()
	tool := New(contents{}).(tools.Caller)
	r, err := tool.Call(context.Background(), tools.Call{Args: tools.Encode(Args{Files: files}), Folder: folder})
	if err != nil {
		r.Content += err.Error()
	}
	return r
}

func lay(t *testing.T, folder, name, text string) {
	t.Helper()
	at := filepath.Join(folder, name)
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if err == nil && text == "" {
		err = os.Mkdir(at, 0o755)
	} else if err == nil {
		err = os.WriteFile(at, []byte(text), 0o644)
	}
	if err == nil {
		err = os.Chmod(at, map[bool]os.FileMode{true: 0o755, false: 0o644}[text == ""])
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A folder that gives way to a file, and a file that gives way to a folder, are two steps of one
// path. Carried out again after a kill behind any of them, they end the same.
func TestRestoreOfAnotherKind(t *testing.T) {
	files := []File{
		{Path: "f/in", Now: file("in")},
		{Path: "g", Now: file("g")},
		{Path: "f", Now: dir()},
		{Path: "g", Want: dir()},
		{Path: "f", Want: file("f")},
		{Path: "g/deep", Want: file("deep")},
	}
	for done := range len(files) + 1 {
		folder := t.TempDir()
		lay(t, folder, "f/in", "in")
		lay(t, folder, "g", "g")
		root, err := os.OpenRoot(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files[:done] { // what the killed one did
			content, _ := contents{}.Content(t.Context(), orEmpty(f.Want))
			if err := scan.Restore(root, f.Path, f.Want, content); err != nil {
				t.Fatal(err)
			}
		}
		if err := root.Close(); err != nil {
			t.Fatal(err)
		}
		if r := restored(t, folder, files...); r.Outcome != journal.OutcomeOK {
			t.Errorf("after %d steps: %s", done, r.Content)
		}
		f, err := os.ReadFile(filepath.Join(folder, "f"))
		deep, deepErr := os.ReadFile(filepath.Join(folder, "g", "deep"))
		if err != nil || deepErr != nil || string(f) != "f" || string(deep) != "deep" {
			t.Errorf("after %d steps: %q %v, %q %v", done, f, err, deep, deepErr)
		}
	}
}

func orEmpty(v *journal.FileVersion) *journal.FileVersion {
	if v == nil {
		return &journal.FileVersion{}
	}
	return v
}

// Nothing is touched where a path was changed since the plan, or a content cannot be had.
func TestRestoreTouchesNothing(t *testing.T) {
	for want, last := range map[string]File{
		"was changed since": {Path: "b", Now: file("other"), Want: file("old")},
		"not kept":          {Path: "b", Now: file("b"), Want: &journal.FileVersion{Mode: 0o644, Size: 3, Lost: journal.LeftTooLarge}},
	} {
		folder := t.TempDir()
		lay(t, folder, "a", "a")
		lay(t, folder, "b", "b")
		r := restored(t, folder, File{Path: "a", Now: file("a"), Want: file("old")}, last)
		if r.Outcome == journal.OutcomeOK || r.Applied != journal.AppliedNo || !strings.Contains(r.Content, want) {
			t.Errorf("%s: %+v", want, r)
		}
		if a, err := os.ReadFile(filepath.Join(folder, "a")); err != nil || string(a) != "a" {
			t.Errorf("%s: a is %q %v", want, a, err)
		}
	}
}

// A folder that holds what nobody spoke of stays, and is named.
func TestRestoreLeavesAFolder(t *testing.T) {
	folder := t.TempDir()
	lay(t, folder, "d/mine", "mine")
	r := restored(t, folder, File{Path: "d", Now: dir()})
	if r.Outcome != journal.OutcomeOK || !strings.Contains(r.Content, "d holds other files and stays") {
		t.Errorf("%+v", r)
	}
}
