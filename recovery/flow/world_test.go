package flow

import (
	"agent/recovery"
	"agent/recovery/journal"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

// world is a folder, child runs, a store of copies, a person who answers at random and edits and
// deletes files, and a host that is killed. It keeps its own record of what the promises speak of,
// and judges every fact by it.
type world struct {
	r   *rand.Rand
	def *Definition
	s   *State

	events []journal.Event
	log    []string
	wrong  string

	disk     map[string]string // content; "" nothing, "!" cannot be read
	copies   map[string]bool   // contents of which the store has a copy
	bad      map[string]bool   // contents that are not valid
	seen     map[string]bool   // contents of a person's that the host looked at or copied
	hand     map[string]bool   // paths whose content a person wrote
	during   map[string]bool   // or wrote while a phase was at work on it
	children map[string]*kid
	seq      int
	broken   bool // a file cannot be read for a while

	counts map[string]string            // by path, from the facts alone
	from   map[string]map[string]string // by instance: what it was made from
	acted  map[string]bool              // instances that did more than write their outputs
	words  map[string]int               // decisions of a person that an instance begins again
	kept   map[string]bool              // "instance path version" of which a person said keep
	redos  map[string]int
	put    map[string]int // times that the host put back a path's version by itself
	stats  map[string]int

	before *State                      // the flow of the thread before this one; nil for none
	did    map[string]bool             // what that one did more than its outputs, by instance
	asks   map[string]*journal.Request // about what that one did, by instance
}

type kid struct {
	start journal.FlowPhaseStarted
	state ChildState
	end   journal.PhaseOutcome
	acts  bool
	asked bool
	cost  int64
	limit int64
}

func newWorld(seed uint64) *world {
	w := emptyWorld(seed)
	w.def = w.generate()
	w.begin()
	return w
}

func emptyWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 14))
	return &world{r: r, disk: map[string]string{}, copies: map[string]bool{}, bad: map[string]bool{}, seen: map[string]bool{}, hand: map[string]bool{}, during: map[string]bool{},
		children: map[string]*kid{}, counts: map[string]string{}, from: map[string]map[string]string{}, acted: map[string]bool{}, words: map[string]int{},
		kept: map[string]bool{}, redos: map[string]int{}, put: map[string]int{}, stats: map[string]int{}}
}

// begin records that the flow is there.
func (w *world) begin() {
	s, err := New(w.def)
	if err != nil {
		w.fail("%v", err)
		return
	}
	w.s = s
	w.record(journal.RunCreated{Run: "r-flow", Mode: journal.ModeAuto}, journal.RunClaimed{Epoch: 1})
}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

func (w *world) one(n int) bool { return w.r.IntN(n) == 0 }

