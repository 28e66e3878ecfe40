package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"agent/tools/ofd"
)

// Held says whether the call of a folder is under way: its lock is held.
func Held(folder string) (bool, error) { return ofd.Held(filepath.Join(folder, lockName)) }

// Wait waits until the call's lock is free and then looks. A folder that is no evidence for id
// returns at once. If ctx ends first, the error wraps the context's and the command goes on.
func Wait(ctx context.Context, folder string, id Identity) (Evidence, error) {
	w := watch(folder, hintEnd)
	defer w.close()
	// A hint comes a moment before the lock is free, so a look or two follow it closely.
	pause := newBackoff(time.Millisecond, w.poll)
	for {
		s, err := Inspect(folder, id)
		if err != nil || s.State != Running {
			return s, err
		}
		if !pause.wait(ctx, w.hints) {
			return s, fmt.Errorf("wait for call %s: %w", id.Mark(), context.Cause(ctx))
		}
	}
}

// Follow shows the spool from offset from on while it grows: emit gets the bytes in order, in a
// buffer that is used again. It returns the offset behind the last byte shown once the call's lock
// is free or ctx has ended. Where the middle of a long output is not kept, emit gets one line that
// says how much.
func Follow(ctx context.Context, folder string, from int64, emit func([]byte)) (int64, error) {
	w := watch(folder, hintWrite|hintEnd)
	defer w.close()
	pause := newBackoff(time.Millisecond, w.poll)
	for {
		// Looked at before reading: what is read after the lock is free is all there will be.
		held, err := ofd.Held(filepath.Join(folder, lockName))
		if err != nil {
			return from, fmt.Errorf("follow output: %w", err)
		}
		from, err = showFrom(folder, from, emit)
		if err != nil {
			return from, fmt.Errorf("follow output: %w", err)
		}
		if !held || !pause.wait(ctx, w.hints) {
			return from, nil
		}
	}
}
