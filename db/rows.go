package db

import (
	"context"
	"database/sql"
	"errors"
)

// querier reads from a connection or a pool of them.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachRow calls row for every row of a query whose columns are not known beforehand, with their names and values.
func eachRow(ctx context.Context, q querier, row func(columns []string, values []any), query string, args ...any) (err error) {
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

// record is one row of a table: its columns and their values.
type record map[string]any

// records reads rows with all their columns.
func records(ctx context.Context, q querier, query string, args ...any) (out []record, err error) {
	err = eachRow(ctx, q, func(columns []string, values []any) {
		r := record{}
		for i, c := range columns {
			r[c] = values[i]
		}
		out = append(out, r)
	}, query, args...)
	return out, err
}
