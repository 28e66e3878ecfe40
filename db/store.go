package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"agent/db/dbsqlc"
	"agent/db/redact"
	"agent/recovery/fault"
)

// Options say how a store is opened. The zero value is right for a process that drives runs.
type Options struct {
	// Now is the clock; fault.Now when nil.
	Now func() time.Time

	// BusyWait is how long a database that other processes keep locked is waited for; 30 seconds when zero.
	BusyWait time.Duration

	// Alone is set by a caller that holds the store's lock alone while Open runs: what a process that was killed left half
	// written is nobody's any more, and is removed.
	Alone bool

	// FirstAfterCrash is set by a caller that holds the store's lock alone after an unclean end: the write-ahead log is
	// brought into the database and a commit is tried before Open returns.
	FirstAfterCrash bool

	// ReadOnly opens for reading and creates nothing. See OpenRead.
	ReadOnly bool

	// AllowUnsafeFS lets the state lie on a network file system, where neither locks nor fsync can be relied on.
	AllowUnsafeFS bool

	// NoBallast leaves out the file that is freed when the disk is full.
	NoBallast bool

	// Anew makes a database in a folder from which one is missing, where Open would refuse to.
	Anew bool

	// Known are values that must not come to rest in the clear, such as keys in the environment. Store.Know adds others.
	Known []redact.Known

	// Hit is called before and after a commit; fault.Hit where it is nil. Tests look at commits with it.
	Hit func(fault.Point)
}

// Store is an open state folder. Its methods may be called from any goroutine.
//
// Over budget: at most 147 methods: it is the file, its maintenance and the records at once; see the package
type Store struct {
	dir  string // absolute
	path string // of the database
	o    Options
	key  []byte // nil when opened for reading

	threadKeys sync.Map // []byte by thread: worked out from key

	vault   *vault
	readers *sql.DB
	w       *writer // nil when opened for reading
	opened  pinned  // the files of the connections; empty when opened for reading

	identity string                      // what the mark calls the store
	behind   atomic.Pointer[BehindError] // why nothing may be driven
	full     atomic.Bool                 // the disk was full since Open
	mu       sync.Mutex                  // guards notices, and side against closed
	notices  []string
	side     sync.WaitGroup // work beside the writer: the ballast
	ballasts sync.Once
	closed   atomic.Bool
}

const (
	fileName    = "agent.db"
	keyName     = "key"
	ballastName = "ballast"
	blobsName   = "blobs"
)

// Open opens the state folder for reading and writing, and creates it when it is not there. It refuses, with an error of
// a type of its own, a folder that is not safe, a file that is not ours, newer or corrupt, and changes none of them.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	if o.ReadOnly {
		return OpenRead(ctx, dir)
	}
	s, err := newStore(dir, o)
	if err != nil {
		return nil, err
	}
	if err := s.makeFolder(); err != nil {
		return nil, err
	}
	if err := s.openFiles(ctx); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	return s, nil
}

// Refuse says why Open would refuse the state folder for what it is, and makes nothing in it: nil where it can be used, or
// is not there yet.
func Refuse(dir string, o Options) error {
	s, err := newStore(dir, o)
	if err != nil {
		return err
	}
	if !o.AllowUnsafeFS {
		if err := checkFileSystem(s.dir); err != nil {
			return err
		}
	}
	info, err := os.Stat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at state folder: %w", err)
	}
	if err := checkOwner(s.dir, info); err != nil {
		return err
	}
	if err := s.checkHeader(); !errors.Is(err, ErrNoState) {
		return err
	}
	return nil
}

