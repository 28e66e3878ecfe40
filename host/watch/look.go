package watch

import (
	"bytes"
	"context"
	"strings"

	"agent/db"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
)

// look reads what is new. The order matters: what the live file has was written after the facts
// that it depends on were durable, so it is read before them, and a fact that replaces a part of it
// is seen in the same look. The run's row is read before its facts, so no status is shown before
// the fact that it follows from.
func (f *Feed) look() error {
	var pieces []stream.Event
	liveErr := f.file.Read(func(e stream.Event) { pieces = append(pieces, e) })
	state, last, err := f.row()
	if err != nil {
		return err
	}
	lines, events, err := f.facts(last)
	if err != nil {
		return err
	}
	line, err := stateLine(f.run, state)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	news := len(lines) > 0 || (f.liveErr == nil) != (liveErr == nil)
	f.liveErr = liveErr
	for i := range events {
		f.live.fact(events[i])
		f.parent = f.parent || makes(events[i].Body)
	}
	for i := range pieces {
		news = f.live.take(&pieces[i], f.w.newGen) || news
	}
	f.keep(lines)
	if f.stateNo == 0 || !bytes.Equal(f.state.JSON, line.JSON) {
		f.state, news = line, true
		f.stateNo++
	}
	f.over = state.Status.Terminal() && f.seq >= last
	if news {
		f.news()
	}
	return nil
}

// row is what is known of the run beside its facts, and the number of its last fact then.
func (f *Feed) row() (State, int64, error) {
	held, err := f.w.o.Held(f.run) // first: an owner records the end of a run before it lets go
	if err != nil {
		return State{}, 0, err
	}
	row, err := f.w.o.Store.Run(f.ctx, f.run)
	if err != nil {
		return State{}, 0, err
	}
	s := State{Status: row.Status, Cause: row.Cause, Epoch: row.Epoch, Held: held && !row.Status.Terminal()}
	if s.Status == recovery.StatusWaiting {
		kept, err := f.w.o.Store.Answered(f.ctx, f.run)
		if err != nil {
			return s, 0, err
		}
		s.Kept = kept != nil
	}
	if !row.Status.Terminal() {
		s.Below, err = f.below(row)
	}
	return s, row.LastSeq, err
}

// facts reads the facts after those that were read, up to the one numbered last at least.
func (f *Feed) facts(last int64) ([]Line, []*journal.Event, error) {
	var lines []Line
	var events []*journal.Event
	f.mu.Lock()
	after := f.seq
	f.mu.Unlock()
	if last < after { // the database was put back from a copy
		return nil, nil, &CursorError{Run: f.run, Cursor: cursorText(after, ""), Last: last}
	}
	for after < last {
		page, err := f.page(f.ctx, after, mostBytes)
		if err != nil {
			return nil, nil, err
		}
		for i := range page {
			lines = append(lines, page[i].line)
			events = append(events, &page[i].row.Event)
		}
		after = page[len(page)-1].row.Seq
	}
	return lines, events, nil
}

// numbered is a fact with its line.
type numbered struct {
	row  db.Row
	line Line
}

// page reads a page of the journal, of about so many bytes, and encodes it.
func (f *Feed) page(ctx context.Context, after int64, size int) ([]numbered, error) {
	rows, err := db.Page(ctx, f.w.o.Store, f.run, after, mostLines, size)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, missing(f.w.o.Store, f.run, after+1)
	}
	page := make([]numbered, len(rows))
	for i, row := range rows {
		line, err := factLine(f.run, row)
		if err != nil {
			return nil, err
		}
		page[i] = numbered{row, line}
	}
	return page, nil
}

// keep appends to the window and lets go of its oldest. It wants f.mu.
func (f *Feed) keep(lines []Line) {
	for _, l := range lines {
		f.window, f.size, f.seq = append(f.window, l), f.size+l.size, f.seq+1
		_, f.sum, _ = strings.Cut(l.ID, "-")
	}
	drop := 0
	for f.size > keptBytes && drop < len(f.window)-1 {
		f.size -= f.window[drop].size
		drop++
	}
	if drop > 0 {
		f.window = append([]Line(nil), f.window[drop:]...)
	}
}
