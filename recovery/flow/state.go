package flow

import (
	"agent/recovery"
	"agent/recovery/journal"
	"fmt"
	"maps"
	"slices"
)

// State is what the facts of a flow say of it, folded one after the other.
type State struct {
	Run   *recovery.State // what every run has: status, epoch, the question that stands, a stop
	Def   *Definition
	Graph *Graph

	phases  map[string]*phase
	paths   map[string]*path
	byRun   map[string]*Instance // by the child run that carries out a part of it
	checked int64                // epoch of the last look at all artifacts
	found   map[string]journal.ArtifactCheck
	again   bool // a person wants the artifacts looked at once more

	text  *rewinding   // a person's words at the start of a phase, for the phase above
	final journal.Body // how the flow ends by a person's decision, once nothing of it runs
}

// rewinding is a phase that a person wants done again, in words.
type rewinding struct{ phase, text, by, request string }

// phase is one phase with its instances: one, or one an item.
type phase struct {
	def      *Phase
	list     []journal.PhaseItem // of an each phase
	listFrom string              // SHA-256 of the list that was read last; "": none was
	listFail string              // why it could not be used
	carryOn  bool                // although the list could not be used
	all      map[string]*Instance
	started  map[string]string // the versions of its inputs with which a person let it begin; nil: nobody did
	rounds   int               // how often it went back
}

// Instance is a phase, or one branch of an each phase.
type Instance struct {
	Phase *Phase
	Item  *journal.PhaseItem

	Status   Status
	Attempts []*Attempt
	Open     *journal.FlowPhaseStarted // the part that is under way
	Failure  string                    // why it failed, where it did

	tries   int               // attempts since the phase last began for another reason than a try
	useless bool              // trying again cannot help
	quiet   bool              // no attempt did more than write its own outputs
	checked bool              // its skip-if said that it is not skipped
	redos   int               // by the host itself
	rewound *journal.Rewound  // it must be done again
	maybe   bool              // it may be done again without a question, as the file went back over it
	keep    map[string]string // versions of inputs of which a person said that what was made stands
	word    map[string]string // versions with which a person said that it is done again; nil: nobody did
	carryOn bool              // a person, or the file, lets the flow go on without it
	spent   spent
}

// spent is what all parts of an instance used.
type spent struct {
	tokens, cost int64
	turns        int
	took         int64
}

// Attempt is one time that a phase was at work.
type Attempt struct {
	Start journal.FlowPhaseStarted
	End   *journal.FlowPhaseEnded // of the work; nil while it is at it
	Check *journal.FlowPhaseEnded
	base  map[string]string // versions of its inputs that it was made from
}

// Status is where an instance stands.
type Status string

// The statuses of an instance.
const (
	StatusNew       Status = "not yet"
	StatusOpen      Status = "running"  // a part of it is under way, driven or not
	StatusChecking  Status = "checking" // its outputs are there, its checks are to begin
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
	StatusDone      Status = "done"
	StatusSkipped   Status = "skipped"
	StatusRewound   Status = "to be redone"
)

// Fold reads a flow's whole journal.
func Fold(d *Definition, events []journal.Event) (*State, error) {
	s, err := New(d)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			return s, err
		}
	}
	return s, nil
}

// New is a flow before its first fact.
func New(d *Definition) (*State, error) {
	g, err := NewGraph(d)
	if err != nil {
		return nil, err
	}
	s := &State{Run: &recovery.State{}, Def: d, Graph: g, phases: map[string]*phase{}, paths: map[string]*path{},
		byRun: map[string]*Instance{}, found: map[string]journal.ArtifactCheck{}}
	for i := range d.Phases {
		p := &phase{def: &d.Phases[i], all: map[string]*Instance{}}
		s.phases[p.def.Name] = p
		if p.def.Each == "" {
			p.all[""] = &Instance{Phase: p.def, Status: StatusNew, quiet: true}
		}
	}
	return s, nil
}

