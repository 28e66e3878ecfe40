package watch

import (
	"context"
	"io"

	"agent/recovery"
)

// Next gives an observer what comes after its cursor, at most 256 lines or 256 KiB, and moves the cursor behind it: facts first, then
// the run's state, then live text and output. While there is nothing it waits. At the end of a run that has ended it gives io.EOF: a
// fact that still comes, such as a decision on a call whose outcome is unknown, is for who asks again. *CursorError says that the
// cursor belongs to another history.
func (f *Feed) Next(ctx context.Context, c *Cursor) ([]Line, error) {
	if err := c.check(ctx, f.w.o.Store, f.run); err != nil {
		return nil, err
	}
	for {
		lines, wait, err := f.ready(c)
		if len(lines) > 0 || err != nil {
			return lines, err
		}
		if wait == nil { // further behind than the feed remembers
			return f.older(ctx, c)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ready is what the feed has for a cursor; else what to wait for, which is nil where the journal must be read.
func (f *Feed) ready(c *Cursor) ([]Line, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.seq < f.seq {
		return f.recent(c), nil, nil
	}
	var lines []Line
	if c.state != f.stateNo {
		c.state = f.stateNo
		lines = append(lines, f.state)
	}
	lines, err := f.frames(c, lines)
	switch {
	case len(lines) > 0 || err != nil:
		return lines, nil, err
	case f.over:
		return nil, nil, io.EOF
	case f.err != nil:
		return nil, nil, f.err
	}
	return nil, f.changed, nil
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

// older reads the journal for an observer. No transaction is open when it returns, however slowly that is taken.
func (f *Feed) older(ctx context.Context, c *Cursor) ([]Line, error) {
	select {
	case f.w.readers <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-f.w.readers }()
	page, err := f.page(ctx, c.seq)
	if err != nil {
		return nil, err
	}
	var lines []Line
	size := 0
	for _, p := range page {
		if size += len(p.line.JSON); len(lines) > 0 && size > mostBytes {
			break
		}
		lines = append(lines, p.line)
	}
	c.move(lines)
	return lines, nil
}

// frames adds what the observer lacks of live text and output. It wants f.mu.
func (f *Feed) frames(c *Cursor, lines []Line) ([]Line, error) {
	add := func(kind string, p *piece, m mark, about func(*Frame)) (mark, error) {
		frame, now, ok := p.after(m)
		if !ok {
			return m, nil
		}
		about(&frame)
		l, err := frameLine(f.run, kind, frame)
		lines = append(lines, l)
		return now, err
	}
	plain := func(*Frame) {}
	var err error
	if c.mind, err = add(TypeReasoning, &f.live.mind, c.mind, plain); err != nil {
		return nil, err
	}
	if c.text, err = add(TypeText, &f.live.text, c.text, plain); err != nil {
		return nil, err
	}
	seen := map[recovery.Place]mark{} // calls that ended are forgotten
	for _, p := range f.live.order {
		seen[p], err = add(TypeOutput, f.live.output[p], c.output[p], func(frame *Frame) {
			frame.Call, frame.ID = p, f.live.ids[recovery.Place{Turn: p.Turn, Index: p.Index}]
		})
		if err != nil {
			return nil, err
		}
	}
	c.output = seen
	return lines, nil
}
