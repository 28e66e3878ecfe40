package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"agent/fleet/custody"
)

// nowhere is for a run of which nothing is known: it is begun, or it has no record.
func (d *drive) nowhere(ctx context.Context) (custody.Report, error) {
	switch {
	case d.step.Cancel:
		return d.host.never(ctx, d.run.ID)
	case d.step.Hand:
		return custody.Report{Status: interrupted, Exit: 4, Handed: true}, nil
	case d.step.Start == nil:
		return custody.Report{
			Status: interrupted, Cause: custody.CauseRecord, Exit: 4,
			Detail: "the run has begun, and neither this host nor the log knows it",
		}, nil
	}
	if err := d.start(ctx); err != nil {
		return d.refused(ctx, err)
	}
	d.asked = true
	return d.follow(ctx)
}

// start begins the run.
func (d *drive) start(ctx context.Context) error {
	folder, err := d.host.folder(ctx, d.run)
	if err != nil {
		return err
	}
	sent, args, err := d.host.unpack(*d.step.Start)
	defer os.RemoveAll(sent) // what stays is private, and written anew
	if unsent, ok := errors.AsType[*custody.UnsentError](err); ok {
		return &RefusedError{Text: unsent.Error(), Exit: 1}
	}
	if err != nil {
		return err
	}
	// Whoever comes next looks what came of it, also where this activity is cancelled meanwhile.
	return d.agent.run(context.WithoutCancel(ctx), d.run.ID, d.startKey(), folder, args)
}

// startKey is what the run is started with: on record, it says which request that was.
func (d *drive) startKey() string {
	return startPrefix + d.run.ID + "/" + hex.EncodeToString(d.step.Start.Digest(d.host.Key.MAC)[:16])
}

const startPrefix = "fleet/"

// reused is the report on a request whose start key had another one: the engine has forgotten the
// run that it stands for, and what is on record has not.
func (d *drive) reused() (out custody.Report, yes bool) {
	if d.step.Start == nil || len(d.here.Facts) == 0 {
		return out, false
	}
	key := d.here.Facts[0].Body.StartKey
	if key == d.startKey() || !strings.HasPrefix(key, startPrefix+d.run.ID+"/") {
		return out, false
	}
	return custody.Report{
		Status: failed, Cause: "refused", Exit: 1,
		Text: fmt.Sprintf("the key %s stands for run %s, which was asked for in other words and is %s: another request needs another key",
			d.run.Key, d.run.ID, d.here.Run.Status),
	}, true
}

// refused is the report on a run that agent declined to begin. It may have begun all the same, as
// where its driver ended before it could say so: then it goes on. If not, it can be begun again.
func (d *drive) refused(ctx context.Context, err error) (custody.Report, error) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return custody.Report{}, err
	}
	if err := d.look(ctx); err != nil {
		return custody.Report{}, err
	}
	switch {
	case d.here != nil:
		return d.act(ctx)
	case refused.Code == noAnswer:
		return custody.Report{}, err
	case slices.Contains(hostsFault, refused.Code):
		return custody.Report{}, &NotHereError{refused.Text}
	}
	return custody.Report{Status: failed, Cause: "refused", Exit: max(refused.Exit, 1), Text: refused.Text}, nil
}

// hostsFault are the codes of refusals that say nothing of a run: another host may have it.
var hostsFault = []string{"disk_full", "read_only", "behind"}

// act carries out the step on a run that is known here.
func (d *drive) act(ctx context.Context) (custody.Report, error) {
	status := d.here.Run.Status
	var err error
	forget(d.heard) // it was of what is known now
	d.asked = true
	switch {
	case ended(status):
		return d.report(ctx)
	case d.step.Cancel:
		err = d.agent.cancel(ctx, d.run.ID)
	case d.step.Hand:
		return d.handed(ctx)
	case d.step.Answer != nil && d.asks(d.step.Answer.Request):
		err = d.agent.answer(ctx, *d.step.Answer)
	case d.held, status == waiting:
		d.asked = false
	default:
		err = d.agent.resume(ctx, d.run.ID)
	}
	var refused *RefusedError
	if errors.As(err, &refused) {
		return d.declined(ctx, refused)
	}
	if err != nil {
		return custody.Report{}, err
	}
	return d.follow(ctx)
}

// asks reports whether a question of the run is open, or a call of it is of unknown outcome.
func (d *drive) asks(request string) bool {
	r := d.here.Run
	if r.Asked != nil && r.Asked.ID == request {
		return true
	}
	for _, u := range append(r.Unknown, r.Below...) {
		if u.ID == request {
			return true
		}
	}
	return false
}

