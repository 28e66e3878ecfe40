package backup

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"agent/db"
	"agent/db/blob"
	"agent/db/keep"
	"agent/db/vault"
)

// part is a file of the state folder that the backup has.
type part struct {
	path string
	size int64
	data []byte // of one that is small and may be another in a moment
}

// beside lists the files that rows of the copy name, and counts those of them that are missing.
func beside(ctx context.Context, conn *sql.Conn, dir string) (list []part, missing int, err error) {
	for _, q := range []struct {
		text string
		take func(dir, name, in string) ([]part, error)
	}{
		{"SELECT lower(hex(hash)), '' FROM blobs WHERE encoding = 'file'", content(blob.Folder)},
		{"SELECT lower(hex(id)), '' FROM kept WHERE data IS NULL", content(keep.Folder)},
		{`SELECT printf('%d-%d-%d', c.turn, c.idx, c.attempt), r.id FROM tool_executions c JOIN runs r ON r.no = c.run_no
			WHERE c.phase = 'started' AND r.ended_at IS NULL`, ofCall},
	} {
		rows, err := conn.QueryContext(ctx, q.text)
		if err != nil {
			return nil, 0, err
		}
		for rows.Next() {
			var name, in string
			err := rows.Scan(&name, &in)
			if err == nil {
				var some []part
				some, err = q.take(dir, name, in)
				list = append(list, some...)
			}
			if errors.Is(err, fs.ErrNotExist) {
				missing++
			} else if err != nil {
				return nil, 0, errors.Join(err, rows.Close())
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, 0, err
		}
	}
	return list, missing, nil
}

// content finds a file whose name says what it holds: it never changes.
func content(folder string) func(dir, name, in string) ([]part, error) {
	return func(dir, name, _ string) ([]part, error) {
		at := filepath.Join(folder, name[:2], name)
		info, err := os.Stat(filepath.Join(dir, at))
		if err != nil {
			return nil, err
		}
		return []part{{path: at, size: info.Size()}}, nil
	}
}

// ofCall are the files that say how far a call's process came; some are not there.
func ofCall(dir, name, run string) (list []part, err error) {
	for _, what := range []string{"lock", "began", "exit"} {
		at := filepath.Join("calls", run, name, what)
		data, err := os.ReadFile(filepath.Join(dir, at))
		if err == nil {
			list = append(list, part{path: at, size: int64(len(data)), data: data})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return list, nil
}

// footSize is how long the line at the end is, bytes.
const footSize = 256

const footForm = "agent-backup %d database %d size %d hash %x mac %x"

// seal puts the files and the line behind the database, and makes all of it durable.
func seal(ctx context.Context, f *os.File, s *db.Store, parts []part) (int64, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	early := make(chan error, 1)
	go func() { early <- f.Sync() }() // the disk takes about as long as the hash
	sum := newSummed()
	database, err := sum.copy(io.Discard, f)
	err = errors.Join(err, <-early)
	size := database
	for _, p := range parts {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = p.copy(sum, f, s.Dir())
		}
		size += p.size
	}
	digest := sum.end()
	if err != nil {
		return 0, err
	}
	key, err := os.ReadFile(filepath.Join(s.Dir(), vault.KeyName))
	if err != nil {
		return 0, fmt.Errorf("read the key: %w", err)
	}
	foot := fmt.Sprintf(footForm, version, database, size, digest, macOf(key, digest))
	if _, err := fmt.Fprintf(f, "%-*s\n", footSize-1, foot); err != nil {
		return 0, err
	}
	return size + footSize, f.Sync()
}

// copy appends the file to the backup.
func (p part) copy(sum *summed, to io.Writer, dir string) error {
	if p.data != nil {
		_, err := sum.copy(to, bytes.NewReader(p.data))
		return err
	}
	f, err := os.Open(filepath.Join(dir, p.path))
	if err != nil {
		return err
	}
	n, err := sum.copy(to, f)
	if err == nil && n != p.size {
		err = fmt.Errorf("%s: it has %d bytes now, and had %d", f.Name(), n, p.size)
	}
	return errors.Join(err, f.Close())
}

// macOf ties a backup to the store's key.
func macOf(key, sum []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("agent: the contents of a backup")) // a hash takes everything without an error
	m.Write(sum)
	return m.Sum(nil)
}
