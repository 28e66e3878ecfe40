package flow

import (
	"agent/recovery/journal"
	"maps"
	"slices"
)

// path is what is known of one file. More than one phase may make it, one after the other: each has
// a layer, and what lies there is the last one that is filled. The layer without a phase is the
// source's.
type path struct {
	layers  map[string]*version
	history map[string]journal.Artifact // every version that was seen, by its SHA-256
	restore string                      // SHA-256 of the version that a person wants back
	removed bool                        // by a phase that was made from it: it is missed only where another one needs it
}

// version is what counts of a file in one layer.
type version struct {
	journal.Artifact
	maker    *Instance // nil: a source, or a person's
	byHand   bool      // a person edited it
	restored int       // times that the host put it back by itself
	back     bool      // it was put back, by itself or as a person wanted
}

// path is what is known of a file; nothing, where none is.
func (s *State) path(name string) *path {
	if p := s.paths[name]; p != nil {
		return p
	}
	return &path{layers: map[string]*version{}, history: map[string]journal.Artifact{}}
}

// set makes a version the one that counts in a layer.
func (s *State) set(layer string, v version) {
	p := s.path(v.Path)
	s.paths[v.Path] = p
	if v.Copy == "" && p.history[v.SHA].Copy != "" {
		v.Copy = p.history[v.SHA].Copy
	}
	p.layers[layer], p.restore, p.removed = &v, "", false
	p.history[v.SHA] = v.Artifact
	delete(s.found, v.Path)
}

// top is the layer that lies there, and its version; nil where none is known.
func (s *State) top(name string) (layer string, v *version) {
	makers := s.Graph.Makers(name)
	slices.Reverse(makers)
	for _, m := range append(makers, "") {
		if v := s.path(name).layers[m]; v != nil {
			return m, v
		}
	}
	return "", nil
}

// Counts is the version of a file that counts; false where none is known.
func (s *State) Counts(name string) (journal.Artifact, bool) {
	if _, v := s.top(name); v != nil {
		return v.Artifact, true
	}
	return journal.Artifact{Path: name}, false
}

// forReader is the version that a phase is to be made from: what the phases before it left, and not
// what it or a later one makes of it. It is nil where none is known.
func (s *State) forReader(reader, name string) *version {
	makers := s.Graph.Makers(name)
	slices.Reverse(makers)
	for _, m := range makers {
		if v := s.path(name).layers[m]; v != nil && s.Graph.Before(m, reader) {
			return v
		}
	}
	return s.path(name).layers[""]
}

// inputs lists the paths that an instance reads, and the outputs of phases before it that are not
// there and that it can go without.
func (s *State) inputs(x *Instance) (paths, missing []string) {
	for _, in := range x.Phase.Inputs {
		if in.Phase == "" {
			if in.Path == x.Phase.Each && x.Item != nil {
				continue // the list: the item's own digest stands for it
			}
			name := in.Path
			if x.Item != nil {
				name = itemPath(name, x.Item.Name)
			}
			paths = append(paths, name)
			continue
		}
		for _, y := range s.phases[in.Phase].instances() {
			for _, o := range y.Outputs() {
				if s.path(o.Path).layers[in.Phase] != nil {
					paths = append(paths, o.Path)
				} else {
					missing = append(missing, o.Path)
				}
			}
		}
	}
	return paths, missing
}

// change is an input that is another one than the instance was made from.
type change struct {
	path, from, now string
	byHand          bool
}

// changes lists the inputs of an instance that are others now, and of which no person said that
// what was made of them stands.
func (s *State) changes(x *Instance) []change {
	a := x.last()
	if a == nil || x.Status != StatusOpen && x.Status != StatusChecking && x.Status != StatusDone {
		return nil
	}
	var out []change
	paths, _ := s.inputs(x)
	for _, name := range paths {
		v := s.forReader(x.Phase.Name, name)
		if v == nil || a.base[name] == v.SHA || x.keep[name] == v.SHA {
			continue
		}
		out = append(out, change{name, a.base[name], v.SHA, v.byHand})
	}
	for _, name := range slices.Sorted(maps.Keys(a.base)) {
		if !slices.Contains(paths, name) && x.keep[name] != gone {
			out = append(out, change{path: name, from: a.base[name], now: gone})
		}
	}
	return out
}

// gone stands for the version of an input that is none any more.
const gone = "none"

// drop forgets what an instance made: it is not what it was to make, and does not count.
func (s *State) drop(x *Instance) {
	for _, o := range x.Outputs() {
		if v := s.path(o.Path).layers[x.Phase.Name]; v != nil && v.maker == x {
			delete(s.path(o.Path).layers, x.Phase.Name)
			delete(s.found, o.Path)
		}
	}
}

// Subjects lists the artifacts that count and are to be looked at: sources that were read, and what
// phases made that are done, or only to be checked. Outputs of a phase that is at work, or is to
// be, are its own business. What a phase took away itself is missed only where one needs it that is
// not done.
func (s *State) Subjects(w World) []journal.Artifact {
	busy, done := map[string]bool{}, map[string]bool{}
	for _, p := range s.Graph.Order() {
		for _, x := range s.phases[p.Name].instances() {
			for _, o := range x.Outputs() {
				busy[o.Path] = busy[o.Path] || x.Open != nil && !toCheck(x, w) || x.Status == StatusRewound
			}
		}
	}
	var out []journal.Artifact
	add := func(name string, needed bool) {
		if _, v := s.top(name); v != nil && !busy[name] && !done[name] && (needed || !s.path(name).removed) {
			done[name] = true
			out = append(out, v.Artifact)
		}
	}
	for _, p := range s.Graph.Order() {
		if p.Each != "" {
			add(p.Each, true)
		}
		for _, x := range s.phases[p.Name].instances() {
			paths, _ := s.inputs(x)
			for _, name := range paths {
				add(name, !x.final())
			}
			if x.Status == StatusDone || toCheck(x, w) {
				for _, o := range x.Outputs() {
					add(o.Path, false)
				}
			}
		}
	}
	return out
}

// toCheck says whether an instance did its work and its check has not begun: what it made is as it
// was taken.
func toCheck(x *Instance, w World) bool {
	if x.Open == nil {
		return x.Status == StatusChecking
	}
	return x.Open.Part == journal.PartCheck && w.Children[x.Open.Run].State == ChildAbsent
}

// maker is the instance that made what counts of a file; nil for a source.
func (s *State) maker(name string) *Instance {
	layer, v := s.top(name)
	switch {
	case v == nil || layer == "":
		return nil
	case v.maker != nil:
		return v.maker
	}
	for _, x := range s.phases[layer].instances() {
		if slices.ContainsFunc(x.Outputs(), func(o Output) bool { return o.Path == name }) {
			return x
		}
	}
	return nil
}
