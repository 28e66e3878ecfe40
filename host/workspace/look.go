package workspace

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/recovery/journal"
	"agent/tools/files"
	"agent/tools/scan"
)

// young is how shortly before a look a change may be for a later one not to show in the times of
// the file: two ticks of a slow clock of the kernel.
const young = 20 * time.Millisecond

// everything looks at all that is in scope.
func (f *finding) everything() error {
	if !f.all {
		return nil // only file tools' paths are kept
	}
	began := time.Now().UnixNano()
	if !f.acted && !f.judge && !f.tree.Watching() && f.justLooked(began) {
		return nil
	}
	f.readGit()
	f.again()
	f.heed(len(f.seen))
	whole := f.judge || !f.tree.Watching()
	l, err := f.tree.List(f.scope())
	if err != nil {
		return err
	}
	f.vanished(l)
	names := f.differing(l)
	made := map[string]bool{} // of folders that came into scope: whether they are new
	for _, name := range names {
		if err := f.compare(name, began, made); err != nil {
			return err
		}
		f.settle(name)
	}
	f.remember(l, began)
	f.flush()
	if whole {
		f.whole = began
	}
	return nil
}

// differing are the paths that are not as they were seen, or may not be, in their order.
func (f *finding) differing(l scan.Listing) []string {
	for name := range f.due {
		f.settle(name)
	}
	names := slices.Collect(maps.Keys(f.due))
	if l.First {
		for name, e := range f.tree.Each {
			if old, known := f.seen[name]; !known || old.stat != e {
				names = append(names, name)
			}
		}
	}
	for _, c := range l.Changes {
		if old, known := f.seen[c.Path]; known == c.Gone || known && old.stat != c.Entry {
			names = append(names, c.Path)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settle notes whether the next look must compare a path even if it is listed as it is now.
func (f *finding) settle(name string) {
	s, known := f.seen[name]
	e, listed := f.tree.Entry(name)
	if known == listed && (!known || !s.young && s.stat == e) {
		delete(f.due, name)
	} else {
		f.due[name] = true
	}
}

// again has the tree look for what was seen outside of what it lists, as a file that a tool wrote
// in an ignored folder: from now on it is in scope.
func (f *finding) again() {
	for name := range f.due {
		if _, listed := f.tree.Entry(name); !listed && f.seen[name].counts() {
			f.tree.Again(name)
		}
	}
}

// many is how many paths take long enough to list that a look right behind another one is left out.
const many = 1000

// justLooked says that the look behind the call before has only just ended, and no call has begun
// since. Whoever changes something in so short a time is as likely to do so while a look is under
// way, behind the place that it has come to.
func (f *finding) justLooked(now int64) bool {
	took := f.ended - f.at
	return len(f.seen) > many && len(f.open) == 0 && now-f.ended < min(took, (50*time.Millisecond).Nanoseconds())
}

// vanished records what was left out and is there no more: it cannot be given back, and whoever
// wants it must hear of it.
func (f *finding) vanished(l scan.Listing) {
	now := leftOf(l)
	for _, name := range sortedNames(f.left) {
		_, still := now[name]
		if _, listed := f.tree.Entry(name); still || listed || f.seen[name].v != nil || files.Reserved(name) {
			continue
		}
		if v, _, _, err := f.read(name); err != nil || v != nil {
			continue // it is there, and came into scope or is not among those that are named
		}
		was := journal.FileVersion{Lost: f.left[name]}
		if was.Lost == journal.LeftIgnoredFolder || was.Lost == journal.LeftNested {
			was.Kind = journal.FileFolder
		}
		f.change(name, &was, nil, false)
	}
}

// remember keeps of a listing what the next look must know.
func (f *finding) remember(l scan.Listing, began int64) {
	f.left, f.at, f.ended = leftOf(l), began, time.Now().UnixNano()
	l.Changes = nil // what was seen has them
	f.last = l
}

// scope is what a look lists. What was seen once stays in scope, whatever becomes of the rules that
// leave paths out.
func (f *finding) scope() scan.Options {
	return scan.Options{
		Tracked: &inScope{f.tracker, sync.OnceValue(f.above)}, Exclude: append([]string{f.k.Process.Home}, f.k.Own...), Ignores: f.ignores,
		MaxPaths: maxPaths, MaxFile: maxFile, MaxIgnored: maxIgnored, Judge: f.judge, Stop: f.ctx.Done(),
	}
}

// inScope are the paths that are in scope whatever git ignores: those that it tracks, and those
// that were seen and are not in the tree, which knows the others itself.
type inScope struct {
	*tracker
	folders func() map[string]bool // above the latter
}

// Has says whether a path is one of them.
func (s *inScope) Has(name string) bool {
	return s.git.index.Has(name) || s.due[name] && s.seen[name].counts()
}

// Below says whether one of them lies below a folder.
func (s *inScope) Below(folder string) bool { return s.folders()[folder] || s.git.index.Below(folder) }

// above are the folders above what was seen and is not in the tree.
func (t *tracker) above() map[string]bool {
	all := map[string]bool{}
	for name := range t.due {
		if !t.seen[name].counts() {
			continue
		}
		for name = path.Dir(name); name != "." && !all[name]; name = path.Dir(name) {
			all[name] = true
		}
	}
	return all
}

// counts says whether what was seen keeps its path in scope.
func (s seen) counts() bool { return s.v != nil && s.v.Kind != journal.FileFolder }

// Bounds of what is in scope.
const (
	maxPaths   = 200_000
	maxIgnored = 256 << 10 // bytes of a file that git ignores
)

func leftOf(l scan.Listing) map[string]journal.LeftReason {
	left := make(map[string]journal.LeftReason, len(l.LeftOut))
	for _, o := range l.LeftOut {
		left[o.Path] = o.Reason
	}
	return left
}

// compare looks at one path that is not as it was.
func (f *finding) compare(name string, began int64, made map[string]bool) error {
	old, known := f.seen[name]
	v, e, content, err := f.read(name)
	if err != nil {
		return err
	}
	fresh := e.Ctime >= began-young.Nanoseconds()
	if known && scan.IsClosed(v) && (old.v == nil || old.v.Kind != journal.FileRegular) {
		return nil // a folder above it is closed: of folders and links that says enough
	}
	if known && f.same(old.v, v, e, content) || !known && v == nil {
		if known {
			f.see(name, seen{e, old.v, fresh})
		}
		return nil
	}
	if known && isFolder(v) && !isFolder(old.v) {
		made[name] = true // what is in it came with it
	}
	moved := f.gitMoved(name, old.v, v, content)
	after, err := f.seal(v, e, content)
	if err != nil {
		return err
	}
	before, err := f.unpinned(old.v)
	if err != nil {
		return err
	}
	if known && after != nil && after.Lost == journal.LeftUnreadable && onlyMode(old.stat, e) {
		closed := *before // its permissions alone were changed, and it may not be read any more
		closed.Mode, closed.Stamp = e.Mode, e.Stamp()
		after = &closed
	}
	if v == nil {
		delete(f.seen, name)
	} else {
		f.see(name, seen{e, after, fresh})
	}
	if known || f.isNew(name, v, e, made) {
		f.change(name, before, after, moved)
	}
	return nil
}

// onlyMode says whether nobody wrote a file between two looks, as far as its times say.
func onlyMode(old, now scan.Entry) bool {
	return old.Kind == now.Kind && old.Inode == now.Inode && old.Size == now.Size && old.Mtime == now.Mtime && old.Mode != now.Mode
}

// isNew says whether what was not seen before was made since, and has not only come into scope: by
// a rule of git that leaves it out no more, or a repository that is none any more.
func (f *finding) isNew(name string, v *journal.FileVersion, e scan.Entry, made map[string]bool) bool {
	is, inNew := made[path.Dir(name)]
	if !inNew {
		_, left := f.left[name]
		is = !left && !f.last.Unseen(name) && e.Ctime >= f.at-young.Nanoseconds()
	}
	if v.Kind == journal.FileFolder {
		made[name] = is
	}
	return is
}

// paths looks at those of some paths that were looked at before: of another it is not known what
// was there.
func (f *finding) paths(names []string) error {
	began := time.Now().UnixNano()
	for _, name := range f.local(names) {
		if _, known := f.seen[name]; !known && !f.all {
			continue
		}
		if err := f.compare(name, began, map[string]bool{path.Dir(name): true}); err != nil {
			return err
		}
	}
	f.flush()
	return nil
}

// pathsBefore looks at paths that a file tool may change. What was there is recorded, unless an
// earlier look has it.
func (f *finding) pathsBefore(names []string) error {
	if err := f.paths(slices.DeleteFunc(f.local(names), func(name string) bool {
		_, known := f.seen[name]
		return !known
	})); err != nil {
		return err
	}
	began := time.Now().UnixNano()
	for _, name := range f.local(names) {
		if _, known := f.seen[name]; known {
			continue // it is there as recorded
		}
		v, e, content, err := f.read(name)
		if err != nil {
			return err
		}
		if v == nil && f.all {
			continue // nor was it at the last look
		}
		sealed, err := f.seal(v, e, content)
		if err != nil {
			return err
		}
		f.see(name, seen{e, sealed, e.Ctime >= began-young.Nanoseconds()})
		f.changes = append(f.changes, journal.NewFileChange(name, journal.ProofOutside, sealed, sealed))
	}
	f.flush()
	return nil
}

// local are the paths in the workspace, each with the folders above it, which a tool may make.
func (f *finding) local(names []string) []string {
	all := map[string]bool{}
	for _, name := range names {
		if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || files.Reserved(name) {
			continue // it is outside, or git's or this program's own
		}
		for ; name != "." && name != "/"; name = path.Dir(name) {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// only says that from here on no more is kept than what file tools write.
func (f *finding) only(why string) {
	f.based, f.all, f.why = true, false, why
	f.look++
	f.facts = append(f.facts, journal.FilesBase{Look: f.look, Mode: journal.KeepTools, Why: why})
}
