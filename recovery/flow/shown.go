package flow

import (
	"agent/recovery/journal"
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
	v := Shown{Try: x.tries, Rewound: x.rewound, GoesOn: x.carryOn && x.Status != StatusNew}
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

// ListOf says whether the items of an each phase are known, and why they could not be read.
func ListOf(s *State, name string) (known bool, failure string) {
	p := s.phases[name]
	return p.listFrom != "" && p.listFail == "", p.listFail
}
