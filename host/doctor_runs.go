package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"agent/db"
	"agent/recovery"
)

// examiner gathers what doctor finds in one store.
type examiner struct {
	*Findings
	h    *Host
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
	marks, err := e.h.Look(ctx, e.fix)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if e.fix {
			e.fixed(areaRuns, "run %s is marked interrupted (%s: %s)", m.Run, m.Cause, m.Detail)
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
		case stopped(who):
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

// stopped says whether the process was told to stand still (state T in proc_pid_stat(5)).
func stopped(who Identity) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", who.PID))
	if err != nil || !who.Alive() {
		return false
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	return ok && strings.HasPrefix(rest, "T")
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
		if r.Status == recovery.StatusInterrupted && r.Fruitless >= MaxFruitless {
			e.Warn(areaRuns, "agent resume "+r.ID, "run %s: %d resumes in a row brought nothing forward; only a resume by name tries again", r.ID, r.Fruitless)
		}
	}
	e.OK(areaRuns, "recorded: %d; waiting for a person: %d; interrupted: %d", len(e.rows), waiting, interrupted)
	return nil
}

// journals folds every journal and compares what it says with the columns that lists are made of.
func (e *examiner) journals(ctx context.Context) error {
	wrong, facts := 0, int64(0)
	for _, r := range e.inOrder() {
		if ctx.Err() != nil {
			return fmt.Errorf("read journals: %v", context.Cause(ctx))
		}
		diff, err := e.journal(ctx, r)
		var corrupt *db.CorruptError
		switch {
		case errors.As(err, &corrupt):
			wrong++
			e.Bad(areaJournal, "restore a backup, or save what is left: agent doctor --salvage FILE", "run %s: %v", r.ID, err)
		case err != nil:
			return err
		case len(diff) > 0:
			wrong++
			e.Bad(areaJournal, "keep a copy of the state folder and report it; what counts is the journal: agent show "+r.ID,
				"run %s: its row differs from its journal: %s", r.ID, strings.Join(diff, "; "))
		}
		facts += r.LastSeq
	}
	if wrong == 0 {
		e.OK(areaJournal, "facts: %d; each matches its digest, follows the one before, and says what the lists say", facts)
	}
	return nil
}

// journal compares one run, again when its owner wrote meanwhile. What goes on changing is left for another time.
func (e *examiner) journal(ctx context.Context, r db.RunRow) ([]string, error) {
	var diff []string
	for range 5 {
		s, err := e.h.fold(r.ID, e.h.shown(ctx), nil)
		if err != nil {
			return nil, err
		}
		calls, err := e.h.Store.Calls(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if diff = append(compareRun(r, s), compareCalls(calls, s)...); len(diff) == 0 {
			return nil, nil
		}
		now, err := e.h.Store.Run(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if now.LastSeq == r.LastSeq && now.Epoch == r.Epoch {
			return diff, nil
		}
		r = now
	}
	return nil, nil
}

// compareRun lists how a run's row differs from its fold.
func compareRun(r db.RunRow, s *recovery.State) []string {
	var diff []string
	add := func(what string, row, journal any) {
		if row != journal {
			diff = append(diff, fmt.Sprintf("%s is %v in the row and %v in the journal", what, row, journal))
		}
	}
	calls, open := 0, ""
	for _, t := range s.Turns {
		calls += len(t.Calls)
	}
	asked := ""
	if r.Pending != nil {
		asked = r.Pending.ID
	}
	if s.Open != nil {
		open = s.Open.ID
	}
	add("the id", r.ID, s.Created.Run)
	add("the thread", r.Thread, s.Created.Thread)
	add("the folder", r.Folder, s.Created.Folder)
	add("the model", r.Model, s.Created.Model)
	add("the mode", r.Mode, s.Mode)
	add("the turn limit", r.MaxTurns, s.Limits.MaxTurns)
	if !strings.HasPrefix(s.Created.Prompt, r.Prompt) {
		diff = append(diff, "the prompt begins otherwise in the row than in the journal")
	}
	add("the status", r.Status, s.Status)
	add("the last fact", r.LastSeq, s.Seq)
	add("the epoch", r.Epoch, s.Epoch)
	add("the number of turns", r.Turns, len(s.Turns))
	add("the number of calls", r.Calls, calls)
	add("the number of unknown outcomes", r.Unknown, len(s.UnknownCalls()))
	// An answer that its owner has not taken yet is in the request's row and not in the journal: that is how it waits.
	if asked != "" {
		add("the open request", asked, open)
	}
	if s.Status == recovery.StatusInterrupted {
		add("the cause", r.Cause, s.Cause)
	}
	return diff
}

// compareCalls lists how the rows of calls differ from the fold.
func compareCalls(rows []db.CallRow, s *recovery.State) []string {
	var diff []string
	have := map[string]int{}
	for _, r := range rows {
		have[r.ID]++
		c := s.CallByID(r.ID)
		switch {
		case c == nil:
			diff = append(diff, fmt.Sprintf("call %s is in no turn of the journal", r.ID))
			continue
		case r.Phase != c.Phase:
			diff = append(diff, fmt.Sprintf("call %s is %s in the row and %s in the journal", r.ID, r.Phase, c.Phase))
		case c.Result != nil && (r.Outcome != c.Result.Outcome || r.Ruled != c.Ruled):
			diff = append(diff, fmt.Sprintf("call %s is %s%s in the row and %s%s in the journal", r.ID, r.Outcome, ruledText(r.Ruled), c.Result.Outcome, ruledText(c.Ruled)))
		}
	}
	for _, t := range s.Turns {
		for _, c := range t.Calls {
			if n := have[c.ID]; n != 1 {
				diff = append(diff, fmt.Sprintf("call %s has %d rows and not one", c.ID, n))
			}
		}
	}
	return diff
}

func ruledText(w recovery.Word) string {
	if w == "" {
		return ""
	}
	return " (a person said " + string(w) + ")"
}
