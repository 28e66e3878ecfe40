package workspace

import (
	"agent/recovery/journal"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"
)

// names are the paths of a world, sorted.
var names = [...]string{"a", "b", "c", "d", "d/e", "d/f", "d/g", "d/g/h", "k", "k/m"}

// above has the place of each path's folder in names; -1 is the workspace itself.
var above = [len(names)]int{-1, -1, -1, -1, 3, 3, 3, 6, -1, 8}

// tree is what a workspace holds.
type tree [len(names)]*journal.FileVersion

// touch is what truly changed a path; the rule never sees it.
type touch struct {
	turn   int
	within bool // while the call of the turn was under way
	person bool // else a call
}

// world is a workspace in which calls and a person change files, and a host that looks, at times
// too late. Who changed what is known to the world alone.
type world struct {
	r       *rand.Rand
	windows bool // the person changes files while calls are under way, too
	gaps    bool // the host is away at times, and begins with what is there then
	git     bool // calls move HEAD
	big     bool // some files are too large to be kept

	disk, seen tree
	after      []tree // by turn, what the call of the turn left
	steps      []Step
	touched    [len(names)][]touch
	made       int
	head, side tree   // two commits; HEAD is at the first
	commits    []tree // all that there ever were
	moved      *[2]tree
	away       bool // something changed while nobody looked
	whole      bool // the plan was given all that is on disk
	log        []string
	loud       bool
}

func newWorld(seed uint64, windows bool) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 15)), windows: windows}
	w.gaps, w.git, w.big = w.one(5), w.one(3), w.one(8)
	for p := range names {
		if w.r.IntN(10) < 7 {
			w.put(p, w.content())
		}
	}
	w.seen, w.head, w.side = w.disk, w.disk, w.disk
	for range 3 {
		w.side[w.r.IntN(len(names))] = w.content()
	}
	w.commits = []tree{w.head, w.side}
	return w
}

func (w *world) one(n int) bool { return w.r.IntN(n) == 0 }

func (w *world) say(format string, args ...any) {
	if w.loud {
		w.log = append(w.log, fmt.Sprintf(format, args...))
	}
}

// content is a file that was never there before.
func (w *world) content() *journal.FileVersion {
	w.made++
	v := &journal.FileVersion{Mode: 0o644, Size: int64(w.made)}
	if w.one(4) {
		v.Mode = 0o755
	}
	switch {
	case w.big && w.one(8):
		v.Lost, v.Stamp = journal.LeftTooLarge, fmt.Sprint(w.made)
	case w.one(3):
		v.Git = fmt.Sprint(w.made)
	default:
		v.Kept = fmt.Sprint(w.made)
	}
	return v
}

// put writes what a person or a call wants at a path, with its folders; what is in the way goes, or
// it does not happen.
func (w *world) put(p int, v *journal.FileVersion) {
	if up := above[p]; up >= 0 && v != nil && !folder(w.disk[up]) {
		if w.disk[up] != nil && w.one(2) {
			return
		}
		if w.put(up, &journal.FileVersion{Kind: journal.FileFolder, Mode: 0o755}); !folder(w.disk[up]) {
			return
		}
	}
	if !folder(v) {
		for q := range names {
			if strings.HasPrefix(names[q], names[p]+"/") {
				w.disk[q] = nil
			}
		}
	}
	w.disk[p] = v
}

// change is one thing that somebody does to the files.
func (w *world) change() {
	p := w.r.IntN(len(names))
	switch n := w.r.IntN(20); {
	case n < 5:
		w.put(p, nil)
	case n < 7 && len(w.after) > 0: // what was there once
		w.put(p, w.after[w.r.IntN(len(w.after))][p])
	case n < 9 && w.disk[p] != nil && w.disk[p].Kind != journal.FileLink:
		v := *w.disk[p]
		v.Mode = []uint32{0o700, 0o755, 0o644, 0o600}[w.r.IntN(4)]
		w.disk[p] = &v
	case n < 11:
		w.made++
		w.put(p, &journal.FileVersion{Kind: journal.FileLink, Link: journal.LinkTarget(fmt.Sprint(w.made))})
	case n < 13:
		w.put(p, &journal.FileVersion{Kind: journal.FileFolder, Mode: 0o755})
	default:
		w.put(p, w.content())
	}
}

// act lets somebody do a few things.
func (w *world) act(t touch) {
	before := w.disk
	for range w.r.IntN(4) {
		w.change()
	}
	w.note(before, t)
}

// note keeps who changed what.
func (w *world) note(before tree, t touch) {
	for p := range names {
		if !before[p].Same(w.disk[p]) {
			w.touched[p] = append(w.touched[p], t)
			w.say("%+v: %s %s -> %s", t, names[p], text(before[p]), text(w.disk[p]))
		}
	}
}

// commit or check out the other commit: git moves what is clean, and forces what is not at times.
func (w *world) commit(turn int) {
	if w.one(2) {
		w.head = w.disk
		w.commits = append(w.commits, w.head)
		w.say("%d: committed", turn)
		return
	}
	before, force := w.disk, w.one(3)
	w.moved = &[2]tree{w.head, w.side}
	for p := range names {
		to, now := w.side[p], w.disk[p]
		if w.head[p].Same(to) || folder(to) || folder(now) || above[p] >= 0 && !folder(w.disk[above[p]]) || !force && !now.Same(w.head[p]) {
			continue
		}
		w.disk[p] = to
	}
	w.head, w.side = w.side, w.head
	w.say("%d: checked out, by force: %t", turn, force)
	w.note(before, touch{turn: turn})
}

