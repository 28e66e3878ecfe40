package flow

import (
	"agent/recovery/journal"
	"fmt"
	"slices"
)

// Apply adds one fact. A fact that cannot follow what is there is refused by name, and the state
// must not be used further.
func (s *State) Apply(e journal.Event) error {
	open := s.Run.Open
	switch e.Body.(type) {
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		if err := s.mayEnd(); err != nil {
			return fmt.Errorf("apply %s (fact %d): %w", e.Body.Kind(), e.Seq, err)
		}
	}
	if err := s.Run.Apply(e); err != nil {
		return err
	}
	if err := s.apply(e.Body, open); err != nil {
		return fmt.Errorf("apply %s (fact %d): %w", e.Body.Kind(), e.Seq, err)
	}
	return nil
}

func (s *State) apply(body journal.Body, open *journal.Request) error {
	switch b := body.(type) {
	case journal.FlowPhaseStarted:
		return s.started(b)
	case journal.FlowPhaseEnded:
		return s.ended(b)
	case journal.ArtifactsChecked:
		return s.looked(b)
	case journal.ArtifactRestored:
		return s.restored(b)
	case journal.PhaseRewound:
		return s.rewound(b)
	case journal.RequestAnswered:
		if open.Kind == journal.RequestPhase {
			return asker{s}.decided(open, journal.Text(b.Answer), b.By)
		}
	case journal.RequestClosed:
		if open.Kind == journal.RequestPhase {
			asker{s}.unanswered(b)
		}
	}
	return nil
}

// instance finds a phase or a branch by its name in a fact.
func (s *State) instance(name string, item *journal.PhaseItem) (*Instance, error) {
	p := s.phases[name]
	if p == nil {
		return nil, fmt.Errorf("there is no phase %q", name)
	}
	x := p.all[key(item)]
	if x == nil {
		return nil, fmt.Errorf("phase %s has no item %q", name, key(item))
	}
	return x, nil
}

func (s *State) started(b journal.FlowPhaseStarted) error {
	x, err := s.instance(b.Phase, b.Item)
	switch {
	case err != nil:
		return err
	case !slices.Contains([]journal.PhasePart{journal.PartWork, journal.PartCheck, journal.PartSkipIf}, b.Part):
		return unknown("part of a phase", b.Part)
	case x.Open != nil:
		return fmt.Errorf("run %s of it has not ended", x.Open.Run)
	case b.Run == "" || s.byRun[b.Run] != nil:
		return fmt.Errorf("run %q is not a new one", b.Run)
	}
	x.Open, x.Status, s.byRun[b.Run] = &b, StatusOpen, x
	for _, in := range b.In { // sources that nobody read before
		if _, v := s.top(in.Path); v == nil {
			s.set("", version{Artifact: in})
		}
	}
	if b.Part != journal.PartWork {
		return nil
	}
	a := &Attempt{Start: b, base: map[string]string{}}
	paths, _ := s.inputs(x)
	for _, name := range paths {
		if v := s.forReader(x.Phase.Name, name); v != nil {
			a.base[name] = v.SHA
		}
	}
	x.Attempts = append(x.Attempts, a)
	x.tries++
	if b.Why != journal.WhyTry {
		x.tries = 1
	}
	if b.Why == journal.WhyRedo {
		x.redos++
	}
	x.rewound, x.word, x.keep, x.maybe, x.Failure, x.useless, x.carryOn = nil, nil, nil, false, "", false, false
	s.over(x)
	return nil
}

// over ends a round: the phase that went back has begun again.
func (s *State) over(x *Instance) {
	if x.Phase.OnFail != FailBack {
		return
	}
	for _, p := range s.Def.Phases {
		if s.Graph.Before(x.Phase.Back, p.Name) && s.Graph.Before(p.Name, x.Phase.Name) {
			for _, y := range s.phases[p.Name].all {
				y.maybe = false
			}
		}
	}
}

func (s *State) ended(b journal.FlowPhaseEnded) error {
	switch b.Outcome {
	case journal.PhaseDone, journal.PhaseFailed, journal.PhaseSkipped, journal.PhaseCancelled, journal.PhaseReused:
	default:
		return unknown("outcome of a phase", b.Outcome)
	}
	if b.Part == journal.PartList {
		return s.listed(b)
	}
	x, err := s.instance(b.Phase, b.Item)
	if err != nil {
		return err
	}
	if b.Run == "" || b.Outcome == journal.PhaseReused {
		return s.withoutRun(x, b)
	}
	if x.Open == nil || x.Open.Run != b.Run || x.Open.Part != b.Part {
		return fmt.Errorf("run %s is not under way", b.Run)
	}
	start := *x.Open
	x.Open = nil
	x.spent.add(b)
	s.changedMeanwhile(x, start, b)
	switch b.Part {
	case journal.PartSkipIf:
		s.skipIf(x, b)
		return nil
	case journal.PartCheck:
		x.last().Check = &b
	default:
		x.last().End = &b
		x.quiet = x.quiet && b.Quiet
	}
	if x.rewound != nil { // what it made does not count
		x.Status = StatusRewound
		return nil
	}
	s.concluded(x, b)
	return nil
}

