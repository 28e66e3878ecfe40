package workspace

import (
	"context"
	"os"

	"agent/db/keep"
	"agent/host/drive"
	"agent/recovery/journal"
	"agent/tools/scan"
)

// ahead is a base that is made before a call needs it. Nothing of it is durable but the pin, and
// nothing of it is recorded, until a call takes it: a run that never writes leaves none.
type ahead struct {
	stop context.CancelFunc
	done chan struct{}
	with *finding // nil where it could not be made: who needs it makes it again, and hears why
	base *listing
}

// Ahead hears that a model is asked by a run whose calls may write: the base is begun meanwhile.
// What an earlier process had seen is compared by the call that needs it, as are all changes since.
func (k *Keeper) Ahead(c journal.RunCreated) {
	t := k.tracker(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.based || t.ahead != nil || k.refusal(t.folder) != "" {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	a := &ahead{stop: stop, done: make(chan struct{})}
	t.ahead = a
	go func() {
		defer close(a.done)
		// What fails is done again by the call that needs it, whose error is recorded.
		_ = drive.Caught(c.Run, func() error { return a.make(ctx, t, c) })
	}()
}

// make lists the workspace for a tracker that is not asked until it is done.
func (a *ahead) make(ctx context.Context, t *tracker, c journal.RunCreated) error {
	t.mu.Lock()
	_, err := t.begin(ctx, drive.FilesCall{Created: c})
	known := t.all || t.based
	t.mu.Unlock()
	if err != nil || known {
		return err
	}
	own := &tracker{k: t.k, where: t.where, ignores: t.ignores, keep: t.keep}
	own.dropped()
	if own.root, err = os.OpenRoot(t.folder); err != nil {
		return err
	}
	f := &finding{tracker: own, ctx: ctx, run: c.Run, early: true}
	if a.base, err = f.listAll(); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		own.close()
		return err
	}
	_ = own.root.Close() // only a handle
	own.root, a.with = nil, f
	return nil
}

// tooMuch says whether a content is not held in memory until a call takes it.
func (f *finding) tooMuch(e scan.Entry) bool {
	return e.Kind == journal.FileRegular && e.Out == "" && (e.Size > keep.RowLimit || f.waiting+e.Size > batch)
}

// takeAhead takes the base that was made ahead; nil where there is none. What file tools saw
// meanwhile is on record, and stands.
func (f *finding) takeAhead() (*listing, error) {
	a := f.tracker.ahead
	if a == nil {
		return nil, nil
	}
	select {
	case <-a.done:
	default:
		return nil, f.ctx.Err() // it sees that it is too late
	}
	f.tracker.ahead = nil
	if a.with == nil {
		return nil, nil
	}
	if f.all { // the journals have a base by now
		a.with.tracker.close()
		return nil, nil
	}
	p, was, t := a.base, f.seen, a.with.tracker
	f.quiet()
	f.heeds = t.heeds
	f.tracker.git, f.seen, f.due, f.tree = t.git, t.seen, t.due, t.tree
	f.left, f.last, f.at, f.ended, f.whole = t.left, t.last, t.at, t.ended, t.whole
	f.rows, f.waiting = append(f.rows, a.with.rows...), f.waiting+a.with.waiting
	f.sealed, f.bytes = f.sealed+a.with.sealed, f.bytes+a.with.bytes
	for _, name := range sortedNames(was) {
		if _, listed := f.seen[name]; !listed {
			p.names = append(p.names, name)
		}
		f.see(name, was[name])
	}
	for _, name := range p.later {
		e, _ := f.tree.Entry(name)
		if _, known := f.seen[name]; known {
			continue
		}
		if err := f.first(p, name, e, &journal.FileVersion{}, nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// close ends what is made ahead, and waits for that.
func (a *ahead) close() {
	a.stop()
	<-a.done
}

// wait waits until what is made ahead is done, for as long as the call is wanted.
func (t *tracker) wait(ctx context.Context) {
	t.mu.Lock()
	a := t.ahead
	t.mu.Unlock()
	if a != nil {
		select {
		case <-a.done:
		case <-ctx.Done():
		}
	}
}

// halt ends what is made ahead. Nobody takes it.
func (t *tracker) halt() {
	t.mu.Lock()
	a := t.ahead
	t.ahead = nil
	t.mu.Unlock()
	if a == nil {
		return
	}
	if a.close(); a.with != nil {
		a.with.tracker.close()
	}
}
