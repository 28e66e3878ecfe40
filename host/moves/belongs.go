package moves

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"agent/db"
	"agent/db/moves"
	"agent/recovery/journal"
)

// belongs refuses runs that would get at what is here and did not come with them: whoever made the
// pack would have the conversation of another run continued, its results taken, or its thread gone
// on with. Ids become names of files, so none may be anything else.
func (a *arrival) belongs(ctx context.Context) error {
	id := regexp.MustCompile(`^[rt]-[0-9a-z][0-9a-z-]{0,63}$`)
	threads := map[string]bool{}
	for _, t := range a.Threads {
		threads[t.ID] = true
		if !id.MatchString(t.ID) || !id.MatchString(t.KeyOf) {
			return &moves.RefusedError{What: fmt.Sprintf("thread %.40q has no id of ours", t.ID)}
		}
	}
	for _, t := range a.Threads {
		if err := a.whole(ctx, t, threads[t.KeyOf]); err != nil {
			return err
		}
	}
	before := map[string]bool{}
	for _, r := range a.Runs {
		c := r.Created
		if !id.MatchString(c.Run) || !threads[c.Thread] || c.RootThread != "" && !threads[c.RootThread] {
			return &moves.RefusedError{What: fmt.Sprintf("run %.40q has no id of ours, or its thread is missing", c.Run)}
		}
		for _, other := range []string{c.Previous, c.Parent, c.Root} {
			if other != "" && !before[other] {
				return &moves.RefusedError{What: fmt.Sprintf("run %s belongs to run %.40s, which is missing in it", c.Run, other)}
			}
		}
		before[c.Run] = true
	}
	for _, r := range a.Runs {
		for _, b := range r.Bodies() {
			for _, other := range takenOver(b) {
				if other == "" || before[other] {
					continue
				}
				if here, err := a.here(ctx, other); err != nil {
					return err
				} else if here {
					return &moves.RefusedError{What: fmt.Sprintf("run %s goes on from run %s of this store, and does not bring it", r.Created.Run, other)}
				}
			}
		}
	}
	return nil
}

// takenOver are the runs whose conversation or result a fact takes over.
func takenOver(b journal.Body) []string {
	switch b := b.(type) {
	case journal.RunCreated:
		var out []string
		if b.From != nil {
			out = append(out, b.From.Run)
		}
		if b.Rewind != nil {
			out = append(out, b.Rewind.To.Run)
		}
		return out
	case journal.CallStarted:
		return []string{b.Child}
	case journal.FlowPhaseStarted:
		return []string{b.Run, b.Continues}
	}
	return nil
}

// whole refuses a thread that is here with other runs than come, or that has the key of one.
func (a *arrival) whole(ctx context.Context, t moves.ArrivedThread, keyed bool) error {
	if _, err := a.s.Thread(ctx, t.KeyOf); err == nil && !keyed {
		return &moves.RefusedError{What: fmt.Sprintf("thread %s has the key of thread %s of this store, and does not bring it", t.ID, t.KeyOf)}
	} else if err != nil && !errors.As(err, new(*db.UnknownIDError)) {
		return err
	}
	rows, err := a.s.ThreadRuns(ctx, t.ID)
	if err != nil {
		return err
	}
	come := map[string]bool{}
	for _, r := range a.Runs {
		come[r.Created.Run] = true
	}
	for _, r := range rows {
		if !come[r.ID] {
			return &moves.RefusedError{What: fmt.Sprintf("thread %s is here with run %s, which is missing in it: it went on here and there", t.ID, r.ID)}
		}
	}
	return nil
}

func (a *arrival) here(ctx context.Context, run string) (bool, error) {
	_, err := a.s.Run(ctx, run)
	if errors.As(err, new(*db.UnknownIDError)) {
		return false, nil
	}
	return err == nil, err
}
