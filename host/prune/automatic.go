package prune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agent/host/app"
)

const (
	atMost = 2 * time.Second // of a process that has driven its runs
	seldom = time.Hour       // between two times
)

// Automatic removes what config.toml lets go, for a moment, at the end of a process that drove
// runs; nothing where it says nothing. What is left follows another time.
func Automatic(ctx context.Context, a *app.App, s *app.Folder) error {
	conf, is, err := Configured(a)
	if err != nil || !is || !s.CanWrite() || ctx.Err() != nil {
		return nil // what is wrong with the file is reported where a run begins
	}
	if !due(filepath.Join(s.Home, "locks", "pruned")) {
		return nil
	}
	p, err := Look(ctx, s, Want{Older: conf.Older, Keep: conf.Runs})
	if err == nil && !p.Nothing() {
		_, err = p.Remove(ctx, func(string) {}, atMost)
	}
	if err == nil || errors.Is(err, ErrBusy) || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("remove old runs ([keep] in config.toml): %w", err)
}

// due says whether the last time is long ago, which the file tells, and makes this one the last.
func due(path string) bool {
	info, err := os.Stat(path)
	if err == nil && time.Since(info.ModTime()).Abs() < seldom {
		return false
	}
	return os.WriteFile(path, nil, 0o600) == nil
}
