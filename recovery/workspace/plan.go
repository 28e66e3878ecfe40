package workspace

import (
	"agent/recovery/journal"
	"slices"
	"strings"
	"time"
)

// Kind says what becomes of a path. The words are stable.
type Kind string

// The kinds.
const (
	KindRestore Kind = "restore" // its content, mode or link is given back
	KindRemove  Kind = "remove"  // a call made it, and it goes
	KindSame    Kind = "same"    // it already is as it was
	KindYours   Kind = "yours"   // somebody else changed it since, or in between
	KindGit     Kind = "git"     // git moved it
	KindLost    Kind = "lost"    // what it was cannot be given back
)

// Kinds lists the kinds.
func Kinds() []Kind {
	return []Kind{KindRestore, KindRemove, KindSame, KindYours, KindGit, KindLost}
}

// Item is one path of a plan.
type Item struct {
	Path string // in the workspace, with slashes
	Raw  []byte // the path where it is not UTF-8; then Path is only near it
	Kind Kind

	Now  *journal.FileVersion // as it is on disk
	Want *journal.FileVersion // as it was, or is to be
	Was  *journal.FileVersion // as the last call left it

	By     Step               // the first change that is taken back; of git's, the first that would be
	Proof  journal.FileProof  // the weakest among the changes taken back
	Shared bool               // another run's call was under way during one of them
	Since  time.Time          // of a yours: when somebody else's change was seen, zero if only now
	Reason journal.LeftReason // why a content cannot be kept: of a lost what it was, of a yours what it is

	// Overwrite: a yours that was asked for by name, and is written like the others. One that
	// cannot be written, as something stays in the way, does not have it.
	Overwrite bool
	Held      bool // left alone because of what stays in it, or in its place; to ask for it by name changes nothing
}

// Name is the path as the system has it, with slashes.
func (i Item) Name() string {
	if i.Raw != nil {
		return string(i.Raw)
	}
	return i.Path
}

// Writes says whether carrying out the plan writes the path.
func (i Item) Writes() bool {
	return i.Kind == KindRestore || i.Kind == KindRemove || i.Kind == KindYours && i.Overwrite
}

// after is what is at the path when the plan was carried out.
func (i Item) after() *journal.FileVersion {
	if i.Writes() {
		return i.Want
	}
	return i.Now
}

// Plan says what becomes of each path that is taken back, sorted by path.
type Plan struct{ Items []Item }

// NewPlan decides what becomes of each path that a step to be taken back changed. Disk is what is
// there now, of [Paths] at least; what else it has is only used to see what stays in folders.
// Overwrite has the paths of others that are asked for by name. Both have the names that
// [journal.FileChange.Name] gives.
func NewPlan(steps []Step, disk map[string]*journal.FileVersion, overwrite map[string]bool) Plan {
	names := Paths(steps)
	slices.Sort(names)
	histories := make(map[string][]*Step, len(names))
	for i := range steps {
		if name := steps[i].Change.Name(); steps[i].Take || len(histories[name]) > 0 {
			histories[name] = append(histories[name], &steps[i]) // from the first that is taken back on
		}
	}
	p := Plan{Items: make([]Item, 0, len(names))}
	for _, name := range names {
		p.Items = append(p.Items, judge(histories[name], disk[name], overwrite[name]))
	}
	p.fit(steps, disk)
	return p
}

// judge decides about one path alone. Its history begins with the first step that is taken back.
func judge(history []*Step, now *journal.FileVersion, overwrite bool) Item {
	mine := slices.DeleteFunc(slices.Clone(history), func(s *Step) bool { return !s.Take })
	first := mine[0]
	taken := ownOf(mine)
	i := Item{Path: first.Change.Path, Raw: first.Change.Raw, Now: now, Was: mine[len(mine)-1].Change.After}
	if len(taken) == 0 {
		i.describe(mine)
		i.Kind = KindGit
		if same(now, i.Want) {
			i.Kind = KindSame
		}
		return i
	}
	i.describe(taken)
	if same(now, first.Change.Before) {
		i.Kind, i.Want = KindSame, first.Change.Before
		return i
	}
	since, others := changedByOthers(history[slices.Index(history, taken[0]):], now)
	switch {
	case same(now, i.Want):
		i.Kind = KindSame
	case others && !overwrite:
		i.Kind, i.Since = KindYours, since
	case !i.Want.Restorable():
		i.Kind, i.Reason = KindLost, reason(i.Want)
	case i.takesAway() && !overwrite:
		i.Kind, i.Reason = KindYours, reason(now)
	case others || i.takesAway():
		i.Kind, i.Since, i.Overwrite = KindYours, since, true
	case i.Want == nil:
		i.Kind = KindRemove
	default:
		i.Kind = KindRestore
	}
	return i
}

// takesAway says whether to write the path destroys what nobody could give back. Of what the last
// call left there a copy may be kept, although what is on disk cannot be read.
func (i *Item) takesAway() bool {
	return i.Now != nil && i.Now.Kind == journal.FileRegular && !i.Now.Restorable() && !(same(i.Now, i.Was) && i.Was.Restorable())
}

