package child

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"agent/db"
	"agent/db/family"
	"agent/host/drive"
	"agent/host/owner"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
)

// Carrier creates runs below others and drives them. One serves a whole process.
type Carrier struct {
	Process *drive.Process

	mu       sync.Mutex
	starting map[string]*start // children that are not on record yet, by id
}

// Task is a run below another one that is to be carried to its end.
type Task struct {
	Run     string
	Created *journal.RunCreated // what it begins with; nil: it is on record
	Earlier []journal.Message   // what its thread said
	Changes drive.Changes       // what holds from now on, of one that is on record
	Waits   func(bool)          // hears whether it waits for people alone
	// Slot is asked for before it is driven, and let go of where it is not; nil for no limit.
	Slot func(context.Context) (release func(), err error)
}

// NeverError says that a child could not be created: there is no run.
type NeverError struct{ Err error }

func (e *NeverError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *NeverError) Unwrap() error { return e.Err }

// start is a child on its way to its first fact.
type start struct {
	mu       sync.Mutex
	recorded bool
	stopped  string // why it is to end as soon as it is on record; "" where it is not
}

// Carry drives the child until it has ended, and waits while people are asked. It returns
// *tools.SuspendedError where the child goes no further in this process and can go on later,
// *NeverError where it was not created, the context's error where that ended, and *db.CorruptError
// where nobody knows what it did.
func (d *Carrier) Carry(ctx context.Context, t Task) error {
	for {
		out, err := d.drive(ctx, t)
		if ended, bad := d.ended(ctx, t, out, err); ended || bad != nil {
			return bad
		}
		t.Created = nil
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if out.Status != recovery.StatusWaiting {
			return &tools.SuspendedError{Cause: out.Cause, Detail: fmt.Sprintf("run %s: %s", t.Run, out.Detail)}
		}
		t.Waits(true)
		if err := d.await(ctx, t.Run); err != nil {
			return err
		}
		t.Waits(false)
	}
}

// drive drives the child as far as it comes in this process.
func (d *Carrier) drive(ctx context.Context, t Task) (drive.Outcome, error) {
	if t.Slot != nil {
		release, err := t.Slot(ctx)
		if err != nil {
			return drive.Outcome{}, err
		}
		defer release()
	}
	if t.Created != nil {
		return d.create(ctx, t)
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		out, err := drive.Claim(ctx, d.Process, t.Run, t.Changes, nil)
		if errors.Is(err, drive.ErrFolder) {
			out, err = d.endOnly(ctx, t.Run, err)
		}
		if !errors.As(err, new(*owner.HeldError)) {
			return out, err
		}
		select { // an owner before lets go of it
		case <-again.C:
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
}

// endOnly ends a child whose folder is gone, where that is asked for; else it gives why it cannot
// go on.
func (d *Carrier) endOnly(ctx context.Context, run string, gone error) (drive.Outcome, error) {
	asked, err := d.stopped(ctx, run)
	if err != nil || !asked {
		return drive.Outcome{}, cmp.Or(err, gone)
	}
	return drive.ClaimToEnd(ctx, d.Process, run)
}

// stopped says whether a child is asked to end.
func (d *Carrier) stopped(ctx context.Context, run string) (bool, error) {
	left, err := d.Process.Store.Inbox(ctx, run)
	return slices.ContainsFunc(left, func(r db.InboxRow) bool { return r.Kind == drive.InboxCancel }), err
}

// ended says whether the child has ended, or why it goes no further.
func (d *Carrier) ended(ctx context.Context, t Task, out drive.Outcome, err error) (ended bool, bad error) {
	if errors.As(err, new(*drive.FinishedError)) || out.Status.Terminal() {
		fault.Hit(fault.ChildEnded)
		return true, nil
	}
	if err == nil || ctx.Err() != nil {
		return false, nil
	}
	_, there, look := d.Row(context.WithoutCancel(ctx), t.Run)
	stopped := errors.Is(err, db.ErrDiskFull) || look != nil
	if !there && !stopped {
		return false, &NeverError{err}
	}
	if bad := new(db.CorruptError); errors.As(err, &bad) && bad.Run == t.Run {
		return false, fmt.Errorf("run %s, which carried it out: %w", t.Run, err) // nobody knows what it did
	}
	return false, &tools.SuspendedError{Cause: Cause(err), Detail: fmt.Sprintf("run %s: %v", t.Run, err)}
}

// create records the child and drives it.
func (d *Carrier) create(ctx context.Context, t Task) (out drive.Outcome, err error) {
	p, c := d.Process, *t.Created
	env, err := p.EnvFor(ctx, c)
	if err != nil {
		return out, err
	}
	defer env.Release()
	c.ToolsHash, c.Setup.Servers = env.Tools.Digest(), env.Servers
	m, err := env.Model(c, env.Tools)
	if err != nil {
		return out, err
	}
	unknown, err := p.Doubts(ctx, c)
	if err != nil {
		return out, err
	}
	first := d.begin(c.Run)
	defer d.began(c.Run)
	return drive.Create(ctx, p, drive.New{Created: c, Env: env, Model: m, Fresh: c.Previous == "", Earlier: t.Earlier, Unknown: unknown, Recorded: func() {
		fault.Hit(fault.ChildRecorded)
		if why := first.record(); why != "" {
			d.cancel(ctx, c.Run, c.Parent)
		}
	}})
}

// begin takes note that a child is about to be recorded.
func (d *Carrier) begin(child string) *start {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.starting == nil {
		d.starting = map[string]*start{}
	}
	s := &start{}
	d.starting[child] = s
	return s
}

func (d *Carrier) began(child string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.starting, child)
}

// record says why a child that is on record now is to end at once; "" where it is not.
func (s *start) record() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = true
	return s.stopped
}

