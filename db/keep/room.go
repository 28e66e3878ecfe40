package keep

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"agent/db/dbsqlc"
)

// Sizes says how many bytes the copy of each content takes, by its name, sealed as it is.
func (c *Contents) Sizes(ctx context.Context) (map[string]int64, error) {
	var rows []dbsqlc.KeptSizesRow
	err := c.read(ctx, "list the kept contents", func(q *dbsqlc.Queries) (err error) {
		rows, err = q.KeptSizes(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64, len(rows))
	for _, r := range rows {
		name, bytes := hex.EncodeToString(r.ID), r.Bytes
		if info, err := os.Stat(c.Path(name)); bytes == 0 && err == nil { // one without its file takes nothing
			bytes = info.Size()
		}
		sizes[name] = bytes
	}
	return sizes, nil
}

// Drop removes the rows of contents, in the transaction of a write.
func Drop(ctx context.Context, q *dbsqlc.Queries, names []string) error {
	for _, name := range names {
		id, err := parse(name)
		if err != nil {
			return err
		}
		if err := q.DropKept(ctx, id); err != nil {
			return fmt.Errorf("drop a kept content: %w", err)
		}
	}
	return nil
}

// RemoveFiles removes the files of contents whose rows are gone.
func (c *Contents) RemoveFiles(names []string) error {
	for _, name := range names {
		if err := os.Remove(c.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("drop a kept content: %w", err)
		}
	}
	return nil
}
