package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/keep"
)

// Bodies are what the facts' rows have no room for.
func (s *core) Bodies() blob.Files { return blob.Files{File: s.file} }

// Contents are what is kept byte for byte for whoever changed it: files of a workspace.
func (s *core) Contents() (*keep.Contents, error) {
	return keep.New(s.file, s.key, s.read)
}

// stage prepares what a batch of facts has outside of its rows.
func (s *core) stage(facts []fact) ([]blob.Row, error) {
	var rows []blob.Row
	for _, f := range facts {
		for _, b := range []*blob.Blob{f.external, f.output} {
			if b == nil {
				continue
			}
			row, err := s.Bodies().Stage(b)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// addBodies inserts what is outside of the rows of facts, as far as it is not there yet.
func addBodies(t *tx, rows []blob.Row, kept []keep.Row) error {
	if err := blob.Add(context.Background(), t.q, rows); err != nil {
		return err
	}
	return keep.Add(context.Background(), t.q, kept)
}

// named reads a body by the name that a result carries.
func (s *core) named(ctx context.Context, q *dbsqlc.Queries, name string) ([]byte, error) {
	hash, err := hex.DecodeString(name)
	if err != nil || len(hash) != sha256.Size {
		return nil, fmt.Errorf("body %q: this is not the name of one", name)
	}
	r, err := q.GetBlob(ctx, hash)
	if err != nil {
		return nil, err
	}
	return s.Bodies().Open(r.Hash, r.Size, r.Encoding, r.Data)
}

// Keep inserts contents before any fact names them: of many, so that they do not wait in memory. A
// content that no fact names later does no harm, and is removed with old runs.
func Keep(ctx context.Context, s *Store, rows []keep.Row) error {
	err := s.write(ctx, func(t *tx) error { return keep.AddAhead(ctx, t.q, rows, s.now()) })
	if err != nil {
		return fmt.Errorf("keep %d contents: %w", len(rows), err)
	}
	return nil
}

// DropKept lets go of contents: who reads one later gets *keep.LostError.
func DropKept(ctx context.Context, s *Store, names []string) error {
	c, err := s.Contents()
	if err != nil {
		return err
	}
	if err := s.write(ctx, func(t *tx) error { return keep.Drop(ctx, t.q, names) }); err != nil {
		return fmt.Errorf("drop %d contents: %w", len(names), err)
	}
	return c.RemoveFiles(names) // a file that stays is a leftover, which doctor finds
}

// SetMarks writes down how far the logs of a repository were read.
func SetMarks(ctx context.Context, s *Store, repo, marks string) error {
	if err := s.write(ctx, func(t *tx) error { return t.q.SetMarks(ctx, repo, marks) }); err != nil {
		return fmt.Errorf("write down how far the logs of %s were read: %w", repo, err)
	}
	return nil
}
