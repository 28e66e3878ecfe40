package db

import (
	"context"
	"fmt"
	"strings"

	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// inBatches gives rows to write, as many at a time as a statement has room for: one for many rows
// costs a third of as many statements. Each number of rows is a statement of its own that is kept,
// so there are few such numbers.
func inBatches[T any](rows []T, write func(rows []T) error) error {
	for len(rows) > 0 {
		n := 1
		for _, size := range []int{16, 8, 4, 3, 2} {
			if size <= len(rows) {
				n = size
				break
			}
		}
		if err := write(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// values are the placeholders of n rows.
func values(n int, row string) string { return strings.Repeat(row+", ", n-1) + row }

// addFacts writes the journal's rows.
func addFacts(t *tx, facts []fact) error {
	return inBatches(facts, func(facts []fact) error {
		args := make([]any, 0, 8*len(facts))
		for i := range facts {
			r := &facts[i].row
			args = append(args, r.ID, r.Turn, r.Kind, r.V, r.Time, r.Body, r.BodyHash, r.Digest)
		}
		_, err := t.db.ExecContext(context.Background(), "INSERT INTO journal (id, turn, kind, v, time, body, body_hash, digest) VALUES "+
			values(len(facts), "(?, ?, ?, ?, ?, ?, ?, ?)"), args...)
		if sqlitefile.IsTaken(err) { // the run's row says that its journal ends before
			return rowsError{fmt.Errorf("its facts %d to %d are there already", facts[0].seq, facts[len(facts)-1].seq)}
		}
		return err
	})
}

// proposed records the calls of an answer. Those whose start follows at once are recorded as
// started: next is what follows.
func proposed(t *tx, h Head, f *fact, b journal.ModelAnswered, next []fact) error {
	started := map[int]*fact{}
	for i := range next {
		s, ok := next[i].body.(journal.CallStarted)
		if !ok {
			break
		}
		if s.Turn == int(f.row.Turn) && s.Index < len(b.Calls) && started[s.Index] == nil {
			next[i].projected, started[s.Index] = true, &next[i]
		}
	}
	first := 0
	return inBatches(b.Calls, func(calls []journal.Proposal) error {
		args := make([]any, 0, 12*len(calls))
		for i, c := range calls {
			args = append(args, h.No, f.row.Turn, first+i, c.ID, c.Tool, c.Fingerprint, string(c.Effect), f.seq)
			if s := started[first+i]; s != nil {
				args = append(args, string(journal.PhaseStarted), s.body.(journal.CallStarted).Attempt, s.seq, s.row.Time)
			} else {
				args = append(args, string(journal.PhaseProposed), 0, 0, 0)
			}
		}
		first += len(calls)
		_, err := t.db.ExecContext(context.Background(), "INSERT INTO tool_executions "+
			"(run_no, turn, idx, id, tool, fingerprint, effect, proposed_seq, phase, attempt, started_seq, started_at) VALUES "+
			values(len(calls), "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"), args...)
		if err != nil {
			return fmt.Errorf("record the calls of turn %d: %w", f.row.Turn, err)
		}
		return nil
	})
}

// settled records the result of a call, with those of its turn that follow at once. The rows of an
// answer lie side by side, and those of the last answer, which is meant nearly always, are the
// run's last.
func settled(t *tx, h Head, f *fact, b journal.CallSettled, next []fact) error {
	same := []*fact{f}
	for i := range next {
		if s, ok := next[i].body.(journal.CallSettled); !ok || s.Turn != b.Turn {
			break
		}
		next[i].projected = true
		same = append(same, &next[i])
	}
	return inBatches(same, func(facts []*fact) error {
		var args []any
		for _, f := range facts {
			s := f.body.(journal.CallSettled)
			args = append(args, s.Index, string(s.Result.Outcome), string(s.Result.Applied), f.seq, f.row.Time, s.Result.Blob != "")
		}
		r, err := t.db.ExecContext(context.Background(), settleCalls(len(facts)), append(args, h.No, b.Turn, h.No)...)
		var n int64
		if err == nil {
			n, err = r.RowsAffected()
		}
		return changed(facts[0].body.(journal.CallSettled).Place, len(facts))(n, err)
	})
}

func settleCalls(n int) string {
	return "UPDATE tool_executions SET phase = 'settled', outcome = v.column2, applied = v.column3, settled_seq = v.column4, " +
		"settled_at = v.column5, cut = v.column6 FROM (VALUES " + values(n, "(?, ?, ?, ?, ?, ?)") + ") v " +
		"WHERE tool_executions.no = v.column1 + (SELECT z.no - z.idx FROM runs r CROSS JOIN tool_executions z " +
		"ON z.no BETWEEN r.first_call AND r.last_call WHERE r.no = ? AND z.run_no = r.no AND z.turn = ? ORDER BY z.no DESC LIMIT 1) " +
		"AND tool_executions.run_no = ? AND tool_executions.idx = v.column1 AND tool_executions.phase <> 'settled'"
}
