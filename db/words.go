package db

import (
	"context"
	"strings"

	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// What is written into the index of words. sqlc does not know the number of a row in a virtual
// table.
const (
	addWords  = "INSERT OR REPLACE INTO search (rowid, prompt, answer) VALUES (?, ?, ?)"
	hasTables = "SELECT COUNT(*) FROM sqlite_schema WHERE name IN ('search', 'search_config', 'search_data', 'search_docsize', 'search_idx')"
	wordsMost = 1 << 20 // the most of a text that the index takes in, bytes
)

// AddWords takes the words of runs that have ended into the index that they are searched in, in one
// transaction. A run whose record cannot be read is in it without words.
func AddWords(ctx context.Context, s *Store, numbers []int64) error {
	return s.write(ctx, func(t *tx) error {
		for _, no := range numbers {
			if err := s.indexWords(t, no); err != nil {
				return err
			}
		}
		return nil
	})
}

// ended takes in the words of a root that has just ended.
func (s *Store) ended(t *tx, h Head) error {
	if !h.Status.Terminal() {
		return nil
	}
	r, err := t.q.GetRunByNo(context.Background(), h.No)
	if err != nil || r.RootNo > 0 {
		return err
	}
	return s.indexWords(t, h.No)
}

// indexWords writes what the index has of a run. An index that is damaged, or gone, keeps no run
// from ending: it stays as it is, and the run is one that is not in it. SQLite writes a part of the
// index at the commit, where an error would be everybody's; the second savepoint has it written
// before.
func (s *Store) indexWords(t *tx, no int64) error {
	prompt, answer := s.said(t, no)
	var tables int
	if err := t.db.QueryRowContext(context.Background(), hasTables).Scan(&tables); err != nil || tables != 5 {
		return err
	}
	if err := execAll(t, "SAVEPOINT words"); err != nil {
		return err
	}
	_, err := t.db.ExecContext(context.Background(), addWords, no, prompt, answer)
	if err == nil {
		err = execAll(t, "SAVEPOINT written", "RELEASE written")
	}
	if err != nil && !sqlitefile.IsDamaged(err) && !sqlitefile.IsTaken(err) {
		return err
	}
	if err != nil {
		return execAll(t, "ROLLBACK TO words", "RELEASE words")
	}
	return execAll(t, "RELEASE words")
}

func execAll(t *tx, texts ...string) error {
	for _, text := range texts {
		if _, err := t.db.ExecContext(context.Background(), text); err != nil {
			return err
		}
	}
	return nil
}

// said is what a person searches for in a run, as it is stored, without secrets: its prompt with
// the messages that a person added, and how it ended. Damage is reported by who reads the run.
func (s *Store) said(t *tx, no int64) (prompt, answer string) {
	rows, err := t.q.SaidFacts(context.Background(), FactID(no, 0), FactID(no, MaxSeq))
	if err != nil {
		return "", ""
	}
	var asked, last []string
	d := decoder{s: s.Journal, q: t.q}
	for i := range rows {
		var f decoded
		d.decode(context.Background(), &rows[i], &f)
		switch b := f.body.(type) {
		case journal.RunCreated:
			asked = append(asked, b.Prompt)
		case journal.MessageAdded:
			if b.By != agentItself {
				asked = append(asked, b.Text)
			}
		case journal.RunCompleted:
			last = append(last, b.Text)
		case journal.RunFailed:
			last = append(last, b.Text, b.Reason)
		case journal.RunCancelled:
			last = append(last, b.Reason)
		}
	}
	return indexed(asked), indexed(last)
}

// agentItself is by whom a message is that no person added.
const agentItself = "agent"

func indexed(texts []string) string {
	text := strings.Join(texts, "\n")
	if len(text) > wordsMost {
		text = strings.ToValidUTF8(text[:wordsMost], "")
	}
	return text
}

// Numbered reads runs by their numbers, the newest first.
func Numbered(ctx context.Context, s *Store, numbers []int64) (out []RunRow, err error) {
	list, err := marshalNumbers(numbers)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "list runs", func(q *dbsqlc.Queries) error {
		rows, err := q.RunsNumbered(ctx, list)
		if err == nil {
			out, err = s.runRows(ctx, q, rows)
		}
		return err
	})
	return out, err
}
