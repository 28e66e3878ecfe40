package flow

import (
	"agent/recovery/journal"
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// maxRedos is how often the host itself does a phase again in a run.
const maxRedos = 2

// assessment is what every phase needs, in the order of the phases. One is judged only when all
// before it are settled: whether what it was made from counts is not known earlier.
type assessment struct {
	s *State
	w World

	settled    map[string]bool
	unreadable string // an artifact
	failure    string // why the flow fails
	repairs    []Repair
	question   *journal.Request // about artifacts, and what was made from them
	later      *journal.Request // about a beginning or a failure: asked when nothing else can be done
	back       *journal.PhaseRewound
	rewinds    []journal.Rewound
	end        []string
	endWhy     string
	collect    []string
	lists      []List
	starts     []Part

	running []string // children that this process drives
	drive   []string // and those that can go on
	waiting []string
}

func assess(s *State, w World) *assessment {
	a := &assessment{s: s, w: w, settled: map[string]bool{}}
	for _, x := range s.open() {
		run := x.Open.Run
		switch w.Children[run].State {
		case ChildEnded:
			a.collect = append(a.collect, run)
		case ChildRunning:
			a.running, a.drive = append(a.running, run), append(a.drive, run)
		}
	}
	a.artifacts()
	for _, p := range s.Graph.Order() {
		ready := !slices.ContainsFunc(s.Def.Phases, func(q Phase) bool {
			return s.Graph.Before(q.Name, p.Name) && !a.settled[q.Name]
		})
		a.settled[p.Name] = ready && a.phase(s.phases[p.Name])
	}
	return a
}

// artifacts lists what is to be put back, whatever it belongs to.
func (a *assessment) artifacts() {
	for _, name := range slices.Sorted(maps.Keys(a.s.paths)) {
		p, c := a.s.paths[name], a.s.found[name]
		_, v := a.s.top(name)
		switch {
		case v == nil:
		case p.restore != "" && a.s.found[name].Verdict == journal.ArtifactStop, c.Verdict == journal.ArtifactStop:
			a.unreadable = name
		case p.restore != "":
			over := c.SHA
			if c.Path == "" {
				over = v.SHA
			}
			a.repairs = append(a.repairs, Repair{p.history[p.restore], over})
		case c.Verdict == journal.ArtifactRestore:
			a.repairs = append(a.repairs, Repair{v.Artifact, c.SHA})
		}
	}
}

// phase judges one whose predecessors are all settled, and says whether it is settled itself.
func (a *assessment) phase(p *phase) bool {
	for _, x := range p.dropped() {
		a.unwanted(x)
	}
	for _, in := range p.def.Inputs {
		if c, ok := a.s.found[in.Path]; ok && in.Phase == "" && a.s.maker(in.Path) == nil {
			a.missing(nil, c)
			return false
		}
	}
	if p.def.Each != "" {
		v := a.s.forReader(p.def.Name, p.def.Each)
		if v == nil || v.SHA != p.listFrom {
			list := List{Phase: p.def, Artifact: journal.Artifact{Path: p.def.Each}}
			if v != nil {
				list.Artifact = v.Artifact
			}
			a.lists = append(a.lists, list)
			return false
		}
		if p.listFail != "" {
			return a.failedList(p)
		}
	}
	settled := true
	for _, x := range p.instances() {
		settled = a.instance(p, x) && settled
	}
	return settled
}

// unwanted ends a branch whose item is on the list no more.
func (a *assessment) unwanted(x *Instance) {
	if x.Open == nil {
		return
	}
	switch a.w.Children[x.Open.Run].State {
	case ChildEnded:
	case ChildAbsent:
		a.collect = append(a.collect, x.Open.Run)
	default:
		a.endRun(x, "its item is on the list no more")
	}
}

// endRun ends what is under way of an instance. Of several that end together the first says why.
func (a *assessment) endRun(x *Instance, why string) {
	a.end, a.endWhy = append(a.end, x.Open.Run), cmp.Or(a.endWhy, why)
}

func (a *assessment) instance(p *phase, x *Instance) bool {
	if x.Open != nil {
		a.underWay(x)
		return false
	}
	if x.Status == StatusDone || x.Status == StatusChecking {
		if c, ok := a.lost(x); ok {
			a.missing(x, c)
			return false
		}
		if changes := a.s.changes(x); len(changes) > 0 {
			a.stale(x, changes)
			return false
		}
	}
	switch x.Status {
	case StatusNew:
		a.fresh(p, x)
	case StatusRewound:
		a.begin(p, x, x.rewound.Why, x.rewound.Reason, x.rewound.Text)
	case StatusChecking:
		a.start(x, journal.PartCheck, journal.WhyFirst, "", "")
	case StatusSkipped:
		return true
	default:
		return x.Status == StatusDone && x.Failure == "" || a.failed(p, x)
	}
	return false
}

// lost is what a look found of an output that is not there as recorded.
func (a *assessment) lost(x *Instance) (journal.ArtifactCheck, bool) {
	for _, o := range x.Outputs() {
		c, ok := a.s.found[o.Path]
		if layer, _ := a.s.top(o.Path); ok && layer == x.Phase.Name {
			return c, true
		}
		if v := a.s.path(o.Path).layers[x.Phase.Name]; x.Item != nil && (v == nil || v.maker != x) {
			c.Path, c.State, c.Verdict = o.Path, journal.ArtifactMissing, journal.ArtifactRedo
			c.Reason = "not what was made of this item, which was not on the list for a while"
			return c, true
		}
	}
	return journal.ArtifactCheck{}, false
}

// underWay judges a part that has begun and not ended. A child that stands is not driven while what
// it was made from is in question.
func (a *assessment) underWay(x *Instance) {
	run := x.Open.Run
	state := a.w.Children[run].State
	switch {
	case state == ChildEnded:
		return
	case x.rewound != nil && state == ChildAbsent:
		a.collect = append(a.collect, run)
		return
	case x.rewound != nil:
		a.endRun(x, x.rewound.Reason)
		return
	case state == ChildRunning:
		return
	}
	if c, ok := a.lost(x); ok && toCheck(x, a.w) {
		a.missing(x, c)
		return
	}
	changes := a.s.changes(x)
	if x.Open.Part == journal.PartSkipIf {
		changes = nil
	}
	switch {
	case len(changes) > 0:
		a.stale(x, changes)
	case state == ChildWaiting:
		a.waiting = append(a.waiting, run)
	default:
		a.drive = append(a.drive, run)
	}
}

// stale is an instance that was made from something else than what counts now.
func (a *assessment) stale(x *Instance, changes []change) {
	var from []journal.Artifact
	remade := false
	for _, c := range changes {
		from = append(from, journal.Artifact{Path: c.path, SHA: c.from})
		remade = remade || !c.byHand
	}
	r := journal.Rewound{Phase: x.Phase.Name, Item: x.Item, Reason: "it was made from " + madeFrom(changes), From: from}
	switch {
	case x.Phase.Redo != RedoNever && x.maybe:
		r.Why = journal.WhyRound
	case a.s.holds(x, x.word):
		r.Why = journal.WhyPerson
	case x.Open != nil && x.Open.Part == journal.PartWork && a.w.Children[x.Open.Run].State == ChildAbsent:
		r.Why = x.Open.Why // nothing was made of it
	case remade && a.free(x):
		r.Why = journal.WhyRedo
	default:
		a.ask(asker{a.s}.askRedo(x, changes, a.did(x)))
		return
	}
	a.rewinds = append(a.rewinds, r)
}

// missing is an artifact that is not as recorded and cannot simply be put back. The instance is the
// one that made it; nil for a source.
func (a *assessment) missing(x *Instance, c journal.ArtifactCheck) {
	switch {
	case c.Verdict == journal.ArtifactRestore, c.Verdict == journal.ArtifactStop, a.s.path(c.Path).restore != "":
		return // it is put back, or read, before anything else
	case x == nil:
	case a.s.holds(x, x.word):
		a.rewind(x, journal.WhyPerson, c)
		return
	case c.Verdict == journal.ArtifactRedo && a.free(x):
		a.rewind(x, journal.WhyRedo, c)
		return
	}
	a.ask(asker{a.s}.askArtifact(x, c, a.did(x)))
}

func (a *assessment) rewind(x *Instance, why journal.PhaseWhy, c journal.ArtifactCheck) {
	a.rewinds = append(a.rewinds, journal.Rewound{
		Phase: x.Phase.Name, Item: x.Item, Why: why, Reason: fmt.Sprintf("%s is %s", c.Path, c.State),
	})
}

// free says whether the host may do an instance again without a question: it changed nothing but
// its own outputs, or its author said that it does no harm, and it is not for ever.
func (a *assessment) free(x *Instance) bool {
	quiet := x.quiet
	if x.Open != nil {
		child := a.w.Children[x.Open.Run]
		quiet = quiet && (x.Open.Part != journal.PartWork || child.State == ChildAbsent || child.Quiet)
	}
	return x.Phase.Redo != RedoNever && x.redos < maxRedos && (quiet || x.Phase.Redo == RedoSafe)
}

// did lists what all attempts of an instance did beside writing its outputs.
func (a *assessment) did(x *Instance) []journal.PhaseCall {
	if x == nil {
		return nil
	}
	var out []journal.PhaseCall
	for _, t := range x.Attempts {
		if t.End != nil {
			out = append(out, t.End.Did...)
		}
	}
	if x.Open != nil {
		out = append(out, a.w.Children[x.Open.Run].Did...)
	}
	return out
}

// ask takes the first question: one stands at a time.
func (a *assessment) ask(r *journal.Request) {
	if a.question == nil {
		a.question = r
	}
}

func (a *assessment) askLater(r *journal.Request) {
	if a.later == nil {
		a.later = r
	}
}
