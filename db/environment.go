package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"agent/db/dbsqlc"
	"agent/db/vault"
	"agent/recovery/journal"
)

// LostEnvironmentError says that the recorded environment of a run cannot be given back.
type LostEnvironmentError struct{ Why string }

func (e *LostEnvironmentError) Error() string { return e.Why }

// Environment is what was recorded of an environment under its id: variables, each "NAME=value".
// *LostEnvironmentError says that it is gone for good.
func (s Journal) Environment(ctx context.Context, id string) (variables []string, err error) {
	err = s.read(ctx, "read a recorded environment", func(q *dbsqlc.Queries) error {
		sealed, err := q.GetEnvironment(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			return &LostEnvironmentError{"it is not in the database any more"}
		}
		if err != nil {
			return err
		}
		keys, err := vault.NewEnvironments(s.file.Dir(), s.key)
		if err != nil {
			return err
		}
		if variables, err = keys.Open(vault.EnvironmentRow{ID: id, Sealed: sealed}); err != nil {
			return &LostEnvironmentError{err.Error()}
		}
		return nil
	})
	return variables, err
}

// sealEnvironment takes the variables out of a run's first fact, which names them from then on. It
// returns the row that they make; nil where the run records none.
func (s *core) sealEnvironment(c *journal.RunCreated) (*vault.EnvironmentRow, error) {
	if c.Environ == nil {
		return nil, nil
	}
	keys, err := vault.NewEnvironments(s.file.Dir(), s.key)
	if err != nil {
		return nil, err
	}
	r, err := keys.Seal(c.Environ)
	if err != nil {
		return nil, fmt.Errorf("record the environment of commands: %w", err)
	}
	c.Env, c.Environ = r.ID, nil
	return &r, nil
}
