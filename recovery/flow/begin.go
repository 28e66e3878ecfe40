package flow

import (
	"agent/recovery/journal"
	"cmp"
	"fmt"
	"slices"
)

// fresh begins an instance for the first time.
func (a *assessment) fresh(p *phase, x *Instance) {
	if x.Phase.SkipIf != nil && !x.checked {
		a.start(x, journal.PartSkipIf, journal.WhyFirst, "", "")
		return
	}
	if q := a.w.Repeats[x.Name()]; q != nil && Decided(x, q.Phase.Versions) == "" {
		a.askLater(q)
		return
	}
	a.begin(p, x, journal.WhyFirst, "", "")
}

// begin lets an instance go to work, after the question of its author.
func (a *assessment) begin(p *phase, x *Instance, why journal.PhaseWhy, reason, text string) {
	asks := x.Phase.Ask != "" && (why == journal.WhyFirst || why == journal.WhyRedo)
	if q := (asker{a.s}); asks && !q.mayStart(p) {
		a.askLater(q.askStart(p))
		return
	}
	a.start(x, journal.PartWork, why, reason, text)
}

// start adds a part to those that may begin, as far as the phase's branches may be at work at once.
func (a *assessment) start(x *Instance, part journal.PhasePart, why journal.PhaseWhy, reason, text string) {
	at := 0
	same := func(y *Instance) bool { return y.Phase == x.Phase }
	for _, y := range a.s.open() {
		if same(y) && a.w.Children[y.Open.Run].State != ChildWaiting {
			at++
		}
	}
	for _, q := range a.starts {
		if same(q.Instance) {
			at++
		}
	}
	mode := a.s.mode(x)
	if x.Item != nil && at >= a.s.Def.Branches(x.Phase, mode) {
		return
	}
	paths, missing := a.s.inputs(x)
	q := Part{Instance: x, Part: part, Attempt: max(1, len(x.Attempts)), Why: why, Reason: reason, Text: text, Missing: missing, Mode: mode}
	for _, name := range paths {
		version, _ := a.s.Counts(name)
		q.In = append(q.In, version)
	}
	if part == journal.PartWork {
		q.Attempt = len(x.Attempts) + 1
	}
	if last := x.last(); last != nil && part == journal.PartWork && (why == journal.WhyTry || x.Status == StatusFailed || !x.quiet) {
		q.Continues = last.run()
	}
	a.starts = append(a.starts, q)
}

// mode is the tighter of the run's and the phase's.
func (s *State) mode(x *Instance) journal.Mode {
	if m := x.Phase.Mode; m != "" && s.Run.Mode.LooserThan(m) {
		return m
	}
	return s.Run.Mode
}

// Role names what a child run is for.
func (p Part) Role() string {
	role := fmt.Sprintf("%s#%d", p.Instance.Name(), p.Attempt)
	if p.Part != journal.PartWork {
		role += " " + string(p.Part)
	}
	return role
}

// Begin is what follows from a fresh look at the inputs of a part: it begins under the run's id,
// where all are as recorded; else the look is recorded, or that the phase cannot begin. What lay at
// its outputs is given for the record.
func (s *State) Begin(p Part, looks []Look, before []journal.Artifact, run string) journal.Body {
	x := p.Instance
	in := []journal.Artifact{}
	var wrong []Look
	for _, want := range p.In {
		i := slices.IndexFunc(looks, func(l Look) bool { return l.Path == want.Path })
		if i < 0 {
			return s.cannotBegin(p, want.Path, "was not looked at")
		}
		l := looks[i]
		switch {
		case want.SHA != "" && l.State != journal.ArtifactIntact:
			wrong = append(wrong, l)
		case want.SHA == "" && l.State == journal.ArtifactUnreadable:
			return unreadable(l.Path, l.Detail)
		case want.SHA == "" && l.Invalid != "":
			return s.cannotBegin(p, want.Path, "cannot be used: "+l.Invalid)
		case want.SHA == "" && l.SHA == "":
			return s.cannotBegin(p, want.Path, "is not there")
		case want.SHA == "":
			in = append(in, l.Artifact)
		default:
			in = append(in, want)
		}
	}
	if len(wrong) > 0 {
		return s.Cascade(wrong, x.Name())
	}
	return journal.FlowPhaseStarted{
		Phase: x.Phase.Name, Item: x.Item, Attempt: p.Attempt, Part: p.Part, Run: run, Why: p.Why, Reason: p.Reason, Text: p.Text,
		Continues: p.Continues, Mode: p.Mode, In: in, Before: before, Missing: p.Missing, Limits: p.Limits,
	}
}

// Begins says whether a part begins on what the looks found: what an earlier flow did is asked
// about only then, since an input that is gone is put back, or made again, before.
func Begins(s *State, p Part, looks []Look) bool {
	return s.Begin(p, looks, nil, "").Kind() == journal.KindPhaseStarted
}

// unreadable leaves the flow where an artifact cannot be read: that is none which is not there.
func unreadable(name, why string) journal.RunInterrupted {
	return journal.RunInterrupted{
		Cause:  journal.CauseArtifact,
		Detail: fmt.Sprintf("%s cannot be read: %s; make it readable, then resume", name, why),
	}
}

func (s *State) cannotBegin(p Part, name, what string) journal.Body {
	x := p.Instance
	reason := fmt.Sprintf("%s needs %s, which %s", x.Name(), name, what)
	if makers := s.Graph.Makers(name); len(makers) > 0 {
		for _, y := range s.phases[makers[len(makers)-1]].instances() {
			reason += fmt.Sprintf("; %s, which makes it, is %s", y.Name(), y.Status)
			break
		}
	}
	return journal.FlowPhaseEnded{Phase: x.Phase.Name, Item: x.Item, Attempt: p.Attempt, Part: journal.PartWork, Outcome: journal.PhaseFailed, Reason: reason, Quiet: true}
}

