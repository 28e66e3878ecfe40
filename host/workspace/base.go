package workspace

import (
	"errors"
	"maps"
	"slices"
	"time"

	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/gitrepo/objects"
	"agent/tools/scan"
)

// base lists the workspace and keeps all of it that a command could destroy: step 1 of the
// package's order.
func (f *finding) base() error {
	if why := f.k.refusal(f.folder); why != "" {
		f.only(why)
		return nil
	}
	if f.all { // what an earlier process saw: what changed since is on record first
		if err := f.everything(); err != nil {
			return err
		}
	}
	if full, err := f.makeRoom(); err != nil {
		return err
	} else if full {
		f.only("what is kept for others takes all the room that [keep] contents in config.toml gives")
		return nil
	}
	p, err := f.takeAhead()
	if err != nil {
		return err
	}
	early := p != nil
	if !early {
		if p, err = f.listAll(); errors.Is(err, scan.ErrTooMany) {
			f.only("the workspace has too many files")
			return nil
		} else if err != nil {
			return err
		}
	}
	f.flush()
	if err := f.recordBase(p); err != nil || !early {
		return err
	}
	return f.everything() // what changed since is nobody's of ours
}

// listing is a base before it is recorded.
type listing struct {
	names  []string // what was seen, in the order in which it is written down
	lost   lostFiles
	pinned bool
	began  int64
	later  []string // what the call that needs the base must seal: too much to be held until then
}

// listAll lists the workspace, and seals what the pin does not have.
func (f *finding) listAll() (*listing, error) {
	p := &listing{began: time.Now().UnixNano()}
	if err := f.openGit(); err != nil {
		return nil, err
	}
	for name := range f.seen {
		f.due[name] = true // of what file tools wrote all stays in scope
	}
	f.again()
	if f.early { // else each run would pay for it that has one call alone
		f.heed(f.git.index.Len())
	}
	l, err := f.tree.List(f.scope())
	if err != nil {
		return nil, err
	}
	p.lost = lostFiles{left: slices.Clone(l.LeftOut), sums: maps.Clone(l.Skipped)}
	var clean []string
	clean, p.pinned = f.cleanFiles(l)
	if err := f.firstAll(p, clean); err != nil {
		return nil, err
	}
	f.remember(l, p.began)
	f.whole = p.began
	return p, nil
}

// recordBase keeps the manifest and makes the fact.
func (f *finding) recordBase(p *listing) error {
	row, err := f.keep.StageDense(f.ctx, encode(p.names, f.seen, f.left, f.at))
	if err != nil {
		return err
	}
	f.rows = append(f.rows, row)
	f.look++
	b := journal.FilesBase{Look: f.look, Mode: journal.KeepAll, Paths: len(p.names), Manifest: row.Name, Sealed: f.sealed, Bytes: f.bytes}
	b.LeftOut, b.Skipped = p.lost.list()
	if f.git.ok {
		head := f.git.head
		b.Head = &head
	}
	if p.pinned {
		b.Pin = f.where.root
	}
	f.facts = append(f.facts, b)
	f.based, f.all = true, true
	fault.Hit(fault.BaseMade)
	return nil
}

// firstAll takes in all paths that were listed. clean has their blobs in the order of the tree, ""
// for those that are copied; nil is none.
func (f *finding) firstAll(p *listing, clean []string) error {
	was, n := f.seen, 0
	for range f.tree.Each {
		n++
	}
	f.seen, f.due = make(map[string]seen, n), map[string]bool{}
	p.names = make([]string, 0, n)
	versions := make([]journal.FileVersion, n) // one piece of memory for all
	n = 0
	for name, e := range f.tree.Each {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		v := &versions[n]
		blob := ""
		if len(clean) > 0 {
			blob = clean[n]
		}
		n++
		if blob != "" {
			*v = journal.FileVersion{Mode: e.Mode, Size: e.Size, Git: blob}
			f.seen[name] = seen{stat: e, v: v}
			p.names = append(p.names, name)
			continue
		}
		if f.early && f.tooMuch(e) {
			p.later = append(p.later, name)
			continue
		}
		if err := f.first(p, name, e, v, was); err != nil {
			return err
		}
	}
	return nil
}

