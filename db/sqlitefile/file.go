package sqlitefile

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

	"modernc.org/sqlite"

	"agent/recovery/fault"
)

// Format is what a program's database is known by, and what the program does at the steps of
// opening it. Each function may be nil.
type Format struct {
	Name          string   // of the database in its folder
	Beside        []string // patterns of the names of what else the program makes in the folder
	ApplicationID int
	Migrations    fs.FS  // with a folder of that name
	Layouts       []int  // digests of the migrations, of each format all up to it
	TrialLayouts  []int  // of formats that were never released
	Probe         string // a query for one number that fails where the tables cannot be read

	// Missing says why no database may be made where there is none; ErrNoState where one may, nil
	// where there is one by now.
	Missing func(path string) error
	// Prepare reads what belongs to the database and lies beside it, or makes it for a database
	// that is about to be made.
	Prepare func(dir string, fresh bool) error
	// Fill writes the first rows of a new database, in the transaction that makes its tables. file
	// is the one that gets the database's name.
	Fill func(ctx context.Context, conn *sql.Conn, file string) error
	// Check looks at a database that is ours before anything else is read from it.
	Check func(ctx context.Context, f *File) error
}

// Options say how a file is opened.
type Options struct {
	BusyWait        time.Duration // for a database that other processes keep locked
	Alone           bool          // the caller has locked out all others: what a killed process left half written is removed
	FirstAfterCrash bool          // likewise, after an unclean end: the log is copied into the database and a commit tried
	ReadOnly        bool
	AllowUnsafeFS   bool
	NoBallast       bool
	Hit             func(fault.Point) // is called before and after a commit
	Committed       func(note any)    // gets the last note of a transaction (Tx.Note) once it is durable
}

// File is an open database with its folder: readers, at most one writer, and what is kept free for
// it on the disk.
type File struct {
	Format Format

	dir     string // absolute
	path    string // of the database
	o       Options
	readers *sql.DB
	w       *writer // nil when opened for reading
	opened  pinned  // the files of the connections; empty when opened for reading

	ballast ballast
	full    atomic.Bool // the disk was full since Open
	mu      sync.Mutex  // guards notices
	notices []string
	closed  atomic.Bool
}

// Open opens the database of a folder for reading and writing, and creates both when they are not
// there. In this order:
//
//  1. the folder is made, or refused for its file system, its owner or its modes;
//  2. the header is compared with the format, before SQLite sees the file;
//  3. what lies beside the database is read or made (Format.Prepare), and then a database that is
//     missing (createDatabase);
//  4. readers connect, verify what they asked for (verify) and let the program look (Format.Check);
//  5. the files that they opened are noted (pin): a commit into any other is found;
//  6. missing migrations are run;
//  7. after an unclean end the log is copied into the database and a commit tried (recoverWAL);
//  8. a process that is alone removes what others left half written.
//
// A refusal changes nothing, and is an error of a type of its own.
func Open(ctx context.Context, dir string, format Format, o Options) (*File, error) {
	f, err := At(dir, format, o)
	if err != nil {
		return nil, err
	}
	if err := f.makeFolder(); err != nil {
		return nil, err
	}
	if err := f.create(ctx); err != nil {
		return nil, err
	}
	if err := f.connect(ctx); err != nil {
		return nil, errors.Join(err, f.abandon())
	}
	return f, nil
}

// Refuse says why Open would refuse the folder for what it is, and makes nothing in it: nil where
// it can be used, or is not there yet.
func Refuse(dir string, format Format, o Options) error {
	f, err := At(dir, format, o)
	if err != nil {
		return err
	}
	if !o.AllowUnsafeFS {
		if err := checkFileSystem(f.dir); err != nil {
			return err
		}
	}
	info, err := os.Stat(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at state folder: %w", err)
	}
	if err := checkOwner(f.dir, info); err != nil {
		return err
	}
	if err := f.checkHeader(); !errors.Is(err, ErrNoState) {
		return err
	}
	return nil
}

// OpenRead opens the database of a folder for reading. It creates and changes nothing, so it works
// on a read-only folder too. ErrNoState says that there is nothing to read.
func OpenRead(ctx context.Context, dir string, format Format, o Options) (*File, error) {
	return openToRead(ctx, dir, format, o, (*File).readingDSN)
}

// OpenDiskFull opens the database of a folder for reading when its disk is so full that Open fails
// with ErrDiskFull or ErrNoFiles: SQLite then keeps in memory what it would write beside the
// database. Nobody else can use the database meanwhile.
func OpenDiskFull(ctx context.Context, dir string, format Format, o Options) (*File, error) {
	f, err := openToRead(ctx, dir, format, o, func(f *File) string {
		if _, err := os.Stat(f.path + "-wal"); errors.Is(err, fs.ErrNotExist) {
			return readOnlyDSN(f.path, true) // no inode is left to make a log from, so nobody writes
		}
		return diskFullDSN(f.path)
	})
	if err != nil {
		return nil, err
	}
	f.readers.SetMaxOpenConns(1) // the one that has locked out all others
	what := "the disk of %s is full"
	if freeFiles(f.dir) == 0 {
		what = "no inode is left on the disk of %s"
	}
	f.Notice(what+": what is recorded is shown, and nothing can be written; make room there", f.dir)
	return f, nil
}

