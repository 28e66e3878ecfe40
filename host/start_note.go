package host

import (
	"context"

	"agent/db"
	"agent/host/drive/bind"
	"agent/host/model"
	"agent/recovery/journal"
)

// edited is the file of the prompt that the new run goes on with, if it holds something else now. A
// file that is gone asks for no word: the recorded steps are all there is.
func (h *Host) edited(ctx context.Context, m model.Model, c journal.RunCreated) (string, error) {
	goesOn, ok := m.(model.Continuer)
	if !ok || c.Previous == "" || !goesOn.Continues(c.Prompt) {
		return "", nil
	}
	rows, err := h.Store.ThreadRuns(ctx, c.Thread)
	if err != nil {
		return "", err
	}
	for i := len(rows) - 1; i >= 0; i-- {
		first, err := h.firstFact(ctx, rows[i].ID)
		if err != nil {
			return "", err
		}
		if first.Model != c.Model || goesOn.Continues(first.Prompt) {
			continue
		}
		if first.Source == "" {
			return "", nil
		}
		if now, err := bind.FileDigest(first.Source); err != nil || now == first.Digest {
			return "", nil
		}
		return first.Source, nil
	}
	return "", nil
}

// firstFact is how a run was created; the zero value where its journal begins with something else,
// which a fold refuses.
func (h *Host) firstFact(ctx context.Context, run string) (journal.RunCreated, error) {
	for e, err := range h.Store.Restored(ctx, run, 0, func(db.Unrecoverable) {}) {
		if err != nil {
			return journal.RunCreated{}, err
		}
		c, _ := e.Body.(journal.RunCreated)
		return c, nil
	}
	return journal.RunCreated{}, nil
}
