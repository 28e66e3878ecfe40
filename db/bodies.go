package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"agent/db/blob"
	"agent/db/dbsqlc"
)

// Bodies are what the facts' rows have no room for.
func (s *core) Bodies() blob.Files { return blob.Files{File: s.file} }

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

// addBlobs inserts what is not there yet.
func addBlobs(t *tx, rows []blob.Row) error {
	for _, r := range rows {
		if err := t.q.AddBlob(context.Background(), r.Hash, r.Size, r.Encoding, r.Data); err != nil {
			return fmt.Errorf("store a body of %d bytes: %w", r.Size, err)
		}
	}
	return nil
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
