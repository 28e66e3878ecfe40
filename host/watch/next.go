package watch

import (
	"context"
	"io"

	"agent/recovery/journal"
)

// Next gives an observer what comes after its cursor, and moves the cursor behind it: at most 256
// facts or 256 KiB of them, then the run's state, then live text and output in frames of at most
// 32 KiB. While there is nothing it waits. At the end of a run that has ended it gives io.EOF: a
// fact that still comes, such as a decision on a call whose outcome is unknown, is for who asks
// again. *CursorError says that the cursor belongs to another history.
func (f *Feed) Next(ctx context.Context, c *Cursor) ([]Line, error) {
	if err := c.Check(ctx, f.w.o.Store, f.run); err != nil {
		return nil, err
	}
	for {
		r, err := f.ready(c)
		if err != nil {
			return nil, err
		}
		if lines, err := r.encode(f.run); len(lines) > 0 || err != nil {
			return lines, err
		}
		if r.wait == nil { // further behind than the feed remembers
			return f.older(ctx, c)
		}
		select {
		case <-r.wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ready is what a feed has for an observer; where that is nothing, what to wait for, or nil where
// the journal must be read.
type ready struct {
	lines  []Line
	frames []kindFrame
	wait   <-chan struct{}
}

type kindFrame struct {
	kind  string
	frame Frame
}

// encode is done for each observer, and so it does not hold the feed up.
func (r ready) encode(run string) ([]Line, error) {
	lines := r.lines
	for _, f := range r.frames {
		l, err := frameLine(run, f.kind, f.frame)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func (f *Feed) ready(c *Cursor) (ready, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case c.seq < f.seq:
		return ready{lines: f.recent(c)}, nil
	case c.seq > f.seq && f.err == nil: // the observer read the journal itself: the state and the text are older than what it has
		f.hint()
		return ready{wait: f.changed}, nil
	}
	r := ready{wait: f.changed}
	if c.state != f.stateNo && f.err == nil {
		c.state = f.stateNo
		r.lines = append(r.lines, f.state)
	}
	r.frames = f.frames(c)
	switch {
	case len(r.lines) > 0 || len(r.frames) > 0:
		return r, nil
	case f.over:
		return r, io.EOF
	}
	return r, f.err
}

// recent takes from the window; nothing where the cursor is before it. It wants f.mu.
func (f *Feed) recent(c *Cursor) []Line {
	behind := int(f.seq - c.seq)
	if behind > len(f.window) {
		return nil
	}
	var lines []Line
	size := 0
	for _, l := range f.window[len(f.window)-behind:] {
		if size += len(l.JSON); len(lines) == mostLines || len(lines) > 0 && size > mostBytes {
			break
		}
		lines = append(lines, l)
	}
	c.move(lines)
	return lines
}

// move puts the cursor behind facts.
func (c *Cursor) move(facts []Line) {
	if len(facts) > 0 {
		last, err := ParseCursor(facts[len(facts)-1].ID)
		if err == nil { // it was made by cursorText
			c.seq, c.sum, c.known = last.seq, last.sum, true
		}
	}
}

// older reads the journal for an observer, a little at a time: what it gives is that observer's
// alone. No transaction is open when it returns, however slowly that is taken.
func (f *Feed) older(ctx context.Context, c *Cursor) ([]Line, error) {
	select {
	case f.w.readers <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-f.w.readers }()
	page, err := f.page(ctx, c.seq, aloneBytes)
	if err != nil {
		return nil, err
	}
	var lines []Line
	size := 0
	for _, p := range page {
		if size += len(p.line.JSON); len(lines) > 0 && size > aloneBytes {
			break
		}
		lines = append(lines, p.line)
	}
	c.move(lines)
	return lines, nil
}

// frames is what the observer lacks of live text and output. It wants f.mu.
func (f *Feed) frames(c *Cursor) []kindFrame {
	var list []kindFrame
	add := func(kind string, p *piece, m mark) mark {
		frame, now, ok := p.after(m)
		if ok {
			list = append(list, kindFrame{kind, frame})
		}
		return now
	}
	c.mind = add(TypeReasoning, &f.live.mind, c.mind)
	c.text = add(TypeText, &f.live.text, c.text)
	seen := map[journal.Place]mark{} // calls that ended are forgotten
	for _, p := range f.live.order {
		before := len(list)
		seen[p] = add(TypeOutput, f.live.output[p], c.output[p])
		for i := range list[before:] {
			frame := &list[before+i].frame
			frame.Call, frame.ID = p, f.live.ids[journal.Place{Turn: p.Turn, Index: p.Index}]
		}
	}
	c.output = seen
	return list
}
