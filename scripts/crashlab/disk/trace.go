//go:build linux

package main

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
)

// operation is one thing that was done to the disk.
type operation struct {
	N      int    `json:"n"`
	Op     string `json:"op"`
	Path   string `json:"path"`
	To     string `json:"to,omitempty"` // of a rename or a link
	Offset int64  `json:"offset,omitempty"`
	Size   int64  `json:"size,omitempty"`

	id           uint64 // of the file; of the folder for fsyncdir
	dir, toDir   uint64
	name, toName string
	mode         uint32
	data         []byte
	link         string // what a symbolic link says
	swap         bool   // a rename that exchanges two names
}

// Names of operations.
const (
	opCreate   = "create"
	opMkdir    = "mkdir"
	opSymlink  = "symlink"
	opLink     = "link"
	opWrite    = "write"
	opTruncate = "truncate"
	opExtend   = "extend" // by fallocate
	opFsync    = "fsync"
	opFsyncdir = "fsyncdir"
	opRename   = "rename"
	opUnlink   = "unlink"
	opRmdir    = "rmdir"
	opChmod    = "chmod"
	opOpen     = "open" // to write; it is never recorded, and refused on a disk that became read-only
)

// covers says whether a rule for the kind is about the operation.
func covers(kind, op string) bool {
	switch kind {
	case "any":
		return true
	case opCreate:
		return op == opCreate || op == opMkdir || op == opSymlink || op == opLink
	case opTruncate:
		return op == opTruncate || op == opExtend
	case opFsync:
		return op == opFsync || op == opFsyncdir
	case opUnlink:
		return op == opUnlink || op == opRmdir
	}
	return kind == op
}

func kinds() []string {
	return []string{"any", opWrite, opFsync, opCreate, opRename, opTruncate, opUnlink}
}

// fault makes operations fail.
type fault struct {
	kind, prefix string
	errno        syscall.Errno
	at           int // matching operations until then
	sticky, torn bool
	seen         int
}

type slowness struct {
	kind, prefix string
	wait         time.Duration
}

// key is what stays of a file whatever its name.
type key struct{ ino, gen uint64 }

// trace is what was done, in order. Operations are carried out one at a time: so the order in which
// they are numbered is the one in which they happened.
type trace struct {
	mu     sync.Mutex
	ops    []operation
	ids    map[key]uint64
	last   uint64
	faults []*fault
	slow   []slowness
	hit    int
}

const rootID = 1

// newTrace begins with the files that there are.
func newTrace(ids map[key]uint64) *trace {
	return &trace{ids: ids, last: rootID + uint64(len(ids))}
}

// carry carries an operation out and records it. act completes what is known only afterwards; half
// carries out a part of a write that fails; it may be nil.
func (t *trace) carry(op *operation, act func() syscall.Errno, half func(*operation)) syscall.Errno {
	t.delay(op)
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.fails(op); f != nil {
		t.hit++
		if f.torn && half != nil {
			half(op)
			t.add(op)
		}
		return f.errno
	}
	if errno := act(); errno != 0 {
		return errno
	}
	if op.Op != opOpen {
		t.add(op)
	}
	return 0
}

// add needs the lock.
func (t *trace) add(op *operation) {
	op.N = len(t.ops) + 1
	t.ops = append(t.ops, *op)
}

// delay waits as a slow disk does, and others go on meanwhile.
func (t *trace) delay(op *operation) {
	t.mu.Lock()
	var wait time.Duration
	for _, s := range t.slow {
		if covers(s.kind, op.Op) && op.under(s.prefix) && op.Op != opOpen {
			wait = max(wait, s.wait)
		}
	}
	t.mu.Unlock()
	if wait > 0 {
		<-time.After(wait)
	}
}

func (op *operation) under(prefix string) bool {
	return strings.HasPrefix(op.Path, prefix) || op.To != "" && strings.HasPrefix(op.To, prefix)
}

// fails needs the lock. Every rule counts what it is about, whoever fails it.
func (t *trace) fails(op *operation) *fault {
	var first *fault
	for _, f := range t.faults {
		if !covers(f.kind, op.Op) || !op.under(f.prefix) {
			continue
		}
		if op.Op == opOpen {
			// It counts for nothing, since it changes nothing: a disk is read-only from the
			// operation on that found it so.
			if f.errno == syscall.EROFS && f.sticky && f.seen >= f.at && first == nil {
				first = f
			}
			continue
		}
		f.seen++
		if (f.seen == f.at || f.sticky && f.seen > f.at) && first == nil {
			first = f
		}
	}
	return first
}

// idOf needs the lock.
func (t *trace) idOf(a fs.StableAttr) uint64 {
	k := key{a.Ino, a.Gen}
	if id, ok := t.ids[k]; ok {
		return id
	}
	return t.fresh(a)
}

// fresh needs the lock. What was just made is never a file that there was.
func (t *trace) fresh(a fs.StableAttr) uint64 {
	t.last++
	t.ids[key{a.Ino, a.Gen}] = t.last
	return t.last
}

func (t *trace) index() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ops)
}

// until gives the operations from one number to another, both included.
func (t *trace) until(from, to int) ([]operation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from < 1 || to > len(t.ops) || from > to+1 {
		return nil, fmt.Errorf("operations %d to %d: there are 1 to %d", from, to, len(t.ops))
	}
	return t.ops[from-1 : to : to], nil
}

func (t *trace) arm(f *fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, f)
}

func (t *trace) slowDown(s slowness) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slow = append(t.slow, s)
}

func (t *trace) heal() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	hit := t.hit
	t.faults, t.slow, t.hit = nil, nil, 0
	return hit
}
