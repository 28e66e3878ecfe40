package maintain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/db"
	"agent/db/sqlitefile"
)

// Repair makes the rows of runs what their journals prove and says what it changed. Whoever calls
// it holds the runs' locks.
func Repair(ctx context.Context, s *db.Store, nos []int64) ([]Difference, error) {
	if !s.File().Writable() {
		return nil, fmt.Errorf("repair rows: %w", db.ErrReadOnly)
	}
	r, err := db.NewReplay(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []change
	var found []Difference
	for _, no := range nos {
		var list []change
		if err == nil {
			list, err = changes(ctx, r, no)
		}
		all, found = append(all, list...), append(found, differences(r, no, list)...)
	}
	if err == nil && len(all) > 0 {
		err = s.File().Write(ctx, func(t *sqlitefile.Tx) error { return repair(ctx, t, nos, all) })
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("repair rows: %w", s.File().Explain(err))
	}
	return found, nil
}

// repair runs inside the writer's transaction. What is too many goes first: it may have the number
// or the id of what is missing.
func repair(ctx context.Context, t *sqlitefile.Tx, nos []int64, list []change) error {
	// Rows of a run whose own row is lost point nowhere until that is there again.
	if err := t.Once("PRAGMA defer_foreign_keys = ON"); err != nil {
		return err
	}
	for _, c := range list {
		if c.want == nil {
			if err := changeRow(t, "DELETE FROM "+c.table, nil, c); err != nil {
				return err
			}
		}
	}
	for _, c := range list {
		var err error
		switch {
		case c.want == nil:
		case c.have == nil:
			err = insert(ctx, t, c)
		default:
			err = update(t, c)
		}
		if err != nil {
			return err
		}
	}
	for _, no := range nos {
		if err := placeCalls(ctx, t, no); err != nil {
			return err
		}
	}
	return nil
}

// insert adds a row. Rows of tool_executions and pending_requests are numbered without gaps as they
// come, so the first number that is free is that of a row that was lost.
func insert(ctx context.Context, t *sqlitefile.Tx, c change) error {
	row := maps.Clone(c.want)
	if slices.Contains(c.free, "no") {
		delete(row, "no")
		free, err := sqlitefile.Records(ctx, t, fmt.Sprintf(`SELECT COALESCE(MIN(x.no), 0) + 1 AS no FROM (SELECT 0 AS no UNION ALL SELECT no FROM %[1]s) x
			WHERE NOT EXISTS (SELECT 1 FROM %[1]s y WHERE y.no = x.no + 1)`, c.table))
		if err != nil {
			return err
		}
		row["no"] = free[0]["no"]
	}
	if c.table == "runs" {
		row["first_call"], row["last_call"] = int64(0), int64(0) // placed when the calls are there
	}
	var args []any
	for _, name := range row.Columns() {
		args = append(args, row[name])
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")
	return t.Once(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", c.table, strings.Join(row.Columns(), ", "), marks), args...)
}

func update(t *sqlitefile.Tx, c change) error {
	var sets []string
	var args []any
	columns := c.columns
	if c.table == "pending_requests" && slices.Contains(columns, "status") {
		columns = append(slices.Clone(columns), "closed_at") // a CHECK binds both
	}
	for _, name := range columns {
		sets = append(sets, name+" = ?")
		args = append(args, c.want[name])
	}
	return changeRow(t, "UPDATE "+c.table+" SET "+strings.Join(sets, ", "), args, c)
}

// changeRow carries out a statement on the row that c is about.
func changeRow(t *sqlitefile.Tx, text string, args []any, c change) error {
	var where []string
	key := c.key
	if slices.Contains(c.free, "no") {
		key = []string{"no"} // the row itself, whatever else it says
	}
	for _, k := range key {
		where = append(where, k+" = ?")
		args = append(args, c.have[k])
	}
	return t.Once(text+" WHERE "+strings.Join(where, " AND "), args...)
}

// placeCalls notes between which rows the calls of the run lie. Where those of one answer do not
// lie side by side in their order any more, all of them get new numbers at the end.
func placeCalls(ctx context.Context, t *sqlitefile.Tx, no int64) error {
	rows, err := sqlitefile.Records(ctx, t, "SELECT no, turn, idx FROM tool_executions WHERE run_no = ? ORDER BY turn, idx", no)
	if err != nil || len(rows) == 0 {
		return err
	}
	inOrder := true
	for i := 1; i < len(rows); i++ {
		step := rows[i]["no"].(int64) - rows[i-1]["no"].(int64)
		inOrder = inOrder && (step == 1 || step > 0 && rows[i]["turn"] != rows[i-1]["turn"])
	}
	if !inOrder {
		last, err := sqlitefile.Records(ctx, t, "SELECT MAX(no) AS no FROM tool_executions")
		if err != nil {
			return err
		}
		for i, row := range rows {
			next := last[0]["no"].(int64) + int64(i) + 1
			if err := t.Once("UPDATE tool_executions SET no = ? WHERE no = ?", next, row["no"]); err != nil {
				return err
			}
			row["no"] = next
		}
	}
	return t.Once("UPDATE runs SET first_call = ?, last_call = ? WHERE no = ?", rows[0]["no"], rows[len(rows)-1]["no"], no)
}
