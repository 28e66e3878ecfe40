package keep

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"agent/db/dbsqlc"
)

// Report is what a look at all contents finds.
type Report struct {
	Files    int64    // bytes of all files
	Problems []string // contents that cannot be given back
	Unlisted string   // why not all of them could be read; "" where they were
	Leftover []string // files that no row names; they do no harm. None where not all rows could be read
}

// Check opens every content and compares the files with the rows that name them.
func (c *Contents) Check(ctx context.Context) (Report, error) {
	var r Report
	named, err := c.checkRows(ctx, &r)
	if err != nil {
		return r, err
	}
	root := filepath.Join(c.file.Dir(), Folder)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile, or none was ever kept
		}
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			r.Files += info.Size()
		}
		if rel, err := filepath.Rel(root, path); err != nil || named != nil && !named[rel] {
			r.Leftover = append(r.Leftover, path)
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("list kept contents: %w", err)
	}
	return r, nil
}

// checkRows opens the rows one by one, and gives the files that they name; nil where not all of
// them could be read.
func (c *Contents) checkRows(ctx context.Context, r *Report) (named map[string]bool, err error) {
	named = map[string]bool{}
	for no := int64(0); ; {
		var row dbsqlc.NextKeptRow
		err := c.read(ctx, "read the kept contents", func(q *dbsqlc.Queries) (err error) {
			row, err = q.NextKept(ctx, no)
			return err
		})
		if errors.Is(err, sql.ErrNoRows) {
			return named, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.Unlisted = err.Error()
			return nil, nil
		}
		no = row.No
		name := hex.EncodeToString(row.ID)
		if row.Data == nil && len(row.ID) == idSize {
			named[filepath.Join(name[:2], name)] = true
		}
		// Without the key only the files are looked for: whoever opens the store for writing gets
		// the error that it is missing.
		if _, err := c.opened(name, row.Size, row.Data); err != nil && !errors.Is(err, errNoKey) {
			r.Problems = append(r.Problems, fmt.Sprintf("a kept content of %d bytes: %v", row.Size, err))
		}
	}
}
