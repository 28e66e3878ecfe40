package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"agent/db"
	"agent/db/maintain"
	"agent/host"
	"agent/recovery"
)

// examiner gathers what doctor finds in one store.
type examiner struct {
	*Findings
	h    *host.Host
	fix  bool
	rows map[string]db.RunRow // by id
}

// inOrder lists the runs from the newest to the oldest.
func (e *examiner) inOrder() []db.RunRow {
	return slices.SortedFunc(maps.Values(e.rows), func(a, b db.RunRow) int { return cmp.Compare(b.No, a.No) })
}

// ahead finds what the folder knows and the database does not.
func (e *examiner) ahead(ctx context.Context) error {
	list, err := e.h.Ahead(ctx)
	for _, a := range list {
		e.Bad(areaRuns, "put the newer database back, or decide: agent restore --here", "run %s: %s", a.Run, a.What)
	}
	return err
}

// unowned finds runs that are marked as going while nobody drives them.
func (e *examiner) unowned(ctx context.Context) error {
	marks, err := e.h.Reconcile(ctx, e.fix)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if e.fix {
			e.Done(areaRuns, "run %s is marked interrupted (%s: %s)", m.Run, m.Cause, m.Detail)
			continue
		}
		e.Warn(areaRuns, "agent resume "+m.Run, "run %s has no owner and is not marked interrupted yet (%s: %s)", m.Run, m.Cause, m.Detail)
	}
	return nil
}

// owners says who drives what, and who stands still.
func (e *examiner) owners(context.Context) error {
	driven := 0
	for _, r := range e.inOrder() {
		who, busy, err := e.h.Owner(r.ID)
		if err != nil {
			return err
		}
		if !busy {
			continue
		}
		driven++
		switch {
		case r.Status.Terminal():
			e.OK(areaOwners, "run %s: %s holds its lock and is about to let go", r.ID, who)
		case who.Stopped():
			e.Warn(areaOwners, fmt.Sprintf("let it go on with kill -CONT %d, or: agent resume --takeover %s", who.PID, r.ID),
				"run %s: %s drives it and is stopped (SIGSTOP)", r.ID, who)
		default:
			e.OK(areaOwners, "run %s: %s drives it", r.ID, who)
		}
	}
	if driven == 0 {
		e.OK(areaOwners, "no run is being driven")
	}
	return nil
}

// fruitless finds runs that nothing but a resume by name tries again.
func (e *examiner) fruitless(context.Context) error {
	waiting, interrupted := 0, 0
	for _, r := range e.inOrder() {
		switch {
		case r.Status == recovery.StatusWaiting:
			waiting++
		case r.Status == recovery.StatusInterrupted:
			interrupted++
		}
		if r.Status == recovery.StatusInterrupted && r.Fruitless >= host.MaxFruitless {
			e.Warn(areaRuns, "agent resume "+r.ID, "run %s: %d resumes in a row made no progress; only a resume by name tries again", r.ID, r.Fruitless)
		}
	}
	e.OK(areaRuns, "recorded: %d; waiting for a person: %d; interrupted: %d", len(e.rows), waiting, interrupted)
	return nil
}

// journals folds every journal.
func (e *examiner) journals(ctx context.Context) error {
	wrong, facts := 0, int64(0)
	for _, r := range e.inOrder() {
		if ctx.Err() != nil {
			return fmt.Errorf("read journals: %v", context.Cause(ctx))
		}
		gone := map[string]bool{} // what does not open is found where every sealed value is opened
		err := e.h.Verify(ctx, r.ID, func(l db.Unrecoverable) {
			if l.Gone {
				gone[l.ID] = true
			}
		})
		if corrupt := new(db.CorruptError); errors.As(err, &corrupt) {
			wrong++
			e.Bad(areaJournal, "restore a backup, or save what is left: agent doctor --salvage FILE", "run %s: %v", r.ID, err)
		} else if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(gone)) {
			wrong++
			e.Bad(areaJournal, "restore a backup; until then the model sees the placeholder, and no call that needs the value is executed",
				"run %s: the sealed value of secret %s is missing from the database", r.ID, id)
		}
		facts += r.LastSeq
	}
	if wrong == 0 {
		e.OK(areaJournal, "facts: %d; each matches its digest, and follows the one before", facts)
	}
	return nil
}

// tables compares every row that is written from a journal with what the journal proves. With fix
// it makes the rows right again, but for runs that are being driven: their owners write them.
func (e *examiner) tables(ctx context.Context) error {
	list, err := maintain.Differences(ctx, e.h.Store)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		e.OK(areaTables, "runs, calls, questions and threads say what the journals say")
		return nil
	}
	if !e.fix {
		for _, d := range list {
			e.Bad(areaTables, "agent doctor --fix makes it again from the journal", "%s", d)
		}
		return nil
	}
	fixed, err := e.h.Repair(ctx, list)
	for _, d := range fixed {
		e.Done(areaTables, "%s; it is now as the journal says", d)
	}
	for _, d := range list {
		if !slices.ContainsFunc(fixed, func(f maintain.Difference) bool { return f.No == d.No }) {
			e.Bad(areaTables, "agent doctor --fix, when no process drives it", "%s", d)
		}
	}
	return err
}