// look notes what changed since the last one. Of a call it is when during is set.
func (w *world) look(turn int, during *journal.Place) {
	for p, name := range names {
		before, after := w.seen[p], w.disk[p]
		if before.Same(after) {
			continue
		}
		proof := journal.ProofOutside
		switch {
		case during != nil && w.moved != nil && before.Same(w.moved[0][p]) && after.Same(w.moved[1][p]):
			proof = journal.ProofGit
		case during != nil:
			proof = journal.ProofWhile
		}
		w.steps = append(w.steps, Step{Run: "r-1", Turn: turn, During: during, Time: time.Unix(int64(turn), 0), Change: journal.NewFileChange(name, proof, before, after)})
	}
	w.seen, w.moved = w.disk, nil
}

// gap lets a person write files while nobody looks. They never come back to what they were, so that
// a step or the disk shows it.
func (w *world) gap(turn int) {
	before := w.disk
	for range 1 + w.r.IntN(2) {
		p := w.r.IntN(len(names))
		if v := w.disk[p]; (v == nil || v.Kind == journal.FileRegular) && (above[p] < 0 || folder(w.disk[above[p]])) {
			w.disk[p] = w.content()
		}
	}
	w.note(before, touch{turn: turn, person: true})
	w.away = true
}

// live goes through a few turns, and ends with a look.
func (w *world) live() {
	w.after = append(w.after, w.disk)
	turns := 1 + w.r.IntN(6)
	for turn := 1; turn <= turns; turn++ {
		w.act(touch{turn: turn, person: true})
		w.look(turn, nil)
		if w.gaps && w.one(3) {
			w.gap(turn)
			w.seen = w.disk
		}
		w.act(touch{turn: turn})
		if w.git && w.one(2) {
			w.commit(turn)
		}
		if w.windows && w.r.IntN(10) < 3 {
			w.act(touch{turn: turn, within: true, person: true})
		}
		w.look(turn, &journal.Place{Turn: turn})
		w.after = append(w.after, w.disk)
	}
	w.act(touch{turn: turns + 1, person: true})
	w.look(turns+1, nil)
	if w.gaps && w.one(3) {
		w.gap(turns + 1)
	}
}

// since gives the steps with those of calls after a turn to be taken back.
func since(steps []Step, turn int) []Step {
	out := slices.Clone(steps)
	for i := range out {
		out[i].Take = out[i].During != nil && out[i].Turn > turn
	}
	return out
}

// plan is the rule's. It is given what is on disk of all paths, or only of those it needs.
func (w *world) plan(steps []Step, overwrite bool, count found) Plan {
	disk := map[string]*journal.FileVersion{}
	need := Paths(steps)
	if w.whole = w.one(2); w.whole {
		need = names[:]
	}
	for _, name := range need {
		disk[name] = w.disk[slices.Index(names[:], name)]
	}
	over := map[string]bool{}
	for _, name := range names {
		over[name] = overwrite
	}
	p := NewPlan(steps, disk, over)
	if w.one(16) && !reflect.DeepEqual(p, NewPlan(steps, disk, over)) {
		count["not_the_same"]++
	}
	return p
}

// carryOut writes what a plan says, as strictly as a file system does, and says what cannot be
// done. What nobody looked at and the plan was not given may be in the way: then a path stays as it
// is.
func (w *world) carryOut(p Plan) string {
	left := map[string]bool{}
	for _, i := range p.Acts() {
		at := slices.Index(names[:], i.Name())
		now, wrong := w.disk[at], ""
		switch {
		case left[i.Name()]:
			continue
		case folder(now) && !folder(i.Want) && w.holds(at):
			wrong = "it is not empty"
		case !now.Same(i.Now):
			wrong = text(i.Now) + " was planned for"
		case now != nil && i.Want != nil && folder(now) != folder(i.Want):
			wrong = "it is in the way of itself"
		case i.Want != nil && !w.parents(at):
			wrong = "what is above is no folder"
		}
		w.say("%s %s: %s -> %s %s", i.Kind, i.Name(), text(now), text(i.Want), wrong)
		switch {
		case wrong == "":
			w.disk[at] = i.Want
		case w.away && !w.whole:
			left[i.Name()] = true
		default:
			return i.Name() + ": " + wrong
		}
	}
	return ""
}

// holds says whether something is in a folder.
func (w *world) holds(at int) bool {
	for q, name := range names {
		if strings.HasPrefix(name, names[at]+"/") && w.disk[q] != nil {
			return true
		}
	}
	return false
}

// parents makes the folders above a path; it says false where something else is there.
func (w *world) parents(p int) bool {
	up := above[p]
	if up < 0 || folder(w.disk[up]) {
		return true
	}
	if w.disk[up] != nil || !w.parents(up) {
		return false
	}
	w.disk[up] = &journal.FileVersion{Kind: journal.FileFolder, Mode: 0o755}
	return true
}

func text(v *journal.FileVersion) string {
	switch {
	case v == nil:
		return "nothing"
	case v.Kind != journal.FileRegular:
		return fmt.Sprintf("%s %o %s", v.Kind, v.Mode, v.Link)
	}
	return fmt.Sprintf("%s%s%s %o", v.Kept, v.Git, v.Stamp, v.Mode)
}
