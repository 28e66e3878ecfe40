// Package scan says what a workspace holds, reads what is at a path of it, and makes again what was
// there. It decides nothing: what is kept, and what is made again, is known to who calls it.
//
// # Scope
//
// A Tree goes through everything that a command in the workspace could destroy and that can be
// given back: what git tracks, what it does not track and does not ignore, and ignored files that
// are small and whose folder is not ignored, such as .env. Left out are ignored folders, folders
// that hold a repository of their own or are one, whatever is called .git, and what the caller
// excludes. A path that Options.Tracked has is in scope wherever it is, but for what is called
// .git, and so is a file that was in scope before, whatever becomes of the rules.
//
// # Identity
//
// No link is followed in any part of a path below the workspace: every folder is opened below the
// one before. A FIFO is never waited for, and nothing but regular files and folders is opened.
package scan

import (
	"errors"
	"fmt"
	"strings"

	"agent/recovery/journal"
)

// The bounds of a listing, where Options has none.
const (
	MaxPaths   = 200_000
	MaxFile    = 8 << 20
	MaxIgnored = 256 << 10
)

const (
	maxLeftOut = 200 // listed one by one
	maxDepth   = 512 // each level is an open file
)

// ErrTooMany says that a workspace holds more than Options.MaxPaths.
var ErrTooMany = errors.New("the workspace holds too many files and folders")

// Entry is one path of a workspace as lstat(2) has it.
type Entry struct {
	Kind         journal.FileKind
	Mode         uint32 // as in journal.FileVersion
	Size         int64
	Inode        uint64 // 0 where the system shows none, as of Ctime and Links
	Mtime, Ctime int64  // nanoseconds
	Links        uint64
	Out          journal.LeftReason // why the content is not kept: special or too_large; "" otherwise
}

// Stamp tells one content from another where it is not kept. It is that of journal.FileVersion.
func (e Entry) Stamp() string { return fmt.Sprintf("%x-%x-%x-%x", e.Inode, e.Size, e.Mtime, e.Ctime) }

// Change is a path that is not as the listing before had it. Paths have slashes and are otherwise
// the bytes that the system has.
type Change struct {
	Path string
	Entry
	Gone bool // nothing in scope is there any more
}

// Listing is what a Tree found.
type Listing struct {
	First   bool     // there was none before: Changes is empty, and all that is there is in the tree
	Changes []Change // files, links, special files and folders; the workspace itself is none
	LeftOut []journal.LeftOut
	Skipped map[journal.LeftReason]int // how many there are of each reason, also beyond what LeftOut lists
	unseen  map[string]struct{}        // files without an entry, and folders below which some have none
}

// Unseen says whether something may be at a path that the tree has no entry of: it was left out, or
// lies below what was. Of any other path without one it is known that nothing is there.
func (l Listing) Unseen(path string) bool {
	for at := path; ; {
		if _, ok := l.unseen[at]; ok {
			return true
		}
		cut := strings.LastIndexByte(at, '/')
		if isGit(at[cut+1:]) {
			return true
		}
		if cut < 0 {
			return false
		}
		at = at[:cut]
	}
}

// Tracked are paths that are in scope whatever else is said of them. Several ask it at once.
type Tracked interface {
	Has(path string) bool
	Below(folder string) bool // whether one of them lies below a folder
}

// Options bound a listing. A bound of 0 is the constant of that name.
type Options struct {
	Tracked    Tracked  // nil for none
	Exclude    []string // absolute folders that are left out, in silence
	Ignores    string   // the file of what the person ignores everywhere, as gitconfig.Ignores finds it; "" is none
	MaxPaths   int      // how many may be looked at: beyond it ErrTooMany
	MaxFile    int64    // bytes of a file whose content is kept
	MaxIgnored int64    // bytes of an ignored file that is in scope
	Judge      bool     // all is looked at, whatever Watch has heard

	Stop <-chan struct{} // closed once nobody wants the listing any more: then it is ErrStopped
}

// ErrStopped says that a listing was not wanted any more.
var ErrStopped = errors.New("it was stopped")
