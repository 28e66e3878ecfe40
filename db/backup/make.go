package backup

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agent/db"
	"agent/db/sqlitefile"
	"agent/db/vault"
	"agent/recovery/fault"
	"agent/tools/durable"
)

// Manifest says what a backup is of.
type Manifest struct {
	Version     int       `json:"version"` // of the format
	Store       string    `json:"store"`
	Incarnation int64     `json:"incarnation"`
	Made        time.Time `json:"made"` // right before the moment whose state it has
	Host        string    `json:"host"`
	By          string    `json:"agent"`   // version of the binary
	Runs        []Run     `json:"runs"`    // that had not ended
	Files       int       `json:"files"`   // beside the database
	Missing     int       `json:"missing"` // files that rows name and that were not there
}

// Run is one that had not ended.
type Run struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Facts   int64  `json:"facts"`
	Digest  string `json:"digest"` // of the last fact
	Request string `json:"request,omitempty"`
	Words   string `json:"words"` // the beginning of its prompt
}

// version of the format.
const version = 2

// Options say how a backup is made.
type Options struct {
	Host, By string
	To       *Recipient // who the store's key is sealed to; nil leaves it out
	Now      time.Time
}

// tables are those that a backup has beside the store's.
const tables = `
CREATE TABLE backup (manifest TEXT NOT NULL, salt BLOB, key BLOB) STRICT;
CREATE TABLE backup_files (path TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;`

// Make writes a backup to a path where nothing is, durably: it is there whole or not at all. Others
// may read and write the store meanwhile.
func Make(ctx context.Context, s *db.Store, path string, o Options) (m Manifest, size int64, err error) {
	if err := durable.Free(path); err != nil {
		return m, 0, err
	}
	if s.File().Writable() { // else nobody removes anything
		files, err := LockFiles(s.Dir(), false)
		if err != nil {
			return m, 0, err
		}
		defer func() { err = errors.Join(err, files.Close()) }()
	}
	Sweep(filepath.Dir(path), making)
	temp, err := os.CreateTemp(filepath.Dir(path), TempName(making))
	if err != nil {
		return m, 0, err
	}
	defer func() {
		if err != nil { // whether it was closed, or has its name, before
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	fault.Hit(fault.BackupBegun)
	if err := sqlitefile.Snapshot(ctx, s.File(), temp.Name()); err != nil {
		return m, 0, err
	}
	fault.Hit(fault.BackupCopied)
	var parts []part
	err = sqlitefile.Edit(ctx, temp.Name(), func(conn *sql.Conn) error {
		var err error
		m, parts, err = add(ctx, conn, s, o)
		return err
	})
	if err == nil {
		size, err = seal(ctx, temp, s, parts)
	}
	if err == nil {
		err = temp.Close()
	}
	if err == nil {
		fault.Hit(fault.BackupSealed)
		err = durable.Link(temp.Name(), path)
	}
	return m, size, err
}

// add says what the copy is, and lists what lies beside the database.
func add(ctx context.Context, conn *sql.Conn, s *db.Store, o Options) (m Manifest, parts []part, err error) {
	for _, text := range []string{"BEGIN", tables} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return m, nil, err
		}
	}
	m = Manifest{Version: version, Made: o.Now.UTC(), Host: o.Host, By: o.By, Runs: []Run{}}
	if err := conn.QueryRowContext(ctx, "SELECT id, incarnation FROM store").Scan(&m.Store, &m.Incarnation); err != nil {
		return m, nil, err
	}
	if m.Runs, err = unfinished(ctx, conn); err != nil {
		return m, nil, err
	}
	if parts, m.Missing, err = beside(ctx, conn, s.Dir()); err != nil {
		return m, nil, err
	}
	m.Files = len(parts)
	var at int64
	for _, p := range parts {
		if _, err := conn.ExecContext(ctx, "INSERT INTO backup_files (path, size, at) VALUES (?, ?, ?)", filepath.ToSlash(p.path), p.size, at); err != nil {
			return m, nil, err
		}
		at += p.size
	}
	return m, parts, describe(ctx, conn, s, o, m)
}

func describe(ctx context.Context, conn *sql.Conn, s *db.Store, o Options, m Manifest) error {
	var salt, key []byte
	if o.To != nil {
		whole, err := os.ReadFile(filepath.Join(s.Dir(), vault.KeyName))
		if err != nil {
			return fmt.Errorf("read the key: %w", err)
		}
		if salt, key, err = o.To.sealed(whole); err != nil {
			return err
		}
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = conn.ExecContext(ctx, "INSERT INTO backup (manifest, salt, key) VALUES (?, ?, ?)", string(text), salt, key)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	return err
}

func unfinished(ctx context.Context, conn *sql.Conn) ([]Run, error) {
	rows, err := conn.QueryContext(ctx, `SELECT r.id, r.status, r.last_seq, j.digest, COALESCE(p.id, ''), r.words FROM runs r
		JOIN journal j ON j.id = ((r.no << 24) | r.last_seq) LEFT JOIN pending_requests p ON p.run_no = r.no AND p.status = 'open'
		WHERE r.ended_at IS NULL ORDER BY r.no`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // it was only read from
	list := []Run{}
	for rows.Next() {
		var r Run
		var digest []byte
		if err := rows.Scan(&r.ID, &r.Status, &r.Facts, &digest, &r.Request, &r.Words); err != nil {
			return nil, err
		}
		r.Digest = hex.EncodeToString(digest)
		list = append(list, r)
	}
	return list, rows.Err()
}
