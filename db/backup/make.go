package backup

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agent/db"
	"agent/db/blob"
	"agent/db/keep"
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
const version = 1

// Options say how a backup is made.
type Options struct {
	Host, By string
	To       *Recipient // who the store's key is sealed to; nil leaves it out
	Now      time.Time
}

// tables are those that a backup has beside the store's.
const tables = `
CREATE TABLE backup (manifest TEXT NOT NULL, salt BLOB, key BLOB) STRICT;
CREATE TABLE backup_files (path TEXT NOT NULL PRIMARY KEY, data BLOB NOT NULL) STRICT;`

// Make writes a backup to a path where nothing is, durably: it is there whole or not at all. Others
// may read and write the store meanwhile.
func Make(ctx context.Context, s *db.Store, path string, o Options) (m Manifest, size int64, err error) {
	if _, err := os.Lstat(path); err == nil {
		return m, 0, &fs.PathError{Op: "back up to", Path: path, Err: fs.ErrExist}
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
	err = sqlitefile.Edit(ctx, temp.Name(), func(conn *sql.Conn) error {
		var err error
		m, err = add(ctx, conn, s, o)
		return err
	})
	if err == nil {
		size, err = seal(temp, s)
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

// add takes in what lies beside the database, and says what the copy is.
func add(ctx context.Context, conn *sql.Conn, s *db.Store, o Options) (m Manifest, err error) {
	for _, text := range []string{"BEGIN", tables} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return m, err
		}
	}
	m = Manifest{Version: version, Made: o.Now.UTC(), Host: o.Host, By: o.By, Runs: []Run{}}
	if err := conn.QueryRowContext(ctx, "SELECT id, incarnation FROM store").Scan(&m.Store, &m.Incarnation); err != nil {
		return m, err
	}
	if m.Runs, err = unfinished(ctx, conn); err != nil {
		return m, err
	}
	paths, err := beside(ctx, conn)
	if err != nil {
		return m, err
	}
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		data, err := os.ReadFile(filepath.Join(s.Dir(), p.path))
		if errors.Is(err, fs.ErrNotExist) {
			if !p.may {
				m.Missing++
			}
			continue
		}
		if err != nil {
			return m, err
		}
		if _, err := conn.ExecContext(ctx, "INSERT INTO backup_files (path, data) VALUES (?, ?)", filepath.ToSlash(p.path), data); err != nil {
			return m, err
		}
		m.Files++
	}
	return m, describe(ctx, conn, s, o, m)
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

// file is one in the state folder.
type file struct {
	path string
	may  bool // it need not be there
}

// beside lists the files that rows of the copy name.
func beside(ctx context.Context, conn *sql.Conn) (list []file, err error) {
	for _, q := range []struct {
		text  string
		files func(name, in string) []file
	}{
		{"SELECT lower(hex(hash)), '' FROM blobs WHERE encoding = 'file'", content(blob.Folder)},
		{"SELECT lower(hex(id)), '' FROM kept WHERE data IS NULL", content(keep.Folder)},
		{`SELECT printf('%d-%d-%d', c.turn, c.idx, c.attempt), r.id FROM tool_executions c JOIN runs r ON r.no = c.run_no
			WHERE c.phase = 'started' AND r.ended_at IS NULL`, ofCall},
	} {
		rows, err := conn.QueryContext(ctx, q.text)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var name, in string
			if err := rows.Scan(&name, &in); err != nil {
				return nil, errors.Join(err, rows.Close())
			}
			list = append(list, q.files(name, in)...)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func content(folder string) func(name, in string) []file {
	return func(name, _ string) []file { return []file{{path: filepath.Join(folder, name[:2], name)}} }
}

// ofCall are the files that say how far a call's process came.
func ofCall(name, run string) (list []file) {
	for _, what := range []string{"lock", "began", "exit"} {
		list = append(list, file{filepath.Join("calls", run, name, what), true})
	}
	return list
}

// footSize is how long the line behind the database is, bytes.
const footSize = 256

const footForm = "agent-backup %d size %d sha256 %x mac %x"

// seal puts the line behind the database, and makes the file durable.
func seal(f *os.File, s *db.Store) (int64, error) {
	sum := sha256.New()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	size, err := io.Copy(sum, f)
	if err != nil {
		return 0, err
	}
	key, err := os.ReadFile(filepath.Join(s.Dir(), vault.KeyName))
	if err != nil {
		return 0, fmt.Errorf("read the key: %w", err)
	}
	foot := fmt.Sprintf(footForm, version, size, sum.Sum(nil), macOf(key, sum.Sum(nil)))
	if _, err := fmt.Fprintf(f, "%-*s\n", footSize-1, foot); err != nil {
		return 0, err
	}
	return size + footSize, f.Sync()
}

// macOf ties a backup to the store's key.
func macOf(key, sum []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("agent: the contents of a backup")) // a hash takes everything without an error
	m.Write(sum)
	return m.Sum(nil)
}
