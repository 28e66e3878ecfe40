package witness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agent/db"
	"agent/db/moves"
	"agent/host/drive"
	"agent/host/witness/line"
)

// try tells once what is new.
func (f *family) try(ctx context.Context, why string) error {
	if f.place < 0 {
		if err := f.hello(ctx); err != nil {
			return err
		}
	}
	f.soonMu.Lock()
	runs := slices.Collect(maps.Keys(f.soon))
	clear(f.soon) // what comes from now on is named again
	f.soonMu.Unlock()
	err := f.tell(ctx, why, f.inOrder(ctx, runs))
	if errors.As(err, new(*drive.FencedError)) {
		err = f.retell(ctx, why, runs, err)
	}
	if err != nil {
		f.soonMu.Lock()
		for _, run := range runs {
			f.soon[run] = true
		}
		f.soonMu.Unlock()
	}
	return err
}

// retell asks once more how far the log is, where the place of an entry was taken: what took it may
// be the last word of a process of this host that was killed, which is on record here too.
func (f *family) retell(ctx context.Context, why string, runs []string, fenced error) error {
	f.place, f.sent, f.after = -1, nil, nil
	err := f.hello(ctx)
	if err == nil {
		err = f.tell(ctx, why, f.inOrder(ctx, runs))
	}
	if later := new(laterError); err == nil || errors.As(err, &later) {
		return err
	}
	return fenced
}

// tell sends what is new of the runs.
func (f *family) tell(ctx context.Context, why string, runs []string) error {
	if f.sent != nil { // the same again: it may have been taken
		if err := f.send(ctx); err != nil {
			return err
		}
	}
	e, err := f.gather(ctx, runs)
	if err != nil {
		return fmt.Errorf("gather what the witness of run %s hears: %w", f.root, err)
	}
	if len(e.facts) == 0 {
		return nil
	}
	head, err := f.w.store.Head(ctx, f.root)
	if err != nil {
		return err
	}
	f.sent = &line.Request{Op: line.Append, Root: f.root, Place: f.place + 1, Why: why, Epoch: head.Epoch, Records: append(e.named, e.facts...)}
	f.after = func() {
		for run, st := range e.after {
			f.stands[run] = &st
		}
		f.named.Join(e.names)
	}
	return f.send(ctx)
}

// inOrder sorts runs by when they began.
func (f *family) inOrder(ctx context.Context, runs []string) []string {
	no := map[string]int64{}
	for _, run := range runs {
		if head, err := f.w.store.Head(ctx, run); err == nil { // else the reading says so
			no[run] = head.No
		}
	}
	slices.SortFunc(runs, func(a, b string) int { return cmp.Compare(no[a], no[b]) })
	return runs
}

// hello learns how far the log is.
func (f *family) hello(ctx context.Context) error {
	reply, err := f.ask(ctx, line.Request{Op: line.Hello, Root: f.root, Agent: f.w.version})
	if err != nil {
		return err
	}
	if before := f.w.seen.last(f.root); reply.OK.Place < before {
		f.said = time.Time{}
		return &drive.WitnessError{Run: f.root, Why: fmt.Sprintf("its log has %d entries of the run, and %d were seen: it is another log, or an older copy of it", reply.OK.Place, before)}
	}
	f.stands, f.named = map[string]*stand{}, moves.NewNames()
	for run, at := range reply.OK.Runs {
		same, err := f.recorded(ctx, run, at)
		if err == nil && !same {
			err = &drive.FencedError{Run: f.root, By: reply.OK.By}
		}
		if err != nil {
			f.place, f.said = -1, time.Time{}
			return err
		}
		f.soonMu.Lock()
		f.soon[run] = true // what is recorded here and not there
		f.soonMu.Unlock()
	}
	if f.sent != nil && f.sent.Place != reply.OK.Place+1 {
		f.sent, f.after = nil, nil // it was taken, as is known now
	}
	f.place = reply.OK.Place
	return nil
}

// recorded says whether all that the log has of a run is on record here.
func (f *family) recorded(ctx context.Context, run string, at line.Stand) (bool, error) {
	head, err := f.w.store.Head(ctx, run)
	if errors.As(err, new(*db.UnknownIDError)) || err == nil && (head.Seq < at.Facts || at.Facts < 0) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return f.learn(ctx, run, at)
}

// send sends the entry that is under way.
func (f *family) send(ctx context.Context) error {
	reply, err := f.ask(ctx, *f.sent)
	if err != nil {
		return err
	}
	if reply.OK.Place != f.sent.Place {
		return &drive.WitnessError{Run: f.root, Why: fmt.Sprintf("it took place %d for %d", reply.OK.Place, f.sent.Place)}
	}
	f.place = f.sent.Place
	if err := f.w.seen.note(f.root, f.place); err != nil {
		return fmt.Errorf("note the place of run %s in its log: %w", f.root, err)
	}
	f.after()
	f.sent, f.after = nil, nil
	return nil
}

// ask sends a request, and makes an error of every answer but ok.
func (f *family) ask(ctx context.Context, r line.Request) (line.Reply, error) {
	asked := time.Now()
	reply, err := f.conn.ask(ctx, r)
	switch {
	case err != nil:
		return reply, &laterError{words(f.w.path, err)}
	case reply.Fenced != nil:
		return reply, &drive.FencedError{Run: f.root, By: reply.Fenced.By, Epoch: reply.Fenced.Epoch, At: reply.Fenced.At}
	case reply.Later != "":
		return reply, &laterError{reply.Later}
	case reply.OK == nil || reply.Refused != "" || reply.OK.Place < 0:
		return reply, &drive.WitnessError{Run: f.root, Why: cmp.Or(reply.Refused, "its answer says nothing")}
	}
	f.said = asked
	return reply, nil
}
