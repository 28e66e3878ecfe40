package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/db"
	"agent/db/family"
	"agent/db/keep"
	"agent/host/drive/fold"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/scan"
)

// resume reads what the journals of the family say of the workspace: what an earlier process saw
// there last, and which calls it left under way.
func (t *tracker) resume(ctx context.Context) error {
	h, err := t.history(ctx)
	if err != nil {
		return err
	}
	t.look, t.open = h.look, h.open
	since := h.since()
	if h.base != nil && h.base.Mode == journal.KeepAll {
		if t.all, err = t.readManifest(ctx, h.base.Manifest); err != nil {
			return err
		}
		if t.all {
			t.reopenGit(h.base, since)
		}
	}
	for _, c := range since {
		for _, one := range c.Changes {
			t.see(one.Name(), seen{scan.Entry{}, one.After, true}) // read at the next look
		}
	}
	return nil
}

// readManifest reads what an earlier process had seen. One that cannot be given back, as where the
// key is another one, keeps nothing from being done: the next look begins anew, and what changed
// before it is not known.
func (t *tracker) readManifest(ctx context.Context, name string) (whole bool, err error) {
	content, err := t.keep.Get(ctx, name)
	if err == nil {
		t.seen, t.left, t.at, err = decode(content)
	} else if !errors.As(err, new(*keep.LostError)) {
		return false, fmt.Errorf("read the list of files of an earlier look: %w", err)
	}
	if err != nil {
		t.seen = map[string]seen{}
		t.k.Process.Warn(t.where.root, "what an earlier look saw in %s cannot be read, so it is not known what changed there since, and cannot be undone: %v", t.folder, err)
		return false, nil
	}
	for name := range t.seen {
		t.due[name] = true
	}
	return true, nil
}

// history is what the journals of a family say of a workspace.
type history struct {
	look    int64
	base    *journal.FilesBase
	changes []journal.FilesChanged
	open    map[window][]string
}

// since are the changes after the base, in the order of their looks.
func (h history) since() []journal.FilesChanged {
	later := slices.DeleteFunc(h.changes, func(c journal.FilesChanged) bool { return h.base != nil && c.Look < h.base.Look })
	slices.SortFunc(later, func(a, b journal.FilesChanged) int { return cmp.Compare(a.Look, b.Look) })
	return later
}

func (t *tracker) history(ctx context.Context) (history, error) {
	h := history{open: map[window][]string{}}
	p := t.k.Process
	rows, err := family.Below(ctx, p.Store, t.where.root)
	if err != nil {
		return h, err
	}
	runs := []string{t.where.root}
	for _, r := range rows {
		runs = append(runs, r.ID)
	}
	read := p.Reader().Restored(ctx, func(db.Unrecoverable) {}) // what is lost was reported at the claims
	for _, run := range runs {
		facts, err := fold.Facts(read(run))
		if err != nil {
			return h, err
		}
		t.read(&h, run, facts)
	}
	return h, nil
}

// read takes in one run's journal.
func (t *tracker) read(h *history, run string, facts []journal.Event) {
	folder := ""
	var calls []journal.Proposal
	for _, e := range facts {
		folder = journal.FolderAfter(e.Body, folder)
		switch b := e.Body.(type) {
		case journal.ModelAnswered:
			calls = b.Calls
		case journal.CallStarted:
			if paths, writes := t.writes(calls, b); writes && folder == t.folder {
				h.open[window{run, b.Turn, b.Index}] = paths
			}
		case journal.CallSettled:
			delete(h.open, window{run, b.Turn, b.Index})
		case journal.FilesBase:
			h.look = max(h.look, b.Look)
			if folder == t.folder && (h.base == nil || b.Look > h.base.Look) {
				h.base = &b
			}
		case journal.FilesChanged:
			h.look = max(h.look, b.Look)
			if folder == t.folder {
				h.changes = append(h.changes, b)
			}
		}
	}
}

// writes says what a call may change that was started, seen from its proposal.
func (t *tracker) writes(calls []journal.Proposal, b journal.CallStarted) (paths []string, writes bool) {
	if b.Index >= len(calls) || b.Child != "" || calls[b.Index].Effect == journal.EffectRead {
		return nil, false
	}
	c := calls[b.Index]
	tool, err := t.k.Process.Env.Tools.Get(c.Tool)
	if err != nil {
		return nil, true // of a server's tool nobody knows
	}
	switch is := tool.Describe(t.folder, c.Args); is.Touches {
	case tools.TouchesNone:
		return nil, false
	case tools.TouchesPaths:
		return append([]string{}, is.Within(t.folder, c.Args)...), true
	}
	return nil, true
}
