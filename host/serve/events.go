package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"agent/host/app"
	"agent/host/view"
	"agent/host/watch"
)

const (
	quiet      = 15 * time.Second // without a line: then a comment shows that the stream lives
	takeWait   = 20 * time.Second // for an observer to take what was written
	retryAfter = 1000             // milliseconds, for clients that reconnect by themselves
	pieceSize  = 8 << 10          // bytes that are written at once, about
)

// feeds shows runs as they go on.
type feeds struct{ *Server }

// events streams a run (server-sent events): its snapshot, what comes after the cursor, and what
// happens. The cursor is all that an observer has here, so a stream that breaks goes on anywhere.
func (s feeds) events(w http.ResponseWriter, r *http.Request) error {
	get, err := query(r, "after")
	if err != nil {
		return err
	}
	if len(r.Header["Last-Event-Id"]) > 1 {
		return badParameter("Last-Event-ID", "the header is given twice")
	}
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = get("after")
	}
	c, err := watch.ParseCursor(text)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(s.stopped, stop)()
	o, err := s.observe(ctx, r.PathValue("id"), c, text == "")
	if err != nil {
		return err
	}
	defer o.feed.Close()
	if o.first == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	st := newStream(w, s.o.take)
	if st.send(*o.first) != nil { // it is gone already
		return nil
	}
	s.follow(ctx, st, o)
	return nil
}

// watching is one who watches a run.
type watching struct {
	feed     *watch.Feed
	standing *app.Standing
	cursor   *watch.Cursor
	first    *watch.Line // the snapshot; nil where the run has ended and the observer has all of it
}

// observe begins to watch a run behind c, or, where fresh says that there is no cursor, behind what
// the snapshot says. A few do so at a time: a thousand that come at once, as after the server was
// started again, would each have the memory of it.
func (s feeds) observe(ctx context.Context, id string, c *watch.Cursor, fresh bool) (o watching, err error) {
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
	case <-ctx.Done():
		return o, context.Cause(ctx)
	}
	o.cursor = c
	if o.feed, err = s.watcher.Run(ctx, id); err != nil {
		return o, err
	}
	defer func() {
		if err != nil {
			o.feed.Close()
		}
	}()
	if err := c.Check(ctx, s.o.Folder.Store, id); err != nil {
		return o, err
	}
	o.standing = s.kept(o.feed, id)
	at, v, err := s.snapshot(ctx, o.feed, id)
	switch {
	case err != nil:
		return o, err
	case fresh: // the snapshot says all that was before
		o.cursor = at
	case v.Run.Status.Terminal() && c.Seq() >= at.Seq():
		return o, nil
	}
	first, err := watch.NewLine(id, watch.TypeSnapshot, v)
	o.first = &first
	return o, err
}

// kept is where a run stands, for all who ask and watch.
func (s feeds) kept(feed *watch.Feed, id string) *app.Standing {
	return feed.Shared(func() any { return app.NewStanding(s.o.Folder, id) }).(*app.Standing)
}

// snapshot is where a run stands, at a place of its journal or further.
func (s feeds) snapshot(ctx context.Context, feed *watch.Feed, id string) (*watch.Cursor, view.Snapshot, error) {
	at, err := watch.Here(ctx, s.o.Folder.Store, id)
	if err != nil {
		return nil, view.Snapshot{}, err
	}
	v, err := s.kept(feed, id).Snapshot(ctx) // after its cursor: what it has beyond comes again
	v.Cursor = at.String()
	return at, v, err
}

// follow writes what comes until the run ends, the observer goes, or the server ends. What goes
// wrong ends the stream: the observer comes back with its cursor, and is refused with the reason.
func (s feeds) follow(ctx context.Context, st *stream, o watching) {
	for {
		wait, done := context.WithTimeout(ctx, quiet)
		lines, err := o.feed.Next(wait, o.cursor)
		late := wait.Err() != nil
		done()
		switch {
		case errors.Is(err, io.EOF):
			l, err := outcome(ctx, o.standing)
			if err != nil { // the facts say how it ended
				s.log.Warn("outcome not shown", "run", o.standing.Run, "reason", s.o.App.Redacted(err.Error()))
				return
			}
			_ = st.send(l) // the end of the stream in either case
			return
		case late && ctx.Err() == nil:
			err = st.comment()
		case err == nil:
			err = st.send(lines...)
		}
		if err != nil {
			return
		}
	}
}

// outcome is the last line of a run that has ended: the object that run prints with --json.
func outcome(ctx context.Context, standing *app.Standing) (watch.Line, error) {
	v, err := standing.Outcome(ctx)
	if err != nil {
		return watch.Line{}, err
	}
	return watch.NewLine(standing.Run, watch.TypeOutcome, v)
}

// stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	take    time.Duration // for the observer to take what was written
	began   bool
}

// newStream begins a stream; take is zero but in tests.
func newStream(w http.ResponseWriter, take time.Duration) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	return &stream{w: w, control: http.NewResponseController(w), take: cmp.Or(take, takeWait)}
}

// send writes lines and sees them off. What was written is let go of piece by piece: an observer
// that takes nothing costs what it shares with others, and a piece.
func (st *stream) send(lines ...watch.Line) error {
	var b bytes.Buffer
	if !st.began {
		st.began = true
		fmt.Fprintf(&b, "retry: %d\n\n", retryAfter)
	}
	for _, l := range lines {
		if l.ID != "" {
			fmt.Fprintf(&b, "id: %s\n", l.ID)
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", l.Type, l.JSON)
		if b.Len() >= pieceSize {
			if err := st.write(b.Bytes()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return errors.Join(st.write(b.Bytes()), st.control.Flush())
}

func (st *stream) comment() error {
	return errors.Join(st.write([]byte(":\n\n")), st.control.Flush())
}

func (st *stream) write(text []byte) error {
	if err := st.control.SetWriteDeadline(time.Now().Add(st.take)); err != nil {
		return err
	}
	_, err := st.w.Write(text)
	return err
}
