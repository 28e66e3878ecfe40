//go:build linux

package db

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A file system of SQLite's own that stands before the real one and fails on demand. It needs
// nothing of the machine, and reaches what no file system underneath can: the error of one
// operation of SQLite's, whatever the kernel makes of it. The table of functions is the one that
// SQLite's documentation describes (sqlite.org/c3ref/vfs.html, sqlite.org/c3ref/io_methods.html);
// that functions of Go can stand in it follows from how the transpiled SQLite calls: through the
// address of a function value.

// ioPlan says which operation fails.
type ioPlan struct {
	dir    string // files elsewhere are nobody's business
	at     int    // the at-th operation that changes something, from 1; 0 for none
	sticky bool   // and all after it
	full   bool   // for want of room, and not because the disk fails
	seen   int
	hit    int
}

// The functions below are called by SQLite, which hands them nothing of ours.
var (
	planned  atomic.Pointer[ioPlan]
	vfsMutex sync.Mutex
	vfsReal  uintptr                    // the file system behind
	vfsFiles = map[uintptr]faultyFile{} // open files
	vfsTable = map[uintptr]uintptr{}    // our functions, by the real ones
	vfsKeep  []any                      // what SQLite alone refers to
)

type faultyFile struct {
	name  string
	table uintptr
}

type (
	ioClose = func(*libc.TLS, uintptr) int32
	ioWrite = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
	ioTrunc = func(*libc.TLS, uintptr, int64) int32
	ioSync  = func(*libc.TLS, uintptr, int32) int32
	ioShm   = func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32
	ioOpen  = func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	ioDrop  = func(*libc.TLS, uintptr, uintptr, int32) int32
)

// at is what lies at an address that SQLite gave.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function is the function at an address, and address the place of one.
func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }

func address[F any](f F) uintptr {
	vfsKeep = append(vfsKeep, f)
	return *(*uintptr)(unsafe.Pointer(&f))
}

// fails counts an operation and says with what it fails, 0 for not.
func (p *ioPlan) fails(name string, code int32, needsRoom bool) int32 {
	vfsMutex.Lock()
	defer vfsMutex.Unlock()
	if p == nil || !strings.HasPrefix(name, p.dir) {
		return 0
	}
	p.seen++
	if p.at == 0 || p.seen < p.at || p.seen > p.at && !p.sticky || p.full && !needsRoom {
		return 0
	}
	p.hit++
	if p.full {
		return sqlite3.SQLITE_FULL
	}
	return code
}

func fileAt(f uintptr) (faultyFile, *sqlite3.Tsqlite3_io_methods) {
	vfsMutex.Lock()
	defer vfsMutex.Unlock()
	x := vfsFiles[f]
	return x, at[sqlite3.Tsqlite3_io_methods](x.table)
}

func faultyWrite(t *libc.TLS, f, from uintptr, n int32, off int64) int32 {
	x, real := fileAt(f)
	if rc := planned.Load().fails(x.name, sqlite3.SQLITE_IOERR_WRITE, true); rc != 0 {
		_ = function[ioWrite](real.FxWrite)(t, f, from, n/2, off) // a torn write: it fails, whatever of it was written
		return rc
	}
	return function[ioWrite](real.FxWrite)(t, f, from, n, off)
}

func faultySync(t *libc.TLS, f uintptr, how int32) int32 {
	x, real := fileAt(f)
	if rc := planned.Load().fails(x.name, sqlite3.SQLITE_IOERR_FSYNC, false); rc != 0 {
		return rc
	}
	return function[ioSync](real.FxSync)(t, f, how)
}

func faultyTruncate(t *libc.TLS, f uintptr, size int64) int32 {
	x, real := fileAt(f)
	if rc := planned.Load().fails(x.name, sqlite3.SQLITE_IOERR_TRUNCATE, false); rc != 0 {
		return rc
	}
	return function[ioTrunc](real.FxTruncate)(t, f, size)
}

