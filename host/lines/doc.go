// Package lines writes runs for programs: one event a line, each a JSON object, from a feed of
// package watch. It writes a run that another process drives ([Stream.Follow]) and the runs that
// this process drives ([Stream.Drive]) in the same form.
//
// What is written is read from the state folder at the reader's own pace, behind a cursor. So no
// reader, however slow, holds a run up, and there is no queue to overflow.
package lines

import (
	"bytes"
	"context"
	"io"

	"agent/host/app"
	"agent/host/view"
	"agent/host/watch"
)

// snapshotTries bounds how often a snapshot starts over because facts came meanwhile.
const snapshotTries = 5

// writer writes lines. Once something could not be written, nothing more is: whoever reads has left
// or the disk is full, and the lines after a gap would lie.
type writer struct {
	out    io.Writer
	failed bool
}

func (w *writer) write(lines []watch.Line) {
	if w.failed || len(lines) == 0 {
		return
	}
	var b bytes.Buffer
	for _, l := range lines {
		b.Write(l.JSON)
		b.WriteByte('\n')
	}
	_, err := w.out.Write(b.Bytes())
	w.failed = err != nil // Terminal.Undelivered has the error
}

// line writes what is neither a fact nor live.
func (w *writer) line(run, kind string, data any) error {
	l, err := watch.NewLine(run, kind, data)
	if err == nil {
		w.write([]watch.Line{l})
	}
	return err
}

// snapshot is where a run stands, with the place behind the last fact that it reflects.
func snapshot(ctx context.Context, f *app.Folder, run string) (view.Snapshot, *watch.Cursor, error) {
	for try := 1; ; try++ {
		before, err := watch.Here(ctx, f.Store, run)
		if err != nil {
			return view.Snapshot{}, nil, err
		}
		v, err := f.Snapshot(ctx, run)
		if err != nil {
			return v, nil, err
		}
		after, err := watch.Here(ctx, f.Store, run)
		if err != nil {
			return v, nil, err
		}
		if before.Seq() == after.Seq() || try == snapshotTries { // what it has of later facts, they say again
			v.Cursor = before.String()
			return v, before, nil
		}
	}
}
