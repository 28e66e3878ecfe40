package githook_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent/tools/githook"
)

// Outside of a call, whoever knows of runs is asked: no answer in time, an error and a panic are a
// no, and leave the message as it was.
// H1.
func TestPendingIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		pending githook.Pending
		adds    bool
		asks    bool
	}{
		"yes":      {func(context.Context, githook.Commit) (bool, error) { return true, nil }, true, false},
		"no":       {func(context.Context, githook.Commit) (bool, error) { return false, nil }, false, false},
		"an error": {func(context.Context, githook.Commit) (bool, error) { return false, errors.New("locked") }, false, false},
		"a panic":  {func(context.Context, githook.Commit) (bool, error) { panic("damaged") }, false, false},
		"never":    {func(context.Context, githook.Commit) (bool, error) { select {} }, false, false},
		"nobody":   {nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "COMMIT_EDITMSG")
			if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			h := githook.Hook{
				Getenv:  func(name string) string { return map[string]string{"GIT_EDITOR": ":", "PATH": os.Getenv("PATH")}[name] },
				Environ: os.Environ(), Dir: dir, Now: time.Now(), Pending: c.pending,
			}
			if err := h.Main([]string{"prepare", file, "message"}); errors.Is(err, githook.ErrAsks) != c.asks || err != nil && !c.asks {
				t.Errorf("%v", err)
			}
			text, err := os.ReadFile(file)
			if err != nil || (string(text) != "one\n") != c.adds {
				t.Errorf("%v %q", err, text)
			}
		})
	}
}

// The question has a time of its own, which ends it also where the hook has all the time that there
// is.
func TestPendingIsAskedForAWhile(t *testing.T) {
	for name, pending := range map[string]githook.Pending{
		"it listens": func(ctx context.Context, _ githook.Commit) (bool, error) { <-ctx.Done(); return true, ctx.Err() },
		"it is deaf": func(context.Context, githook.Commit) (bool, error) { select {} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "COMMIT_EDITMSG"), []byte("one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			h := githook.Hook{
				Getenv:  func(name string) string { return map[string]string{"GIT_EDITOR": ":", "PATH": os.Getenv("PATH")}[name] },
				Environ: os.Environ(), Dir: dir, Now: time.Now(), Pending: pending,
			}
			if err := h.Run(context.Background(), []string{"prepare", "COMMIT_EDITMSG", "message"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
}
