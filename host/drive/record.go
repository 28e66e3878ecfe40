package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/db/keep"
	"agent/recovery"
	"agent/recovery/journal"
)

// recorder is the journal of a run as its owner writes it: what is folded, what of it is durable,
// and whether anything may still be written.
type recorder struct {
	p      *Process
	env    Env
	state  *recovery.State
	flow   Flow // of a run that is one; nil: a conversation
	head   db.Head
	before int64 // the epoch before the claim of this process
	fresh  bool  // the thread is new with this run

	facts   []journal.Event // folded, not yet durable
	kept    []keep.Row      // contents that they name
	consume []int64         // inbox rows that the facts take
	refused []int64         // those among them that no fact follows from: they go without one where there is none
	dead    error           // a commit failed or the run was lost: nothing may be written any more
	seen    moment          // of the last fact, or since when this process drives the run

	bind     func(*recovery.Call) string // what a yes to a call is bound to
	inFlight func() []journal.Place      // the calls that act now
}

// record folds facts and keeps them for the next commit. A fact that cannot follow is a fault of
// this program.
func (rec *recorder) record(bodies ...journal.Body) { rec.recordAll(bodies) }

func (rec *recorder) recordAll(bodies []journal.Body) {
	for _, b := range bodies {
		if n, ok := rec.clockSet(); ok {
			rec.fold(n)
		}
		rec.lastLook(b)
		b, found := rec.seeFiles(b)
		rec.fold(b)
		rec.take(found)
	}
}

func (rec *recorder) fold(b journal.Body) {
	e := journal.Event{Seq: rec.state.Seq + 1, Turn: turnOf(rec.state, b), Time: rec.now(), Body: rec.stamped(b)}
	apply := rec.state.Apply
	if rec.flow != nil {
		apply = rec.flow.Apply
	}
	if err := apply(e); err != nil {
		panic(err)
	}
	rec.facts = append(rec.facts, e)
	rec.seen = momentAt(e.Time)
}

// now is the writer's clock in the journal's precision.
func (rec *recorder) now() time.Time { return rec.p.Now().UTC().Truncate(time.Microsecond) }

// turnOf is the turn that a fact belongs to: a request and its answer begin the next.
func turnOf(s *recovery.State, b journal.Body) int {
	switch b.(type) {
	case journal.ModelRequested, journal.ModelAnswered, journal.ModelFailed, journal.MessageAdded:
		return len(s.Turns) + 1
	}
	return len(s.Turns)
}

// stamped gives a question its id, its time and what a yes to it is bound to.
func (rec *recorder) stamped(b journal.Body) journal.Body {
	o, ok := b.(journal.RequestOpened)
	if !ok {
		return b
	}
	o.Request.ID, o.Request.Opened = NewID("p"), rec.now()
	if rec.state.Created.Expire > 0 {
		t := o.Request.Opened.Add(rec.state.Created.Expire)
		o.Request.Expires = &t
	}
	if o.Request.Call != nil {
		if c, err := rec.state.Call(*o.Request.Call); err == nil {
			o.Request.Binding = rec.bind(c)
			o.Request.CallID, o.Request.Tool = c.ID, c.Tool
			if k := o.Request.Kind; k == journal.RequestPermission || k == journal.RequestTwin || k == journal.RequestCopy {
				o.Request.Args = c.Args
			}
		}
	}
	return o
}

// commit waits out a database that others keep busy, however long, as long as the run is wanted:
// nothing was written then.
func (rec *recorder) commit(ctx context.Context) error {
	for {
		err := rec.write(context.WithoutCancel(ctx))
		if !errors.Is(err, db.ErrBusy) || ctx.Err() != nil {
			return err
		}
		rec.p.Warn(rec.state.Created.Run, "other processes keep the database locked: waiting for it")
	}
}

func (rec *recorder) write(ctx context.Context) error {
	c := rec.state.Created
	if rec.head.No == 0 {
		head, err := rec.p.journal().Create(ctx, db.ThreadRef{ID: c.Thread, Folder: c.Folder, New: rec.fresh}, rec.facts)
		if err == nil {
			rec.head = head
		}
		return err
	}
	head, err := rec.p.journal().Append(ctx, rec.head, rec.facts, db.AppendOptions{Kept: rec.kept, Consume: rec.consume, State: rec.state})
	if errors.Is(err, db.ErrLostRace) {
		return fmt.Errorf("record in run %s: another process took it over: %w", c.Run, err)
	}
	if err == nil {
		rec.head = head
	}
	return err
}

// owns says whether the claim of this process is durable.
func (rec *recorder) owns() bool { return rec.head.Epoch > rec.before }

// deadline fires when the run's time is used up; nil channel without a limit.
func (rec *recorder) deadline() (<-chan time.Time, func()) {
	left, limited := rec.state.TimeLeft(rec.steady())
	if !limited {
		return nil, func() {}
	}
	t := time.NewTimer(left)
	return t.C, func() { t.Stop() }
}

func (rec *recorder) stopFor(why journal.Stop, by, reason string) {
	if rec.state.Stopping == nil {
		rec.record(journal.RunStopping{Why: why, By: by, Reason: reason})
	}
}

func (rec *recorder) timeIsUp() {
	rec.stopFor(journal.StopDeadline, "", fmt.Sprintf("the time limit of %s is used up", rec.state.Limits.Timeout.Round(100*time.Millisecond)))
}

// moment is one moment by the clock, and by what measures how much time passes: no setting of the
// clock changes that.
type moment struct{ date, at time.Time }

// momentAt is the moment of now, with its date by the writer's clock.
func momentAt(date time.Time) moment { return moment{date, time.Now()} }

// clockSlack is how far the clock may drift between two facts before a word is said. It is set in
// small steps all day long.
const clockSlack = 10 * time.Second

// clockSet says that the clock went another way than the time that passed since the last fact. What
// is recorded next carries the new time.
func (rec *recorder) clockSet() (journal.RunNoted, bool) {
	step := rec.p.Now().Sub(rec.steady()).Round(time.Millisecond)
	going := rec.state.Status == recovery.StatusRunning || rec.state.Status == recovery.StatusWaiting
	if !going || step.Abs() < clockSlack {
		return journal.RunNoted{}, false
	}
	text := fmt.Sprintf("the clock went back by %s", (-step).Round(time.Second))
	if step > 0 {
		text = fmt.Sprintf("the clock went ahead by %s: it was set, or the machine slept", step.Round(time.Second))
	}
	return journal.RunNoted{Text: text + "; limits and waits count what has passed without that", Clock: step}, true
}

// steady is the time by the clock as it stood at the last fact: what waits and limits are held
// against.
func (rec *recorder) steady() time.Time { return rec.seen.date.Add(time.Since(rec.seen.at)) }
