package flow

import (
	"agent/recovery/journal"
	"reflect"
)

// Gated lists what begins with a yes to a question of an author. What an earlier flow made needs no
// such question.
func Gated(s *State, q *journal.PhaseQuestion) []Part {
	var out []Part
	for _, x := range s.Instances(q.Phase) {
		if x.Status != StatusNew || q.About != journal.AboutStart {
			continue
		}
		part := Part{Instance: x, Part: journal.PartWork, Attempt: 1, Why: journal.WhyFirst}
		var paths []string
		paths, part.Missing = s.inputs(x)
		for _, name := range paths {
			version, _ := s.Counts(name)
			part.In = append(part.In, version)
		}
		out = append(out, part)
	}
	return out
}

// Reuse is what an earlier flow of the thread made of an instance that is about to begin: that it
// counts, where it is done and its phase, the task, the model and the inputs that it was made from
// are the same. Whether its outputs are as they were recorded is for the host to see.
func Reuse(before, s *State, x *Instance, in []journal.Artifact) (journal.FlowPhaseEnded, bool) {
	end := journal.FlowPhaseEnded{
		Phase: x.Phase.Name, Item: x.Item, Attempt: 1, Part: journal.PartWork, Outcome: journal.PhaseReused, In: in,
	}
	p := before.phases[x.Phase.Name]
	was, is := before.Run.Created, s.Run.Created
	switch {
	case len(x.Attempts) > 0, p == nil, !reflect.DeepEqual(p.def, x.Phase):
		return end, false
	case was.Task != is.Task, before.Def.Preamble != s.Def.Preamble, x.Phase.Model == "" && was.Model != is.Model:
		return end, false
	}
	y := p.all[key(x.Item)]
	if y == nil || y.Status != StatusDone || y.Failure != "" || y.last() == nil || len(y.last().base) != len(in) {
		return end, false
	}
	for _, a := range in {
		if sha, ok := y.last().base[a.Path]; !ok || sha != a.SHA {
			return end, false
		}
	}
	for _, o := range y.Outputs() {
		v := before.path(o.Path).layers[x.Phase.Name]
		if v == nil || v.maker != y {
			return end, false
		}
		end.Out = append(end.Out, v.Artifact)
	}
	end.Run, end.Quiet = y.last().run(), y.quiet
	for _, a := range y.Attempts {
		if a.End != nil {
			end.Did = append(end.Did, a.End.Did...)
		}
	}
	end.Reason = "made by run " + was.Run
	return end, true
}