// generate makes a flow of 2 to 5 phases, several of which may be at work at once.
func (w *world) generate() *Definition {
	d := &Definition{Name: "f.md", Task: TaskNone, Parallel: 2 + w.r.IntN(3), OnFail: pick(w.r, FailStop, FailAsk, FailContinue)}
	if w.one(3) {
		d.Limits.MaxCost = int64(50 + w.r.IntN(500))
	}
	w.disk["src"], w.disk["list"] = "s0", "l0"
	for i := range 2 + w.r.IntN(4) {
		p := Phase{Name: fmt.Sprintf("p%d", i), Tries: 1 + w.r.IntN(2), Rounds: 1 + w.r.IntN(2), OnFail: pick(w.r, FailStop, FailAsk, FailContinue, FailAsk),
			Redo: pick(w.r, RedoAsk, RedoAsk, RedoAsk, RedoSafe, RedoAsk, RedoNever), Mode: pick(w.r, journal.ModePlan, journal.ModeAuto)}
		for j := range i {
			if w.one(2) {
				p.After = append(p.After, fmt.Sprintf("p%d", j))
			}
		}
		d.Phases = append(d.Phases, p)
		w.furnish(d, i)
	}
	return d
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// furnish gives a phase its inputs, outputs and the rest.
func (w *world) furnish(d *Definition, i int) {
	p := &d.Phases[i]
	g, err := NewGraph(d)
	if err != nil {
		w.fail("%v", err)
		return
	}
	if w.one(3) {
		p.Inputs = append(p.Inputs, Input{Path: "src"})
	}
	if w.one(4) {
		p.Each = "list"
		p.Inputs = append(p.Inputs, Input{Path: "list"})
		p.Outputs = append(p.Outputs, Output{Path: p.Name + "/{name}"})
		p.Parallel = w.r.IntN(3)
	} else {
		for k := range 1 + w.r.IntN(2) {
			p.Outputs = append(p.Outputs, Output{Path: fmt.Sprintf("%s.%d", p.Name, k)})
		}
	}
	for j := range i {
		q := &d.Phases[j]
		if !g.Before(q.Name, p.Name) {
			continue
		}
		switch {
		case w.one(3) && q.Each == "":
			p.Inputs = append(p.Inputs, Input{Path: q.Outputs[0].Path})
		case w.one(3):
			p.Inputs = append(p.Inputs, Input{Phase: q.Name})
		}
		if w.one(4) {
			p.OnFail, p.Back = FailBack, q.Name
		}
	}
	if w.one(4) {
		p.Checks = []Command{{Run: "check"}}
	}
	if w.one(8) {
		p.SkipIf = &Command{Run: "skip"}
	}
	if w.one(6) {
		p.Ask = "Begin?"
	}
}

// record appends facts as one commit and looks at each.
func (w *world) record(bodies ...journal.Body) {
	for _, b := range bodies {
		w.judge(b)
		e := journal.Event{Seq: int64(len(w.events) + 1), Body: b}
		if err := w.s.Apply(e); err != nil {
			w.fail("%v", err)
			return
		}
		w.events = append(w.events, e)
		w.note(b)
	}
}

// killed ends the process: what it drove stands, and another one reads the facts again.
func (w *world) killed() {
	w.say("killed")
	for _, k := range w.children {
		if k.state == ChildRunning {
			k.state = ChildIdle
		}
	}
	again, err := Fold(w.def, w.events)
	if err != nil {
		w.fail("fold: %v", err)
		return
	}
	if !reflect.DeepEqual(again, w.s) {
		w.fail("the facts read again give another state")
	}
	w.s = again
	w.broken = false
	clear(w.asks)
	if w.one(2) && w.s.Run.Status == recovery.StatusRunning {
		w.record(journal.RunInterrupted{Cause: journal.CauseCrash})
	}
	w.record(journal.RunClaimed{Epoch: w.s.Run.Epoch + 1})
}

// harm is what a person, or a disk, does to the files meanwhile.
func (w *world) harm() {
	for _, name := range w.known() {
		if !w.one(8) {
			continue
		}
		switch w.r.IntN(5) {
		case 0, 1:
			w.disk[name], w.hand[name] = "", false
			w.say("gone %s", name)
		case 2, 3:
			w.seq++
			content := fmt.Sprintf("%c%d", "eb"[w.r.IntN(5)/4], w.seq)
			w.bad[content] = content[0] == 'b'
			w.disk[name], w.hand[name] = content, true
			w.during[name] = w.atWork(name)
			w.say("edited %s=%s", name, content)
		case 4:
			delete(w.copies, w.counts[name])
			w.say("copy of %s lost", name)
		}
	}
}

func (w *world) known() []string {
	var out []string
	for name, sha := range w.counts {
		if sha != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// atWork says whether a phase that makes the file is under way.
func (w *world) atWork(name string) bool {
	for _, x := range w.s.open() {
		if slices.ContainsFunc(x.Outputs(), func(o Output) bool { return o.Path == name }) {
			return true
		}
	}
	return false
}

// world as Next sees it.
func (w *world) seenByNext() World {
	out := World{Children: map[string]Child{}, Repeats: w.asks}
	for run, k := range w.children {
		out.Children[run] = Child{State: k.state, Quiet: !k.acts, Cost: k.cost}
	}
	return out
}

// look is what the host finds of an artifact.
func (w *world) look(a journal.Artifact) Look {
	content := w.disk[a.Path]
	l := Look{Artifact: journal.Artifact{Path: a.Path, SHA: content}, Copied: w.copies[a.SHA], State: journal.ArtifactEdited}
	switch {
	case content == "!":
		l.SHA, l.State = "", journal.ArtifactUnreadable
		return l
	case content == a.SHA:
		l.State = journal.ArtifactIntact
	case content == "":
		l.State = pick(w.r, journal.ArtifactMissing, journal.ArtifactEmpty, journal.ArtifactCut)
	case w.bad[content]:
		l.Invalid = "it does not match"
	}
	if content != "" && !w.bad[content] {
		w.seen[content] = true
		if w.copies[content] || !w.one(4) {
			w.copies[content], l.Copy = true, "k-"+content
		}
	}
	return l
}

func name(phase string, item *journal.PhaseItem) string { return phase + "/" + key(item) }

// step performs what is next; it says false at the end.
func (w *world) step() bool {
	if w.one(15) && !w.s.Run.Status.Terminal() {
		w.killed()
	}
	switch a := Next(w.s, w.seenByNext()).(type) {
	case Done:
		return false
	case Claim:
		w.record(journal.RunClaimed{Epoch: w.s.Run.Epoch + 1})
	case Record:
		for i, b := range a.Facts {
			if o, ok := b.(journal.RequestOpened); ok {
				w.seq++
				o.Request.ID = fmt.Sprintf("p-%d", w.seq)
				a.Facts[i] = o
			}
		}
		w.record(a.Facts...)
	case AskPerson:
		w.answer(a.Request)
	case Check:
		var looks []Look
		for _, artifact := range a.Artifacts {
			looks = append(looks, w.look(artifact))
		}
		w.record(w.s.Cascade(looks, ""))
	case Restore:
		for _, f := range a.Files {
			w.restore(f)
		}
	case EndChildren:
		for _, run := range a.Runs {
			w.children[run].state, w.children[run].end = ChildEnded, journal.PhaseCancelled
		}
	case Collect:
		for _, run := range a.Runs {
			if w.one(20) {
				return true // killed before it was recorded
			}
			w.collect(run)
		}
	case List:
		w.list(a)
	case Start:
		w.start(a)
	case Await:
		w.drive(a)
	case Park:
		k := w.children[pick(w.r, a.Runs...)]
		k.state = ChildIdle
	case Complete:
		w.end()
		w.record(journal.RunCompleted{Text: a.Run})
	}
	return w.wrong == ""
}

// restore puts a file back, if its copy is one.
func (w *world) restore(f Repair) {
	path, sha := f.Artifact.Path, f.Artifact.SHA
	if !w.copies[sha] {
		l := w.look(journal.Artifact{Path: path, SHA: w.counts[path]})
		body := w.s.Cascade([]Look{l}, "restore")
		if len(body.Artifacts) > 0 {
			body.Artifacts[0].Unusable = sha
		}
		w.record(body)
		return
	}
	there := w.disk[path]
	if there != "" && there != f.Over {
		w.say("%s is another one by now", path)
		l := w.look(journal.Artifact{Path: path, SHA: w.counts[path]})
		w.record(w.s.Cascade([]Look{l}, "restore"))
		return
	}
	if w.hand[path] && there != "" && !w.seen[there] && !w.bad[there] {
		w.fail("put %s back over %s, which a person wrote and nobody looked at", path, there)
	}
	w.disk[path], w.hand[path] = sha, false
	if w.one(6) {
		w.killed() // put back, and nobody wrote it down
		return
	}
	w.record(journal.ArtifactRestored{Path: path, SHA: sha, Replaced: there})
}

func (w *world) list(a List) {
	l := w.look(a.Artifact)
	var items []journal.PhaseItem
	for i := range 1 + len(l.SHA)%3 {
		items = append(items, journal.PhaseItem{Name: string(rune('a' + i)), Digest: fmt.Sprint(i == 0 && strings.HasSuffix(l.SHA, "1"))})
	}
	w.record(w.s.Listed(a, l, items, nil))
}

func (w *world) start(a Start) {
	var bodies []journal.Body
	for _, p := range a.Parts {
		var looks []Look
		for _, in := range p.In {
			looks = append(looks, w.look(in))
		}
		if asks, end := w.repeats(&p, looks); asks {
			continue
		} else if end != nil {
			bodies = append(bodies, end)
			break
		}
		var before []journal.Artifact
		for _, o := range p.Instance.Outputs() {
			if c := w.disk[o.Path]; c != "" {
				before = append(before, journal.Artifact{Path: o.Path, SHA: c})
				w.copies[c], w.seen[c] = true, true
			}
		}
		w.seq++
		b := w.s.Begin(p, looks, before, fmt.Sprintf("r-%d", w.seq))
		bodies = append(bodies, b)
		if b.Kind() != journal.KindPhaseStarted {
			break // what follows from that is another state
		}
	}
	w.record(bodies...)
}

// drive lets children go on; each does one thing.
func (w *world) drive(a Await) {
	for _, run := range a.Runs {
		if w.children[run] == nil {
			if w.one(10) {
				w.killed()
				return
			}
			w.children[run] = &kid{start: *w.s.Of(run).Open, limit: w.s.Of(run).Open.Limits.MaxCost}
		}
		k := w.children[run]
		if l, ok := a.Limits[run]; ok {
			k.limit = l.MaxCost
		}
		k.state = ChildRunning
		w.judgeShares(k)
		switch w.r.IntN(6) {
		case 0:
			if w.s.Of(run).Open.Part == journal.PartWork {
				k.acts, k.cost = k.acts || k.start.Mode != journal.ModePlan && w.one(2), k.cost+int64(w.r.IntN(20))
				if k.limit > 0 {
					k.cost = min(k.cost, k.limit) // it asks a person there
				}
				w.acted[name(k.start.Phase, k.start.Item)] = w.acted[name(k.start.Phase, k.start.Item)] || k.acts
			}
		case 1:
			if !k.asked && w.one(2) {
				k.state, k.asked = ChildWaiting, true
			}
		case 2:
			w.writeInput(k)
		default:
			w.finish(k)
		}
	}
}

// writeInput changes one of its inputs, as a phase may that ticks off what it did.
func (w *world) writeInput(k *kid) {
	if k.start.Mode == journal.ModePlan || len(k.start.In) == 0 || !w.one(4) {
		return
	}
	path := pick(w.r, k.start.In...).Path
	if path == "list" || w.hand[path] || w.disk[path] != w.counts[path] {
		return
	}
	w.seq++
	w.disk[path] = fmt.Sprintf("w%d", w.seq)
	w.say("%s writes its input %s=%s", k.start.Phase, path, w.disk[path])
}

// finish ends a child: it wrote its outputs, or some of them.
func (w *world) finish(k *kid) {
	k.state, k.end = ChildEnded, journal.PhaseDone
	if w.one(6) {
		k.end = journal.PhaseFailed
	}
	if k.start.Part == journal.PartSkipIf && w.one(3) {
		k.end = journal.PhaseSkipped
	}
	if k.start.Part != journal.PartWork {
		return
	}
	for _, o := range w.s.Of(k.start.Run).Outputs() {
		if c := w.disk[o.Path]; w.hand[o.Path] && c != "" && !w.seen[c] && !w.during[o.Path] {
			w.fail("%s writes over %s=%s, which a person edited", k.start.Phase, o.Path, c)
		}
		if w.disk[o.Path] == "" && w.counts[o.Path] != "" && w.one(2) {
			w.disk[o.Path] = w.counts[o.Path] // the same bytes again
		} else if w.disk[o.Path] == "" || w.one(2) || w.hand[o.Path] {
			w.seq++
			w.disk[o.Path] = fmt.Sprintf("c%d", w.seq)
		}
		delete(w.during, o.Path)
		w.hand[o.Path] = false
	}
}
