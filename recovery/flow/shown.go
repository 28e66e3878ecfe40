package flow

import (
	"agent/recovery/journal"
	"fmt"
	"maps"
	"slices"
)

// Shown is what a person wants to know of an instance beside its attempts.
type Shown struct {
	Try     int              // which try it is at, or ended with; 0 before the first
	Stale   string           // what it was made from, where that is another thing now
	Rewound *journal.Rewound // it is to be done again
	GoesOn  bool             // it came to nothing, and the flow goes on without it
	Made    []Made           // what counts of its outputs
}

// Made is what counts of a file.
type Made struct {
	journal.Artifact
	ByHand  bool                   // a person edited it
	PutBack bool                   // the host put it back from its copy
	Lost    *journal.ArtifactCheck // the last look found it not as recorded, and nothing was done about that yet
}

// Show is how an instance stands, for a person.
func Show(s *State, x *Instance) Shown {
	v := Shown{Try: x.tries, Rewound: x.rewound, GoesOn: goesOn(s, x)}
	if changes := s.changes(x); len(changes) > 0 {
		v.Stale = madeFrom(changes)
	}
	for _, o := range x.Outputs() {
		if m := s.path(o.Path).layers[x.Phase.Name]; m != nil {
			v.Made = append(v.Made, made(s, x.Phase.Name, m))
		}
	}
	return v
}

// goesOn says whether an instance came to nothing, or said no to the work, and the flow goes on
// without it: a person decided that, or the file does.
func goesOn(s *State, x *Instance) bool {
	failed := x.Status == StatusFailed || x.Status == StatusCancelled || x.Status == StatusDone && x.Failure != ""
	switch {
	case x.carryOn:
		return x.Status != StatusNew
	case !failed, x.triesAgain(), s.holds(x, x.word):
		return false
	}
	return onFail(s, s.phases[x.Phase.Name]) == FailContinue
}

// Without says what is to be said of the end of a part, where the flow goes on without what its
// phase was to make; "" where it does not, or a person decided that.
func Without(s *State, end journal.FlowPhaseEnded) string {
	if end.Part == journal.PartList {
		if _, _, goesOn := ListOf(s, end.Phase); goesOn {
			return without(end.Phase)
		}
		return ""
	}
	x, err := s.instance(end.Phase, end.Item)
	if err != nil || x.carryOn || !goesOn(s, x) {
		return ""
	}
	return without(x.Name())
}

func without(name string) string {
	return fmt.Sprintf("the flow goes on without %s (on-fail is %s)", name, FailContinue)
}

// Sources lists the files that phases read and no phase made, by their paths.
func Sources(s *State) []Made {
	var out []Made
	for _, name := range slices.Sorted(maps.Keys(s.paths)) {
		if v := s.paths[name].layers[""]; v != nil {
			out = append(out, made(s, "", v))
		}
	}
	return out
}

func made(s *State, layer string, v *version) Made {
	m := Made{Artifact: v.Artifact, ByHand: v.byHand, PutBack: v.back}
	c, found := s.found[v.Path]
	if top, _ := s.top(v.Path); found && top == layer {
		m.Lost = &c
	}
	return m
}

// ListOf says whether the items of an each phase are known, why they could not be read, and whether
// the flow goes on without them.
func ListOf(s *State, name string) (known bool, failure string, goesOn bool) {
	p := s.phases[name]
	failed := p.listFail != ""
	return p.listFrom != "" && !failed, p.listFail, failed && (p.carryOn || p.def.OnFail == FailContinue)
}
