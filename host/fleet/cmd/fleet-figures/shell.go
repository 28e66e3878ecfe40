package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// shell runs agent without a fleet.
type shell struct{ agent, folder string }

func newShell(agent string) (*shell, error) {
	folder, err := os.MkdirTemp("/tmp", "ff")
	if err != nil {
		return nil, err
	}
	s := &shell{agent, folder}
	return s, os.WriteFile(filepath.Join(folder, "book.md"), []byte(oneStep), 0o600)
}

func (s *shell) remove() { _ = os.RemoveAll(s.folder) } // what a driver still has there is of no use

// run is how long a command takes that carries out a run of one step.
func (s *shell) run(ctx context.Context, home int, extra ...string) (time.Duration, error) {
	work := filepath.Join(s.folder, fmt.Sprintf("work%d", home))
	if err := os.MkdirAll(work, 0o700); err != nil {
		return 0, err
	}
	args := []string{"run", "--json", "--no-recover", "--runbook", "--mode", "yolo", "--dir", work, "-f", filepath.Join(s.folder, "book.md")}
	cmd := exec.CommandContext(ctx, s.agent, append(args, extra...)...)
	cmd.Env = append(os.Environ(), "AGENT_HOME="+filepath.Join(s.folder, fmt.Sprintf("home%d", home)))
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("agent run: %w: %s", err, out)
	}
	return time.Since(begun), nil
}

// loops is how long so many loops take for all of the runs.
func (s *shell) loops(ctx context.Context, loops, runs int) (time.Duration, error) {
	var all sync.WaitGroup
	var taken atomic.Int64
	errs := make([]error, loops)
	begun := time.Now()
	for i := range errs {
		all.Go(func() {
			for errs[i] == nil && taken.Add(1) <= int64(runs) {
				_, errs[i] = s.run(ctx, i)
			}
		})
	}
	all.Wait()
	return time.Since(begun), errors.Join(errs...)
}
