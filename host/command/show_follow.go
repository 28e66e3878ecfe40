package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"agent/host/stream"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery"
)

// follower watches a run from outside of the process that drives it: facts come from the journal, and the text of the answer
// that is being given and the output of running commands from the live file, which holds no secrets.
type follower struct {
	s    *session
	r    *terminal.Renderer
	run  string
	seq  int64 // of the last fact that was shown
	side sync.WaitGroup

	mu    sync.Mutex
	calls map[recovery.Place]*followedCall
}

// follow shows a run's past and goes on with what happens, until it ends, or until it waits or is interrupted and nobody
// drives it.
func (s *session) follow(ctx context.Context, run string) error {
	t := s.storyTeller()
	if _, err := s.head(ctx, t, run); err != nil {
		return err
	}
	hub := stream.NewHub()
	f := &follower{
		s: s, run: run, r: terminal.NewRenderer(t, hub, records{s.Store}), calls: map[recovery.Place]*followedCall{},
	}
	watching, stop := context.WithCancel(ctx)
	err := f.watch(watching)
	stop()
	f.side.Wait()
	hub.Close()
	f.r.Wait()
	if err != nil {
		return err
	}
	return f.finish(ctx)
}

// watch shows facts as they come. It returns without an error when there is nothing more to wait for.
func (f *follower) watch(ctx context.Context) error {
	w, err := stream.NewWaker(f.s.Store.Files()...)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := f.past(ctx); err != nil {
		return err
	}
	f.side.Go(func() { f.texts(ctx) })
	for {
		next, err := f.look(ctx)
		if err != nil || next == isOver {
			return err
		}
		if next == lookAgain {
			continue
		}
		select {
		case <-w.C():
		case <-ctx.Done():
			return nil
		}
	}
}

// What a look at a run may lead to.
type seen int

const (
	isOver    seen = iota // nothing more comes
	lookAgain             // there may be more already
	mayChange             // wait for a change
)

// past shows what is on record.
func (f *follower) past(ctx context.Context) error {
	for e, err := range f.s.Store.Load(ctx, f.run, 0) {
		if err != nil {
			return err
		}
		f.show(e)
		f.note(e)
	}
	return nil
}

func (f *follower) show(e recovery.Event) {
	f.seq = e.Seq
	f.r.Take(stream.Event{Run: f.run, Fact: &e})
}

// look shows what is new on record and says what to do next.
func (f *follower) look(ctx context.Context) (seen, error) {
	row, err := f.s.Store.Run(ctx, f.run)
	if err != nil || f.r.Closed() {
		return isOver, unlessDone(ctx, err)
	}
	if row.LastSeq > f.seq {
		return lookAgain, f.facts(ctx)
	}
	if row.Status.Terminal() {
		return isOver, nil
	}
	held, err := f.s.Held(f.run)
	if err != nil || held {
		return mayChange, err
	}
	lost := row.Status == recovery.StatusRunning || row.Status == recovery.StatusQueued
	if row.Status == recovery.StatusWaiting {
		answered, err := f.s.Store.Answered(ctx, f.run)
		if err != nil {
			return isOver, unlessDone(ctx, err)
		}
		lost = answered != nil
	}
	if !lost || f.s.lock == nil {
		return isOver, nil
	}
	// Nobody drives it any more. With the mark, the cause comes as a fact.
	_, err = f.s.Look(ctx, true)
	return mayChange, unlessDone(ctx, err)
}

// unlessDone drops the errors that the end of the watching makes.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (f *follower) facts(ctx context.Context) error {
	for e, err := range f.s.Store.Load(ctx, f.run, f.seq) {
		if err != nil {
			return unlessDone(ctx, err)
		}
		if b, ok := e.Body.(recovery.CallSettled); ok {
			f.finishOutput(ctx, b)
		}
		f.show(e)
		f.note(e)
		if b, ok := e.Body.(recovery.RequestOpened); ok {
			r := b.Request
			f.r.Take(stream.Event{Run: f.run, Note: "answer it with: " + strings.Join(view.AnswerCommands(&r), ", or ")})
		}
	}
	return nil
}

// texts shows the model's answer and the output of calls as they come.
func (f *follower) texts(ctx context.Context) {
	err := stream.FollowLive(ctx, filepath.Join(f.s.Home, "live"), f.run, func(e stream.Event) {
		if e.Call != nil {
			f.output(e)
			return
		}
		f.r.Take(e)
	})
	if ctx.Err() == nil {
		f.r.Take(stream.Event{Run: f.run, Note: fmt.Sprintf("answers and output are shown when they are whole: %v", err), Warn: true})
	}
}

// finish says where the run stands, and returns its exit code.
func (f *follower) finish(ctx context.Context) error {
	t := f.r.Printer
	if ctx.Err() != nil {
		t.Line(terminal.Dim, "·", fmt.Sprintf("no longer watching; run %s is not touched by that", f.run))
		return nil
	}
	if t.Closed() {
		return nil
	}
	v, err := f.s.runNow(ctx, f.run)
	if err != nil {
		return err
	}
	t.Next(v)
	st, err := f.s.State(ctx, f.run)
	if err != nil {
		return err
	}
	out := f.s.Finished(st)
	out.Status = v.Status
	return withCode(view.OutcomeCode(out))
}
