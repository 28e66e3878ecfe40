// Package family reads families: a root, which a person started, and all runs below it, each of
// which a call of another run has made. The journal of each is its own; what is known of them
// together is read from the rows beside the journals.
package family

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"agent/db"
	"agent/db/dbsqlc"
	"agent/recovery/journal"
)

// Standing gives the rules that a person said to hold until the family's run at the top ends, as
// they stand in a configuration: those of each answer always-run, whichever of its runs asked.
func Standing(ctx context.Context, s *db.Store, run string) (rules []string, err error) {
	answer := strconv.Quote(journal.AnswerRun)
	var asked []string
	err = db.Read(ctx, s, "look for answers that hold in run "+run, func(q *dbsqlc.Queries) error {
		row, err := q.GetRun(ctx, run)
		if err == nil {
			asked, err = q.AnswersOfFamily(ctx, cmp.Or(row.RootNo, row.No), &answer)
		}
		return err
	})
	for _, id := range asked {
		p, bad := s.PendingByID(ctx, id) // what is damaged gives none
		if text := p.Request.Rules[journal.AnswerRun]; bad == nil && text != "" {
			rules = append(rules, text)
		}
	}
	return rules, err
}

// Children lists the runs that a run has made, in the order of their creation.
func Children(ctx context.Context, s *db.Store, run string) ([]db.RunRow, error) {
	return list(ctx, s, "list the children of run "+run, run, (*dbsqlc.Queries).ChildrenOf)
}

// Below lists all runs below a root, in the order of their creation.
func Below(ctx context.Context, s *db.Store, root string) ([]db.RunRow, error) {
	return list(ctx, s, "list the runs below run "+root, root, (*dbsqlc.Queries).RunsBelow)
}

func list(
	ctx context.Context, s *db.Store, what, of string, read func(*dbsqlc.Queries, context.Context, int64) ([]dbsqlc.Run, error),
) (out []db.RunRow, err error) {
	h, err := s.Head(ctx, of)
	if err != nil {
		return nil, err
	}
	err = db.Read(ctx, s, what, func(q *dbsqlc.Queries) error {
		rows, err := read(q, ctx, h.No)
		if err == nil {
			out, err = db.Rows(ctx, s, q, rows)
		}
		return err
	})
	return out, err
}

// Moved says whether a run below a root was brought forward since the root's last claim: an answer
// of a model, a result, a person's answer or an end was recorded. Who claims the root asks it
// before the claim, and writes it there: the crashes of a process that brings children forward are
// not fruitless. It compares times, so a clock that was set back makes it say no, which is the
// careful side.
func Moved(ctx context.Context, s *db.Store, root string) (moved bool, err error) {
	h, err := s.Head(ctx, root)
	if err != nil || h.Epoch == 0 {
		return false, err
	}
	err = db.Read(ctx, s, "see what run "+root+" brought forward", func(q *dbsqlc.Queries) error {
		since, err := q.LastClaim(ctx, db.FactID(h.No, 1), db.FactID(h.No, h.Seq))
		if err == nil {
			moved, err = q.MovedSince(ctx, h.No, since)
		}
		return err
	})
	return moved, err
}

// Undecided lists the calls of a root and of all runs below it whose outcome is unknown and on
// which nobody has decided, without what their facts say.
func Undecided(ctx context.Context, s *db.Store, root string) ([]db.CallRow, error) {
	return calls(ctx, s, root, "look for unknown outcomes in and below run "+root, (*dbsqlc.Queries).UndecidedOfFamily)
}

// Denied lists the calls of the runs below a root that a rule, the mode or a person refused.
func Denied(ctx context.Context, s *db.Store, root string) ([]db.CallRow, error) {
	return calls(ctx, s, root, "look for refused calls below run "+root, (*dbsqlc.Queries).DeniedBelow)
}