// ownOf leaves out of the steps what git moved and has to give back: see the package comment. It is
// empty where that is all.
func ownOf(mine []*Step) []*Step {
	was := mine[0].Change.Before
	moved := slices.ContainsFunc(mine, func(s *Step) bool {
		return s.Change.Proof == journal.ProofGit && (was == nil || same(s.Change.Before, was))
	})
	if !moved {
		return mine
	}
	for i, s := range slices.Backward(mine) {
		if s.Change.Proof == journal.ProofGit {
			return mine[i+1:]
		}
	}
	return mine
}

// describe notes which steps are taken back, and what for.
func (i *Item) describe(taken []*Step) {
	i.By, i.Want, i.Proof = *taken[0], taken[0].Change.Before, taken[0].Change.Proof
	for _, s := range taken {
		i.Shared = i.Shared || s.Shared
		if weakness(s.Change.Proof) > weakness(i.Proof) {
			i.Proof = s.Change.Proof
		}
	}
}

// weakness orders proofs: of what may be another's, a person should hear first.
func weakness(p journal.FileProof) int {
	return slices.Index(journal.FileProofs(), p)
}

// changedByOthers says whether anybody else changed the path from the first of these steps on, and
// when that was seen; the zero time means only now.
func changedByOthers(history []*Step, now *journal.FileVersion) (time.Time, bool) {
	left := history[0].Change.After
	for _, s := range history[1:] {
		if !s.Take || !same(left, s.Change.Before) {
			return s.Time, true
		}
		left = s.Change.After
	}
	return time.Time{}, !same(now, left)
}

// reason says why a version cannot be given back.
func reason(v *journal.FileVersion) journal.LeftReason {
	switch {
	case v.Lost != "":
		return v.Lost
	case v.Kind == journal.FileSpecial:
		return journal.LeftSpecial
	}
	return journal.LeftUnreadable
}

// fit takes back decisions that do not go together: a folder is not removed while something stays
// in it, nothing is given back below what stays and is no folder, and what is given back has its
// folder.
func (p Plan) fit(steps []Step, disk map[string]*journal.FileVersion) {
	stays := Versions(steps)
	for name, v := range disk {
		stays[name] = v
	}
	kinds := map[string]Kind{}
	for _, i := range p.Items {
		stays[i.Name()], kinds[i.Name()] = i.after(), i.Kind
	}
	held := holders(stays, kinds)
	for n := range p.Items {
		i := &p.Items[n]
		if kind, holds := held[i.Name()]; holds && i.Writes() && folder(i.Now) && !folder(i.Want) {
			if i.Want != nil {
				kind = KindYours // what was there is not git's to give back
			}
			i.leave(kind)
			stays[i.Name()] = i.Now
		}
	}
	for n := range p.Items { // sorted: what is above was decided before what is below
		i := &p.Items[n]
		if !i.Writes() || i.Want == nil {
			continue
		}
		for above := range parents(i.Name()) {
			if v := stays[above]; v != nil && !folder(v) {
				i.leave(KindYours)
				stays[i.Name()] = i.Now
				break
			}
		}
	}
	p.house(steps)
}

// house has the folders made again in which something is given back, where they go or are gone: a
// call made them, somebody else put something into them, and calls removed both.
func (p Plan) house(steps []Step) {
	needed := map[string]bool{}
	for _, i := range p.Items {
		for above := range parents(i.Name()) {
			if !i.Writes() || i.Want == nil || needed[above] {
				break
			}
			needed[above] = true
		}
	}
	if len(needed) == 0 {
		return
	}
	folders := map[string]*journal.FileVersion{} // as each was last
	for _, s := range steps {
		for _, v := range []*journal.FileVersion{s.Change.Before, s.Change.After} {
			if folder(v) {
				folders[s.Change.Name()] = v
			}
		}
	}
	for n := range p.Items {
		i := &p.Items[n]
		if i.after() != nil || !needed[i.Name()] || folders[i.Name()] == nil || !i.Writes() && i.Kind != KindSame {
			continue
		}
		if i.Want = folders[i.Name()]; !i.Overwrite {
			i.Kind = KindRestore
		}
	}
}

// leave leaves a path alone after all, because of what stays.
func (i *Item) leave(kind Kind) { i.Kind, i.Overwrite, i.Held = kind, false, true }

// keeps is the kind of a path that is left alone because one of this kind stays.
func keeps(kind Kind) Kind {
	if kind == KindGit {
		return KindGit
	}
	return KindYours
}

// holders says in which folders something stays, and what kind that makes them.
func holders(stays map[string]*journal.FileVersion, kinds map[string]Kind) map[string]Kind {
	held := map[string]Kind{}
	for name, v := range stays {
		if v == nil {
			continue
		}
		kind := keeps(kinds[name])
		for above := range parents(name) {
			if held[above] == kind || held[above] == KindYours {
				break // and so are those above it
			}
			held[above] = kind
		}
	}
	return held
}

// parents yields the folders above a path, the nearest first, without the workspace itself.
func parents(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for n := strings.LastIndexByte(name, '/'); n > 0; n = strings.LastIndexByte(name[:n], '/') {
			if !yield(name[:n]) {
				return
			}
		}
	}
}
