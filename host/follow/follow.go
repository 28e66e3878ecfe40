// Package follow shows a run at a terminal from outside of the process that drives it: what is on
// record, and then what happens.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agent/host/app"
	"agent/host/records"
	"agent/host/stream"
	"agent/host/terminal"
	"agent/host/view"
	"agent/host/watch"
	"agent/recovery/journal"
)

// Follower shows a run to a person from outside of the process that drives it.
type Follower struct {
	s       *app.Folder
	r       *terminal.Renderer
	hub     *stream.Hub
	run     string
	tail    *Tail
	past    int64 // the last fact that was on record when the following began
	turn    int   // whose live text was shown
	text    bool  // of turn, since it last began
	mind    bool  // likewise what the model thinks
	calls   map[journal.Place]*followedCall
	noticed bool // it was printed that live text cannot be had
	cursor  watch.Cursor
	seq     int64            // of the last fact
	asker   Asker            // nil where nobody is asked
	open    *journal.Request // the question that stands open, while it was not put
	hinted  string           // id of the question of which it was said how it is answered
	kin     []*kin           // runs below the run, in the order of their creation
	joined  bool             // they were read once: what ends from now on is shown
}

// Ask has questions be put to the person who watches.
func (f *Follower) Ask(a Asker) { f.asker = a }

// Notify has the terminal call the person from now on when the run waits or has ended: how is that
// of the configuration.
func (f *Follower) Notify(how string) { f.r.Notify(how) }

// New makes a Follower of a run that prints by p.
func New(folder *app.Folder, p *terminal.Printer, run string) *Follower {
	hub := stream.NewHub()
	return &Follower{s: folder, run: run, hub: hub, r: terminal.NewRenderer(p, hub, records.Records{Store: folder.Store}), calls: map[journal.Place]*followedCall{}}
}

// Follow shows a run's past and goes on with what happens, until it ends, until it waits or is
// interrupted and nobody drives it, or until ctx is done, which is no error.
func (f *Follower) Follow(ctx context.Context) error {
	defer f.r.Wait()
	defer f.hub.Close()
	h, err := f.s.Store.Head(ctx, f.run)
	if err != nil {
		return err
	}
	f.past = h.Seq
	if f.tail, err = NewTail(ctx, f.s, f.run); err != nil {
		return err
	}
	defer f.tail.Close()
	f.tail.Waits = f.asker != nil
	return f.watch(ctx)
}

// watch shows what comes. It returns without an error when there is nothing more to wait for.
func (f *Follower) watch(ctx context.Context) error {
	for {
		if run, r := f.next(); r != nil {
			if over, err := f.ask(ctx, run, *r); over || err != nil {
				return err
			}
			continue
		}
		lines, err := f.tail.Next(ctx, &f.cursor)
		var below []stream.Event
		if heard(lines) && ctx.Err() == nil {
			var bad error
			if below, bad = f.below(ctx); bad != nil && err == nil {
				err = bad
			}
		}
		f.show(ctx, lines, below)
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if f.r.Closed() {
			return nil
		}
		f.notice()
	}
}

// line shows one line.
func (f *Follower) line(ctx context.Context, l watch.Line) {
	switch {
	case l.Fact != nil:
		f.fact(ctx, *l.Fact)
	case l.Type == watch.TypeOutput:
		f.output(l.Live)
	case l.State != nil && l.State.Held && !l.State.Kept: // else nothing is waited for here, and how to go on comes last
		f.hint()
	case l.Live != nil:
		f.answer(l.Live, l.Type == watch.TypeReasoning)
	case l.Type == watch.TypeUnknown:
		f.r.Take(stream.Event{Run: f.run, Note: "something that only a newer version can show is recorded here", Warn: true})
	}
}

func (f *Follower) fact(ctx context.Context, e journal.Event) {
	if b, ok := e.Body.(journal.CallSettled); ok {
		f.finishOutput(ctx, b)
	}
	f.seq = e.Seq
	f.open = standing(f.open, e.Body)
	if f.open != nil && f.asker != nil && f.seq >= f.past && e.Body.Kind() == journal.KindRequestOpened {
		f.r.Call(f.run, e)
		return // it is shown where it is put
	}
	f.r.Take(stream.Event{Run: f.run, Fact: &e})
	if e.Seq > f.past && e.Body.Kind() == journal.KindRequestOpened {
		f.hint()
	}
}

// hint says, once, how the question that stands open is answered where it is not put here.
func (f *Follower) hint() {
	if f.open == nil || f.asker != nil || f.hinted == f.open.ID {
		return
	}
	f.hinted = f.open.ID
	f.r.Take(stream.Event{Run: f.run, Note: "answer it with: " + strings.Join(view.AnswerCommands(f.open), ", or ")})
}

// answer shows a piece of the model's answer, or of what it thinks.
func (f *Follower) answer(l *watch.Frame, mind bool) {
	shown := f.text
	if mind {
		shown = f.mind
	}
	if l.Turn != f.turn {
		f.turn, f.text, f.mind = l.Turn, false, false
	} else if l.Start && shown {
		f.r.Take(stream.Event{Run: f.run, Turn: l.Turn, Void: true})
		f.text, f.mind = false, false
	}
	if len(l.Data) == 0 {
		return
	}
	e := stream.Event{Run: f.run, Turn: l.Turn}
	if mind {
		e.Reasoning, f.mind = string(l.Data), true
	} else {
		e.Text, f.text = string(l.Data), true
	}
	f.r.Take(e)
}

// notice says once that there is no live text.
func (f *Follower) notice() {
	err := f.tail.Notice()
	if err == nil || f.noticed {
		return
	}
	f.noticed = true
	f.r.Take(stream.Event{Run: f.run, Note: fmt.Sprintf("answers and output are shown when they are whole: %v", err), Warn: true})
}
