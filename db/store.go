package db

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agent/db/dbsqlc"
	marks "agent/db/mark"
	"agent/db/redact"
	"agent/db/sqlitefile"
	"agent/db/vault"
	"agent/recovery/fault"
)

// Options say how a store is opened. The zero value is right for a process that drives runs.
type Options struct {
	// Now is the clock; fault.Now when nil.
	Now func() time.Time

	// BusyWait is how long a database that other processes keep locked is waited for; 30 seconds
	// when zero.
	BusyWait time.Duration

	// Alone is set by a caller that holds the store's lock alone while Open runs: what a process
	// that was killed left half written is nobody's any more, and is removed.
	Alone bool

	// FirstAfterCrash is set by a caller that holds the store's lock alone after an unclean end:
	// the write-ahead log is brought into the database and a commit is tried before Open returns.
	FirstAfterCrash bool

	// ReadOnly opens for reading and creates nothing. See OpenRead.
	ReadOnly bool

	// AllowUnsafeFS lets the state lie on a network file system, where neither locks nor fsync can
	// be relied on.
	AllowUnsafeFS bool

	// NoBallast leaves out the file that is freed when the disk is full.
	NoBallast bool

	// Anew makes a database in a folder from which one is missing, where Open would refuse to.
	Anew bool

	// Known are values that must not come to rest in the clear, such as keys in the environment.
	// Store.Know adds others.
	Known []redact.Known

	// Marks is a folder outside of the state folder. What is left there says how far the store had
	// come, should an older copy of the whole folder be put in its place; "" for none.
	Marks string

	// Hit is called before and after a commit; fault.Hit where it is nil. Tests look at commits
	// with it.
	Hit func(fault.Point)
}

// Store is an open state folder. Its methods may be called from any goroutine. What reads and
// writes the rows that others than a run's owner see are types of their own, which it has the
// methods of.
type Store struct {
	*core
	Journal
	Queries
	Requests
	Messages

	Standing

	threadKeys sync.Map // []byte by thread: worked out from key
}

// core is what every part of a store reads and writes with.
type core struct {
	file  *sqlitefile.File
	vault *vault.Vault
	o     Options
	names keptNames
	key   []byte                                                // nil when opened for reading
	write func(ctx context.Context, do func(t *tx) error) error // in a transaction; ErrReadOnly where the store was opened for reading
}

const (
	// FileName is that of the database in its folder.
	FileName = "agent.db"
)

// Open opens the state folder for reading and writing, and creates it when it is not there. It
// refuses, with an error of a type of its own, a folder that is not safe, a file that is not ours,
// newer or corrupt, and changes none of them.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	if o.ReadOnly {
		return OpenRead(ctx, dir)
	}
	if o.FirstAfterCrash {
		redact.Ahead() // while the log is brought in: the mark of the run that was ended is the first text
	}
	s := newStore(o)
	return s.opened(ctx, dir, sqlitefile.Open)
}

// Refuse says why Open would refuse the state folder for what it is, and makes nothing in it: nil
// where it can be used, or is not there yet.
func Refuse(dir string, o Options) error {
	s := newStore(o)
	return sqlitefile.Refuse(dir, s.format(), s.fileOptions())
}

// OpenRead opens the state folder for reading. It creates and changes nothing, so it works on a
// read-only folder too. ErrNoState says that there is nothing to read.
func OpenRead(ctx context.Context, dir string) (*Store, error) {
	s := newStore(Options{ReadOnly: true})
	return s.opened(ctx, dir, sqlitefile.OpenRead)
}

// OpenBriefly is OpenRead for who reads a few facts in a hurry, and takes an error for no answer:
// that the key is its own, and that it is not behind its mark, is not looked at, and a file that
// has no log is not locked.
func OpenBriefly(dir string) (*Store, error) {
	s := newStore(Options{ReadOnly: true})
	return s.unlooked(sqlitefile.OpenBriefly(dir, s.format(), s.fileOptions()))
}

// OpenDiskFull opens the state folder for reading when its disk is so full that Open fails with
// ErrDiskFull or ErrNoFiles: SQLite then keeps in memory what it would write beside the database.
// Nobody else can use the database meanwhile, so the caller holds the store's lock and is quick. It
// does not say whether the store is behind its mark.
func OpenDiskFull(ctx context.Context, dir string) (*Store, error) {
	s := newStore(Options{ReadOnly: true})
	return s.unlooked(sqlitefile.OpenDiskFull(ctx, dir, s.format(), s.fileOptions()))
}