func calls(
	ctx context.Context, s *db.Store, root, doing string, list func(*dbsqlc.Queries, context.Context, int64) ([]dbsqlc.CallRow, error),
) ([]db.CallRow, error) {
	h, err := s.Head(ctx, root)
	if err != nil {
		return nil, err
	}
	var out []db.CallRow
	err = db.Read(ctx, s, doing, func(q *dbsqlc.Queries) error {
		rows, err := list(q, ctx, h.No)
		for _, c := range rows {
			out = append(out, db.BriefCall(c))
		}
		return err
	})
	return out, err
}

// UndecidedBelow lists, for each root, the calls of all runs below it whose outcome is unknown and
// on which nobody has decided, as Undecided does. Roots without any are not in it.
func UndecidedBelow(ctx context.Context, s *db.Store, roots map[string]db.RunRow) (map[string][]db.CallRow, error) {
	if len(roots) == 0 {
		return nil, nil
	}
	ids, numbers := make(map[int64]string, len(roots)), make([]int64, 0, len(roots))
	for id, r := range roots {
		ids[r.No], numbers = id, append(numbers, r.No)
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	out := map[string][]db.CallRow{}
	err = db.Read(ctx, s, "look for unknown outcomes below runs", func(q *dbsqlc.Queries) error {
		found, err := q.UndecidedBelow(ctx, string(list))
		for _, f := range found {
			id := ids[f.RootNo]
			out[id] = append(out[id], db.BriefCall(f.CallRow))
		}
		return err
	})
	return out, err
}

// Size is how many children a run has, and how many of them have ended.
type Size struct{ Children, Ended int }

// Sizes counts the children of runs. Those that have none are not in it.
func Sizes(ctx context.Context, s *db.Store, rows []db.RunRow) (map[string]Size, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids, numbers := make(map[int64]string, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		ids[r.No], numbers[i] = r.ID, r.No
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	out := map[string]Size{}
	err = db.Read(ctx, s, "count the children of runs", func(q *dbsqlc.Queries) error {
		found, err := q.CountChildren(ctx, string(list))
		for _, f := range found {
			out[ids[f.ParentNo]] = Size{int(f.Children), int(f.Ended)}
		}
		return err
	})
	return out, err
}

// WithResolutions lists the runs of a thread and all runs below them that have calls of unknown
// outcome, without one run: where the decisions of persons on such calls may be left.
func WithResolutions(ctx context.Context, s *db.Store, thread, except string) ([]db.RunRow, error) {
	var out []db.RunRow
	err := db.Read(ctx, s, "look for unknown outcomes in thread "+thread, func(q *dbsqlc.Queries) error {
		rows, err := q.DoubtfulRuns(ctx, thread, except)
		if err == nil {
			out, err = db.Rows(ctx, s, q, rows)
		}
		return err
	})
	return out, err
}

// Roots counts the runs that persons started.
func Roots(ctx context.Context, s *db.Store) (n int, err error) {
	err = db.Read(ctx, s, "count runs", func(q *dbsqlc.Queries) error {
		found, err := q.CountRoots(ctx)
		n = int(found)
		return err
	})
	return n, err
}

// LastDriven is when a root or a run below it was last driven: when the last fact before the run's
// interruption was recorded. The interruption itself may be found long after.
func LastDriven(ctx context.Context, s *db.Store, root db.RunRow) (time.Time, error) {
	last, err := lastDriven(ctx, s, root)
	if err != nil {
		return last, err
	}
	below, err := Below(ctx, s, root.ID)
	for _, r := range below {
		at, readErr := lastDriven(ctx, s, r)
		if err = errors.Join(err, readErr); at.After(last) {
			last = at
		}
	}
	return last, err
}

func lastDriven(ctx context.Context, s *db.Store, row db.RunRow) (time.Time, error) {
	for e, err := range s.Load(ctx, row.ID, max(0, row.LastSeq-2)) {
		return e.Time, err
	}
	return row.Updated, nil
}
