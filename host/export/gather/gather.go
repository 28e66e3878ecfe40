// Package gather reads what a transcript is made of.
package gather

import (
	"context"

	"agent/host/app"
	"agent/host/diff"
	"agent/host/undo"
	"agent/host/view"
)

// How much of diffs is in a transcript.
const (
	mostFiles = 1000      // paths
	mostFile  = 64 << 10  // bytes of one diff
	mostBytes = 512 << 10 // of those of a run
)

// reader reads runs of a state folder. Everything it reads has placeholders for secrets.
type reader struct{ *app.Folder }

// Runs reads a run, or all runs of its conversation. What of a run cannot be read is named in it.
func Runs(ctx context.Context, folder *app.Folder, run string, thread bool) (view.Export, error) {
	return reader{folder}.read(ctx, run, thread)
}

func (s reader) read(ctx context.Context, run string, thread bool) (view.Export, error) {
	v := view.Export{Version: 1, Runs: []view.ExportedRun{}}
	ids := []string{run}
	if thread {
		row, err := s.Store.Run(ctx, run)
		if err != nil {
			return v, err
		}
		rows, err := s.Store.ThreadRuns(ctx, row.Thread)
		if err != nil {
			return v, err
		}
		v.Thread, ids = row.Thread, nil
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
	}
	for _, id := range ids {
		r, err := s.run(ctx, id, true)
		if err != nil {
			return v, err
		}
		v.Runs = append(v.Runs, r)
	}
	return v, nil
}

// run reads one run and those below it. What cannot be read of it is named in it; an error is that
// nothing can.
func (s reader) run(ctx context.Context, id string, top bool) (v view.ExportedRun, err error) {
	v.Below = []view.ExportedRun{}
	v.Record, err = s.Record(ctx, id)
	if err != nil && v.Run.ID == "" || ctx.Err() != nil {
		return v, err
	}
	if err != nil {
		v.Unread = append(v.Unread, err.Error())
	} else if st, bad := s.State(ctx, id); bad == nil { // else the tally is left out, and doctor names the fault
		v.Tally = view.TallyText(s.Finished(st))
	}
	if v.Diff, v.Notes, err = s.diff(ctx, id, top); err != nil {
		v.Unread = append(v.Unread, "files: "+err.Error())
	}
	for _, c := range v.Run.Children {
		below, err := s.run(ctx, c.ID, false)
		if err != nil {
			return v, err
		}
		v.Below = append(v.Below, below)
	}
	return v, ctx.Err()
}

// diff is what a run changed in files; nil for nothing. Of a run below another only the paths are
// given: the texts are in the diff of the run above.
func (s reader) diff(ctx context.Context, id string, top bool) (*view.Diff, []string, error) {
	d, err := diff.Read(ctx, &s.Process, diff.Request{Run: id, To: undo.ToEnd})
	if err != nil {
		return nil, nil, err
	}
	v, err := d.Bounded(ctx, diff.Bounds{Files: mostFiles, File: mostFile, Bytes: mostBytes, Stat: !top})
	if err != nil || len(v.Files) == 0 {
		return nil, d.Notes, err
	}
	return &v, d.Notes, nil
}
