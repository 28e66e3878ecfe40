//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package runner

import (
	"context"
	"fmt"
	"os"
)

func supported() error { return ErrUnsupported }

// Limits says what of a command this system does not keep.
func Limits() []string { return []string{"shell is refused: " + ErrUnsupported.Error()} }

func survivors(string, Began) ([]Process, error) { return nil, ErrUnsupported }

func keeps(string) string { return "" }

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
func Sweep(_ context.Context, _ string, b Began) ([]Process, error) {
	return nil, fmt.Errorf("sweep call %s: %w", b.Mark(), ErrUnsupported)
}

// Main starts nothing here.
func Main(folder string, _ MainOptions) int {
	fmt.Fprintf(os.Stderr, "run call in %s: %v\n", folder, ErrUnsupported)
	return 1
}