// OpenRead opens the state folder for reading. It creates and changes nothing, so it works on a read-only folder too.
// ErrNoState says that there is nothing to read.
func OpenRead(ctx context.Context, dir string) (*Store, error) {
	s, err := newStore(dir, Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if err := s.checkHeader(); err != nil {
		return nil, err
	}
	if err := useOFDLocks(); err != nil {
		return nil, err
	}
	if err := s.openVault(); err != nil {
		return nil, err
	}
	err = s.connectReaders(ctx, s.readingDSN())
	if err == nil {
		err = s.seeBehind(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	return s, nil
}

// OpenCrowded opens the state folder for reading when its disk is so full that Open fails with ErrDiskFull or ErrNoFiles: SQLite
// then keeps in memory what it would write beside the database. Nobody else can use the database meanwhile, so the caller holds
// the store's lock and is quick.
func OpenCrowded(ctx context.Context, dir string) (*Store, error) {
	s, err := newStore(dir, Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if err := s.checkHeader(); err != nil {
		return nil, err
	}
	if err := useOFDLocks(); err != nil {
		return nil, err
	}
	if err := s.openVault(); err != nil {
		return nil, err
	}
	how := crowdedDSN(s.path)
	if _, err := os.Stat(s.path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		how = readOnlyDSN(s.path, true) // no inode is left to make a log from, so nobody writes
	}
	if err := s.connectReaders(ctx, how); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	s.readers.SetMaxOpenConns(1) // the one that has locked out all others
	what := "the disk of %s is full"
	if freeFiles(s.dir) == 0 {
		what = "no inode is left on the disk of %s"
	}
	s.notice(what+": what is recorded is shown, and nothing can be written; make room there", s.dir)
	return s, nil
}

func newStore(dir string, o Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find state folder %s: %w", dir, err)
	}
	if err := onlyTemporary(abs); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = fault.Now
	}
	if o.BusyWait == 0 {
		o.BusyWait = 30 * time.Second
	}
	if o.Hit == nil {
		o.Hit = fault.Hit
	}
	return &Store{dir: abs, path: filepath.Join(abs, fileName), o: o}, nil
}

// openFiles makes or checks the files beside the database, and makes the database when there is none.
func (s *Store) openFiles(ctx context.Context) error {
	err := s.checkHeader()
	fresh := errors.Is(err, ErrNoState)
	if err != nil && !fresh {
		return err
	}
	if err := s.openKey(fresh); err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	if err := s.createDatabase(ctx); err != nil {
		return err
	}
	return s.checkHeader()
}

// connect opens the readers, brings an older database up to date and prepares the writer, which connects when it is
// first used.
func (s *Store) connect(ctx context.Context) error {
	if err := useOFDLocks(); err != nil {
		return err
	}
	if err := s.openVault(); err != nil {
		return err
	}
	s.w = newWriter(s)
	main, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, err)
	}
	err = s.connectReaders(ctx, dsn(s.path, false))
	if s.isDiskFull(err) && s.giveUpBallast() {
		err = s.connectReaders(ctx, dsn(s.path, false))
	}
	if err == nil {
		err = s.pin(main)
	}
	if err != nil {
		return err
	}
	if err := ownerOnly(filepath.Join(s.dir, keyName)); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if s.o.FirstAfterCrash {
		err = s.w.settle()
	}
	if err == nil {
		err = s.seeBehind(ctx)
	}
	if err == nil && s.o.Alone {
		s.dropHalfBallasts()
	}
	return err
}

// abandon closes what a failed Open has opened.
func (s *Store) abandon() error {
	var err error
	if s.readers != nil {
		err = s.readers.Close()
	}
	if s.w != nil {
		err = errors.Join(err, s.w.close())
	}
	return err
}

// Close waits for what was handed to the writer, brings the write-ahead log into the database and lets go of the files.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed.Swap(true)
	s.mu.Unlock()
	if again {
		return nil
	}
	s.side.Wait()
	var errs []error
	if err := s.readers.Close(); err != nil {
		errs = append(errs, fmt.Errorf("close the readers of %s: %w", s.path, err))
	}
	if s.w != nil {
		errs = append(errs, s.w.close())
	}
	return errors.Join(errs...)
}

// Notices lists, in order, what a person should know about the state folder. Each is a sentence without its full stop.
func (s *Store) Notices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.notices...)
}

func (s *Store) notice(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, fmt.Sprintf(format, args...))
}

// DiskFull says whether the disk was full since the store was opened. What was written is kept; nothing new may start.
func (s *Store) DiskFull() bool { return s.full.Load() }

// Dir is the state folder, absolute.
func (s *Store) Dir() string { return s.dir }

// Files lists the files that change when the store is written. The second one may not exist.
func (s *Store) Files() []string { return []string{s.path, s.path + "-wal"} }

// now is the time with which a transaction writes.
func (s *Store) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

// read runs f on a connection that cannot write.
func (s *Store) read(ctx context.Context, what string, f func(q *dbsqlc.Queries) error) error {
	if s.closed.Load() {
		return fmt.Errorf("%s: %w", what, ErrClosed)
	}
	q := dbsqlc.New(s.readers)
	var err error
	for wait := newBackoff(s.o.BusyWait); ; {
		if err = f(q); !isBusy(err) || !wait.next(ctx) {
			break
		}
	}
	if err == nil || saysAll(err) {
		return err
	}
	return fmt.Errorf("%s: %w", what, s.explain(err))
}

// saysAll is for errors that name what was looked for and where.
func saysAll(err error) bool {
	return errors.As(err, new(*CorruptError)) || errors.As(err, new(*UnknownIDError)) || errors.As(err, new(*AmbiguousError))
}
