package undo

import (
	"context"

	"agent/db"
	"agent/host/drive"
	"agent/host/view"
	"agent/host/words"
	"agent/recovery/journal"
	"agent/recovery/workspace"
)

// Alone reads what one root did from its beginning, with the runs below it, and nothing of what
// came after it in its thread.
func Alone(ctx context.Context, p *drive.Process, row db.RunRow) (*History, error) {
	h := &History{At: journal.Position{Run: row.ID}, Thread: row.Thread}
	return h, h.add(ctx, p, row, 0)
}

// Changed counts what a run and those below it changed of their files; nil where that is nothing,
// or not known.
func Changed(ctx context.Context, p *drive.Process, run string) *view.FileCounts {
	row, err := p.Store.Run(ctx, run)
	if err != nil || row.Root != "" {
		return nil
	}
	h, err := Alone(ctx, p, row)
	if err != nil { // who looks at the run gets the reason
		return nil
	}
	return counts(h.Steps)
}

func counts(steps []workspace.Step) *view.FileCounts {
	c := view.FileCounts(workspace.Summarize(steps))
	if c == (view.FileCounts{}) {
		return nil
	}
	return &c
}

// View is what others may see of it; redact keeps secrets out of what was asked for.
func (w Work) View(redact func(string) string) (files *view.FileCounts, stands []view.Standing) {
	for _, e := range w.Stands {
		stands = append(stands, e.view(redact))
	}
	return counts(w.Steps), stands
}

func (e Effect) view(redact func(string) string) view.Standing {
	return view.Standing{
		Run: e.Run, Call: e.Call, Place: e.Place.String(), Tool: e.Tool, Words: redact(words.Call(e.Tool, e.Args)), Unknown: e.Unknown,
	}
}
