package commits_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agent/db"
	"agent/db/commits"
	"agent/db/dbtest"
	"agent/recovery/journal"
)

// ran records a run in a folder that changed paths, each to a content of the run's own.
func ran(t *testing.T, s *db.Store, id, folder string, paths ...string) {
	t.Helper()
	ctx := context.Background()
	facts := dbtest.Child("r-"+id, "t-"+id, nil)
	c := facts[0].Body.(journal.RunCreated)
	c.Folder = folder
	facts[0].Body = c
	h, err := s.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: folder, New: true}, facts)
	if err != nil {
		t.Fatal(err)
	}
	begun, settled := dbtest.Turn(1, "c-"+id, "done")
	list := begun[:1:1]
	for i, name := range paths {
		list = append(list, dbtest.InTurn(1, journal.FilesChanged{Look: int64(i + 1), Changes: []journal.FileChange{
			journal.NewFileChange(name, journal.ProofTool, nil, &journal.FileVersion{Size: 1, Kept: id}),
		}})...)
	}
	if _, err := s.Append(ctx, h, append(append(list, begun[1:]...), settled...), db.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

// What is read is of the newest runs that changed a path, in a folder or below it, oldest first.
func TestLooks(t *testing.T) {
	ctx := context.Background()
	dir := dbtest.StateDir(t)
	s, err := db.Open(ctx, dir, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	ran(t, s, "old-both", "/w", "a", "b")
	for i := range 5 {
		ran(t, s, fmt.Sprintf("a%d", i), "/w", "a")
		ran(t, s, fmt.Sprintf("elsewhere%d", i), "/w2", "a")
	}
	ran(t, s, "below", "/w/sub", "a", "b", "a")
	ran(t, s, "others", "/w", "c", "\xff")
	for _, c := range []struct {
		paths []string
		most  int
		want  []string
	}{
		{[]string{"a"}, 1, []string{"below a", "below b", "below a"}},
		{[]string{"a"}, 3, []string{"a3 a", "a4 a", "below a", "below b", "below a"}},
		{[]string{"b"}, 3, []string{"old-both a", "old-both b", "below a", "below b", "below a"}},
		{[]string{"b", "a"}, 2, []string{"a4 a", "below a", "below b", "below a"}},
		{[]string{"\xff", "x"}, 8, []string{"others c", "others \xff"}},
		{[]string{"x"}, 8, nil},
		{nil, 8, nil},
	} {
		list, err := commits.Looks(ctx, s, "/w", c.paths, c.most)
		var is []string
		for _, l := range list {
			is = append(is, l.Changes[0].After.Kept+" "+l.Changes[0].Name())
			if l.Run != "r-"+l.Changes[0].After.Kept || l.Folder == "" {
				t.Errorf("%+v", l)
			}
		}
		if err != nil || !slices.Equal(is, c.want) {
			t.Errorf("%q, %d: %v %q", c.paths, c.most, err, is)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	briefly(t, dir)
}

// briefly reads the same where the store is opened for a few rows only, and takes nothing that does
// not match its digest.
func briefly(t *testing.T, dir string) {
	t.Helper()
	read := func() ([]commits.Look, error) {
		s, err := db.OpenBriefly(dir)
		if err != nil {
			t.Fatal(err)
		}
		list, err := commits.Looks(context.Background(), s, "/w", []string{"c"}, 8)
		if files, _ := filepath.Glob(filepath.Join(dir, db.FileName+"*")); len(files) != 1 {
			t.Errorf("beside the database are %q", files)
		}
		return list, errors.Join(err, s.Close())
	}
	before := dbtest.Snapshot(t, dir)
	list, err := read()
	if err != nil || len(list) != 2 {
		t.Fatalf("%v %+v", err, list)
	}
	for name, is := range dbtest.Snapshot(t, dir) {
		if before[name] != is {
			t.Errorf("%s was changed", name)
		}
	}
	name := filepath.Join(dir, db.FileName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.ReplaceAll(text, []byte(`"kept":"others"`), []byte(`"kept":"forged"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := read(); !errors.As(err, new(*db.CorruptError)) {
		t.Errorf("%v %+v", err, list)
	}
	if err := os.WriteFile(name, []byte("another file, longer than a header is"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := db.OpenBriefly(dir); err == nil {
		t.Errorf("opened: %v", s.Close())
	}
	if _, err := db.OpenBriefly(filepath.Join(dir, "none")); !errors.Is(err, db.ErrNoState) {
		t.Errorf("%v", err)
	}
}
