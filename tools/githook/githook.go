// Package githook carries out what git runs of this program when a commit's message is made: it
// adds a trailer that names a checkpoint (prepare-commit-msg), and takes away a message that is
// nothing but that (commit-msg).
//
// Nothing that it meets may stop a commit or change what it says: its errors are for tests, its
// time is bounded, and it prints nothing. Trailers are written and read by git interpret-trailers,
// which obeys no configuration here: one that adds trailers of its own would add them twice.
package githook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"agent/tools/gitrepo/hooklines"
)

// Limits of time: of all that a hook does, and of the question whether a commit has work of a run
// in it.
const (
	Limit   = 1500 * time.Millisecond
	Looking = 300 * time.Millisecond
)

// MarkName is the variable that commands of a call have in their environment.
const MarkName = "AGENT_CALL"

// ErrAsks says that what is to be done depends on what runs did, and nobody was given to ask.
var ErrAsks = errors.New("nobody was given who knows of runs")

// Staged is a path that the commit changes, and what it makes of it.
type Staged struct {
	Path string // in the work tree, with slashes
	Blob string // object id
}

// Commit is one that is about to be made.
type Commit struct {
	Folder string // in which git runs the hook: the top of the work tree

	// Staged lists what it changes; of that which it removes there is nothing.
	Staged func(ctx context.Context) ([]Staged, error)
	// Blob reads a content of at most so many bytes.
	Blob func(ctx context.Context, id string, limit int64) ([]byte, error)
}

// Pending says whether a commit has work in it that runs left uncommitted.
type Pending func(ctx context.Context, c Commit) (bool, error)

// Hook is one hook that git runs.
type Hook struct {
	Getenv  func(string) string
	Environ []string
	Dir     string // in which git runs it
	Now     time.Time
	Pending Pending // nil: ErrAsks
}

// Here is the hook that this process is.
func Here() Hook {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/" // then no file is found either
	}
	return Hook{Getenv: os.Getenv, Environ: os.Environ(), Dir: dir, Now: time.Now()}
}

// Run carries out prepare FILE [SOURCE [COMMIT]] or strip FILE: githooks, prepare-commit-msg and
// commit-msg. A panic is an error.
func (h Hook) Run(ctx context.Context, args []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("carry out a hook: %v", p)
		}
	}()
	if len(args) < 2 {
		return errors.New("carry out a hook: git names no file")
	}
	verb, m := args[0], message{Hook: h, file: h.path(args[1])}
	if len(args) > 2 {
		m.source = args[2]
	}
	for _, known := range hooklines.Hooks() {
		switch {
		case verb != known.Verb:
		case verb == "prepare":
			return m.prepare(ctx)
		default:
			return m.strip(ctx)
		}
	}
	return fmt.Errorf("carry out a hook: there is no %q", verb)
}

// Main is Run for a process: it ends in time, whatever happens. It returns ErrAsks alone, where
// there is something left to do.
func (h Hook) Main(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, args) }()
	select {
	case err := <-done:
		if errors.Is(err, ErrAsks) {
			return ErrAsks
		}
	case <-ctx.Done():
	}
	return nil
}
