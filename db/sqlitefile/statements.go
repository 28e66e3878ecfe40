package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Statements is what generated queries run on: each statement is prepared when it is first needed,
// on the one connection that writes, and kept. No write is given a context that can be cancelled.
type Statements struct {
	conn *sql.Conn
	kept map[string]*sql.Stmt
}

// ExecContext runs a statement.
func (s *Statements) ExecContext(_ context.Context, text string, args ...any) (sql.Result, error) {
	st, err := s.prepared(text)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(context.Background(), args...)
}

// QueryContext runs a query.
func (s *Statements) QueryContext(_ context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := s.prepared(text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(context.Background(), args...)
}

// QueryRowContext runs a query for one row.
func (s *Statements) QueryRowContext(_ context.Context, text string, args ...any) *sql.Row {
	st, err := s.prepared(text)
	if err != nil {
		return s.conn.QueryRowContext(context.Background(), text, args...) // reports what prepare reported
	}
	return st.QueryRowContext(context.Background(), args...)
}

// PrepareContext prepares a statement that its caller closes.
func (s *Statements) PrepareContext(ctx context.Context, text string) (*sql.Stmt, error) {
	return s.conn.PrepareContext(context.WithoutCancel(ctx), text)
}

// Once runs a statement that is not kept.
func (s *Statements) Once(text string, args ...any) error {
	_, err := s.conn.ExecContext(context.Background(), text, args...)
	return err
}

func (s *Statements) prepared(text string) (*sql.Stmt, error) {
	if st := s.kept[text]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("prepare statement: %w", err)
	}
	s.kept[text] = st
	return st, nil
}

// close closes statements and connection. A statement left open would keep the log beside the
// database.
func (s *Statements) close() error {
	var errs []error
	for _, st := range s.kept {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}