// key tells the branches of a phase apart: an item that was changed is another one.
func key(item *journal.PhaseItem) string {
	if item == nil {
		return ""
	}
	return item.Name + "@" + item.Digest
}

// instances lists the instances of a phase that count, in the order of its list.
func (p *phase) instances() []*Instance {
	if p.def.Each == "" {
		return []*Instance{p.all[""]}
	}
	out := make([]*Instance, len(p.list))
	for i := range p.list {
		out[i] = p.all[key(&p.list[i])]
	}
	return out
}

// dropped lists the branches whose item is on the list no more.
func (p *phase) dropped() []*Instance {
	if len(p.all) == len(p.list) || p.def.Each == "" {
		return nil
	}
	var out []*Instance
	counts := p.instances()
	for _, k := range slices.Sorted(maps.Keys(p.all)) {
		if x := p.all[k]; !slices.Contains(counts, x) {
			out = append(out, x)
		}
	}
	return out
}

// Instances lists the branches of a phase, or the phase itself as one.
func (s *State) Instances(name string) []*Instance {
	if p := s.phases[name]; p != nil {
		return p.instances()
	}
	return nil
}

// Of finds the instance that a child run carries out a part of; nil where there is none.
func (s *State) Of(run string) *Instance { return s.byRun[run] }

// Name is what an instance is called: the phase's name, with the item's.
func (x *Instance) Name() string {
	if x.Item == nil {
		return x.Phase.Name
	}
	return x.Phase.Name + "[" + x.Item.Name + "]"
}

// Outputs lists what the instance makes, answer last.
func (x *Instance) Outputs() []Output {
	out := x.Phase.All()
	for i := range out {
		if x.Item != nil {
			if i == 0 {
				out = slices.Clone(out)
			}
			out[i].Path = itemPath(out[i].Path, x.Item.Name)
		}
	}
	return out
}

// last is the latest attempt; nil before the first.
func (x *Instance) last() *Attempt {
	if len(x.Attempts) == 0 {
		return nil
	}
	return x.Attempts[len(x.Attempts)-1]
}

// final says whether nothing more comes of the instance as things stand.
func (x *Instance) final() bool {
	switch x.Status {
	case StatusDone:
		return x.Failure == "" || x.carryOn
	case StatusSkipped:
		return true
	case StatusFailed, StatusCancelled:
		return x.carryOn
	}
	return false
}

// open lists every instance of which a part is under way.
func (s *State) open() []*Instance {
	var out []*Instance
	for _, p := range s.Graph.Order() {
		for _, x := range append(s.phases[p.Name].instances(), s.phases[p.Name].dropped()...) {
			if x.Open != nil {
				out = append(out, x)
			}
		}
	}
	return out
}

// Begun says whether a part of a phase has begun, or an earlier flow's was taken over.
func Begun(s *State) bool {
	for _, p := range s.phases {
		for _, x := range p.all {
			if len(x.Attempts) > 0 || x.Open != nil || x.Status != StatusNew {
				return true
			}
		}
	}
	return false
}

// Copied is how many bytes the versions have that the store keeps a copy of.
func Copied(s *State) int64 {
	copies := map[string]int64{}
	for _, p := range s.paths {
		for _, a := range p.history {
			if a.Copy != "" {
				copies[a.Copy] = a.Size
			}
		}
	}
	total := int64(0)
	for _, size := range copies {
		total += size
	}
	return total
}

// UnderWay lists every instance of which a part is under way.
func UnderWay(s *State) []*Instance { return s.open() }

// Asked is what is asked of a file by the phase that makes it; nil of one that none makes.
func Asked(s *State, name string) *Output {
	x := s.maker(name)
	if x == nil {
		return nil
	}
	for _, o := range x.Outputs() {
		if o.Path == name {
			return &o
		}
	}
	return nil
}

// mayEnd refuses a terminal fact while a part of a phase is under way.
func (s *State) mayEnd() error {
	if open := s.open(); len(open) > 0 {
		return fmt.Errorf("run %s of phase %s has not ended", open[0].Open.Run, open[0].Name())
	}
	return nil
}
