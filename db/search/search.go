package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent/db"
	"agent/db/sqlitefile"
	"agent/recovery"
)

// Filter says which runs are meant. What is empty lets all pass.
type Filter struct {
	Words    string // all of them occur; see Expression
	Name     string // what a run is called; with a * at the end the beginning of that
	Folder   string
	Since    time.Time // they were started then, or later
	Statuses []recovery.Status
	Unended  bool // beside those statuses: all that have not ended
	Limit    int  // the most that are listed, the newest ones; 0 for all
}

// ErrDamaged says that the index of words cannot be used.
var ErrDamaged = errors.New("the index of words is damaged; make it anew with: agent doctor --fix")

// Runs lists the roots that a filter lets pass, the newest first, and counts all of them.
func Runs(ctx context.Context, s *db.Store, f Filter) (rows []db.RunRow, all int, err error) {
	q, err := f.query(s)
	if err != nil {
		return nil, 0, err
	}
	var numbers []int64
	err = s.File().Read(ctx, func() error {
		var err error
		if numbers, err = q.numbers(ctx, s, f.Limit); err != nil || f.Limit == 0 || len(numbers) < f.Limit {
			all = len(numbers)
			return err
		}
		all, err = q.count(ctx, s)
		return err
	})
	if f.Words != "" && sqlitefile.IsDamaged(err) {
		return nil, 0, fmt.Errorf("search for %s: %w", f.Words, ErrDamaged)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list runs: %w", s.File().Explain(err))
	}
	rows, err = db.Numbered(ctx, s, numbers)
	return rows, all, err
}

// query is a statement without what it selects.
type query struct {
	from  string
	where []string
	args  []any
	order string
}

func (q *query) and(condition string, args ...any) {
	q.where, q.args = append(q.where, condition), append(q.args, args...)
}

// query words a filter. Texts are compared as they are stored, without secrets.
func (f Filter) query(s *db.Store) (*query, error) {
	q := &query{from: "runs r", order: "r.no"}
	if f.Words != "" {
		expression, err := Expression(s.Redact(f.Words))
		if err != nil {
			return nil, err
		}
		q.from, q.order = "search CROSS JOIN runs r ON r.no = search.rowid", "search.rowid"
		q.and("search MATCH ?", expression)
	}
	q.and("r.root_no = 0")
	if name, beginning := strings.CutSuffix(f.Name, "*"); beginning {
		name = s.Redact(name)
		q.and("r.name <> '' AND substr(r.name, 1, length(?)) = ?", name, name)
	} else if name != "" {
		q.and("r.name = ? AND r.name <> ''", s.Redact(name))
	}
	if f.Folder != "" {
		q.and("r.folder = ?", s.Redact(f.Folder))
	}
	if !f.Since.IsZero() {
		q.and("r.created_at >= ?", f.Since.UnixMicro())
	}
	f.statuses(q)
	return q, nil
}

func (f Filter) statuses(q *query) {
	var either []string
	var args []any
	for _, status := range f.Statuses {
		either, args = append(either, "r.status = ?"), append(args, string(status))
	}
	if f.Unended {
		either = append(either, "r.ended_at IS NULL")
	}
	if len(either) > 0 {
		q.and("("+strings.Join(either, " OR ")+")", args...)
	}
}

func (q *query) text(what string) string {
	return "SELECT " + what + " FROM " + q.from + " WHERE " + strings.Join(q.where, " AND ")
}

func (q *query) numbers(ctx context.Context, s *db.Store, limit int) ([]int64, error) {
	text := q.text("r.no AS no") + " ORDER BY " + q.order + " DESC"
	if limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", limit)
	}
	return numbers(ctx, s, text, q.args...)
}

func (q *query) count(ctx context.Context, s *db.Store) (int, error) {
	found, err := numbers(ctx, s, q.text("COUNT(*)"), q.args...)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return int(found[0]), nil
}

// numbers reads the one column of a query.
func numbers(ctx context.Context, s *db.Store, text string, args ...any) (out []int64, err error) {
	err = sqlitefile.EachRow(ctx, s.File().Readers(), func(_ []string, values []any) {
		n, _ := values[0].(int64)
		out = append(out, n)
	}, text, args...)
	return out, err
}
