package acp

import (
	"context"
	"errors"
	"fmt"
	"io"

	protocol "github.com/coder/acp-go-sdk"

	"agent/host/app"
	"agent/host/follow"
	"agent/host/view"
	"agent/host/watch"
	"agent/recovery"
	"agent/recovery/journal"
)

// following shows a run to the editor, and puts its questions there, until the run is over or
// nobody is to see it any more.
type following struct {
	*session
	run    string
	ctx    context.Context
	stop   context.CancelFunc
	caught chan struct{} // closed when what was on record at the beginning is shown
	over   chan struct{} // closed when nothing more is shown
	left   chan string   // gets the id of a question that the person left open
	asks   asks
	err    error // why nothing more could be read; over is closed before
	shown  *shown
}

// shownOf makes what turns a run's facts into updates.
func (s *session) shownOf(run string, what showing) *shown {
	v := &shown{run: run, own: s.by(), what: what, ids: map[journal.Place]calling{}, output: map[journal.Place][]byte{}}
	v.give = func(u protocol.SessionUpdate) {
		if !v.quiet.Load() {
			s.update(s.id, u)
		}
	}
	return v
}

// replay shows all of a run that has ended.
func (s *session) replay(ctx context.Context, row app.RunRow) error {
	shown, at := s.shownOf(row.ID, showing{prompt: true, title: row.Previous == ""}), watch.After(0)
	for {
		facts, err := watch.Facts(ctx, s.Folder.Store, row.ID, at, 256)
		if err != nil {
			return fmt.Errorf("read run %s: %w", row.ID, err)
		}
		if len(facts) == 0 {
			return nil
		}
		for _, l := range facts {
			if l.Fact != nil {
				shown.fact(*l.Fact)
			}
		}
	}
}

// follow begins to show a run, in the place of the one that was shown.
func (s *session) follow(run string, what showing) (*following, error) {
	s.turning.Lock()
	defer s.turning.Unlock()
	s.leave()
	ctx, stop := context.WithCancel(s.ctx)
	f := &following{
		session: s, run: run, ctx: ctx, stop: stop, shown: s.shownOf(run, what),
		caught: make(chan struct{}), over: make(chan struct{}), left: make(chan string, 1),
		asks: asks{open: map[string]context.CancelFunc{}, left: map[string]app.PendingRow{}},
	}
	tail, err := follow.NewTail(ctx, s.Folder, run)
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch run %s: %w", run, err)
	}
	tail.Waits = true
	head, err := watch.Here(ctx, s.Folder.Store, run)
	if err != nil {
		tail.Close()
		stop()
		return nil, fmt.Errorf("watch run %s: %w", run, err)
	}
	if what.from == now {
		f.shown.what.from = head.Seq()
	}
	s.mu.Lock()
	s.shows = f
	s.mu.Unlock()
	s.watching.Go(func() {
		defer close(f.over)
		defer stop()
		defer tail.Close()
		f.watch(tail, head.Seq())
		f.asks.end()
	})
	return f, nil
}

// watch shows what comes. What was before is read in any case: it says which calls there are.
func (f *following) watch(tail *follow.Tail, head int64) {
	at, caught := watch.After(0), false
	for {
		lines, err := tail.Next(f.ctx, at)
		var below []watch.Below
		known := false
		for _, l := range lines {
			if l.Fact == nil { // what is not on record comes behind all that is
				f.shown.quiet.Store(false)
			}
			switch {
			case l.Fact != nil:
				f.shown.quiet.Store(l.Fact.Seq <= f.shown.what.from)
				f.shown.fact(*l.Fact)
			case l.State != nil:
				below, known = l.State.Below, true
			case l.Live != nil:
				f.shown.live(l.Type, l.Live)
			}
		}
		if !caught && at.Seq() >= head {
			caught = true
			f.shown.quiet.Store(false)
			close(f.caught)
		}
		if caught {
			f.put(below, known)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && f.ctx.Err() == nil {
				f.err = err
			}
			return
		}
	}
}

// ended is what a prompt is answered with, once its run is over.
func (f *following) ended(ctx context.Context) (protocol.PromptResponse, error) {
	none := protocol.PromptResponse{}
	if f.err != nil {
		return none, fmt.Errorf("watch run %s: %w", f.run, f.err)
	}
	row, err := f.Folder.Store.Run(ctx, f.run)
	if err != nil {
		return none, fmt.Errorf("read run %s: %w", f.run, err)
	}
	switch row.Status {
	case recovery.StatusCancelled:
		return protocol.PromptResponse{StopReason: protocol.StopReasonCancelled}, nil
	case recovery.StatusCompleted, recovery.StatusFailed:
		return protocol.PromptResponse{StopReason: f.reason()}, nil
	}
	why := fmt.Sprintf("run %s is %s", row.ID, row.Status)
	if row.Status == recovery.StatusInterrupted {
		why += ": " + view.CauseText(row.Cause, row.Detail)
	}
	return none, &protocol.RequestError{
		Code: -32603, Message: why + "; the next prompt asks what is to become of it",
		Data: map[string]any{"run_id": row.ID, "next": []string{"agent resume " + row.ID}},
	}
}

// reason is why the model of a run that has ended says no more.
func (f *following) reason() protocol.StopReason {
	switch f.shown.limit {
	case journal.RequestMaxTurns, journal.RequestMaxCost:
		return protocol.StopReasonMaxTurnRequests
	case journal.RequestMaxTokens:
		return protocol.StopReasonMaxTokens
	}
	switch f.shown.stop {
	case journal.AnswerRefuse:
		return protocol.StopReasonRefusal
	case journal.AnswerLength:
		return protocol.StopReasonMaxTokens
	}
	return protocol.StopReasonEndTurn
}
