package maintain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/db"
	"agent/db/sqlitefile"
)

// wordsIndex is the virtual table that runs are searched in. SQLite keeps it in tables of its own,
// which it makes and drops with it.
const wordsIndex = "search"

func ofWords(name string) bool {
	return name == wordsIndex || strings.HasPrefix(name, wordsIndex+"_")
}

// aboutWords says whether a line of SQLite's integrity check is about the index of words. It is no
// loss: all of it is in the journals.
func aboutWords(line string) bool {
	return strings.Contains(line, "FTS5 table main."+wordsIndex) || strings.Contains(line, "fts5: ") && strings.HasSuffix(line, `table "`+wordsIndex+`"`)
}

// wholeWords makes one difference of all that is wrong with the index of words. What repairs it
// makes an empty one: who searches next takes the runs in again.
func wholeWords(list []SchemaDifference, have, want []sqlitefile.Record, damage string) []SchemaDifference {
	at := slices.IndexFunc(list, func(d SchemaDifference) bool { return ofWords(d.Name) })
	if at < 0 && damage == "" {
		return list
	}
	d := SchemaDifference{Kind: "index", Name: wordsIndex, What: "is damaged: " + damage}
	if at >= 0 {
		d.What = "is not whole: " + list[at].String()
	}
	named := func(r sqlitefile.Record) bool { return r["name"] == wordsIndex }
	if slices.ContainsFunc(have, named) {
		d.repair = append(d.repair, "DROP TABLE "+wordsIndex)
	}
	d.repair = append(d.repair, fmt.Sprint(want[slices.IndexFunc(want, named)]["sql"]))
	return append(slices.DeleteFunc(list, func(d SchemaDifference) bool { return ofWords(d.Name) }), d)
}

// damageOfWords is what SQLite finds wrong with what the index of words holds; "" for nothing, or
// where it cannot look.
func damageOfWords(ctx context.Context, s *db.Store) (string, error) {
	conn, err := s.File().Conn(ctx)
	if err != nil {
		return "", err
	}
	lines, err := sqlitefile.Lines(ctx, conn, "PRAGMA integrity_check("+wordsIndex+")")
	if err = errors.Join(ifOpen(err), conn.Close()); err != nil {
		return "", err
	}
	if at := slices.IndexFunc(lines, aboutWords); at >= 0 {
		return lines[at], nil
	}
	return "", nil
}

// ifOpen leaves out the error of a check that SQLite cannot carry out since there is no such table.
func ifOpen(err error) error {
	if sqlitefile.IsDamaged(err) || errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// repairWords makes the index of words anew. What is left of one may not let itself be dropped;
// that keeps nothing else from being repaired.
func repairWords(ctx context.Context, s *db.Store, d SchemaDifference) error {
	err := s.File().Write(ctx, func(t *sqlitefile.Tx) error {
		for _, text := range d.repair {
			if err := t.Once(text); sqlitefile.IsDamaged(err) {
				return errors.New(err.Error()) // without its code, which would be taken for the file's
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("make the index of words anew: %w", err)
	}
	return nil
}
