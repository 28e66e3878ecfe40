package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"agent/fleet/custody"
)

const (
	beat      = 5 * time.Second  // between two heartbeats
	cutOff    = 15 * time.Second // without engine and log, after which drivers are stopped
	mostTries = 3                // of a run whose driver dies without bringing it forward
)

// NotHereError says that this host cannot have a run; another may.
type NotHereError struct{ Why string }

func (e *NotHereError) Error() string { return e.Why }

// Drive is the activity that has this host drive a run until it ends, asks something, or is
// interrupted. It looks where the run stands before it does anything: the same Drive may come
// twice, and the one before may have been lost at any point. Where it is cancelled it lets go of
// the run, and its driver goes on.
func (h *Host) Drive(ctx context.Context, in custody.Drive) (custody.Report, error) {
	defer h.slots.use(in.Run.ID)()
	defer h.driven(in.Run.ID)()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go h.beat(ctx, in.Run.ID)
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			cancel(errStopping)
		case <-ctx.Done():
		}
	}()
	d := &drive{host: h, run: in.Run, step: in.Step, agent: h.homes.of(in.Run.ID)}
	heard, done := h.ears.listen(in.Run.ID)
	defer done()
	d.heard = heard
	var out custody.Report
	err := h.fits(in)
	if err == nil {
		out, err = d.do(ctx)
	}
	out = d.explain(out)
	var no *NotHereError
	var silent *SilentLogError
	switch {
	case errors.Is(context.Cause(ctx), errStopping):
		return out, temporal.NewApplicationError("the worker stops", custody.ErrorStopping)
	case ctx.Err() != nil:
		go h.letGo(in.Run.ID)
		return out, ctx.Err()
	case errors.As(err, &no):
		return custody.Report{Status: interrupted, Exit: 4, Refused: no.Why}, nil
	case errors.As(err, &silent):
		return custody.Report{Status: interrupted, Cause: "log", Exit: 4, Detail: err.Error()}, nil
	case err != nil:
		h.logger.Error("drive", "run", in.Run.ID, "error", err)
		return custody.Report{}, temporal.NewApplicationErrorWithCause(err.Error(), "drive", err)
	}
	return out, nil
}

var errStopping = errors.New("the worker stops")

// beat tells the engine that the run is looked after here. Where neither the engine nor the log
// has been heard of for a while, it stops the driver: nothing that it could do would count.
func (h *Host) beat(ctx context.Context, run string) {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		activity.RecordHeartbeat(ctx, h.progress(run))
		if h.engine.silent() < cutOff {
			continue
		}
		_, _ = h.record.last(ctx, run) // whether it answers is what is asked
		if log, _ := h.record.silent(); log >= cutOff {
			h.logger.Warn("neither the engine nor the log answers: the driver is stopped", "run", run)
			_ = h.stop(ctx, h.homes.of(run), run) // it is asked again with the next beat
		}
	}
}

// drive is one activity.
type drive struct {
	host  *Host
	run   custody.Run
	step  custody.Step
	agent Agent

	here  *shown // nil: not known here
	held  bool   // by a driver
	log   stand
	tries int
	why   string // agent declined to have it go on

	heard <-chan struct{} // its driver said that it stops; nil: nobody listens
	asked bool            // agent was asked for something, and whatever comes of it is heard
	done  func()          // lets the next activity of the run look; nil: there is none
}

func (d *drive) do(ctx context.Context) (custody.Report, error) {
	if err := d.host.socket.Renew(); err != nil { // its folder may have been deleted
		return custody.Report{}, err
	}
	done, err := d.host.turns.take(ctx, d.run.ID)
	if err != nil {
		return custody.Report{}, err
	}
	defer done()
	d.done = done
	if err := d.look(ctx); err != nil {
		return custody.Report{}, err
	}
	if d.here == nil && d.log.Facts == 0 {
		return d.nowhere(ctx)
	}
	if away, err := d.behind(); err != nil {
		return custody.Report{}, err
	} else if away {
		if d.step.Hand {
			return d.handed(ctx)
		}
		if err := d.bring(ctx); err != nil {
			return custody.Report{}, err
		}
	}
	if out, yes := d.reused(); yes {
		return out, nil
	}
	return d.act(ctx)
}

// look finds out where the run stands, in the log and here. The log comes first: what a driver of
// this host has be in it is on record here by then, and is no sign of another host.
func (d *drive) look(ctx context.Context) (err error) {
	var unread error
	d.log, unread = d.host.record.stand(ctx, d.run.ID)
	if d.here, err = d.agent.show(ctx, d.run.ID); err != nil {
		return err
	}
	if d.held, err = d.agent.held(d.run.ID); err != nil {
		return err
	}
	if d.here != nil && d.held {
		return nil // its driver goes on; what the log says, it will hear itself
	}
	return unread
}

// behind reports whether the log has facts of the run that are not here: it went on elsewhere.
func (d *drive) behind() (bool, error) {
	if d.log.Facts == 0 {
		return false, nil
	}
	if d.here == nil {
		return true, nil
	}
	report := d.here.report()
	if d.log.Facts > report.Facts {
		return true, nil
	}
	if d.log.By == d.host.Name {
		return false, nil
	}
	place, err := takenAt(d.agent, d.run.ID)
	return place < d.log.Wrote, err
}

// bring takes the run in from the log.
func (d *drive) bring(ctx context.Context) error {
	h, run := d.host, d.run.ID
	if d.held { // the old driver hears from the log that it is fenced; it is not waited for
		if err := h.stop(ctx, d.agent, run); err != nil {
			return err
		}
		if err := d.look(ctx); err != nil {
			return err
		}
		if away, err := d.behind(); err != nil || !away {
			return err
		}
	}
	folder, err := h.folder(ctx, d.run)
	if err != nil {
		return err
	}
	err = d.take(ctx, folder)
	var refused *RefusedError
	if errors.As(err, &refused) && d.here != nil {
		h.logger.Info("a run came back that went on elsewhere", "run", run, "agent", refused.Text)
		if d.agent, err = h.homes.renew(run); err == nil {
			err = d.take(ctx, folder)
		}
	}
	if err != nil {
		return fmt.Errorf("take run %s in from the log: %w", run, err)
	}
	if err := keepTaken(d.agent, run, d.log.Wrote); err != nil {
		return err
	}
	return d.look(ctx)
}

func (d *drive) take(ctx context.Context, folder string) error {
	to, err := d.agent.address(ctx)
	if err != nil {
		return err
	}
	file, err := d.host.record.pack(ctx, d.run.ID, to, d.host.own())
	if err != nil {
		return err
	}
	defer os.Remove(file) // a pack that stays is written anew
	return d.agent.take(ctx, file, folder)
}
