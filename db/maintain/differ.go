package maintain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"agent/db"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// Difference is a row of a table beside the journal that is not as the journal proves.
type Difference struct {
	No    int64  // number of the run
	Run   string // its id
	Table string
	Row   string // which row, in words
	What  string
}

func (d Difference) String() string {
	return fmt.Sprintf("run %s: %s, %s: %s", d.Run, d.Table, d.Row, d.What)
}

// projected is a table that is written from the journal. Rows are told apart by key.
type projected struct {
	table, of string // and the column that says of what run a row is; of threads, by its id
	key       []string
	free      []string // columns that the journal does not prove
}

func projectedTables() []projected {
	return []projected{
		{"threads", "id", []string{"id"}, nil},
		{"runs", "no", []string{"no"}, nil},
		{"tool_executions", "run_no", []string{"turn", "idx"}, []string{"no"}},
		{"pending_requests", "run_no", []string{"id"}, []string{"no", "closed_at"}},
		{"file_changes", "run_no", []string{"path"}, []string{"no"}},
		{"commits", "run_no", []string{"repo", "id", "checkpoint"}, []string{"no"}},
	}
}

// change is what makes one row as the journal proves it: an INSERT where have is nil, a DELETE
// where want is.
type change struct {
	projected
	have, want sqlitefile.Record
	columns    []string // that differ
}

// Differences replays every journal and compares what it proves with the tables beside it, to the
// last column. A journal that is damaged is left out: reading it says so.
func Differences(ctx context.Context, s *db.Store) ([]Difference, error) {
	r, err := db.NewReplay(ctx, s)
	if err != nil {
		return nil, err
	}
	nos, err := runNumbers(ctx, s)
	var out []Difference
	for _, no := range nos {
		if err != nil {
			break
		}
		var list []change
		if list, err = changes(ctx, r, no); err == nil {
			out = append(out, differences(r, no, list)...)
		} else if errors.As(err, new(*db.CorruptError)) {
			err = nil
		}
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("compare the tables with the journals: %w", s.File().Explain(err))
	}
	return out, nil
}

// runNumbers lists the runs that have a journal, or a row in any table, but for those that are
// being removed.
func runNumbers(ctx context.Context, s *db.Store) ([]int64, error) {
	rows, err := sqlitefile.Records(ctx, s.File().Readers(), `SELECT no FROM (SELECT no AS no FROM runs UNION SELECT DISTINCT id >> 24 FROM journal
		UNION SELECT run_no FROM tool_executions UNION SELECT run_no FROM pending_requests) WHERE no NOT IN (SELECT no FROM runs WHERE root_no < 0) ORDER BY 1`)
	var out []int64
	for _, r := range rows {
		out = append(out, r["no"].(int64))
	}
	return out, err
}

// changes compares one run, again when its owner wrote meanwhile.
func changes(ctx context.Context, r *db.Replay, no int64) (list []change, err error) {
	for range 5 {
		before, err := r.Run(ctx, no)
		if err != nil {
			return nil, err
		}
		list = nil
		for _, p := range projectedTables() {
			some, err := table(ctx, r, p, no)
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
		}
		after, err := sqlitefile.Records(ctx, r.Store.File().Readers(), "SELECT max(id) & 16777215 AS seq FROM journal WHERE id BETWEEN ? AND ?", db.FactID(no, 0), db.FactID(no, db.MaxSeq))
		if err != nil {
			return nil, err
		}
		if len(list) == 0 || len(after) == 1 && after[0]["seq"] == any(before) || before == 0 {
			return list, nil
		}
	}
	return nil, nil // it goes on all the time; another look comes
}

func (p projected) keyOf(r sqlitefile.Record) string {
	var words []string
	for _, k := range p.key {
		words = append(words, fmt.Sprintf("%s %v", k, r[k]))
	}
	return strings.Join(words, ", ")
}