// stop says whether the child was not on record yet: then it ends once it is.
func (s *start) stop(reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.recorded {
		s.stopped = reason
	}
	return !s.recorded
}

// Stop has the child end, also one that is about to be created.
func (d *Carrier) Stop(ctx context.Context, child, by, reason string) error {
	d.mu.Lock()
	first := d.starting[child]
	d.mu.Unlock()
	if first != nil && first.stop(reason) {
		return nil
	}
	return d.cancel(ctx, child, by)
}

// cancel leaves a cancel for the child once.
func (d *Carrier) cancel(ctx context.Context, child, by string) error {
	ctx = context.WithoutCancel(ctx)
	row, there, err := d.Row(ctx, child)
	if err != nil || !there || row.Status.Terminal() {
		return err
	}
	if asked, err := d.stopped(ctx, child); asked || err != nil {
		return err
	}
	if _, err := d.Process.Store.PutInbox(ctx, child, drive.InboxCancel, json.RawMessage("{}"), "run "+by); err != nil {
		return fmt.Errorf("cancel run %s: %w", child, err)
	}
	return nil
}

// await waits until the child, which waits for people, can go on.
func (d *Carrier) await(ctx context.Context, run string) error {
	waker, err := d.Process.Subscribe()
	if err != nil {
		return err
	}
	defer waker.Close()
	for {
		can, expires, err := d.CanGoOn(ctx, run)
		switch {
		case ctx.Err() != nil:
			return &tools.SuspendedError{Waits: true, Detail: "run " + run + " waits for people"}
		case err != nil:
			return err
		case can:
			return nil
		}
		var late <-chan time.Time
		if !expires.IsZero() {
			late = time.After(expires.Sub(d.Process.Now()) + time.Millisecond)
		}
		select {
		case <-waker.C():
		case <-late:
		case <-ctx.Done():
		}
	}
}

// CanGoOn says whether a run that waited for people has its answer, or is to end, or one below it
// that it waits for does. expires is when the first open question closes by itself; zero for never.
func (d *Carrier) CanGoOn(ctx context.Context, run string) (can bool, expires time.Time, err error) {
	store := d.Process.Store
	row, err := store.Run(ctx, run)
	if err != nil {
		return false, expires, err
	}
	if row.Status != recovery.StatusWaiting {
		return true, expires, nil
	}
	left, err := store.Inbox(ctx, run)
	if err != nil || len(left) > 0 {
		return true, expires, err
	}
	if row.Pending != nil {
		expires = row.Pending.Expires
		return !expires.IsZero() && !d.Process.Now().Before(expires), expires, nil
	}
	below, err := family.Children(ctx, store, run)
	if err != nil {
		return false, expires, err
	}
	waits := false
	for _, c := range below {
		if c.Status.Terminal() {
			continue
		}
		waits = true
		one, at, err := d.CanGoOn(ctx, c.ID)
		if err != nil || one {
			return one, at, err
		}
		if expires.IsZero() || !at.IsZero() && at.Before(expires) {
			expires = at
		}
	}
	return !waits, expires, nil // without one its question was answered
}

// asked lists the open requests to people for which a run waits, and nothing else.
func (d *Carrier) asked(ctx context.Context, row db.RunRow) (requests []string) {
	if can, _, err := d.CanGoOn(ctx, row.ID); can || err != nil {
		return nil
	}
	if row.Pending != nil {
		return []string{row.Pending.ID}
	}
	below, err := family.Children(ctx, d.Process.Store, row.ID)
	if err != nil {
		return nil
	}
	for _, c := range below {
		requests = append(requests, d.asked(ctx, c)...)
	}
	return requests
}

// Row is the child's row; false where there is none.
func (d *Carrier) Row(ctx context.Context, child string) (row db.RunRow, there bool, err error) {
	row, err = d.Process.Store.Run(ctx, child)
	if errors.As(err, new(*db.UnknownIDError)) {
		return row, false, nil
	}
	return row, err == nil, err
}
