package workspace

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"agent/db"
	"agent/db/keep"
	"agent/host/drive"
	"agent/recovery/journal"
	"agent/tools/gitrepo/objects"
	"agent/tools/scan"
)

// Bounds of what is kept.
const (
	maxFile   = 8 << 20   // bytes of one file
	maxBytes  = 256 << 20 // bytes that one look seals, where the keeper has no other
	maxPinned = 1000      // contents of the pin that one look seals, likewise; more stay in it
	batch     = 8 << 20   // bytes that wait for the commit of their facts; more are stored before it
)

// finding is one look, or several that are recorded together.
type finding struct {
	*tracker
	ctx   context.Context
	run   string // whose call the look is for
	own   window // that call
	place journal.Place
	acted bool // it has its result
	host  bool // it is none: this program writes itself
	early bool // it is none yet: nothing may become durable
	judge bool // it looks at all, whatever was heard

	facts   []journal.Body
	rows    []keep.Row
	waiting int64 // bytes of rows
	sealed  int   // contents that were sealed
	bytes   int64 // of them
	pinned  int   // contents of the pin among them
	changes []journal.FileChange
	during  bool // a change is the own call's
	shared  map[window]bool
	head    *journal.HeadMove
}

// found is what the look is recorded as.
func (f *finding) found() drive.Found {
	f.flush()
	return drive.Found{Facts: f.facts, Kept: f.rows}
}

// flush makes a fact of the changes that were found, or of a move of HEAD that changed no file.
func (f *finding) flush() {
	if len(f.changes) == 0 && f.head == nil {
		return
	}
	if f.changes == nil {
		f.changes = []journal.FileChange{}
	}
	slices.SortFunc(f.changes, func(a, b journal.FileChange) int { return strings.Compare(a.Name(), b.Name()) })
	f.look++
	fact := journal.FilesChanged{Look: f.look, Head: f.head, Changes: f.changes}
	if f.during {
		fact.During = &f.place
	}
	if f.judge {
		fact.Since = time.Unix(0, f.whole).UTC()
	}
	for w := range f.shared {
		fact.Shared = append(fact.Shared, journal.CallOf{Run: w.run, Place: journal.Place{Turn: w.turn, Index: w.index}})
	}
	slices.SortFunc(fact.Shared, func(a, b journal.CallOf) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	f.facts = append(f.facts, fact)
	f.changes, f.during, f.shared, f.head = nil, false, nil, nil
}

// change records that a path changed, and whose change it is as far as that is known.
func (f *finding) change(name string, before, after *journal.FileVersion, moved bool) {
	proof := journal.ProofOutside
	if f.judge {
		proof = journal.ProofLate
	}
	for w, paths := range f.open {
		if !covers(paths, name) {
			continue
		}
		if !proof.Ours() && paths != nil {
			proof = journal.ProofTool
		} else if paths == nil {
			proof = journal.ProofWhile
		}
		if w == f.own && f.host {
			proof = journal.ProofHost
		} else if w == f.own {
			f.during = true
		} else {
			if f.shared == nil {
				f.shared = map[window]bool{}
			}
			f.shared[w] = true
		}
	}
	if moved && proof == journal.ProofWhile {
		proof = journal.ProofGit
	}
	f.changes = append(f.changes, journal.NewFileChange(name, proof, before, after))
}

// read gives what is at a path now, with its content sealed.
func (f *finding) read(name string) (v *journal.FileVersion, e scan.Entry, content []byte, err error) {
	v, e, content, err = scan.Version(f.root, name, maxFile)
	if err != nil {
		return nil, e, nil, fmt.Errorf("look at %s: %w", path.Join(f.folder, name), err)
	}
	return v, e, content, nil
}

// seal has the store keep a content, and gives the version its name. Beyond the bound it is lost.
func (f *finding) seal(v *journal.FileVersion, e scan.Entry, content []byte) (*journal.FileVersion, error) {
	if v == nil || v.Kind != journal.FileRegular && v.Kind != journal.FileSpecial {
		return v, nil
	}
	sealed := *v
	if v.Lost == "" && f.bytes+v.Size > cmp.Or(f.k.MaxBytes, maxBytes) {
		sealed.Lost = journal.LeftOverBudget
	}
	if sealed.Lost != "" || v.Kind == journal.FileSpecial {
		sealed.Stamp = e.Stamp()
		return &sealed, nil
	}
	row, err := f.keep.Stage(f.ctx, content)
	if err != nil {
		return nil, err
	}
	sealed.Kept = row.Name
	f.rows, f.sealed, f.bytes, f.waiting = append(f.rows, row), f.sealed+1, f.bytes+v.Size, f.waiting+v.Size
	if f.waiting > batch {
		if err := db.Keep(f.ctx, f.k.Process.Store, f.rows); err != nil {
			return nil, err
		}
		f.rows, f.waiting = nil, 0
	}
	return &sealed, nil
}

// unpinned seals a content that the pin alone has, so that its change can be undone whatever
// becomes of the pin. Of very many the pin stays the only copy.
func (f *finding) unpinned(v *journal.FileVersion) (*journal.FileVersion, error) {
	if v == nil || v.Git == "" || f.pinned >= cmp.Or(f.k.MaxPinned, maxPinned) || f.git.pin == nil {
		return v, nil
	}
	content, err := f.git.pin.Read(f.ctx, v.Git, maxFile)
	if err != nil {
		lost := *v
		lost.Git, lost.Lost, lost.Stamp = "", journal.LeftUnreadable, "git "+v.Git
		return &lost, nil
	}
	f.pinned++
	plain := *v
	plain.Git = ""
	return f.seal(&plain, scan.Entry{}, content)
}

// same says whether what is at a path is the version that was seen there.
func (f *finding) same(old, v *journal.FileVersion, e scan.Entry, content []byte) bool {
	if old == nil || v == nil {
		return old == v
	}
	now := *v
	switch {
	case v.Kind != journal.FileRegular && v.Kind != journal.FileSpecial:
	case old.Lost != "" || v.Lost != "" || v.Kind == journal.FileSpecial:
		now.Stamp, now.Lost = e.Stamp(), old.Lost
	case old.Git != "":
		now.Git = objects.BlobID(content, f.git.repo.SHA256)
	default:
		now.Kept = f.keep.Name(content)
	}
	return old.Same(&now)
}