// OpenDamaged opens whatever is there for reading row by row, without a look at what it is. The
// caller closes it.
func OpenDamaged(dir string, format Format, o Options) (*File, error) {
	f, err := At(dir, format, o)
	if err != nil {
		return nil, err
	}
	return unverified(f, salvageDSN(f.path, f.walEmpty()))
}

func openToRead(ctx context.Context, dir string, format Format, o Options, dsn func(*File) string) (*File, error) {
	o.ReadOnly = true
	f, err := At(dir, format, o)
	if err != nil {
		return nil, err
	}
	if err := f.checkHeader(); err != nil {
		return nil, err
	}
	if err := UseOFDLocks(); err != nil {
		return nil, err
	}
	if err := f.connectReaders(ctx, dsn(f)); err != nil {
		return nil, errors.Join(err, f.abandon())
	}
	return f, nil
}

// OpenBriefly is OpenRead for who reads a few rows at once, compares them with their digests, and
// takes an error for no answer. What the file is shows by its header alone. A file that has no log
// is read as if nobody wrote it meanwhile, without a lock and without files beside it: whoever
// brings a log into it in that moment may make the reading fail.
func OpenBriefly(dir string, format Format, o Options) (*File, error) {
	o.ReadOnly = true
	f, err := At(dir, format, o)
	if err != nil {
		return nil, err
	}
	if err := f.checkHeader(); err != nil {
		return nil, err
	}
	return unverified(f, readOnlyDSN(f.path, f.walEmpty()))
}

// unverified connects readers when they are first asked, and does not look at what they open.
func unverified(f *File, dsn string) (*File, error) {
	if err := UseOFDLocks(); err != nil {
		return nil, err
	}
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.path, err)
	}
	f.readers = sql.OpenDB(c)
	return f, nil
}

// At is a file that is not opened: its paths alone.
func At(dir string, format Format, o Options) (*File, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find state folder %s: %w", dir, err)
	}
	if err := onlyTemporary(abs); err != nil {
		return nil, err
	}
	if o.BusyWait == 0 {
		o.BusyWait = 30 * time.Second
	}
	if o.Hit == nil {
		o.Hit = fault.Hit
	}
	f := &File{Format: format, dir: abs, path: filepath.Join(abs, format.Name), o: o}
	f.ballast.dir, f.ballast.notice = abs, f.Notice
	return f, nil
}

// create makes or checks what lies beside the database, and makes the database when there is none.
func (f *File) create(ctx context.Context) error {
	err := f.checkHeader()
	fresh := errors.Is(err, ErrNoState)
	if err != nil && !fresh {
		return err
	}
	if err := f.Format.Prepare(f.dir, fresh); err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	if err := f.createDatabase(ctx); err != nil {
		return err
	}
	return f.checkHeader()
}

// connect opens the readers, brings an older database up to date and prepares the writer, which
// connects when it is first used.
func (f *File) connect(ctx context.Context) error {
	if err := UseOFDLocks(); err != nil {
		return err
	}
	f.w = newWriter(f)
	main, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	err = f.connectReaders(ctx, dsn(f.path, false))
	if f.isDiskFull(err) && f.GiveUpBallast() {
		err = f.connectReaders(ctx, dsn(f.path, false))
	}
	if err == nil {
		f.opened, err = pin(f.path, main)
	}
	if err == nil {
		err = f.migrate(ctx)
	}
	if err == nil && f.o.FirstAfterCrash {
		err = f.w.recoverWAL()
	}
	if err == nil && f.o.Alone {
		f.ballast.dropHalf()
	}
	return err
}

// abandon closes what a failed opening has opened.
func (f *File) abandon() error {
	var err error
	if f.readers != nil {
		err = f.readers.Close()
	}
	if f.w != nil {
		err = errors.Join(err, f.w.close())
	}
	return err
}

// Close waits for what was handed to the writer, brings the write-ahead log into the database and
// lets go of the files.
func (f *File) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	f.ballast.stop()
	var errs []error
	if err := f.readers.Close(); err != nil {
		errs = append(errs, fmt.Errorf("close the readers of %s: %w", f.path, err))
	}
	if f.w != nil {
		errs = append(errs, f.w.close())
	}
	return errors.Join(errs...)
}

// Notices lists, in order, what a person should know about the folder. Each is a sentence without
// its full stop.
func (f *File) Notices() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.notices...)
}

// Notice adds to Notices.
func (f *File) Notice(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notices = append(f.notices, fmt.Sprintf(format, args...))
}

// DiskFull says whether the disk was full since the file was opened. What was written is kept;
// nothing new may start.
func (f *File) DiskFull() bool { return f.full.Load() }

// Dir is the folder, absolute.
func (f *File) Dir() string { return f.dir }

// Path is that of the database.
func (f *File) Path() string { return f.path }

// Writable says whether the file was opened for writing.
func (f *File) Writable() bool { return f.w != nil }

// Files lists the files that change when the database is written. The second one may not exist.
func (f *File) Files() []string { return []string{f.path, f.path + "-wal"} }

// Readers are the connections that cannot write.
func (f *File) Readers() *sql.DB { return f.readers }

// Read runs do until other processes let it read, or for BusyWait.
func (f *File) Read(ctx context.Context, do func() error) error {
	if f.closed.Load() {
		return ErrClosed
	}
	for wait := newRetries(f.o.BusyWait); ; {
		if err := do(); !isBusy(err) || !wait.next(ctx) {
			return err
		}
	}
}
