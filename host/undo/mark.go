package undo

import (
	"context"
	"slices"

	"agent/db"
	"agent/host/drive"
	"agent/host/model/rewind"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

// Mark completes runs, which are those of rows, with what the rewinds among them took back. Rows go
// from the newest to the oldest.
func Mark(ctx context.Context, p *drive.Process, rows []db.RunRow, runs []view.Run) error {
	counts := map[string][]taking{} // rewinds that were not taken back themselves, by thread
	for i, row := range rows {
		if row.Parent != "" {
			continue
		}
		runs[i].TakenBack = takenBack(row, counts[row.Thread])
		if row.Model != rewind.Name {
			continue
		}
		is, err := rewindOf(ctx, p, row.ID)
		if err != nil || is == nil {
			return err
		}
		runs[i].Rewind = &view.RewindOf{Run: is.To.Run, Turn: is.To.Turn, Only: string(is.Only)}
		if row.Status != recovery.StatusCompleted || runs[i].TakenBack != nil {
			continue
		}
		to, err := p.Store.Run(ctx, is.To.Run)
		if err != nil {
			return err
		}
		counts[row.Thread] = append(counts[row.Thread], taking{row.ID, *is, to.No})
	}
	return nil
}

// taking is a rewind that counts: it took back all from a run on.
type taking struct {
	by   string
	is   journal.RewindRun
	from int64 // number of that run
}

// MarkOne is Mark for one run, whose thread is read.
func MarkOne(ctx context.Context, p *drive.Process, v *view.Run) error {
	if v.Parent != "" {
		return nil
	}
	rows, err := p.Store.ThreadRuns(ctx, v.Thread)
	if err != nil {
		return err
	}
	slices.Reverse(rows)
	all := make([]view.Run, len(rows))
	err = Mark(ctx, p, rows, all)
	if i := slices.IndexFunc(rows, func(r db.RunRow) bool { return r.ID == v.ID }); i >= 0 {
		v.Rewind, v.TakenBack = all[i].Rewind, all[i].TakenBack
	}
	return err
}

// takenBack says what took a run back. Of several that did, the newest says most.
func takenBack(row db.RunRow, all []taking) *view.TakenBack {
	for _, t := range all {
		if row.No < t.from {
			continue
		}
		v := &view.TakenBack{By: t.by, Only: string(t.is.Only)}
		if row.ID == t.is.To.Run {
			v.Turn = t.is.To.Turn
		}
		if v.Turn < row.Turns || v.Turn == 0 {
			return v
		}
	}
	return nil
}

// rewindOf is what a run takes back; nil where its first fact does not say, which is for doctor to
// report.
func rewindOf(ctx context.Context, p *drive.Process, run string) (*journal.RewindRun, error) {
	for e, err := range p.Store.Load(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		c, _ := e.Body.(journal.RunCreated)
		return c.Rewind, nil
	}
	return nil, nil
}
