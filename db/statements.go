package db

import (
	"context"
	"database/sql"
	"fmt"
)

// The writer is what generated queries run on: each statement is prepared when it is first needed, on the one
// connection, and kept. No write is given a context that can be cancelled.

// ExecContext runs a statement.
func (w *writer) ExecContext(_ context.Context, text string, args ...any) (sql.Result, error) {
	st, err := w.prepared(text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(context.Background(), args...)
}

// QueryContext runs a query.
func (w *writer) QueryContext(_ context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := w.prepared(text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(context.Background(), args...)
}

// QueryRowContext runs a query for one row.
func (w *writer) QueryRowContext(_ context.Context, text string, args ...any) *sql.Row {
	st, err := w.prepared(text)
	if err != nil {
		return w.conn.QueryRowContext(context.Background(), text, args...) // reports what prepare reported
	}
	return st.QueryRowContext(context.Background(), args...)
}

// PrepareContext prepares a statement that its caller closes.
func (w *writer) PrepareContext(ctx context.Context, text string) (*sql.Stmt, error) {
	return w.conn.PrepareContext(context.WithoutCancel(ctx), text)
}

func (w *writer) prepared(text string) (*sql.Stmt, error) {
	if st := w.stmts[text]; st != nil {
		return st, nil
	}
	st, err := w.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", err)
	}
	w.stmts[text] = st
	return st, nil
}

func (w *writer) exec(text string) error {
	_, err := w.ExecContext(context.Background(), text)
	return err
}
