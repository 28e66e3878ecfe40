package db

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A commit that went into a file which its path no longer names is no commit: whoever wrote gets an
// error, and nothing more is written. That holds for the database, its log and the index that
// carries the log's locks.
func TestCommitIntoGoneFile(t *testing.T) {
	for _, name := range []string{FileName, FileName + "-wal", FileName + "-shm"} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s := openStore(t, stateDir(t))
			h := startRun(t, s, "r-1")
			first, second := turnFacts(1, "c-1", "done")
			path := filepath.Join(s.Dir(), name)
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			_, err := s.Append(ctx, h, first, AppendOptions{})
			var gone *GoneError
			if !errors.As(err, &gone) || gone.Path != path || gone.Now != path+".away" {
				t.Errorf("append: %v", err)
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(ctx, h, second, AppendOptions{}); !errors.As(err, &gone) {
				t.Errorf("append after the file came back: %v", err)
			}
		})
	}
}

// BenchmarkPresent is what every commit pays for the look.
func BenchmarkPresent(b *testing.B) {
	s := openStore(b, stateDir(b))
	for b.Loop() {
		if err := s.Present(); err != nil {
			b.Fatal(err)
		}
	}
}