// first takes in one path of the first list that is not clean. What a file tool's look had seen of
// it before is compared.
func (f *finding) first(p *listing, name string, e scan.Entry, v *journal.FileVersion, was map[string]seen) (err error) {
	s := seen{stat: e, v: v}
	var content []byte
	if e.Kind == journal.FileFolder {
		*v = journal.FileVersion{Kind: e.Kind, Mode: e.Mode}
	} else if s.v, s.stat, content, err = f.read(name); err != nil || s.v == nil {
		return err
	}
	s.young = s.stat.Ctime >= p.began-young.Nanoseconds()
	old, known := was[name]
	if known && f.same(old.v, s.v, s.stat, content) {
		s.v = old.v
	} else {
		if s.v, err = f.seal(s.v, s.stat, content); err != nil {
			return err
		}
		if known {
			f.change(name, old.v, s.v, false)
		}
	}
	if s.v == nil {
		return nil
	}
	p.names = append(p.names, name)
	if f.seen[name] = s; s.young || s.stat != e {
		f.due[name] = true
	}
	if s.v.Lost != "" && e.Out == "" { // else the listing has named it
		p.lost.add(name, s.v)
	}
	return nil
}

// isClean says whether git took a file for its blob when it wrote its index, and nobody wrote to
// the file since.
func isClean(i objects.Indexed, e scan.Entry) bool {
	return e.Kind == journal.FileRegular && i.Clean(e.Inode, e.Size, e.Mtime, e.Ctime)
}

// cleanFiles are the files that need no copy, as the blobs that they are, in the order of the tree;
// "" for what is none of them. Git tracks them, and the pin has the blobs. Where there is no pin
// none is.
func (f *finding) cleanFiles(l scan.Listing) (clean []string, pinned bool) {
	if !f.git.ok {
		return nil, false
	}
	how := f.git.repo.Conversions(f.git.index, func(name string) bool {
		_, listed := f.tree.Entry(name)
		return !listed && !l.Unseen(name)
	})
	var sizes []int64 // of the files, in the order of blobs
	var blobs []string
	find := f.git.index.Finder()
	for name, e := range f.tree.Each {
		blob := ""
		if e.Kind == journal.FileRegular && e.Out == "" {
			if i, tracked := find(name); tracked && isClean(i, e) && how(name) != objects.Any {
				blob = i.Blob
				blobs, sizes = append(blobs, blob), append(sizes, e.Size)
			}
		}
		clean = append(clean, blob)
	}
	if len(blobs) == 0 || !f.pinBlobs(blobs) {
		return nil, false
	}
	stored, err := f.git.pin.Sizes(f.ctx, blobs)
	if err != nil {
		return nil, false // what the pin has is not known: each is copied
	}
	at := 0
	for i, blob := range clean {
		if blob == "" {
			continue
		}
		if stored[at] != sizes[at] { // it was converted, or the pin lacks it: the file is copied
			clean[i] = ""
		} else {
			pinned = true
		}
		at++
	}
	return clean, pinned
}

// pinBlobs makes the pin. Where there is no room for one, as on another file system, or of objects
// that are not there, each file is copied.
func (f *finding) pinBlobs(blobs []string) bool {
	if f.git.pin != nil {
		_ = f.git.pin.Close() // it was only read from
	}
	if err := f.k.makePins(); err != nil {
		return false
	}
	var err error
	f.git.pin, err = f.git.repo.Pin(f.k.pin(f.where.root), slices.Values(blobs))
	return err == nil
}

// lostFiles are the paths whose content is not kept.
type lostFiles struct {
	left []journal.LeftOut
	sums map[journal.LeftReason]int
}

func (l *lostFiles) add(name string, v *journal.FileVersion) {
	if l.sums == nil {
		l.sums = map[journal.LeftReason]int{}
	}
	l.left = append(l.left, journal.LeftOut{Path: name, Reason: v.Lost, Size: v.Size})
	l.sums[v.Lost]++
}

// maxLeft is how many paths a fact names that are not kept.
const maxLeft = 50

// list is what a fact says of them: the largest files first, then folders.
func (l *lostFiles) list() (left []journal.LeftOut, sums []journal.SkipSum) {
	slices.SortStableFunc(l.left, func(a, b journal.LeftOut) int { return int(min(max(b.Size-a.Size, -1), 1)) })
	for _, r := range journal.LeftReasons() {
		if n := l.sums[r]; n > 0 {
			sums = append(sums, journal.SkipSum{Reason: r, Paths: n})
		}
	}
	return l.left[:min(len(l.left), maxLeft)], sums
}