func table(ctx context.Context, r *db.Replay, p projected, no int64) ([]change, error) {
	query, of := "SELECT * FROM "+p.table+" WHERE "+p.of+" = ?", any(no)
	if p.table == "threads" {
		run, err := sqlitefile.Records(ctx, r.Conn, "SELECT thread FROM runs")
		if err != nil || len(run) == 0 {
			return nil, err
		}
		of = run[0]["thread"]
		if r.Unproved[of.(string)] {
			return nil, nil
		}
	}
	want, err := sqlitefile.Records(ctx, r.Conn, query, of)
	if err != nil {
		return nil, err
	}
	if p.table == "runs" && len(want) == 1 { // the numbers of calls are not in the journal
		calls, err := sqlitefile.Records(ctx, r.Store.File().Readers(),
			"SELECT COALESCE(MIN(no), 0) AS first_call, COALESCE(MAX(no), 0) AS last_call FROM tool_executions WHERE run_no = ?", no)
		if err != nil {
			return nil, err
		}
		maps.Copy(want[0], calls[0])
	}
	have, err := sqlitefile.Records(ctx, r.Store.File().Readers(), query, of)
	if err != nil {
		return nil, err
	}
	return compare(ctx, r, p, have, want)
}

func compare(ctx context.Context, r *db.Replay, p projected, have, want []sqlitefile.Record) ([]change, error) {
	var out []change
	for _, w := range want {
		h := p.take(&have, w)
		if h == nil {
			out = append(out, change{projected: p, want: w})
			continue
		}
		columns, err := columnsThatDiffer(ctx, r, p, h, w)
		if err != nil {
			return nil, err
		}
		if len(columns) > 0 {
			out = append(out, change{projected: p, have: h, want: w, columns: columns})
		}
	}
	for _, h := range have {
		out = append(out, change{projected: p, have: h})
	}
	return out, nil
}

// take removes the row that is to be the wanted one: of several with its key the one with its id.
func (p projected) take(rows *[]sqlitefile.Record, want sqlitefile.Record) sqlitefile.Record {
	at := -1
	for i, r := range *rows {
		if p.keyOf(r) == p.keyOf(want) && (at < 0 || r["id"] == want["id"]) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	found := (*rows)[at]
	*rows = slices.Delete(*rows, at, at+1)
	return found
}

// columnsThatDiffer leaves out what the journal does not prove: an answer that the run's owner has
// not taken yet, and the mark of a run whose journal was found damaged.
func columnsThatDiffer(ctx context.Context, r *db.Replay, p projected, have, want sqlitefile.Record) ([]string, error) {
	free := slices.Clone(p.free)
	switch p.table {
	case "runs":
		if have["cause"] == string(journal.CauseCorrupt) {
			free = append(free, "cause", "detail", "status")
		}
	case "pending_requests":
		if want["status"] == db.RequestOpen && have["status"] != db.RequestOpen && have["consumed_seq"] == nil {
			free = append(free, "status", "answer", "answered_by")
		}
		if have["status"] != db.RequestOpen && want["status"] != db.RequestResolved { // who withdrew it stands in the row alone
			free = append(free, "answered_by")
		}
		same, err := sameAnswer(ctx, r, have["answer"], want["answer"])
		if err != nil {
			return nil, err
		}
		if same {
			free = append(free, "answer")
		}
	}
	var out []string
	for _, c := range want.Columns() {
		if !slices.Contains(free, c) && !reflect.DeepEqual(have[c], want[c]) {
			out = append(out, c)
		}
	}
	return out, nil
}

func sameAnswer(ctx context.Context, r *db.Replay, have, want any) (bool, error) {
	a, ok := have.(string)
	b, both := want.(string)
	if !ok || !both {
		return false, nil
	}
	return r.Store.SameText(ctx, a, b)
}

func differences(r *db.Replay, no int64, list []change) []Difference {
	var out []Difference
	run := fmt.Sprintf("number %d", no)
	if rows, err := sqlitefile.Records(context.Background(), r.Conn, "SELECT id FROM runs"); err == nil && len(rows) == 1 {
		run = fmt.Sprint(rows[0]["id"]) // without it the number names it
	}
	for _, c := range list {
		d := Difference{No: no, Run: run, Table: c.table}
		switch {
		case c.have == nil:
			d.Row, d.What = c.keyOf(c.want), "the row is missing"
		case c.want == nil:
			d.Row, d.What = c.keyOf(c.have), "the journal knows of no such row"
		default:
			d.Row = c.keyOf(c.want)
			var parts []string
			for _, name := range c.columns {
				parts = append(parts, fmt.Sprintf("%s is %s in the row and %s in the journal", name, valueText(c.have[name]), valueText(c.want[name])))
			}
			d.What = strings.Join(parts, "; ")
		}
		out = append(out, d)
	}
	return out
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "empty"
	case string:
		return fmt.Sprintf("%q", db.FirstWords(v, 60))
	}
	return fmt.Sprint(v)
}