func (u *spent) add(b journal.FlowPhaseEnded) {
	u.tokens += b.Usage.Tokens()
	u.cost += b.Cost
	u.turns += b.Turns
	u.took += int64(b.Took)
}

// withoutRun takes what came of a phase for which no run began: it could not begin, or an earlier
// flow made what it would make.
func (s *State) withoutRun(x *Instance, b journal.FlowPhaseEnded) error {
	if x.Open != nil {
		return fmt.Errorf("run %s of it has not ended", x.Open.Run)
	}
	switch b.Outcome {
	case journal.PhaseFailed:
		s.drop(x)
		x.Status, x.Failure, x.useless, x.rewound, x.word, x.carryOn = StatusFailed, b.Reason, true, nil, nil, false
	case journal.PhaseReused:
		a := &Attempt{End: &b, base: map[string]string{}}
		for _, in := range b.In {
			a.base[in.Path] = in.SHA
			if s.forReader(x.Phase.Name, in.Path) == nil {
				s.set("", version{Artifact: in})
			}
		}
		x.Attempts, x.quiet = append(x.Attempts, a), b.Quiet
		s.concluded(x, b)
	default:
		return fmt.Errorf("outcome %q without a run", b.Outcome)
	}
	return nil
}

func (s *State) skipIf(x *Instance, b journal.FlowPhaseEnded) {
	switch b.Outcome {
	case journal.PhaseSkipped:
		x.Status, x.Failure = StatusSkipped, b.Reason
	case journal.PhaseCancelled:
		x.Status, x.Failure, x.useless = StatusCancelled, b.Reason, true
	default:
		x.Status, x.checked = StatusNew, true
	}
	if x.rewound != nil {
		x.Status = StatusRewound
	}
}

// concluded is what a part's end makes of the instance.
func (s *State) concluded(x *Instance, b journal.FlowPhaseEnded) {
	switch b.Outcome {
	case journal.PhaseDone, journal.PhaseReused:
		s.claim(x, b.Out)
		x.Status = StatusDone
		if b.Part == journal.PartWork && len(x.Phase.Checks) > 0 && (b.Outcome == journal.PhaseDone || b.Unchecked) {
			x.Status = StatusChecking
		}
		if b.Failed {
			x.Failure, x.carryOn = b.Reason, false
		}
	case journal.PhaseCancelled:
		s.drop(x)
		x.Status, x.Failure, x.carryOn = StatusCancelled, b.Reason, false
	default:
		s.drop(x)
		x.Status, x.Failure, x.carryOn = StatusFailed, b.Reason, false
	}
}

// claim takes what a phase made as what counts.
func (s *State) claim(x *Instance, out []journal.Artifact) {
	if slices.Contains(s.phases[x.Phase.Name].dropped(), x) {
		return // its item is on the list no more
	}
	for _, o := range out {
		s.set(x.Phase.Name, version{Artifact: o, maker: x})
	}
}

// changedMeanwhile takes inputs that are others at a part's end than they were before. While a
// phase that may write was at work it did that, and what it made is made from it; else it was
// somebody else, and that is an edit.
func (s *State) changedMeanwhile(x *Instance, start journal.FlowPhaseStarted, b journal.FlowPhaseEnded) {
	own := map[string]bool{}
	for _, o := range x.Outputs() {
		own[o.Path] = true
	}
	for _, in := range b.In {
		layer, v := s.top(in.Path)
		mine := start.Mode != journal.ModePlan
		if in.SHA == "" && v != nil && mine && b.Digest != "" {
			s.path(in.Path).removed = true
		}
		if own[in.Path] || v == nil || in.SHA == "" || in.SHA == v.SHA {
			continue
		}
		others := slices.ContainsFunc(s.open(), func(y *Instance) bool { return y.Open.Mode != journal.ModePlan })
		s.set(layer, version{Artifact: in, maker: v.maker, byHand: !mine && !others})
		if a := x.last(); mine && a != nil && s.forReader(x.Phase.Name, in.Path) != nil {
			a.base[in.Path] = s.forReader(x.Phase.Name, in.Path).SHA
		}
	}
}

