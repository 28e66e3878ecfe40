package standing

import (
	"context"
	"time"

	"agent/host"
	"agent/host/flow/table"
	"agent/host/undo"
	"agent/host/view"
)

// looked is what a run changed, as it was read at a time.
type looked struct {
	updated time.Time
	seen    []undo.Seen
}

// count completes the phases with how many files the runs below them changed. Of a run whose
// journal cannot be read nothing is counted: doctor names it.
func (f *Fold) count(h *host.Host, t *table.Table, children []view.Run) {
	files, by := map[string]looked{}, map[string][]undo.Seen{}
	for _, c := range children {
		name := undo.PhaseOf(c.Role)
		by[name] = f.seen(h, files, c, by[name])
	}
	f.files = files
	for i := range t.Phases {
		p := &t.Phases[i]
		p.Files = counted(by[p.Label()])
		for k := range p.Branches {
			b := &p.Branches[k]
			by[p.Name] = append(by[p.Name], by[b.Label()]...)
			b.Files = counted(by[b.Label()])
		}
		if len(p.Branches) > 0 {
			p.Files = counted(by[p.Name])
		}
	}
}

// seen adds what a run changed, and those below it. A run is read again once its row has changed.
func (f *Fold) seen(h *host.Host, files map[string]looked, v view.Run, all []undo.Seen) []undo.Seen {
	l, known := f.files[v.ID]
	if !known || !l.updated.Equal(v.Updated) {
		l = looked{updated: v.Updated}
		l.seen, _ = undo.SeenOf(context.Background(), &h.Process, v.ID) // see count
	}
	files[v.ID] = l
	all = append(all, l.seen...)
	for _, below := range v.Children {
		all = f.seen(h, files, below, all)
	}
	return all
}

func counted(all []undo.Seen) *table.Files {
	if c := undo.Count(all); c != nil {
		files := table.Files(*c)
		return &files
	}
	return nil
}
