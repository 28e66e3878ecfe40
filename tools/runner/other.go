//go:build !linux

package runner

import (
	"context"
	"fmt"
	"os"
	"time"
)

const (
	slowPoll  = 250 * time.Millisecond
	hintEnd   = 0
	hintWrite = 0
)

type watcher struct {
	hints chan struct{}
	poll  time.Duration
}

func watch(string, uint32) *watcher { return &watcher{poll: slowPoll} }

func (w *watcher) close() {}

func supported() error { return ErrUnsupported }

func survivors(Began) ([]Process, error) { return nil, ErrUnsupported }

// Trace has nothing to look for here.
func (Evidence) Trace() Trace { return Trace{} }

// Survivors cannot look here.
func (Trace) Survivors() ([]Process, error) { return nil, ErrUnsupported }

// Start starts nothing here.
func (j *Job) Start(string, []string) error {
	return fmt.Errorf("start runner of call %s: %w", j.spec.Mark(), ErrUnsupported)
}

// KillRunner finds nothing to kill here.
func KillRunner(_ string, b Began) error {
	return fmt.Errorf("kill runner of call %s: %w", b.Mark(), ErrUnsupported)
}

// Sweep cannot look here.
func Sweep(_ context.Context, b Began) ([]Process, error) {
	return nil, fmt.Errorf("sweep call %s: %w", b.Mark(), ErrUnsupported)
}

// Main starts nothing here.
func Main(folder string, _ MainOptions) int {
	fmt.Fprintf(os.Stderr, "run call in %s: %v\n", folder, ErrUnsupported)
	return 1
}