// declined looks again at a run of which agent declined a step: another may have come first, as
// where an acknowledgement was lost.
func (d *drive) declined(ctx context.Context, refused *RefusedError) (custody.Report, error) {
	asked := d.step.Answer != nil && d.asks(d.step.Answer.Request)
	d.asked = false
	if err := d.look(ctx); err != nil {
		return custody.Report{}, err
	}
	if d.here == nil {
		return custody.Report{}, refused
	}
	switch {
	case ended(d.here.Run.Status), d.held:
		return d.follow(ctx)
	case asked && !d.asks(d.step.Answer.Request): // it was taken
		d.step = custody.Step{Resume: true}
		return d.act(ctx)
	}
	out := d.here.report()
	out.Place, d.why = d.log.Place, refused.Text
	if out.Detail == "" || asked {
		out.Detail = refused.Text
	}
	return out, nil
}

// handed stops the driver at the next settled call. Its last facts are in the log when it ends.
func (d *drive) handed(ctx context.Context) (custody.Report, error) {
	defer d.host.release(d.run.ID)
	err := d.host.settle(ctx, d.agent, d.run.ID)
	if err == nil {
		err = d.host.stop(ctx, d.agent, d.run.ID)
	}
	if err != nil {
		return custody.Report{}, err
	}
	out, err := d.report(ctx)
	out.Handed = err == nil && !ended(out.Status)
	if out.Handed && d.here.acting() > 0 {
		go d.host.leave(d.run.ID)
	}
	return out, err
}

// report is where the run stands now.
func (d *drive) report(ctx context.Context) (custody.Report, error) {
	if err := d.look(ctx); err != nil {
		return custody.Report{}, err
	}
	if d.here == nil {
		return custody.Report{Status: interrupted, Exit: 4}, nil
	}
	out := d.here.report()
	out.Place = d.log.Place
	return out, nil
}

// follow waits until the run asks something, ends, or is interrupted. A run whose driver died goes
// on at once.
func (d *drive) follow(ctx context.Context) (custody.Report, error) {
	if d.done != nil {
		d.done()
	}
	eye := d.host.homes.eye(d.agent)
	done := eye.follow(d.run.ID)
	defer func() { done() }()
	if !d.asked || d.heard == nil {
		eye.poke() // what its driver said before is not heard any more
	}
	_, _, gen, _ := eye.next(ctx, d.run.ID, -1, nil)
	var facts int64
	for {
		r, open, now, err := eye.next(ctx, d.run.ID, gen, d.heard)
		if ctx.Err() != nil {
			return custody.Report{}, ctx.Err()
		}
		gen = now
		if err != nil {
			d.host.logger.Warn("list runs", "error", err)
			continue
		}
		if open && r.Status != waiting && r.Status != interrupted {
			d.host.place(d.run.ID, r)
			if why := d.unrecorded(ctx, r); why != "" {
				out, err := d.report(ctx)
				out.Status, out.Cause, out.Detail, out.Exit = interrupted, "store", why, 4
				return out, err
			}
			continue
		}
		done() // that its driver ends now is no news
		out, err := d.report(ctx)
		if err != nil || !d.goesOn(&out, &facts) {
			return out, err
		}
		done = eye.follow(d.run.ID)
		if err := d.again(ctx); err != nil {
			return out, err
		}
	}
}

// unrecorded says why a run that is running on record has no driver, where its host is at fault:
// the driver could not record that it ended, and no other can begin.
func (d *drive) unrecorded(ctx context.Context, r localRun) (why string) {
	if held, err := d.agent.held(d.run.ID); err != nil || held || r.Status != running {
		return ""
	}
	var refused *RefusedError
	if errors.As(d.agent.resume(ctx, d.run.ID), &refused) && slices.Contains(hostsFault, refused.Code) {
		return refused.Text
	}
	return "" // it goes on, or the next list says more
}

// goesOn reports whether a run that stopped is to go on at once: its driver or the machine went
// down, or what it waited for has come.
func (d *drive) goesOn(out *custody.Report, facts *int64) bool {
	if out.Status == running || out.Status == "queued" {
		return true // it went on meanwhile
	}
	if out.Status != interrupted {
		return false
	}
	switch out.Cause {
	case "crash", "reboot", "answered", "expired", "withdrawn", "restored":
	default:
		return false
	}
	if out.Facts > *facts+bookkeeping {
		d.tries = 0
	}
	*facts = out.Facts
	d.tries++
	return d.tries <= mostTries
}

// bookkeeping is how many facts a driver records that comes to nothing.
const bookkeeping = 4

// again has a stopped run go on, unless a driver has it.
func (d *drive) again(ctx context.Context) error {
	if d.held || d.here.Run.Status != interrupted {
		return nil
	}
	err := d.agent.resume(ctx, d.run.ID)
	if errors.As(err, new(*RefusedError)) {
		d.why = err.Error()
		d.host.logger.Warn("resume", "run", d.run.ID, "error", err)
		return nil // what follows says why
	}
	return err
}

// waitEvery is the time between two looks at a lock that is waited for.
const waitEvery = 50 * time.Millisecond
