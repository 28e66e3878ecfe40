package command

import (
	"context"
	"fmt"
	"io"

	"agent/db"
	"agent/host/stream"
	"agent/host/view"
	"agent/recovery"
)

// showCalls prints one block for each call of a run.
func (s *session) showCalls(ctx context.Context, run string) error {
	rows, err := s.Store.Calls(ctx, run)
	if err != nil {
		return err
	}
	found, err := view.Decisions(run, s.Store.Load(ctx, run, 0))
	if err != nil {
		return err
	}
	t := s.storyTeller()
	if len(rows) == 0 {
		s.app.say(s.app.Err, "run %s has no call", run)
	}
	for i, row := range rows {
		if i > 0 {
			t.out.print("")
		}
		t.callHead(row, found[row.Place.String()])
		if row.Result != nil {
			t.callResult(row)
		}
	}
	return nil
}

// callHead prints what is known of a call but its output.
func (t *teller) callHead(row db.CallRow, d *view.Decided) {
	st, mark, words := dim, "·", string(row.Phase)
	if row.Result != nil {
		st, mark = outcomeMark(row.Outcome)
		words = view.ResultText(*row.Result)
	}
	t.line(st, mark, fmt.Sprintf("%s %s %s: %s", row.Place, row.ID, row.Tool, words))
	for _, p := range view.CallPairs(row, d) {
		t.pair(p.Name, p.Value)
	}
	t.pair("arguments", "")
	t.block(recovery.Describe(row.Proposal.Args))
}

// callResult prints a part of a call's result, and how to read all of it.
func (t *teller) callResult(row db.CallRow) {
	t.pair("result", "")
	t.block(view.ExcerptOf(row.Result.Content, 30, 30, "", row.Result.Size <= int64(len(row.Result.Content))))
	if row.Unknown() {
		t.line(yellow, "!", view.UnknownText(row.ID, view.CallName(row.Tool, row.Proposal.Args), *row.Result))
	}
	t.pair("whole", fmt.Sprintf("%s: agent show %s", view.Bytes(max(row.Result.Size, int64(len(row.Result.Content)))), row.ID))
}

// copyText writes size bytes of a tool's text to stdout without its control sequences. A reader that went away ends it.
func (a *app) copyText(r io.ReaderAt, size int64) error {
	w := &lastByte{Writer: a.Out}
	clean := stream.NewSanitizer(w)
	buf := make([]byte, 64<<10)
	for at := int64(0); at < size; {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if n == 0 {
			return fmt.Errorf("read the output from byte %d of %d: %v", at, size, err)
		}
		if _, err := clean.Write(buf[:n]); err != nil {
			return nil // nobody reads any more
		}
		at += int64(n)
	}
	_ = clean.End() // as above
	if w.last != '\n' && w.last != 0 {
		a.say(a.Out, "")
	}
	return nil
}

// lastByte remembers how a text ended.
type lastByte struct {
	io.Writer
	last byte
}

func (w *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		w.last = p[len(p)-1]
	}
	return w.Writer.Write(p)
}