// unknown refuses what a newer binary wrote: to take it for anything else would be to guess.
func unknown[T ~string](what string, text T) error {
	return &journal.UnknownFactError{What: fmt.Sprintf("the %s %q is not known to this binary", what, text)}
}

func (s *State) listed(b journal.FlowPhaseEnded) error {
	p := s.phases[b.Phase]
	if p == nil || p.def.Each == "" || len(b.In) != 1 {
		return fmt.Errorf("phase %q has no list", b.Phase)
	}
	if _, v := s.top(b.In[0].Path); v == nil {
		s.set("", version{Artifact: b.In[0]})
	}
	p.listFrom, p.listFail, p.carryOn, p.list = b.In[0].SHA, "", false, nil
	if b.Outcome != journal.PhaseDone {
		p.listFail = b.Reason
		return nil
	}
	for _, item := range b.Items {
		p.list = append(p.list, item)
		if k := key(&item); p.all[k] == nil {
			p.all[k] = &Instance{Phase: p.def, Item: &item, Status: StatusNew, quiet: true}
		}
	}
	for _, x := range p.dropped() {
		s.drop(x)
	}
	return nil
}

func (s *State) looked(b journal.ArtifactsChecked) error {
	if b.Before == "" {
		s.checked, s.again = b.Epoch, false
		clear(s.found)
	}
	for _, c := range b.Artifacts {
		layer, v := s.top(c.Path)
		if v == nil {
			return fmt.Errorf("artifact %s is not known", c.Path)
		}
		if c.Unusable != "" {
			s.unusable(c.Path, c.Unusable)
		}
		switch c.Verdict {
		case journal.ArtifactKeep:
			delete(s.found, c.Path)
		case journal.ArtifactAccept:
			s.accepted(layer, v, c)
		case journal.ArtifactRestore, journal.ArtifactRedo, journal.ArtifactAsk, journal.ArtifactStop:
			s.found[c.Path] = c
		default:
			return unknown("verdict on an artifact", c.Verdict)
		}
	}
	return nil
}

// accepted lets a version count that the host did not record: a person's, or what a phase that is
// under way wrote itself.
func (s *State) accepted(layer string, v *version, c journal.ArtifactCheck) {
	x := s.byRun[c.Run]
	s.set(layer, version{Artifact: c.Artifact, maker: v.maker, byHand: x == nil})
	if x == nil || x.Open == nil || x.last() == nil {
		return
	}
	if _, ok := x.last().base[c.Path]; ok {
		x.last().base[c.Path] = s.forReader(x.Phase.Name, c.Path).SHA
	}
}

// unusable takes note that a version has no copy any more.
func (s *State) unusable(name, sha string) {
	p := s.path(name)
	a := p.history[sha]
	a.Copy = ""
	p.history[sha] = a
	for _, v := range p.layers {
		if v.SHA == sha {
			v.Copy = ""
		}
	}
	if p.restore == sha {
		p.restore = ""
	}
}

func (s *State) restored(b journal.ArtifactRestored) error {
	layer, v := s.top(b.Path)
	if v == nil {
		return fmt.Errorf("artifact %s is not known", b.Path)
	}
	asked := s.path(b.Path).restore == b.SHA
	delete(s.found, b.Path)
	if b.SHA != v.SHA { // a person takes an edit back
		old, ok := s.path(b.Path).history[b.SHA]
		if !ok || !asked {
			return fmt.Errorf("artifact %s has no version %s that a person wants back", b.Path, b.SHA)
		}
		s.set(layer, version{Artifact: old, maker: v.maker, back: true})
		return nil
	}
	v.back, s.path(b.Path).removed = true, false
	if s.path(b.Path).restore = ""; !asked {
		v.restored++
	}
	return nil
}

func (s *State) rewound(b journal.PhaseRewound) error {
	for i := range b.Phases {
		r := &b.Phases[i]
		x, err := s.instance(r.Phase, r.Item)
		if err != nil {
			return err
		}
		if r.Maybe {
			x.maybe = true
			continue
		}
		x.rewound = r
		if x.Open == nil {
			x.Status = StatusRewound
		}
		for _, o := range x.Outputs() {
			delete(s.found, o.Path)
		}
	}
	if s.text != nil && b.Request == s.text.request {
		s.text = nil
	}
	if p := s.phases[b.Back]; p != nil {
		p.rounds++
	}
	return nil
}
