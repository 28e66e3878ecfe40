package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// Result codes of SQLite that are told apart. The low byte is the class.
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeError    = 1
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
	codeShmSize  = 4874 // no room for the wal-index
	codeInPage   = 8714 // a page of the wal-index, which lies in memory, could not be had

	codeUnique     = 2067
	codePrimaryKey = 1555
	codeConstraint = 19
)

const (
	maxReaders   = 4
	walSizeLimit = 8 << 20 // what a reset log is cut down to, bytes
)

// UseOFDLocks makes SQLite lock with open file descriptions. Without it, any open and close of the
// database files inside this process would drop its locks, and commits after that could be lost. It
// has to come before the first open.
func UseOFDLocks() error { return ofdLocks() }

// ofdLocks asks once for each process: of two first calls at once in SQLite, the later sets back
// what the earlier switched on.
var ofdLocks = sync.OnceValue(func() error {
	if runtime.GOOS != "linux" {
		return nil // there are none; doctor names what this costs
	}
	_, err := sqlite.OFDLocking(true)
	if err != nil && !sqlite.OFDLockingEnabled() {
		return fmt.Errorf("lock the database by open file description: %w", err)
	}
	return nil
})

// setting is one property of every connection: what the DSN asks for and what must be read back.
type setting struct{ pragma, want string }

func settings(readOnly bool) []setting {
	list := []setting{
		{"journal_mode", "wal"},
		{"synchronous", "2"},
		{"foreign_keys", "1"},
		{"busy_timeout", "10"},
		{"journal_size_limit", fmt.Sprint(walSizeLimit)},
		{"trusted_schema", "0"},
	}
	if runtime.GOOS == "darwin" {
		list = append(list, setting{"fullfsync", "1"}, setting{"checkpoint_fullfsync", "1"})
	}
	if readOnly {
		list = append(list, setting{"query_only", "1"})
	}
	return list
}

// dsn is the whole description of a connection: nothing is set on a connection later.
func dsn(path string, write bool) string {
	v := url.Values{}
	v.Set("_txlock", "immediate")
	v.Set("_defensive", "1")
	v.Set("_dqs", "0")
	v.Set("mode", "rw")
	for _, p := range settings(!write) {
		switch p.pragma {
		case "journal_mode", "synchronous", "foreign_keys", "busy_timeout", "query_only":
			v.Set("_"+p.pragma, p.want)
		default:
			v.Add("_pragma", p.pragma+"("+p.want+")")
		}
	}
	v.Set("_synchronous", "FULL")
	return fileURI(path) + "?" + v.Encode()
}

// readingDSN is for reading only. A log that an unclean end has left stays as it is for the next
// process that drives; one that is made for this reading is removed with it, which takes a
// connection that may write files.
func (f *File) readingDSN() string {
	switch {
	case !f.walEmpty():
		return readOnlyDSN(f.path, false)
	case writable(f.dir):
		return dsn(f.path, false)
	}
	return readOnlyDSN(f.path, true)
}

// readOnlyDSN changes nothing. A file that nobody can write and that has no log is read as if
// nobody ever wrote it, since SQLite could not make the files that it needs beside it.
func readOnlyDSN(path string, immutable bool) string {
	v := url.Values{}
	v.Set("_defensive", "1")
	v.Set("_dqs", "0")
	v.Set("_busy_timeout", "10")
	v.Set("_query_only", "1")
	v.Set("mode", "ro")
	if immutable {
		v.Set("immutable", "1")
	}
	return fileURI(path) + "?" + v.Encode()
}

// salvageDSN is readOnlyDSN for a file whose own word about its size or its tables may be wrong:
// SQLite then reads what it finds.
func salvageDSN(path string, immutable bool) string {
	dsn := strings.Replace(readOnlyDSN(path, immutable), "_defensive=1&", "", 1)
	return dsn + "&_pragma=writable_schema(1)"
}

// diskFullDSN locks everybody else out, and with that needs no file beside the database and its
// log.
func diskFullDSN(path string) string {
	v := url.Values{}
	v.Set("_defensive", "1")
	v.Set("_dqs", "0")
	v.Set("_busy_timeout", "10")
	v.Set("_query_only", "1")
	v.Set("mode", "rw")
	v.Set("_pragma", "locking_mode(EXCLUSIVE)")
	return fileURI(path) + "?" + v.Encode()
}

func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: p, OmitHost: true}).String()
}

// connectReaders opens the pool of readers and looks through it at the file for the first time.
func (f *File) connectReaders(ctx context.Context, dsn string) error {
	if f.readers != nil {
		if err := f.readers.Close(); err != nil {
			return fmt.Errorf("close %s: %w", f.path, err)
		}
	}
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	f.readers = sql.OpenDB(c)
	f.readers.SetMaxOpenConns(maxReaders)
	f.readers.SetMaxIdleConns(maxReaders)
	conn, err := f.dial(ctx, f.readers)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, f.Explain(err))
	}
	err = f.verify(ctx, conn)
	if closing := conn.Close(); err == nil && closing != nil {
		err = fmt.Errorf("open %s: %w", f.path, closing)
	}
	if err != nil {
		return err
	}
	return f.Format.Check(ctx, f)
}

// Conn takes a connection that cannot write. The caller closes it.
func (f *File) Conn(ctx context.Context) (*sql.Conn, error) { return f.dial(ctx, f.readers) }

