// Package words writes the index that runs are searched in: of each root that has ended the texts
// that a person searches for, as they are stored, without secrets.
package words

import (
	"context"
	"strings"

	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// What is written into the index. sqlc does not know the number of a row in a virtual table.
const (
	add    = "INSERT OR REPLACE INTO search (rowid, prompt, answer) VALUES (?, ?, ?)"
	tables = "SELECT COUNT(*) FROM sqlite_schema WHERE name IN ('search', 'search_config', 'search_data', 'search_docsize', 'search_idx')"
	most   = 1 << 20 // of a text that the index takes in, bytes
)

// Add writes what the index has of a run, in place of what it had. An index that is damaged, or
// gone, keeps no run from ending: it stays as it is, and the run is one that is not in it. SQLite
// writes a part of the index at the commit, where an error would be everybody's; the second
// savepoint has it written before.
func Add(on dbsqlc.DBTX, no int64, said []journal.Body) error {
	prompt, answer := texts(said)
	var there int
	if err := on.QueryRowContext(context.Background(), tables).Scan(&there); err != nil || there != 5 {
		return err
	}
	if err := exec(on, "SAVEPOINT words"); err != nil {
		return err
	}
	_, err := on.ExecContext(context.Background(), add, no, prompt, answer)
	if err == nil {
		err = exec(on, "SAVEPOINT written", "RELEASE written")
	}
	if err != nil && !sqlitefile.IsDamaged(err) && !sqlitefile.IsTaken(err) {
		return err
	}
	if err != nil {
		return exec(on, "ROLLBACK TO words", "RELEASE words")
	}
	return exec(on, "RELEASE words")
}

func exec(on dbsqlc.DBTX, statements ...string) error {
	for _, text := range statements {
		if _, err := on.ExecContext(context.Background(), text); err != nil {
			return err
		}
	}
	return nil
}

// itself is by whom a message is that no person added.
const itself = "agent"

// texts are what a person searches for in a run: its prompt with the messages that a person added,
// and how it ended.
func texts(said []journal.Body) (prompt, answer string) {
	var asked, last []string
	for _, b := range said {
		switch b := b.(type) {
		case journal.RunCreated:
			asked = append(asked, b.Prompt)
		case journal.MessageAdded:
			if b.By != itself {
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
	return join(asked), join(last)
}

func join(parts []string) string {
	text := strings.Join(parts, "\n")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
