package lines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"agent/host/app"
	"agent/host/follow"
	"agent/host/stream"
	"agent/host/view"
	"agent/host/watch"
	"agent/recovery/journal"
)

// Stream is what one command writes: runs one after the other, and what the command itself has to
// say. Its methods are for one goroutine. A nil Stream has nothing to write.
type Stream struct {
	w       *writer
	folder  *app.Folder
	printed bool // its last line was given

	mu     sync.Mutex
	obs    *stream.Observer
	closed bool          // obs
	seen   chan struct{} // closed when obs is at its end
	last   *part
	held   map[string][]watch.Note // of runs that did not begin yet

	roots map[string]string // by run, as far as they are known; for the one who observes
}

// part is a run on its way to the reader, or a line that is of none.
type part struct {
	run   string
	after int64 // the last fact before this process; noFact: this process recorded none
	bare  bool  // there is a last line alone
	done  chan struct{}

	mu    sync.Mutex
	notes []watch.Note
	kind  string // of the last line; "" while there is none
	data  any
	over  chan struct{} // closed when nothing more is recorded here
	wake  func()        // ends a wait for what comes next; nil while there is none
}

const (
	queue  = 4096 // events that may wait to be looked at
	noFact = -1
)

// New writes to out.
func New(out io.Writer) *Stream {
	return &Stream{w: &writer{out: out}, held: map[string][]watch.Note{}, roots: map[string]string{}}
}

// Drive writes from here on what the host of a folder drives: of each run where it stands, its
// facts from the first that this process recorded, what is live, and the notes of the host.
func (s *Stream) Drive(f *app.Folder) {
	if s != nil {
		s.folder = f
		s.observe()
	}
}

// observe learns from the hub which runs this process drives, and the notes. Nothing waits for a
// reader there, so the queue overflows at most in a process that is starved, and of notes alone:
// the fact that a run begins with is among the first in it.
func (s *Stream) observe() {
	s.obs, s.closed, s.seen = s.folder.Hub.Observe(queue), false, make(chan struct{})
	go func(obs *stream.Observer, seen chan struct{}) {
		defer close(seen)
		for obs != nil {
			e, err := obs.Next(context.Background())
			switch {
			case errors.Is(err, stream.ErrOverflow):
				obs = s.again()
			case err != nil:
				return
			case e.Fact != nil:
				if s.rootOf(e.Run, e.Fact) == e.Run { // the facts of others are in streams of their own
					s.began(e.Run, e.Fact.Seq-1)
				}
			case e.Note != "":
				n := watch.Note{Text: e.Note, Warn: e.Warn}
				root := s.rootOf(e.Run, nil)
				if root != e.Run {
					n.Text = e.Run + " " + n.Text
				}
				s.noted(root, n)
			}
		}
	}(s.obs, s.seen)
}

// rootOf is the run at the top of a run's family: that is the one that is written. It is asked from
// one goroutine at a time.
func (s *Stream) rootOf(run string, fact *journal.Event) string {
	if run == "" {
		return run
	}
	root, known := s.roots[run]
	if known {
		return root
	}
	root = run
	if fact != nil {
		if b, ok := fact.Body.(journal.RunCreated); ok {
			root = cmp.Or(b.Root, run)
			s.roots[run] = root
			return root
		}
	}
	row, err := s.folder.Store.Run(context.Background(), run)
	if err != nil {
		return run // it has no row yet: what is said of it comes before its first fact
	}
	s.roots[run] = cmp.Or(row.Root, run)
	return s.roots[run]
}

func (s *Stream) again() *stream.Observer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.obs = s.folder.Hub.Observe(queue)
	return s.obs
}

// caughtUp waits until all that was published so far is looked at.
func (s *Stream) caughtUp() {
	if s.folder == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.obs.Close()
	s.mu.Unlock()
	<-s.seen
}

// began begins to write a run behind one of its facts, unless it has begun.
func (s *Stream) began(run string, after int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current(run) == nil {
		s.add(&part{run: run, after: after, notes: s.held[run]})
		delete(s.held, run)
	}
}

// add writes a part behind those before. It wants s.mu.
func (s *Stream) add(p *part) {
	p.done, p.over = make(chan struct{}), make(chan struct{})
	before := s.last
	s.last = p
	go func() {
		defer close(p.done)
		if before != nil {
			<-before.done
		}
		if err := s.part(p); err != nil {
			// What is missing is on record, and the outcome follows nevertheless.
			_ = s.w.line(p.run, watch.TypeNote, watch.Note{Text: fmt.Sprintf("not all of the run is here: %v; see: agent show %s", err, p.run), Warn: true})
		}
		<-p.over
		if p.kind != "" {
			_ = s.w.line(p.run, p.kind, p.data) // it is of texts and numbers, which can be encoded
		}
	}()
}