// cut is the beginning of a name, as long as a name may be.
func cut(name string) string {
	if all := []rune(name); len(all) > longestItem {
		return string(all[:longestItem]) + "…"
	}
	return name
}

// Listed is what follows from reading the list of an each phase: its items, or why it cannot be
// used. An artifact that is not as recorded is recorded as the look says.
func (s *State) Listed(l List, look Look, items []journal.PhaseItem, wrong error) journal.Body {
	switch {
	case l.Artifact.SHA != "" && look.State != journal.ArtifactIntact:
		return s.Cascade([]Look{look}, l.Phase.Name)
	case look.State == journal.ArtifactUnreadable:
		return unreadable(look.Path, look.Detail)
	}
	end := journal.FlowPhaseEnded{Phase: l.Phase.Name, Attempt: 1, Part: journal.PartList, Outcome: journal.PhaseDone, In: []journal.Artifact{look.Artifact}, Items: items, Quiet: true}
	seen := map[string]bool{}
	reason := ""
	for _, item := range items {
		switch {
		case !ValidItem(item.Name):
			reason = cmp.Or(reason, fmt.Sprintf("the item %q needs a name of letters, digits, '.', '_' and '-', at most %d of them", cut(item.Name), longestItem))
		case seen[item.Name]:
			reason = cmp.Or(reason, fmt.Sprintf("the item %q stands twice", item.Name))
		}
		seen[item.Name] = true
	}
	switch {
	case wrong != nil:
		reason = wrong.Error()
	case look.SHA == "":
		reason = cmp.Or(look.Invalid, "it is not there")
	case len(items) > MaxBranches:
		reason = fmt.Sprintf("it has %d items, and %d are the most", len(items), MaxBranches)
	}
	if reason != "" {
		end.Outcome, end.Items, end.Reason = journal.PhaseFailed, nil, fmt.Sprintf("%s needs the list %s: %s", l.Phase.Name, l.Artifact.Path, reason)
	}
	return end
}

// failed is what follows when an instance did not come to what it was to make, or said no to the
// work. It says whether the flow goes on without it.
func (a *assessment) failed(p *phase, x *Instance) bool {
	switch {
	case x.carryOn:
		return true
	case a.s.holds(x, x.word):
		a.start(x, journal.PartWork, journal.WhyPerson, x.Failure, "")
		return false
	case x.triesAgain():
		a.start(x, journal.PartWork, journal.WhyTry, x.Failure, "")
		return false
	}
	what := onFail(a.s, p)
	if what == FailBack {
		a.goBack(p)
		return false
	}
	return a.onFail(what, x.Name()+": "+x.Failure, func() *journal.Request { return asker{a.s}.askFailed(x.Phase, x.Item, x.Name()+" failed: "+x.Failure) })
}

// triesAgain says whether a failed instance is tried once more, whatever else may come of it.
func (x *Instance) triesAgain() bool {
	return x.Status == StatusFailed && !x.useless && x.tries < x.Phase.Tries
}

// onFail is what follows when a phase has failed for good: it goes back only so often.
func onFail(s *State, p *phase) OnFail {
	if p.def.OnFail == FailBack && p.rounds >= p.def.Rounds {
		return cmp.Or(s.Def.OnFail, FailAsk)
	}
	return p.def.OnFail
}

func (a *assessment) failedList(p *phase) bool {
	if p.carryOn {
		return true
	}
	what := p.def.OnFail
	if what == FailBack {
		what = cmp.Or(a.s.Def.OnFail, FailAsk)
	}
	return a.onFail(what, p.listFail, func() *journal.Request { return asker{a.s}.askFailed(p.def, nil, p.listFail) })
}

func (a *assessment) onFail(what OnFail, reason string, question func() *journal.Request) bool {
	switch what {
	case FailContinue:
		return true
	case FailAsk:
		a.askLater(question())
	default:
		if a.failure == "" {
			a.failure = reason
		}
	}
	return false
}

// goBack does an earlier phase again, once nothing of this one is at work. What lies between
// follows if it turns out to be made from something else.
func (a *assessment) goBack(p *phase) {
	name := p.def.Name
	r := journal.PhaseRewound{Back: name}
	add := func(phase string, maybe bool, which func(*Instance) bool) {
		for _, y := range a.s.phases[phase].instances() {
			if which(y) {
				r.Phases = append(r.Phases, journal.Rewound{
					Phase: phase, Item: y.Item, Why: journal.WhyRound, Maybe: maybe,
					Reason: fmt.Sprintf("round %d: %s went back to %s", p.rounds+2, name, p.def.Back),
				})
			}
		}
	}
	anyone := func(*Instance) bool { return true }
	for _, q := range a.s.Graph.Order() {
		switch {
		case q.Name == p.def.Back:
			add(q.Name, false, anyone)
		case q.Name == name:
			add(q.Name, false, func(y *Instance) bool { return y.Failure != "" && !y.carryOn })
		case a.s.Graph.Before(p.def.Back, q.Name) && a.s.Graph.Before(q.Name, name):
			add(q.Name, true, anyone)
		}
	}
	if !slices.ContainsFunc(p.instances(), func(y *Instance) bool { return y.Open != nil }) && a.back == nil {
		a.back = &r
	}
}
