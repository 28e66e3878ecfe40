package maintain

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agent/db"
	"agent/db/blob"
	"agent/db/keep"
	"agent/db/sqlitefile"
	"agent/db/vault"
)

// Exposed is a place in the state folder where a secret lies in the clear. The secret itself is not
// part of it.
type Exposed struct {
	Rule   string // what it is
	Table  string // "" in a file
	Column string
	Row    int64
	Run    string // "" where the row belongs to no run
	Seq    int64  // of the fact; 0 in other tables
	File   string // relative to the state folder
}

// FindExposed looks for secrets in every text of every table, in every body, and in every file of
// the state folder: for what is known to this process, what was ever sealed, and what looks like
// one. progress may be nil; it is called now and then with how much of all was looked at.
func FindExposed(ctx context.Context, s *db.Store, progress func(done, all int64)) ([]Exposed, error) {
	f := &searcher{s: s, ctx: ctx, progress: progress, seen: map[Exposed]bool{}, runs: map[int64]string{}}
	if err := s.Vault().LearnSealed(ctx); err != nil {
		return nil, err
	}
	conn, err := s.File().Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for secrets in %s: %w", s.File().Path(), s.File().Explain(err))
	}
	f.conn = conn
	err = f.search()
	if err := errors.Join(err, conn.Close()); err != nil {
		return nil, fmt.Errorf("look for secrets in %s: %w", s.File().Dir(), s.File().Explain(err))
	}
	return f.found, nil
}

type searcher struct {
	s        *db.Store
	ctx      context.Context
	conn     *sql.Conn
	progress func(done, all int64)
	done     int64
	all      int64
	runs     map[int64]string
	seen     map[Exposed]bool
	found    []Exposed
}

// search leaves out the index of words: what it has comes from the journal, in pieces.
func (f *searcher) search() error {
	tables, err := sqlitefile.Lines(f.ctx, f.conn, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT GLOB 'search*' ORDER BY name")
	if err != nil {
		return err
	}
	for _, t := range tables {
		var n int64
		if err := f.conn.QueryRowContext(f.ctx, "SELECT count(*) FROM "+t).Scan(&n); err != nil {
			return err
		}
		f.all += n
	}
	for _, t := range tables {
		if err := f.table(t); err != nil {
			return fmt.Errorf("table %s: %w", t, err)
		}
	}
	if err := f.files(); err != nil {
		return err
	}
	return f.remains()
}

// stretch is how many rows are read at once: a reader never holds the log back for longer than that
// takes.
const stretch = 256

func (f *searcher) table(name string) error {
	for after := int64(-1 << 62); ; {
		rows, err := f.rows(name, after)
		if err != nil {
			return err
		}
		for _, r := range rows {
			after = r.row
			if err := f.row(name, r); err != nil {
				return err
			}
		}
		f.step(int64(len(rows)))
		if len(rows) < stretch {
			return nil
		}
	}
}

func (f *searcher) step(n int64) {
	f.done += n
	if f.progress != nil {
		f.progress(f.done, f.all)
	}
}

// tableRow is a row of any table.
type tableRow struct {
	row    int64
	values map[string]any
}

func (f *searcher) rows(table string, after int64) (out []tableRow, err error) {
	err = sqlitefile.EachRow(f.ctx, f.conn, func(columns []string, values []any) {
		r := tableRow{values: map[string]any{}}
		for i, c := range columns {
			r.values[c] = values[i]
		}
		r.row, _ = values[0].(int64)
		out = append(out, r)
	}, fmt.Sprintf("SELECT rowid, * FROM %s WHERE rowid > ?1 ORDER BY rowid LIMIT %d", table, stretch), after)
	return out, err
}

// row looks at every text of a row.
func (f *searcher) row(table string, r tableRow) error {
	at := Exposed{Table: table, Row: r.row}
	no, _ := r.values["run_no"].(int64)
	switch table {
	case "journal":
		no, at.Seq = db.SplitFactID(r.row)
	case "runs":
		no = r.row
	}
	for column, value := range r.values {
		var data []byte
		switch v := value.(type) {
		case string:
			data = []byte(v)
		case []byte:
			data = v
		}
		switch {
		case column == "sealed", table == "kept":
			continue // ciphertext
		case table == "blobs" && column == "data" && r.values["encoding"] == blob.Deflate:
			size, _ := r.values["size"].(int64)
			if body, err := blob.Inflate(data, size); err == nil { // else doctor says that it is damaged
				data = body
			}
		}
		at.Column = column
		if err := f.look(data, at, no); err != nil {
			return err
		}
	}
	return nil
}

// look notes what is found in one text.
func (f *searcher) look(data []byte, at Exposed, no int64) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	rules, err := f.s.Vault().Find(data)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		at.Rule = rule
		if at.Run, err = f.runOf(no); err != nil {
			return err
		}
		if !f.seen[at] {
			f.seen[at] = true
			f.found = append(f.found, at)
		}
	}
	return nil
}

// runOf is the id of a run; "" where a row belongs to none.
func (f *searcher) runOf(no int64) (string, error) {
	if id, ok := f.runs[no]; ok || no == 0 {
		return id, nil
	}
	var id string
	err := f.conn.QueryRowContext(f.ctx, "SELECT id FROM runs WHERE no = ?1", no).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	f.runs[no] = id
	return id, err
}

// files looks into every other file: bodies, live text, the log, what calls left.
func (f *searcher) files() error {
	return filepath.WalkDir(f.s.File().Dir(), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone meanwhile
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.s.File().Dir(), path)
		if err != nil {
			return err
		}
		if err := f.look([]byte(e.Name()), Exposed{File: rel, Column: "name"}, 0); err != nil && rel != "." {
			return err
		}
		if !e.Type().IsRegular() || f.own(rel) {
			return nil
		}
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(f.file(file, rel), file.Close())
	})
}

// own are the files that are looked at as tables, and those that hold nothing that was said.
func (f *searcher) own(rel string) bool {
	if strings.HasPrefix(rel, keep.Folder+string(filepath.Separator)) {
		return true // ciphertext
	}
	return strings.HasPrefix(rel, db.FileName) || rel == vault.KeyName || filepath.Join(f.s.File().Dir(), rel) == f.s.File().Ballast()
}

// pieceSize is how much of a file is looked at at once, and overlap what is looked at again with
// the next piece.
const (
	pieceSize = 4 << 20
	overlap   = 64 << 10
)

// pieces reads a file bit by bit.
func pieces(r io.Reader, do func([]byte) error) error {
	buf := make([]byte, 0, pieceSize)
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if err := do(buf); err != nil || last {
			return err
		}
		buf = append(buf[:0], buf[len(buf)-overlap:]...)
	}
}

func (f *searcher) file(r io.Reader, rel string) error {
	return pieces(r, func(p []byte) error { return f.look(p, Exposed{File: rel}, 0) })
}

// remains looks for known values in the bytes of the database itself: what was deleted or written
// over stays in them for a while.
func (f *searcher) remains() error {
	values := f.s.Vault().Values()
	if len(f.found) > 0 || len(values) == 0 {
		return nil // where rows hold secrets, so does the file
	}
	for _, name := range []string{db.FileName, db.FileName + "-wal"} {
		file, err := os.Open(filepath.Join(f.s.File().Dir(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = pieces(file, func(p []byte) error {
			for value, rule := range values {
				at := Exposed{File: name, Rule: rule}
				if bytes.Contains(p, []byte(value)) && !f.seen[at] {
					f.seen[at] = true
					f.found = append(f.found, at)
				}
			}
			return f.ctx.Err()
		})
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