// dial takes a connection from a pool. A log that has to be recovered makes the first of several
// processes lock out the others for a moment.
func (f *File) dial(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	for wait := newRetries(f.o.BusyWait); ; {
		conn, err := pool.Conn(ctx)
		if err == nil || !isBusy(err) || !wait.next(ctx) {
			return conn, err
		}
	}
}

// verify reads back what the DSN asked for. A connection that is not as asked for is not used.
func (f *File) verify(ctx context.Context, conn *sql.Conn) error {
	var app, stamp int
	if err := f.Pragma(ctx, conn, "application_id", &app); err != nil {
		return err
	}
	if err := f.Pragma(ctx, conn, "user_version", &stamp); err != nil {
		return err
	}
	if err := f.checkIdentity(app, stamp); err != nil {
		return err
	}
	var any int
	if err := conn.QueryRowContext(ctx, f.Format.Probe).Scan(&any); err != nil {
		return fmt.Errorf("open %s: %w", f.path, f.Explain(err)) // the tables cannot be read
	}
	if f.o.ReadOnly {
		return nil
	}
	for _, p := range settings(true) {
		if p.pragma == "query_only" {
			continue
		}
		var have string
		if err := f.Pragma(ctx, conn, p.pragma, &have); err != nil {
			return err
		}
		if have != p.want {
			return fmt.Errorf("open %s: %s is %s and not %s, so a commit would not be safe here", f.path, p.pragma, have, p.want)
		}
	}
	return nil
}

// Settings reads back what every connection is to be.
func (f *File) Settings(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	have := map[string]string{}
	for _, p := range settings(true) {
		var v string
		if err := f.Pragma(ctx, conn, p.pragma, &v); err != nil {
			return nil, err
		}
		have[p.pragma] = v
	}
	return have, nil
}

// Pragma reads a number or a word that SQLite keeps about the file or the connection.
func (f *File) Pragma(ctx context.Context, conn *sql.Conn, name string, value any) error {
	for wait := newRetries(f.o.BusyWait); ; {
		err := conn.QueryRowContext(ctx, "PRAGMA "+name).Scan(value)
		if err == nil {
			return nil
		}
		if !isBusy(err) || !wait.next(ctx) {
			return fmt.Errorf("open %s: read %s: %w", f.path, name, f.Explain(err))
		}
	}
}

// code is SQLite's extended result code; 0 for any other error.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func isBusy(err error) bool { return code(err)&0xff == codeBusy }

// isDiskFull says that there was no room. Where the disk's blocks are smaller than a page of
// memory, or are taken anew by every write, the wal-index has a place and no block for it, and what
// fails is the page and not a write.
func (f *File) isDiskFull(err error) bool {
	switch c := code(err); {
	case c&0xff == codeFull || c == codeShmSize:
		return true
	case c == codeInPage:
		free, err := freeBytes(f.dir)
		return err == nil && free < leastRoom
	}
	return false
}

// leastRoom is what is left of a disk on which SQLite finds nothing any more for the files beside
// the database; bytes.
const leastRoom = 64 << 10

// IsTaken says that a row with this key exists already.
func IsTaken(err error) bool { c := code(err); return c == codeUnique || c == codePrimaryKey }

// IsDamaged says that something in the database is damaged, or not there, and that the transaction
// in which that was met goes on.
func IsDamaged(err error) bool {
	c := code(err) & 0xff
	return c == codeError || c == codeCorrupt
}

// IsUnreadable says that no row of a table can be read: it is not there, or the file is no
// database.
func IsUnreadable(err error) bool {
	c := code(err) & 0xff
	return c == codeError || c == codeNotADB
}

// Explain turns SQLite's classes of errors into ours, where a person or a caller can do something
// about them.
func (f *File) Explain(err error) error {
	switch c := code(err); {
	case c == 0:
		return err
	case c&0xff == codeCorrupt || c&0xff == codeNotADB:
		return &CorruptError{Path: f.path, What: "the database file is damaged", Err: err}
	case c&0xff == codeError && strings.Contains(err.Error(), "no such "):
		return fmt.Errorf("the tables of %s are not as they should be: %w; make them again with `agent doctor --fix`", f.path, err)
	case c&0xff == codeCantOpen && writable(f.dir):
		return fmt.Errorf("%w (%s): %w: no room or no inode is left on its disk (see df and df -i), the disk fails, this process has too many files open, or the files there belong to somebody else; free some, or choose another folder with AGENT_HOME",
			ErrNoFiles, f.dir, err)
	case c&0xff == codeReadOnly || c&0xff == codeCantOpen:
		return fmt.Errorf("%w (%s): %w", ErrReadOnly, f.dir, err)
	case f.isDiskFull(err):
		return fmt.Errorf("%w (%s): %w", ErrDiskFull, f.dir, err)
	case isBusy(err):
		return fmt.Errorf("%w (%s): %w", ErrBusy, f.path, err)
	case c&0xff == codeIOErr:
		return fmt.Errorf("%w (%s): %w", ErrIO, f.path, err)
	}
	return err
}

// retries waits between two tries, always about as long, so that nobody who came later is served
// first for long.
type retries struct{ until time.Time }

func newRetries(limit time.Duration) *retries { return &retries{until: time.Now().Add(limit)} }

// next waits a little and says whether there is time for another try.
func (r *retries) next(ctx context.Context) bool {
	if !time.Now().Before(r.until) {
		return false
	}
	t := time.NewTimer(500*time.Microsecond + rand.N(time.Millisecond))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
