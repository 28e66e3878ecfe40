package githook

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/recovery/journal"
	hooks "agent/tools/githook"
)

// P4: a commit takes as long after many runs as after few, for the journals of at most eight are
// read, those that changed a path of the commit last. With 95 sessions a commit of Entire took 16 s
// (its commit-hook-perf-analysis.md).
func TestHookReadsFewRuns(t *testing.T) {
	const runs, most = 95, 8
	home, folder := filepath.Join(t.TempDir(), "state"), t.TempDir()
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	s, err := db.Open(t.Context(), home, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		facts := dbtest.Started(fmt.Sprintf("r-run%05d", i), fmt.Sprintf("t-run%05d", i))
		c := facts[0].Body.(journal.RunCreated)
		c.Folder = folder
		facts[0].Body = c
		h, err := s.Create(t.Context(), db.ThreadRef{ID: c.Thread, Folder: folder, New: true}, facts)
		if err != nil {
			t.Fatal(err)
		}
		begun, _ := dbtest.Turn(1, fmt.Sprintf("c-%d", i), "")
		left := journal.FilesChanged{Look: 1, Changes: []journal.FileChange{
			journal.NewFileChange("notes", journal.ProofTool, nil, &journal.FileVersion{Size: 2, Git: blob(i)}),
		}}
		if _, err := s.Append(t.Context(), h, append(begun, dbtest.InTurn(1, left)...), db.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for run, want := range map[int]bool{runs - 1: true, runs - most: true, runs - most - 1: false, 0: false} {
		commit := hooks.Commit{
			Folder: folder,
			Staged: func(context.Context) ([]hooks.Staged, error) {
				return []hooks.Staged{{Path: "notes", Blob: blob(run)}}, nil
			},
			Blob: func(context.Context, string, int64) ([]byte, error) { return []byte("of another name"), nil },
		}
		if got, err := Pending(t.Context(), home, commit); err != nil || got != want {
			t.Errorf("what run %d of %d left is in the commit: %v %v", run+1, runs, got, err)
		}
	}
}

// blob is what git calls what a run left.
func blob(run int) string { return fmt.Sprintf("%040x", run+1) }
