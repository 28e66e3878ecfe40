package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent/fleet/custody"
)

// adopted is what a worker found when it began.
type adopted struct {
	living  []string // runs whose drivers go on
	waiting []string
	idle    []string // interrupted, and still this host's
	moved   []string // runs that went on elsewhere, each in a few words
	unread  []string // whose log could not be read
}

// adopt compares the runs of the state folders with the log. Drivers that live are left alone: they
// find the socket again by themselves. The copy of a run that went on elsewhere is brought to its
// end, which is that it moved.
func (h *Host) adopt(ctx context.Context) (out adopted) {
	for _, a := range h.homes.all() {
		var runs []found
		err := a.unfinished(ctx, func(r localRun) {
			if r.Parent == "" && h.homes.of(r.ID).Home == a.Home {
				runs = append(runs, found{r.ID, r.Status == waiting})
			}
		})
		if err != nil {
			h.logger.Error("list the runs of a state folder", "folder", a.Home, "error", err)
			continue
		}
		for _, r := range runs {
			h.adoptRun(ctx, a, r, &out)
		}
	}
	return out
}

// found is a run that has not ended.
type found struct {
	ID    string
	Waits bool
}

func (h *Host) adoptRun(ctx context.Context, a Agent, r found, out *adopted) {
	held, failed := a.held(r.ID)
	by, err := h.record.by(ctx, r.ID)
	switch {
	case errors.Join(failed, err) != nil:
		out.unread = append(out.unread, r.ID)
		return
	case by == "":
		return // no run of the fleet
	case by == h.Name && r.Waits && !held: // of which there may be thousands
		out.waiting = append(out.waiting, r.ID)
		return
	}
	d := &drive{host: h, run: custody.Run{ID: r.ID}, agent: a}
	if err := d.look(ctx); err != nil {
		out.unread = append(out.unread, r.ID)
		return
	}
	if d.here == nil {
		return
	}
	away, err := d.behind()
	switch {
	case err != nil:
		out.unread = append(out.unread, r.ID)
	case away:
		out.moved = append(out.moved, d.moved(ctx))
	case d.held:
		out.living = append(out.living, r.ID)
	case r.Waits:
		out.waiting = append(out.waiting, r.ID)
	default:
		out.idle = append(out.idle, r.ID)
	}
}

// letGo ends the copy of a run that was taken from this host, if it went on elsewhere meanwhile:
// the host may have slept, and its driver knows nothing of that before it wants to act again.
func (h *Host) letGo(run string) (away bool) {
	d := &drive{host: h, run: custody.Run{ID: run}, agent: h.homes.of(run)}
	err := d.look(h.homes.ctx)
	if err == nil && d.here != nil {
		away, err = d.behind()
	}
	if err != nil {
		h.logger.Warn("look whether a run went on elsewhere", "run", run, "error", err)
	}
	if away {
		h.logger.Info("a run went on elsewhere", "run", d.moved(h.homes.ctx))
	}
	return away
}

// leaveTime is how long a run that was handed over may take to be had by another host.
const leaveTime = 10 * time.Minute

// leave ends what a run that was handed over left going on here, once another host has it: until
// then this one may have it again.
func (h *Host) leave(run string) {
	late := time.After(leaveTime)
	t := time.NewTicker(beat)
	defer t.Stop()
	for !h.letGo(run) {
		select {
		case <-t.C:
		case <-late:
			return
		case <-h.homes.ctx.Done():
			return // the next worker looks at all of them
		}
	}
}

// moved ends the copy of a run that went on elsewhere: whoever drives it, or tries to, hears from
// the log that it is fenced, records it, and ends the commands that go on.
func (d *drive) moved(ctx context.Context) string {
	err := d.host.stop(ctx, d.agent, d.run.ID)
	away := false
	if err == nil {
		err = d.look(ctx)
	}
	if err == nil && d.here != nil {
		away, err = d.behind()
	}
	if err == nil && away && !d.held && d.here.Run.Status != waiting && d.here.Run.Cause != "moved" {
		err = d.agent.resume(ctx, d.run.ID)
	}
	if err != nil && !errors.As(err, new(*RefusedError)) {
		d.host.logger.Warn("end the copy of a run that moved", "run", d.run.ID, "error", err)
	}
	return fmt.Sprintf("%s (moved to %s at %s, epoch %d)", d.run.ID, d.log.By, d.log.At.Local().Format("15:04"), d.log.Epoch)
}

// line is what a worker prints when it is up.
func (h *Host) line(took time.Duration, a adopted) string {
	log := fmt.Sprintf("log ok (%d ms)", took.Milliseconds())
	if h.unlogged() {
		log = "no log: it takes runs of --mode plan"
	}
	out := fmt.Sprintf("worker %s: %d slots, %d used; %s", h.Name, h.Slots, h.slots.count(), log)
	for _, part := range []struct {
		text string
		runs []string
	}{
		{"adopted %s with a living driver", a.living}, {"%s waiting for an answer", a.waiting},
		{"%s to go on with here", a.idle}, {"%s with a log that cannot be read", a.unread},
	} {
		if n := len(part.runs); n > 0 {
			out += "; " + fmt.Sprintf(part.text, plural(n, "run"))
		}
	}
	if len(a.moved) > 0 {
		out += "; refused " + strings.Join(a.moved, ", ")
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
