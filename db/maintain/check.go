package maintain

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"agent/db"
	"agent/db/blob"
	"agent/db/dbsqlc"
	"agent/db/keep"
	"agent/db/sqlitefile"
)

// Report is what a look at the whole store finds. What journals say against their runs' rows is not
// part of it: the host folds them.
type Report struct {
	Path       string
	SQLite     string // version
	Format     int    // number of the last migration
	Settings   map[string]string
	OFDLocks   bool
	FileSystem string // "" when it is not known

	Database int64 // bytes, as are the next four
	Log      int64
	Ballast  int64
	Blobs    int64 // files of bodies
	Free     int64 // -1 when it is not known

	Kept keep.Report // contents that are kept byte for byte

	Counts   map[string]int64 // rows of each table
	Problems []string         // what is damaged
	Leftover []string         // files that no row names; they do no harm
}

// tables lists what is counted and, without what can be worked out again, salvaged.
func tables() []string {
	return []string{"threads", "runs", "journal", "blobs", "tool_executions", "pending_requests", "inbox", "secrets", "environments", "kept", "file_changes", "commits"}
}

// Check looks at the database file as a whole, at settings, sizes and the files of bodies.
func Check(ctx context.Context, s *db.Store) (Report, error) {
	r := Report{
		Path: s.File().Path(), Counts: map[string]int64{}, OFDLocks: sqlite.OFDLockingEnabled(),
		Database: sizeOf(s.File().Path()), Log: sizeOf(s.File().Path() + "-wal"),
		Ballast: sizeOf(s.File().Ballast()), Free: -1,
	}
	if d, err := sqlitefile.DiskOf(s.File().Dir()); err == nil {
		r.FileSystem, r.Free = d.Name, d.Free
	}
	conn, err := s.File().Conn(ctx)
	if err != nil {
		return r, fmt.Errorf("check %s: %w", s.File().Path(), s.File().Explain(err))
	}
	err = checkDatabase(ctx, s, conn, &r)
	if err := errors.Join(err, conn.Close()); err != nil {
		return r, fmt.Errorf("check %s: %w", s.File().Path(), s.File().Explain(err))
	}
	if err := checkBlobs(ctx, s, &r); err != nil {
		return r, fmt.Errorf("check %s: %w", s.File().Path(), err)
	}
	kept, err := s.Contents()
	if err == nil {
		r.Kept, err = kept.Check(ctx)
	}
	if err != nil {
		return r, fmt.Errorf("check %s: %w", s.File().Path(), err)
	}
	shut, err := s.Vault().CheckSealed(ctx)
	if err != nil {
		return r, fmt.Errorf("check %s: %w", s.File().Path(), err)
	}
	r.Problems = append(r.Problems, shut...)
	return r, nil
}

func checkDatabase(ctx context.Context, s *db.Store, conn *sql.Conn, r *Report) error {
	if err := conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&r.SQLite); err != nil {
		return err
	}
	var stamp int
	err := s.File().Pragma(ctx, conn, "user_version", &stamp)
	if err == nil {
		r.Settings, err = s.File().Settings(ctx, conn)
	}
	if err != nil {
		return err
	}
	r.Format = sqlitefile.FormatOf(stamp)
	for _, check := range []string{"integrity_check", "foreign_key_check"} {
		rows, err := sqlitefile.Lines(ctx, conn, "PRAGMA "+check)
		if err != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("%s: %v", check, err))
			continue
		}
		for _, row := range rows {
			if row != "ok" && !aboutWords(row) { // which SchemaDifferences finds
				r.Problems = append(r.Problems, check+": "+row)
			}
		}
	}
	for _, t := range tables() {
		var n int64
		if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM "+t).Scan(&n); err != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("table %s cannot be counted: %v", t, err))
			continue
		}
		r.Counts[t] = n
	}
	return nil
}

// checkBlobs compares the files of bodies with the rows that name them.
func checkBlobs(ctx context.Context, s *db.Store, r *Report) error {
	var rows []dbsqlc.AllBlobsRow
	err := s.File().Read(ctx, func() (err error) {
		rows, err = dbsqlc.New(s.File().Readers()).AllBlobs(ctx)
		return err
	})
	if err != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("list bodies: %v", s.File().Explain(err)))
		return nil // what is damaged is reported; the rest of the report stands
	}
	named := map[string]bool{}
	for _, b := range rows {
		if b.Encoding != blob.InFile {
			continue
		}
		name := hex.EncodeToString(b.Hash)
		named[name] = true
		if why := s.Bodies().Check(b.Hash, b.Size); why != "" {
			r.Problems = append(r.Problems, why)
		}
	}
	root := s.Bodies().Dir()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		r.Blobs += sizeOf(path)
		if !named[d.Name()] {
			r.Leftover = append(r.Leftover, path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list bodies: %w", err)
	}
	return nil
}

// sizeOf is a file's size; 0 when it is not there.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