// current is the part of a run, while it is driven. It wants s.mu.
func (s *Stream) current(run string) *part {
	if p := s.last; p != nil && p.run == run && !p.bare && !p.ended() {
		return p
	}
	return nil
}

func (s *Stream) noted(run string, n watch.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.current(run); p != nil {
		p.change(func() { p.notes = append(p.notes, n) })
		return
	}
	s.held[run] = append(s.held[run], n)
}

// Print writes what a command prints with --json: an outcome ends the run that was driven, and
// another object is a line of its own. It does not wait for the reader.
func (s *Stream) Print(v any) {
	if s == nil {
		return
	}
	s.printed = true
	switch v := v.(type) {
	case view.Outcome:
		s.caughtUp()
		s.began(v.RunID, noFact) // nothing was recorded here: it had ended
		s.end(watch.TypeOutcome, v)
		s.observe()
	case view.Answered:
		s.alone(v.Run, watch.TypeAnswer, v)
	case view.Refusal:
		s.alone(v.RunID, watch.TypeError, v)
	}
}

// Printed says whether the last line was given.
func (s *Stream) Printed() bool { return s != nil && s.printed }

// alone writes a line that is of no run that is driven here.
func (s *Stream) alone(run, kind string, v any) {
	s.mu.Lock()
	s.add(&part{run: run, bare: true})
	s.mu.Unlock()
	s.end(kind, v)
	if s.folder == nil {
		<-s.last.done
	}
}

// end ends the last part.
func (s *Stream) end(kind string, v any) {
	p := s.last
	p.change(func() {
		p.kind, p.data = kind, v
		close(p.over)
	})
}

// Close waits until all is written. What is printed from here on is written at once.
func (s *Stream) Close() {
	if s == nil || s.folder == nil {
		return
	}
	s.caughtUp()
	if p := s.last; p != nil {
		if !p.ended() {
			s.end("", nil)
		}
		<-p.done
	}
	s.folder = nil
}

func (p *part) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// change changes what the writer of the part looks at, and has it look.
func (p *part) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	if p.wake != nil {
		p.wake()
	}
}

// news is what is to be written beside what the feed has, and whether the run is over here. Where
// it is not, the context ends when there is more.
func (p *part) news() (ctx context.Context, notes []watch.Note, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	notes, p.notes = p.notes, nil
	if p.wake != nil {
		p.wake()
	}
	ctx = context.Background()
	if over = p.ended(); !over {
		ctx, p.wake = context.WithCancel(ctx)
	}
	return ctx, notes, over
}

// part writes a run until it is over here and all that is on record of it is written.
func (s *Stream) part(p *part) error {
	if p.bare || s.w.failed {
		return nil
	}
	ctx := context.Background()
	w, err := watch.New(follow.Watched(s.folder))
	if err != nil {
		return err
	}
	defer w.Close()
	feed, err := w.Run(ctx, p.run)
	if err != nil {
		return err
	}
	defer feed.Close()
	v, c, err := snapshot(ctx, s.folder, p.run)
	if err != nil {
		return err
	}
	if p.after != noFact {
		c = watch.After(p.after)
	}
	if err := s.w.line(p.run, watch.TypeSnapshot, v); err != nil {
		return err
	}
	return s.follow(p, feed, c)
}

func (s *Stream) follow(p *part, feed *watch.Feed, c *watch.Cursor) error {
	last := int64(-1) // fact on record when the run was over here
	for !s.w.failed {
		ctx, notes, over := p.news()
		for _, n := range notes {
			if err := s.w.line(p.run, watch.TypeNote, n); err != nil {
				return err
			}
		}
		if over && last < 0 {
			end, err := watch.Here(ctx, s.folder.Store, p.run)
			if err != nil {
				return err
			}
			last = end.Seq()
		}
		if over && c.Seq() >= last {
			return nil
		}
		lines, err := feed.Next(ctx, c)
		s.w.write(lines)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, io.EOF) && over:
			return nil
		case errors.Is(err, io.EOF):
			<-ctx.Done() // the outcome comes, and perhaps a note before it
		case err != nil:
			return err
		}
	}
	return nil
}