// OpenDamaged opens whatever lies in the state folder for reading row by row, without a look at
// what it is: Open may refuse it.
func OpenDamaged(dir string) (*Store, error) {
	s := newStore(Options{ReadOnly: true})
	return s.unlooked(sqlitefile.OpenDamaged(dir, s.format(), s.fileOptions()))
}

// unlooked takes a file as it is, without a look at its key and its mark.
func (s *Store) unlooked(f *sqlitefile.File, err error) (*Store, error) {
	if err != nil {
		return nil, err
	}
	s.file = f
	if err := s.openVault(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newStore(o Options) *Store {
	if o.Now == nil {
		o.Now = fault.Now
	}
	if o.Hit == nil {
		o.Hit = fault.Hit
	}
	c := &core{o: o}
	c.write = c.transact
	j := Journal{c}
	return &Store{core: c, Standing: Standing{core: c}, Journal: j, Queries: Queries{j}, Requests: Requests{j}, Messages: Messages{c}}
}

// fileOptions are what of the options is about the file.
func (s *Store) fileOptions() sqlitefile.Options {
	return sqlitefile.Options{
		BusyWait: s.o.BusyWait, Alone: s.o.Alone, FirstAfterCrash: s.o.FirstAfterCrash, ReadOnly: s.o.ReadOnly,
		AllowUnsafeFS: s.o.AllowUnsafeFS, NoBallast: s.o.NoBallast, Hit: func(p fault.Point) { s.o.Hit(p) }, Committed: s.committed,
	}
}

type opener func(ctx context.Context, dir string, format sqlitefile.Format, o sqlitefile.Options) (*sqlitefile.File, error)

// opened opens the file, and then what belongs to it.
func (s *Store) opened(ctx context.Context, dir string, open opener) (*Store, error) {
	f, err := open(ctx, dir, s.format(), s.fileOptions())
	if err != nil {
		return nil, err
	}
	s.file, s.mark.Path = f, marks.Path(f.Dir())
	err = s.openVault()
	if err == nil && f.Writable() {
		err = sqlitefile.OwnerOnly(filepath.Join(f.Dir(), vault.KeyName))
	}
	if err == nil {
		err = s.seeBehind(ctx)
	}
	if err == nil && f.Writable() && s.Behind() == nil {
		err = s.noteFile(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// File is the database itself, for who maintains it.
func (s *core) File() *sqlitefile.File { return s.file }

// Vault keeps the store's secrets.
func (s *core) Vault() *vault.Vault { return s.vault }

// Close waits for what was handed to the writer, brings the write-ahead log into the database and
// lets go of the files.
func (s *Store) Close() error { return errors.Join(s.file.Close(), s.mark.Close(), s.outer.Close()) }

// Notices lists, in order, what a person should know about the state folder. Each is a sentence
// without its full stop.
func (s *Store) Notices() []string { return s.file.Notices() }

// DiskFull says whether the disk was full since the store was opened. What was written is kept;
// nothing new may start.
func (s *Store) DiskFull() bool { return s.file.DiskFull() }

// Dir is the state folder, absolute.
func (s *core) Dir() string { return s.file.Dir() }

// Files lists the files that change when the store is written. The second one may not exist.
func (s *Store) Files() []string { return s.file.Files() }

// Present compares the open files with what their paths name now: *GoneError, or ErrClosed of a
// store that was closed.
func (s *Store) Present() error { return s.file.Present() }

// QuickCheck reads the whole file for damage (PRAGMA quick_check: about 0.7 seconds for a
// gigabyte). *CorruptError names the first thing that is wrong.
func (s *Store) QuickCheck(ctx context.Context) error { return s.file.QuickCheck(ctx) }

// now is the time with which a transaction writes.
func (s *core) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

// Now is the time with which the store writes, for rooms beside this one.
func Now(s *Store) time.Time { return s.now() }

// read runs f on a connection that cannot write.
func (s *core) read(ctx context.Context, what string, f func(q *dbsqlc.Queries) error) error {
	q := dbsqlc.New(s.file.Readers())
	err := s.file.Read(ctx, func() error { return f(q) })
	if err == nil || saysAll(err) {
		return err
	}
	return fmt.Errorf("%s: %w", what, s.file.Explain(err))
}

// Read is for rooms beside this one that read rows of their own.
func Read(ctx context.Context, s *Store, what string, f func(q *dbsqlc.Queries) error) error {
	return s.read(ctx, what, f)
}

// Write changes rows that nobody needs a run's lock for, in one transaction.
func Write(ctx context.Context, s *Store, f func(q *dbsqlc.Queries) error) error {
	return s.write(ctx, func(t *tx) error { return f(t.q) })
}

// openVault makes the store's vault. Who only reads has no key yet.
func (s *Store) openVault() (err error) {
	rows := vault.Rows{Read: s.read, Now: s.now}
	if s.key == nil {
		s.vault, err = vault.Open(s.file.Dir(), s.o.Known, rows)
	} else {
		s.vault, err = vault.New(s.key, s.o.Known, rows)
	}
	return err
}

// checkKey compares the key with the one that the database was made with. Reading needs none, so
// there only a key that lies beside the database is looked at.
func (s *Store) checkKey(ctx context.Context) error {
	key, dir := s.key, s.file.Dir()
	if s.o.ReadOnly {
		var err error
		if key, err = os.ReadFile(filepath.Join(dir, vault.KeyName)); err != nil {
			key = nil // whoever opens the store for writing gets the error
		}
	}
	return s.read(ctx, "open "+s.file.Path(), func(q *dbsqlc.Queries) error {
		mac, err := q.GetStoreKey(ctx) // of an older format there may be no more
		if errors.Is(err, sql.ErrNoRows) {
			return s.corrupt("", 0, "it does not say which key belongs to it", nil)
		}
		s.marked = hex.EncodeToString(mac[:min(len(mac), 8)])
		if err != nil || key == nil {
			return err
		}
		return vault.CheckKey(dir, s.file.Path(), key, mac)
	})
}

// Know adds values that must not come to rest in the clear: keys that were fetched since the store
// was opened.
func (s *core) Know(known ...redact.Known) { s.vault.Know(known...) }

// Redact is a text as others may see it: with placeholders for its secrets. A placeholder stays
// what it is.
func (s *core) Redact(text string) string { return s.vault.Redact(text) }

// NewRedactor begins a text that comes in pieces. What is found in it to be secret is found again
// in the rest of it.
func (s *core) NewRedactor() *Redactor { return s.vault.NewRedactor() }

// TakeRedacted says which secrets were kept out of a run's record since it was last asked: the
// first of each rule.
func (s *core) TakeRedacted(run string) []Redacted { return s.vault.TakeRedacted(run) }

// RestoreText gives a stored text its secrets back, for what this process does with it; what is
// gone stays a placeholder.
func (s *core) RestoreText(ctx context.Context, text string) (string, error) {
	return s.vault.RestoreText(ctx, text)
}

// Placeholder begins what stands for a secret that was taken out.
const Placeholder = vault.Placeholder

// What the vault gives and takes.
type (
	Redacted      = vault.Redacted
	Redactor      = vault.Redactor
	Unrecoverable = vault.Unrecoverable
)

// RedactorOf redacts texts without a state folder: values that are known, and what looks like a
// secret.
func RedactorOf(known []redact.Known) func(string) string { return vault.RedactorOf(known) }

// RedactValue is a value as others may see it. It is copied through JSON when there is something to
// take out.
func RedactValue[T any](s *Store, value T) T { return vault.RedactValue(s.vault, value) }

// saysAll is for errors that name what was looked for and where.
func saysAll(err error) bool {
	return errors.As(err, new(*CorruptError)) || errors.As(err, new(*UnknownIDError)) || errors.As(err, new(*AmbiguousError)) || errors.As(err, new(*PrunedError))
}

// tx is the transaction that a part of the store writes in.
type tx struct {
	*sqlitefile.Tx
	q  *dbsqlc.Queries
	db dbsqlc.DBTX // what q runs on
}

func (s *core) transact(ctx context.Context, do func(t *tx) error) error {
	return s.file.Write(ctx, func(t *sqlitefile.Tx) error {
		return do(&tx{Tx: t, q: dbsqlc.New(t), db: t})
	})
}
