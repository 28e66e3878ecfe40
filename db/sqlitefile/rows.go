package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// querier reads from a connection or a pool of them.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// EachRow calls row for every row of a query whose columns are not known beforehand, with their
// names and values.
func EachRow(ctx context.Context, q querier, row func(columns []string, values []any), query string, args ...any) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row(columns, values)
	}
	return rows.Err()
}

// Record is one row of a table: its columns and their values.
type Record map[string]any

// Columns lists the columns of a row in a fixed order.
func (r Record) Columns() []string { return slices.Sorted(maps.Keys(r)) }

// Records reads rows with all their columns.
func Records(ctx context.Context, q querier, query string, args ...any) (out []Record, err error) {
	err = EachRow(ctx, q, func(columns []string, values []any) {
		r := Record{}
		for i, c := range columns {
			r[c] = values[i]
		}
		out = append(out, r)
	}, query, args...)
	return out, err
}

// Lines reads a result's columns as one line a row.
func Lines(ctx context.Context, q querier, query string) (out []string, err error) {
	err = EachRow(ctx, q, func(_ []string, values []any) {
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = fmt.Sprint(v)
		}
		out = append(out, strings.Join(words, " "))
	}, query)
	return out, err
}
