package host

import (
	"context"
	"fmt"
	"strings"

	"agent/host/model"
	"agent/recovery"
)

// noteMove says that a run of a thread works elsewhere than the one before it: what that one left is not in this folder.
func (d *driver) noteMove(before string) {
	if c := d.state.Created; before != "" && before != c.Folder {
		d.record(recovery.RunNoted{Text: fmt.Sprintf("thread %s worked in %s before; this run works in %s", c.Thread, before, c.Folder)})
	}
}

// noteEdited says that the file was edited whose recorded steps a run goes on with; "" where it was not.
func (d *driver) noteEdited(source string) {
	if source != "" {
		d.record(recovery.RunNoted{Text: fmt.Sprintf("%s was edited since; the recorded steps count; to carry out the new text: agent run --runbook -f %s",
			source, shellWord(source))})
	}
}

// edited is the file of the prompt that the new run goes on with, if it holds something else now. A file that is gone asks
// for no word: the recorded steps are all there is.
func (h *Host) edited(ctx context.Context, m model.Model, c recovery.RunCreated) (string, error) {
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
		if now, err := fileDigest(first.Source); err != nil || now == first.Digest {
			return "", nil
		}
		return first.Source, nil
	}
	return "", nil
}

// firstFact is how a run was created; the zero value where its journal begins with something else, which a fold refuses.
func (h *Host) firstFact(ctx context.Context, run string) (recovery.RunCreated, error) {
	for e, err := range h.Store.Restored(ctx, run, 0, ignoreLost) {
		if err != nil {
			return recovery.RunCreated{}, err
		}
		c, _ := e.Body.(recovery.RunCreated)
		return c, nil
	}
	return recovery.RunCreated{}, nil
}

// shellWord is a path as a shell takes it for one word.
func shellWord(path string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	if strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
