package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/sdk/temporal"

	"agent/fleet/custody"
	"agent/fleet/witness"
)

// Host is a worker that is up: its methods are the activities.
type Host struct {
	Config

	logger *slog.Logger
	engine *engine
	record *record
	homes  *homes
	slots  *slots
	socket *witness.Listener
	ears   ears
	turns  turns

	mu     sync.Mutex
	places map[string]*place        // of the runs that are driven here
	held   map[string]chan struct{} // of runs that are handed over: closed when a call wants to begin
}

// retryOffer is the time after which an offer that was declined is made again.
const retryOffer = time.Second

// Offer is the activity that takes a run, if a slot is free.
func (h *Host) Offer(_ context.Context, o custody.Offer) (custody.Taken, error) {
	why := ""
	switch {
	case slices.Contains(o.Not, h.Name):
		why = "host " + h.Name + " is not to have the run"
	case !h.slots.take(o.Run):
		why = "host " + h.Name + " has no free slot"
	}
	if why != "" {
		return custody.Taken{}, temporal.NewApplicationErrorWithOptions(why, "declined",
			temporal.ApplicationErrorOptions{NextRetryDelay: retryOffer})
	}
	return custody.Taken{Host: h.Name, Queue: custody.HostQueue + h.Name}, nil
}

// take is the local activity that takes a run before it is offered to all hosts.
func (h *Host) take(_ context.Context, o custody.Offer) (custody.Taken, error) {
	able := !slices.ContainsFunc(o.Labels, func(l string) bool { return !slices.Contains(h.Labels, l) })
	if !able || slices.Contains(o.Not, h.Name) || !h.slots.take(o.Run) {
		return custody.Taken{}, nil
	}
	return custody.Taken{Host: h.Name, Queue: custody.HostQueue + h.Name}, nil
}

// Fence is the activity that shuts out the host of a run. With Cancel the run is taken in here and
// ended, so that its end is in the log as every end is.
func (h *Host) Fence(ctx context.Context, f custody.Fence) (custody.Report, error) {
	switch {
	case h.unlogged() && f.Reads:
		return custody.Report{Status: interrupted, Cause: "moved", Exit: 4}, nil // whatever its host does yet, it changes nothing
	case h.unlogged():
		return custody.Report{}, temporal.NewNonRetryableApplicationError("it takes a host with a log, and "+h.Name+" has none (--log none)", "no log", nil)
	}
	s, err := h.record.stand(ctx, f.Run)
	if err != nil {
		return custody.Report{}, err
	}
	switch {
	case f.Cancel && s.Facts > 0:
		d := &drive{
			host: h, agent: h.homes.of(f.Run), step: custody.Step{Cancel: true},
			run: custody.Run{ID: f.Run},
		}
		return d.do(ctx)
	case f.Cancel:
		return h.never(ctx, f.Run)
	}
	why := "fenced"
	if f.By != "" {
		why += " by " + f.By
	}
	if err := h.record.fence(ctx, f.Run, why); err != nil {
		return custody.Report{}, err
	}
	return custody.Report{Status: interrupted, Cause: "moved", Exit: 4, Facts: s.Facts, Place: s.Place + 1}, nil
}

// never ends a run that has not begun. A driver that is about to begin it hears that from its log.
func (h *Host) never(ctx context.Context, run string) (custody.Report, error) {
	out := custody.Report{Status: cancelled, Exit: 6, Text: "cancelled before it began"}
	if h.unlogged() {
		return out, nil // it takes only runs that change nothing
	}
	if err := h.record.end(ctx, run, "cancelled"); err != nil {
		return custody.Report{}, err
	}
	s, err := h.record.stand(ctx, run)
	if s.Facts > 0 {
		out.Facts, out.Text = s.Facts, "cancelled as it began; it can start nothing any more"
	}
	out.Place = s.Place
	return out, err
}

// progress is what a heartbeat says of a run.
func (h *Host) progress(run string) custody.Progress {
	h.mu.Lock()
	var p custody.Progress
	if at := h.places[run]; at != nil {
		p = at.Progress
	}
	h.mu.Unlock()
	if d, why := h.record.silent(); d > 0 {
		p.Later = why
	}
	return p
}

// place is where a run is. It is known while an activity drives the run, and not while it waits or
// after its end.
type place struct {
	custody.Progress
	drives int // activities
}

// driven has it noted where a run is, until the function that it returns is called.
func (h *Host) driven(run string) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[run]
	if p == nil {
		p = &place{}
		h.places[run] = p
	}
	p.drives++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if p.drives--; p.drives == 0 {
			delete(h.places, run)
		}
	}
}

// place notes where a run is.
func (h *Host) place(run string, r localRun) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.places[run]; p != nil {
		p.Turn, p.Call = r.Turns, r.Place.String()
	}
}

// logged notes how far a run is in the log.
func (h *Host) logged(run string, place, facts int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[run]
	if p == nil {
		return
	}
	p.Log = place
	if facts > 0 {
		p.Facts = facts
	}
}

// stopTime is how long a driver may take to stop: its command may have to settle.
const stopTime = 110 * time.Second

// stop asks the driver of a run to stop, and waits until it has.
func (h *Host) stop(ctx context.Context, a Agent, run string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopTime, fmt.Errorf("the driver did not stop within %s", stopTime))
	defer cancel()
	asked := 0
	t := time.NewTicker(waitEvery)
	defer t.Stop()
	for {
		held, err := a.held(run)
		if err != nil || !held {
			return err
		}
		s, err := a.show(ctx, run)
		if err != nil {
			return err
		}
		if s != nil && s.Run.Owner != nil && s.Run.Owner.PID != asked && s.Run.Owner.PID > 1 {
			asked = s.Run.Owner.PID
			if err := syscall.Kill(asked, syscall.SIGTERM); err != nil && err != syscall.ESRCH {
				return fmt.Errorf("stop the driver of run %s: %w", run, err)
			}
			// It sends once more what it waits with, and then how it was left. By now it knows that
			// it is to stop, and voids the call; if it does not, the call begins as any other.
			time.AfterFunc(time.Second, func() { h.release(run) })
		}
		for range 20 {
			select {
			case <-t.C:
			case <-ctx.Done():
				return fmt.Errorf("stop the driver of run %s: %w", run, context.Cause(ctx))
			}
			if held, err := a.held(run); err != nil || !held {
				return err
			}
		}
	}
}