func faultyShm(t *libc.TLS, f uintptr, page, size, extend int32, to uintptr) int32 {
	x, real := fileAt(f)
	if rc := planned.Load().fails(x.name, sqlite3.SQLITE_IOERR_SHMMAP, true); rc != 0 {
		return rc
	}
	return function[ioShm](real.FxShmMap)(t, f, page, size, extend, to)
}

func faultyClose(t *libc.TLS, f uintptr) int32 {
	x, real := fileAt(f)
	at[sqlite3.Tsqlite3_file](f).FpMethods = x.table
	rc := function[ioClose](real.FxClose)(t, f)
	vfsMutex.Lock()
	defer vfsMutex.Unlock()
	delete(vfsFiles, f)
	return rc
}

func faultyOpen(t *libc.TLS, _, name, f uintptr, flags int32, out uintptr) int32 {
	text := ""
	if name != 0 {
		text = libc.GoString(name)
	}
	if flags&sqlite3.SQLITE_OPEN_CREATE != 0 {
		if rc := planned.Load().fails(text, sqlite3.SQLITE_CANTOPEN, false); rc != 0 {
			at[sqlite3.Tsqlite3_file](f).FpMethods = 0
			return rc
		}
	}
	rc := function[ioOpen](at[sqlite3.Tsqlite3_vfs](vfsReal).FxOpen)(t, vfsReal, name, f, flags, out)
	if file := at[sqlite3.Tsqlite3_file](f); rc == sqlite3.SQLITE_OK && file.FpMethods != 0 {
		vfsMutex.Lock()
		defer vfsMutex.Unlock()
		vfsFiles[f] = faultyFile{text, file.FpMethods}
		file.FpMethods = faultyTable(t, file.FpMethods)
	}
	return rc
}

func faultyDelete(t *libc.TLS, _, name uintptr, sync int32) int32 {
	if rc := planned.Load().fails(libc.GoString(name), sqlite3.SQLITE_IOERR_DELETE, false); rc != 0 {
		return rc
	}
	return function[ioDrop](at[sqlite3.Tsqlite3_vfs](vfsReal).FxDelete)(t, vfsReal, name, sync)
}

// faultyTable is a table like the real one, with ours where something changes. It needs the lock.
func faultyTable(t *libc.TLS, real uintptr) uintptr {
	if ours, ok := vfsTable[real]; ok {
		return ours
	}
	ours := libc.Xmalloc(t, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	m := at[sqlite3.Tsqlite3_io_methods](ours)
	*m = *at[sqlite3.Tsqlite3_io_methods](real)
	m.FxClose, m.FxWrite, m.FxTruncate = address[ioClose](faultyClose), address[ioWrite](faultyWrite), address[ioTrunc](faultyTruncate)
	m.FxSync, m.FxShmMap = address[ioSync](faultySync), address[ioShm](faultyShm)
	vfsTable[real] = ours
	return ours
}

// failOnDemand puts the failing file system before every file that this process opens from now on.
func failOnDemand() error {
	t := libc.NewTLS()
	if rc := sqlite3.Xsqlite3_initialize(t); rc != sqlite3.SQLITE_OK {
		return errors.New("sqlite3_initialize fails")
	}
	if vfsReal = sqlite3.Xsqlite3_vfs_find(t, 0); vfsReal == 0 {
		return errors.New("SQLite has no file system")
	}
	ours := libc.Xmalloc(t, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	v := at[sqlite3.Tsqlite3_vfs](ours)
	*v = *at[sqlite3.Tsqlite3_vfs](vfsReal)
	name, err := libc.CString("faulty")
	if err != nil {
		return err
	}
	v.FzName, v.FpNext = name, 0
	v.FxOpen, v.FxDelete = address[ioOpen](faultyOpen), address[ioDrop](faultyDelete)
	if rc := sqlite3.Xsqlite3_vfs_register(t, ours, 1); rc != sqlite3.SQLITE_OK {
		return errors.New("sqlite3_vfs_register fails")
	}
	return nil
}
