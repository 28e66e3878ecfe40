package maintain

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"agent/db"
	"agent/db/blob"
	"agent/db/sqlitefile"
)

// Salvage writes what can still be read of a damaged state folder to out: one JSON object a row,
// and at the end of each table how many places could not be read. It reads row by row, so one
// damaged page costs the rows on it and no more, and changes nothing. It works without Open, which
// a damaged file may refuse. Secrets that an older release has written in the clear are
// placeholders in it.
func Salvage(ctx context.Context, dir string, out io.Writer) error {
	s, err := db.OpenDamaged(dir)
	if err != nil {
		return fmt.Errorf("salvage %s: %w", dir, err)
	}
	err = salvage(ctx, s, out)
	if err := errors.Join(err, s.Close()); err != nil {
		return fmt.Errorf("salvage %s: %w", s.File().Path(), err)
	}
	return nil
}

func salvage(ctx context.Context, s *db.Store, out io.Writer) error {
	conn, err := s.File().Readers().Conn(ctx)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	v := &salvager{s: s, conn: conn, out: json.NewEncoder(w)}
	v.out.SetEscapeHTML(false)
	for _, t := range []string{"threads", "runs", "journal", "blobs", "secrets", "environments", "kept", "pending_requests", "inbox"} {
		if err = v.table(ctx, t); err != nil {
			break
		}
	}
	if err == nil && v.read == 0 && v.lost > 0 {
		err = errors.New("nothing in it could be read: all of it is lost, or it never was a database of agent")
	}
	return errors.Join(err, w.Flush(), conn.Close())
}

type salvager struct {
	s    *db.Store
	conn *sql.Conn
	out  *json.Encoder
	read int // rows of all tables
	lost int // places of all tables that could not be read
}

// maxStep bounds how far is looked beyond a place that cannot be read: first row by row, then in
// growing steps. The keys of a run's facts begin far behind those of the run before it, so steps
// begin anew there, for as many runs as maxRuns in which nothing is found.
const (
	singleSteps = 512
	maxStep     = int64(1) << 40
	maxRuns     = 16
)

// probe is the key behind which the next row is looked for.
type probe struct {
	key, step int64
	lost      int // tries without a row since the step was 1
	runs      int // whose first key was passed since a row was found
}

func (p *probe) found(key int64) { *p = probe{key: key, step: 1} }

func (p *probe) miss(journal bool) {
	p.lost++
	next := p.key + p.step
	no, _ := db.SplitFactID(p.key)
	if first := db.FactID(no+1, 0); journal && next >= first && p.runs < maxRuns {
		*p = probe{key: first, step: 1, runs: p.runs + 1}
		return
	}
	p.key = next
	if p.lost%singleSteps == 0 {
		p.step *= 2
	}
}

// table writes a table's rows in the order of their keys and steps over what cannot be read.
func (v *salvager) table(ctx context.Context, name string) error {
	at := probe{step: 1}
	read, lost := 0, 0
	var first error
	for at.step < maxStep {
		row, next, err := v.row(ctx, name, at.key)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if sqlitefile.IsUnreadable(err) {
			first, lost = err, lost+1
			break
		}
		if err != nil {
			first = errors.Join(first, errIf(first == nil, err))
			lost++
			at.miss(name == "journal")
			continue
		}
		read++
		at.found(next)
		if err := v.out.Encode(row); err != nil {
			return err
		}
	}
	v.read, v.lost = v.read+read, v.lost+lost
	end := map[string]any{"table": name, "rows": read, "unreadable": lost}
	if first != nil {
		end["error"] = first.Error()
	}
	return v.out.Encode(end)
}

func errIf(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

// row reads the first row beyond a key. The names of tables are our own. It looks from the next key
// on: a search for what is greater than a key goes through the page of that key, and where that is
// destroyed the first row behind it would be lost too.
func (v *salvager) row(ctx context.Context, table string, after int64) (row map[string]any, key int64, err error) {
	rows, err := v.conn.QueryContext(ctx, "SELECT rowid, * FROM "+table+" WHERE rowid >= ?1 ORDER BY rowid LIMIT 1", after+1)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return nil, 0, errors.Join(rows.Err(), errIf(rows.Err() == nil, sql.ErrNoRows))
	}
	columns, err := rows.Columns()
	if err != nil {
		return nil, 0, err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	values[0] = &key
	if err := rows.Scan(values...); err != nil {
		return nil, 0, err
	}
	row = map[string]any{"table": table}
	for i, c := range columns[1:] {
		row[c] = *values[i+1].(*any)
	}
	v.explain(table, row)
	for c, value := range row {
		row[c] = v.readable(value)
	}
	return row, key, nil
}

// explain adds what the columns mean that are no text.
func (v *salvager) explain(table string, row map[string]any) {
	if table == "blobs" {
		v.blob(row)
	}
	if id, ok := row["id"].([]byte); ok && table == "kept" {
		row["id"] = hex.EncodeToString(id) // what facts call it; the content stays sealed, as secrets do
	}
	for _, c := range []string{"digest", "body_hash", "hash"} {
		if b, ok := row[c].([]byte); ok {
			row[c] = hex.EncodeToString(b)
		}
	}
	if table != "journal" {
		return
	}
	id, _ := row["id"].(int64)
	row["run_no"], row["seq"] = db.SplitFactID(id)
	number, _ := row["kind"].(int64)
	if k, err := db.KindOf(number); err == nil {
		row["kind"] = k
	}
	if body, _ := row["body"].(string); json.Valid([]byte(body)) {
		row["body"] = json.RawMessage(body)
	}
}

// blob unpacks a body where it matches its hash. What is of another type than it should be counts
// as empty.
func (v *salvager) blob(row map[string]any) {
	hash, _ := row["hash"].([]byte)
	encoding, _ := row["encoding"].(string)
	size, _ := row["size"].(int64)
	data, _ := row["data"].([]byte)
	whole, err := v.s.Bodies().Open(hash, size, encoding, data)
	if err != nil {
		row["damaged"] = err.Error()
		return
	}
	row["data"], row["encoding"] = whole, blob.Plain
}

// readable is text where the bytes are text; other bytes are written in base 64.
func (v *salvager) readable(value any) any {
	switch t := value.(type) {
	case []byte:
		if utf8.Valid(t) {
			return v.s.Redact(string(t))
		}
	case string:
		return v.s.Redact(t)
	case json.RawMessage:
		return db.RedactValue(v.s, t)
	}
	return value
}
