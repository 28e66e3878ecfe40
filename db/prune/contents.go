package prune

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agent/db"
	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/keep"
	"agent/db/sqlitefile"
	"agent/recovery/fault"
)

// grace is how long a content stays that was stored while somebody drives, and that no fact names:
// its fact may be on its way.
const grace = time.Hour

// tries is how often facts are read again that runs added while contents were about to go.
const tries = 8

// unused is one row that no fact names.
type unused struct {
	kept, body []byte
	env        string
}

// contents is step 4.
func (r *remover) contents(ctx context.Context) error {
	u, err := readUsed(ctx, r.s, r.hands)
	if errors.Is(err, errEnough) {
		r.report.Later = "what nobody needs follows another time"
		return nil
	}
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	list, err := r.unused(ctx, u)
	if err != nil {
		return err
	}
	for left := list; len(left) > 0 && !r.enough(); {
		n, err := r.drop(ctx, u, left)
		if errors.Is(err, errNamed) {
			r.report.Later = "runs name new contents all the time; the next agent prune removes what nobody needs"
			return nil
		}
		if err != nil {
			return fmt.Errorf("prune: %w", err)
		}
		left = left[n:]
		r.rest(ctx)
	}
	fault.Hit(fault.PruneFiles)
	return r.files(ctx)
}

// unused lists the rows that no fact names.
func (r *remover) unused(ctx context.Context, u *used) (list []unused, err error) {
	err = db.Read(ctx, r.s, "list contents", func(q *dbsqlc.Queries) error {
		contents, err := q.AllKept(ctx)
		if err != nil {
			return err
		}
		for _, c := range contents {
			if !u.names[hex.EncodeToString(c)] {
				list = append(list, unused{kept: c})
			}
		}
		bodies, err := q.AllHashes(ctx)
		if err != nil {
			return err
		}
		for _, b := range bodies {
			if !u.bodies[hex.EncodeToString(b)] {
				list = append(list, unused{body: b})
			}
		}
		environments, err := q.AllEnvironments(ctx)
		for _, id := range environments {
			if !u.env[id] {
				list = append(list, unused{env: id})
			}
		}
		return err
	})
	return list, err
}

// errNamed says that runs name contents faster than that can be read.
var errNamed = errors.New("a run names more contents")

// drop removes the first rows of a list, and says how many it looked at. That nothing has come to
// name them is seen in the transaction.
func (r *remover) drop(ctx context.Context, u *used, list []unused) (done int, err error) {
	for range tries {
		moving, err := u.moving()
		if err != nil {
			return 0, err
		}
		dropped := 0
		err = r.s.File().Write(ctx, func(t *sqlitefile.Tx) error {
			q, began := dbsqlc.New(t.Statements), time.Now()
			if ok, err := u.stands(q, moving); err != nil || !ok {
				return errors.Join(err, errNamed)
			}
			dropped = 0
			for done = 0; done < len(list) && (done == 0 || time.Since(began) < slice); done++ {
				n, err := dropOne(q, list[done], u, db.Now(r.s))
				if err != nil {
					return err
				}
				dropped += int(n)
			}
			return nil
		})
		if err == nil {
			r.report.Contents += dropped
			return done, nil
		}
		if !errors.Is(err, errNamed) {
			return 0, err
		}
		if err := u.catchUp(ctx); err != nil {
			return 0, err
		}
	}
	return 0, errNamed
}

// dropOne removes one row, unless a fact that was read meanwhile names it.
func dropOne(q *dbsqlc.Queries, x unused, u *used, now time.Time) (int64, error) {
	ctx := context.Background()
	switch {
	case x.kept != nil && !u.names[hex.EncodeToString(x.kept)]:
		before := now.Add(-grace)
		return q.DropUnusedKept(ctx, x.kept, before.UnixMicro())
	case x.body != nil && !u.bodies[hex.EncodeToString(x.body)]:
		return q.DropBlob(ctx, x.body)
	case x.env != "" && !u.env[x.env]:
		return q.DropEnvironment(ctx, x.env)
	}
	return 0, nil
}

// files removes the files that no row names. While somebody drives, those stay that are so new that
// their row may be on its way.
func (r *remover) files(ctx context.Context) error {
	for _, folder := range []string{keep.Folder, blob.Folder} {
		var paths []string
		err := filepath.WalkDir(filepath.Join(r.s.Dir(), folder), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && !d.IsDir() {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("list %s: %w", folder, err)
		}
		for len(paths) > 0 && !r.enough() {
			n := min(len(paths), grain)
			err := r.s.File().Write(ctx, func(t *sqlitefile.Tx) error { return r.unlink(dbsqlc.New(t.Statements), folder, paths[:n]) })
			if err != nil {
				return fmt.Errorf("remove files of %s: %w", folder, err)
			}
			paths = paths[n:]
		}
	}
	return nil
}

// unlink removes those of the files that no row names, while nobody can add one.
func (r *remover) unlink(q *dbsqlc.Queries, folder string, paths []string) error {
	ctx := context.Background()
	driven, err := q.AnyoneDrives(ctx)
	if err != nil {
		return err
	}
	for _, path := range paths {
		named, err := isNamed(ctx, q, folder, filepath.Base(path))
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if named || err != nil || driven && !sqlitefile.Unused(path, grace) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.report.Freed += info.Size()
	}
	return nil
}

// isNamed says whether a row names a file. None names one that was not finished.
func isNamed(ctx context.Context, q *dbsqlc.Queries, folder, name string) (bool, error) {
	id, err := hex.DecodeString(name)
	switch {
	case err != nil:
		return false, nil
	case folder == keep.Folder:
		return q.HasKept(ctx, id)
	}
	return q.HasBlob(ctx, id)
}
