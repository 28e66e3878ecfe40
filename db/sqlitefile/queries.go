package sqlitefile

import (
	"context"
	"database/sql"
	"sync"
)

// mostKept is how many queries stay prepared: the text of some grows with what is asked for.
const mostKept = 128

// Queries is what generated queries read on. Each is prepared when it is first needed, and kept as
// long as the readers are open: a driver asks the same few again and again, and to prepare one takes
// longer than to run it.
type Queries struct {
	*sql.DB // the readers
	mu      sync.Mutex
	kept    map[string]*sql.Stmt
}

// QueryContext runs a query.
func (q *Queries) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if st := q.prepared(ctx, text); st != nil {
		return st.QueryContext(ctx, args...)
	}
	return q.DB.QueryContext(ctx, text, args...)
}

// QueryRowContext runs a query for one row.
func (q *Queries) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	if st := q.prepared(ctx, text); st != nil {
		return st.QueryRowContext(ctx, args...)
	}
	return q.DB.QueryRowContext(ctx, text, args...)
}

// prepared is a kept query; nil where it is run as it is, which says what is wrong with it.
func (q *Queries) prepared(ctx context.Context, text string) *sql.Stmt {
	q.mu.Lock()
	st, full := q.kept[text], len(q.kept) >= mostKept
	q.mu.Unlock()
	if st != nil || full {
		return st
	}
	st, err := q.DB.PrepareContext(ctx, text) // may wait for a reader
	if err != nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if first := q.kept[text]; first != nil {
		_ = st.Close() // it was not used
		return first
	}
	q.kept[text] = st
	return st
}
