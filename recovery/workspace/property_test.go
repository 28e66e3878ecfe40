package workspace

import (
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// found is what was counted over worlds.
type found map[string]int

// The promises that are broken if one of these is counted.
var promises = []string{
	"lost_person",       // what a person wrote after the first change that is taken back is written over
	"not_undone",        // only calls changed a path, and it is not as it was
	"left_alone",        // only calls changed a path and all around it, and it counts as somebody else's
	"foreign_path",      // a path was written that no act names
	"undo_not_identity", // a rewind of the rewind does not give back what was there
	"work_not_given",    // a path is left to git, which never had what was there
	"cannot_be_done",    // the acts do not go in this order
	"not_the_same",      // the same steps give another plan
}

// rewind lives one world, rewinds it to a turn, and rewinds that.
func (w *world) rewind(count found) {
	w.live()
	turn := w.r.IntN(len(w.after))
	w.say("rewind to %d", turn)
	steps, was := since(w.steps, turn), w.disk
	p := w.plan(steps, w.one(6), count)
	if wrong := w.carryOut(p); wrong != "" {
		w.say("%s", wrong)
		count["cannot_be_done"]++
	}
	for _, i := range p.Items {
		w.judge(i, turn, count)
	}
	for q, name := range names {
		if was[q] != w.disk[q] && !acted(p, name) && !(was[q] == nil && folder(w.disk[q])) {
			count["foreign_path"]++
		}
	}
	w.undo(p, was, count)
}

func acted(p Plan, name string) bool {
	return slices.ContainsFunc(p.Items, func(i Item) bool { return i.Name() == name && i.Writes() })
}

// judge looks at one path of a plan that was carried out.
func (w *world) judge(i Item, turn int, count found) {
	at := slices.Index(names[:], i.Name())
	count[string(i.Kind)]++
	if i.Overwrite {
		count["overwrite"]++
	}
	person, git := false, w.byGit(at, turn)
	housed := i.Now == nil && folder(i.Want) && w.holds(at) // nothing was there, and it is made for what is in it
	for _, t := range w.touched[at] {
		person = person || t.person && t.turn >= turn
		if lost := t.person && (t.turn > i.By.Turn || t.turn == i.By.Turn && t.within); lost && (i.Kind == KindRestore || i.Kind == KindRemove) && !housed {
			w.say("%s of a person is lost", i.Name())
			count["lost_person"]++
			break
		}
	}
	if i.Kind == KindGit && i.Want != nil && !slices.ContainsFunc(w.commits, func(c tree) bool { return c[at].Same(i.Want) }) {
		count["work_not_given"]++
	}
	if person || w.away {
		return
	}
	switch {
	case i.Kind == KindYours:
		if !w.around(at, turn) && !i.Overwrite {
			w.say("%s is nobody else's", i.Name())
			count["left_alone"]++
		}
	case i.Kind == KindLost || i.Kind == KindGit || git:
	case folder(w.disk[at]) && w.after[turn][at] == nil && w.around(at, turn): // for what is in it
	case !w.disk[at].Same(w.after[turn][at]):
		w.say("%s is %s and was %s", i.Name(), text(w.disk[at]), text(w.after[turn][at]))
		count["not_undone"]++
	}
}

// byGit says whether a step after a turn has the proof that git moved the path.
func (w *world) byGit(at, turn int) bool {
	return slices.ContainsFunc(w.steps, func(s Step) bool {
		return s.Turn > turn && s.Change.Path == names[at] && s.Change.Proof == journal.ProofGit
	})
}

// around says whether a person or git changed what is above or below a path, or something there
// cannot be given back.
func (w *world) around(at, turn int) bool {
	for q, name := range names {
		if strings.HasPrefix(name+"/", names[at]+"/") || strings.HasPrefix(names[at]+"/", name+"/") {
			if w.big || w.byGit(q, turn) || slices.ContainsFunc(w.touched[q], func(t touch) bool { return t.person && t.turn >= turn }) {
				return true
			}
		}
	}
	return false
}

// undo rewinds the rewind: it is a run with looks of its own.
func (w *world) undo(p Plan, was tree, count found) {
	w.seen, w.moved, w.away = was, nil, false
	w.look(99, &journal.Place{Turn: 99})
	again := w.plan(since(w.steps, 98), false, count)
	w.say("undo")
	if wrong := w.carryOut(again); wrong != "" {
		w.say("%s", wrong)
		count["cannot_be_done"]++
	}
	for q := range names {
		if !w.disk[q].Same(was[q]) && was[q].Restorable() {
			w.say("%s is %s and was %s", names[q], text(w.disk[q]), text(was[q]))
			count["undo_not_identity"]++
		}
	}
	for _, i := range p.Acts() {
		if folder(i.Now) != folder(i.Want) {
			count["folders"]++
		}
	}
}

// worlds is how many are tried of each sort: AGENT_TESTS=whole tries them all.
func worlds() uint64 {
	if os.Getenv("AGENT_TESTS") == "whole" {
		return 100_000
	}
	return 2000
}

// live tries worlds from a seed on and gives what was counted, with the story of the first that
// broke a promise; those behind it are not tried then.
func live(from uint64, windows bool, allowed ...string) (found, string) {
	total, lock := found{}, sync.Mutex{}
	story, end := "", from+worlds()
	first := end
	var group sync.WaitGroup
	workers := uint64(runtime.GOMAXPROCS(0))
	for k := range workers {
		group.Go(func() {
			sum := found{}
			for seed := from + k; seed < end; seed += workers {
				lock.Lock()
				broken := seed > first
				lock.Unlock()
				if broken {
					break
				}
				count := found{}
				newWorld(seed, windows).rewind(count)
				for what, n := range count {
					sum[what] += n
				}
				for _, what := range promises {
					if count[what] == 0 || slices.Contains(allowed, what) {
						continue
					}
					lock.Lock()
					if seed < first {
						w := newWorld(seed, windows)
						w.loud = true
						w.rewind(found{})
						story, first = fmt.Sprintf("world %d: %s\n%s", seed, what, strings.Join(w.log, "\n")), seed
					}
					lock.Unlock()
				}
			}
			lock.Lock()
			defer lock.Unlock()
			for what, n := range sum {
				total[what] += n
			}
		})
	}
	group.Wait()
	return total, story
}

// Files, folders, links and modes, changed by calls, by git and by a person, also while nobody
// looked; then a rewind, and a rewind of it. Where a person writes while a call is under way, the
// call's window is all that is known, and only there what a person wrote is taken back unasked;
// it comes back with the second rewind.
// R3, R4.
func TestRewindsOfRandomWorlds(t *testing.T) {
	for _, windows := range []bool{false, true} {
		name, allowed := "a person writes between calls", []string{}
		if windows {
			name, allowed = "and inside their windows", []string{"lost_person"}
		}
		t.Run(name, func(t *testing.T) {
			count, story := live(seed.First(t, worlds()), windows, allowed...)
			if story != "" {
				t.Fatalf("%v\n%s", count, story)
			}
			t.Log(count)
			wanted := []string{string(KindRestore), string(KindRemove), string(KindSame), string(KindYours), string(KindGit), string(KindLost), "overwrite", "folders"}
			for _, what := range append(wanted, allowed...) {
				if count[what] < int(worlds())/100 {
					t.Errorf("%s: %d times in %d worlds; they are too tame", what, count[what], worlds())
				}
			}
		})
	}
}
