package backup

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/db"
	"agent/db/blob"
	"agent/db/keep"
	"agent/db/sqlitefile"
	"agent/db/vault"
	"agent/recovery/fault"
	"agent/tools/durable"
)

// RefusedError says that a file is no backup that can be restored. Nothing was changed.
type RefusedError struct {
	Path   string
	What   string
	Remedy string
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s is not restored: %s", e.Path, e.What)
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// foot is what the line at the end says.
type foot struct {
	version        int
	database, size int64 // of the database, and of that with the files behind it
	sum, mac       []byte
}

// readFoot reads the last line of a file.
func readFoot(f *os.File) (ft foot, err error) {
	info, err := f.Stat()
	if err != nil {
		return ft, err
	}
	b := make([]byte, footSize)
	if info.Size() < footSize || !info.Mode().IsRegular() {
		return ft, &RefusedError{Path: f.Name(), What: "it is no backup of agent's, or it was cut off"}
	}
	if _, err := f.ReadAt(b, info.Size()-footSize); err != nil {
		return ft, err
	}
	if _, err := fmt.Sscanf(string(b), "agent-backup %d", &ft.version); err == nil && ft.version != version {
		return ft, &RefusedError{Path: f.Name(), What: fmt.Sprintf("it has form %d, and this binary knows %d", ft.version, version), Remedy: "restore it with the binary that made it"}
	}
	if _, err := fmt.Sscanf(string(b), footForm, &ft.version, &ft.database, &ft.size, &ft.sum, &ft.mac); err != nil || ft.database < 0 || ft.database > ft.size {
		return ft, &RefusedError{Path: f.Name(), What: "it is no backup of agent's, or it was cut off"}
	}
	if ft.size != info.Size()-footSize {
		return ft, &RefusedError{Path: f.Name(), What: fmt.Sprintf("it has %d bytes and not the %d that it was made with", info.Size(), ft.size+footSize)}
	}
	return ft, nil
}

// Unpack makes a state folder of a backup in an empty folder. The store in it is still the one that
// the backup is of: whoever calls it decides what it is from here on, before it has its place.
// Without an opener that opens the key it gets a new one, and what was sealed with the old one is
// dropped.
func Unpack(ctx context.Context, file, dir string, open *Opener) (m Manifest, err error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return m, &RefusedError{Path: file, What: "it is no file"} // to open it could wait for ever
	}
	f, err := os.Open(file)
	if err != nil {
		return m, err
	}
	defer f.Close() // it was only read from
	ft, err := readFoot(f)
	if err != nil {
		return m, err
	}
	to := filepath.Join(dir, db.FileName)
	from := to + ".copy"
	if err := errors.Join(copied(f, from, ft), write(to, strings.NewReader(""))); err != nil {
		return m, err
	}
	err = sqlitefile.Edit(ctx, from, func(conn *sql.Conn) error {
		var err error
		if m, err = takeApart(ctx, conn, f, dir, ft, open); err != nil {
			return err
		}
		return sqlitefile.Copied(ctx, conn, to)
	})
	if err == nil {
		err = errors.Join(os.Remove(from), synced(dir))
	}
	if err != nil {
		return m, damaged(file, err)
	}
	fault.Hit(fault.StoreUnpacked)
	return m, nil
}

// damaged names the backup where what is wrong is what it holds.
func damaged(file string, err error) error {
	if errors.As(err, new(*RefusedError)) || !sqlitefile.IsUnreadable(err) {
		return err
	}
	return &RefusedError{Path: file, What: fmt.Sprintf("what it holds is no backup (%v)", err)}
}

// copied writes the database of the backup, and compares all of the backup with its hash.
func copied(f *os.File, to string, ft foot) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := newSummed()
	_, err = sum.copy(out, io.NewSectionReader(f, 0, ft.database))
	if err == nil {
		_, err = sum.copy(io.Discard, io.NewSectionReader(f, ft.database, ft.size-ft.database))
	}
	if digest := sum.end(); err == nil && !hmac.Equal(digest, ft.sum) {
		err = &RefusedError{Path: f.Name(), What: "it was changed since it was made, or is damaged"}
	}
	return errors.Join(err, out.Close())
}

