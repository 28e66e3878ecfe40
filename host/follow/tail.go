package follow

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"agent/host/app"
	"agent/host/watch"
	"agent/recovery"
)

// Tail gives what comes of a run, as a feed does, until nothing more comes of itself: until the run
// has ended, or until nobody drives it.
type Tail struct {
	*watch.Feed
	Waits bool // a run that waits for a person may go on at any time: it is no end that nobody drives it

	folder  *app.Folder
	run     string
	watcher *watch.Watcher
	owned   bool // an owner was seen
	idle    idle // the run has no owner
	over    bool
}

// idle is what follows when a run without an owner stays so.
type idle int

const (
	owned  idle = iota // it has one
	marks              // it is to be marked once more: another process may have been about to
	leaves             // nothing more comes; until then another process may take it over
)

// patience is how long a run may have no owner before something follows from it.
const patience = time.Second

// NewTail follows a run until Close.
func NewTail(ctx context.Context, folder *app.Folder, run string) (*Tail, error) {
	w, err := watch.New(Watched(folder))
	if err != nil {
		return nil, err
	}
	f, err := w.Run(ctx, run)
	if err != nil {
		w.Close()
		return nil, err
	}
	return &Tail{Feed: f, folder: folder, run: run, watcher: w}, nil
}

// Watched is how the runs of a state folder are watched.
func Watched(folder *app.Folder) watch.Options {
	return watch.Options{Store: folder.Store, Live: filepath.Join(folder.Home, "live"), Held: folder.Held}
}

// Close lets go of the run.
func (t *Tail) Close() {
	t.Feed.Close()
	t.watcher.Close()
}

// Next gives what comes after the cursor, and io.EOF where nothing more comes. A run that lost its
// owner is marked: then the cause comes as a fact.
func (t *Tail) Next(ctx context.Context, c *watch.Cursor) ([]watch.Line, error) {
	if t.over {
		return nil, io.EOF
	}
	lines, err := t.next(ctx, c)
	for i := range lines {
		if s := lines[i].State; s != nil && err == nil {
			t.over, err = t.state(ctx, *s)
		}
	}
	return lines, err
}

// next waits for lines; while the run has no owner not for long.
func (t *Tail) next(ctx context.Context, c *watch.Cursor) ([]watch.Line, error) {
	if t.idle == owned {
		return t.Feed.Next(ctx, c)
	}
	wait, stop := context.WithTimeout(ctx, patience)
	defer stop()
	lines, err := t.Feed.Next(wait, c)
	switch {
	case wait.Err() == nil || ctx.Err() != nil || err == nil:
		return lines, err
	case t.idle == leaves:
		return nil, io.EOF
	}
	return nil, t.mark(ctx)
}

// mark marks the run. Without its folder there is nothing to mark: its owner may live.
func (t *Tail) mark(ctx context.Context) error {
	if err := t.folder.Store.Present(); err != nil {
		return err
	}
	_, err := t.folder.Reconcile(ctx, true)
	return err
}

// state says whether nothing more comes of a run that stands so.
func (t *Tail) state(ctx context.Context, s watch.State) (over bool, err error) {
	t.idle = owned
	if s.Held || s.Status.Terminal() { // the end of the feed comes behind the last fact
		t.owned = true
		return false, nil
	}
	lost := s.Status == recovery.StatusRunning || s.Status == recovery.StatusQueued || s.Status == recovery.StatusWaiting && s.Kept
	if lost && t.folder.CanWrite() {
		t.idle = marks
		if s.Kept {
			return false, nil // who answered is about to drive it
		}
		if err = t.mark(ctx); ctx.Err() != nil {
			return true, nil
		}
		return false, err
	}
	if t.Waits && s.Status == recovery.StatusWaiting && !s.Kept {
		return false, nil
	}
	t.idle = leaves
	return !t.owned, nil
}
