package owner

import (
	"context"
	"fmt"
	"time"

	"agent/tools/ofd"
)

// Takeover asks the holder of a run to let go, ends it after a while if it does not, and waits for
// the lock. report gets what a person should see of it, warnings among it.
func (l Locks) Takeover(ctx context.Context, run string, patience time.Duration, report func(warning bool, text string)) error {
	held, err := l.Held(run)
	if err != nil || !held {
		return err
	}
	holder, err := read(l.Path(run))
	if err != nil {
		return fmt.Errorf("take over run %s: %v", run, err)
	}
	if holder.PID == l.Self.PID {
		return fmt.Errorf("take over run %s: this process holds it", run)
	}
	report(false, fmt.Sprintf("asking %s to let go", holder))
	holds := func() (bool, error) { return l.holds(ctx, run, holder) }
	if err := holder.Signal(false, holds); err != nil {
		return fmt.Errorf("take over run %s: %v", run, err)
	}
	if l.freed(ctx, run, patience) {
		return nil
	}
	report(true, fmt.Sprintf("%s did not let go within %s: ending it", holder, patience))
	if err := holder.Signal(true, holds); err != nil {
		return fmt.Errorf("take over run %s: %v", run, err)
	}
	if !l.freed(ctx, run, patience) {
		return fmt.Errorf("take over run %s: its lock is still held", run)
	}
	return nil
}

// settleTime is how long a process may take to write its name into a lock that it took. Until then
// the name of an earlier holder stands there, whose number may be another process's by now.
const settleTime = 50 * time.Millisecond

// holds says whether the process that a lock names holds it: the name still stands there after the
// time in which another holder would have written its own.
func (l Locks) holds(ctx context.Context, run string, who lockText) (bool, error) {
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	select {
	case <-settled.C:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	held, err := l.Held(run)
	if err != nil || !held {
		return false, err
	}
	now, err := read(l.Path(run))
	return err == nil && now.Identity == who.Identity, err
}

// freed waits until the run's lock can be had, and lets it go again.
func (l Locks) freed(ctx context.Context, run string, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f, err := ofd.Acquire(ctx, l.Path(run))
	if err != nil {
		return false
	}
	return f.Close() == nil
}