// takeApart gives the files their places and drops the tables of the backup.
func takeApart(ctx context.Context, conn *sql.Conn, f *os.File, dir string, ft foot, open *Opener) (m Manifest, err error) {
	var text string
	name := f.Name()
	var salt, sealed []byte
	if err := conn.QueryRowContext(ctx, "SELECT manifest, salt, key FROM backup").Scan(&text, &salt, &sealed); err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, &RefusedError{Path: name, What: fmt.Sprintf("what it says of itself cannot be read (%v)", err)}
	}
	key, err := keyOf(open, salt, sealed)
	if err != nil {
		return m, &RefusedError{Path: name, What: err.Error(), Remedy: "give --key what it was sealed to; without --key it is restored without its secrets"}
	}
	if err := checked(ctx, conn, name, key, open != nil, ft); err != nil {
		return m, err
	}
	if err := undeclared(ctx, conn, name); err != nil {
		return m, err
	}
	if err := files(ctx, conn, io.NewSectionReader(f, ft.database, ft.size-ft.database), name, dir); err != nil {
		return m, err
	}
	if err := os.WriteFile(filepath.Join(dir, vault.KeyName), key, 0o600); err != nil {
		return m, err
	}
	for _, text := range []string{"BEGIN", "DROP TABLE backup_files", "DROP TABLE backup", "COMMIT"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return m, err
		}
	}
	return m, nil
}

// keyOf is the store's key; a new one without an opener.
func keyOf(open *Opener, salt, sealed []byte) ([]byte, error) {
	if open != nil {
		return open.opened(salt, sealed)
	}
	key := make([]byte, vault.KeySize)
	rand.Read(key) // never fails: crypto/rand ends the process instead
	return key, nil
}

// checked compares the key with the store, and the backup with the key. A new key becomes the
// store's.
func checked(ctx context.Context, conn *sql.Conn, name string, key []byte, known bool, ft foot) error {
	if !known { // what was sealed is of no use any more
		for _, text := range []string{"DELETE FROM kept", "DELETE FROM secrets", "DELETE FROM environments", "DELETE FROM thread_keys", "DELETE FROM kept_names", "DELETE FROM backup_files WHERE path LIKE '" + keep.Folder + "/%'"} {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		_, err := conn.ExecContext(ctx, "UPDATE store SET key_mac = ?, rekeyed = 1", vault.KeyMAC(key))
		return err
	}
	var mac []byte
	if err := conn.QueryRowContext(ctx, "SELECT key_mac FROM store").Scan(&mac); err != nil {
		return err
	}
	if len(key) != vault.KeySize || !hmac.Equal(mac, vault.KeyMAC(key)) {
		return &RefusedError{Path: name, What: "the key that was given is that of another store"}
	}
	if !hmac.Equal(ft.mac, macOf(key, ft.sum)) {
		return &RefusedError{Path: name, What: "somebody without its key changed it since it was made"}
	}
	return nil
}

// undeclared sees to it that the store counts as a copy until somebody decides, whatever it says of
// itself. Its id becomes the name of a file.
func undeclared(ctx context.Context, conn *sql.Conn, name string) error {
	var id string
	if err := conn.QueryRowContext(ctx, "SELECT id FROM store").Scan(&id); err != nil {
		return err
	}
	if rest, ours := strings.CutPrefix(id, "s-"); !ours || strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return &RefusedError{Path: name, What: "its store has no id of ours"}
	}
	_, err := conn.ExecContext(ctx, "UPDATE store SET inode = -1, born = -1")
	return err
}

// files writes what lies beside the database. Together they are no more than the backup has.
func files(ctx context.Context, conn *sql.Conn, in *io.SectionReader, name, dir string) error {
	rows, err := conn.QueryContext(ctx, "SELECT path, size, at FROM backup_files")
	if err != nil {
		return err
	}
	defer rows.Close() // it was only read from
	left := in.Size()
	for rows.Next() {
		var to string
		var size, at int64
		if err := rows.Scan(&to, &size, &at); err != nil {
			return err
		}
		if !known(to) {
			return &RefusedError{Path: name, What: fmt.Sprintf("it has a file %q, which has no place in a state folder", to)}
		}
		if size < 0 || size > left || at < 0 || at > in.Size()-size {
			return &RefusedError{Path: name, What: fmt.Sprintf("it does not have the file %q that it names", to)}
		}
		left -= size
		if err := write(filepath.Join(dir, filepath.FromSlash(to)), io.NewSectionReader(in, at, size)); err != nil {
			return err
		}
	}
	return rows.Err()
}

func write(to string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}

// known says whether a backup has files at such a path.
func known(at string) bool {
	folder, _, below := strings.Cut(at, "/")
	return below && path.Clean(at) == at && filepath.IsLocal(filepath.FromSlash(at)) && slices.Contains([]string{blob.Folder, keep.Folder, "calls"}, folder)
}

// synced makes all in a folder durable.
func synced(dir string) error {
	return filepath.WalkDir(dir, func(at string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return durable.SyncDir(at)
		}
		f, err := os.Open(at)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
