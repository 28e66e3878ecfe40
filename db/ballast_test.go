package db

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A process that is killed while it makes the ballast leaves a part of it. Who opens the store
// alone removes it; while others use the store it may be one that is being written. // RUN-15
func TestHalfBallast(t *testing.T) {
	for name, alone := range map[string]bool{"alone": true, "beside others": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			openStore(t, dir)
			half := filepath.Join(dir, ".ballast-4711")
			if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(context.Background(), dir, Options{NoBallast: true, Alone: alone})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := os.Stat(half); errors.Is(err, fs.ErrNotExist) != alone {
				t.Errorf("after opening, alone %v: %v", alone, err)
			}
		})
	}
}
