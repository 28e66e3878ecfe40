package flow

import (
	"agent/recovery/journal"
	"fmt"
	"reflect"
	"slices"
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

// Worked says whether an earlier flow of the thread was at work on an instance for the same task.
func Worked(before, s *State, x *Instance) bool {
	y := same(before, x)
	return y != nil && y.last() != nil && before.Run.Created.Task == s.Run.Created.Task
}

// same finds an instance of another flow by its names; nil where there is none.
func same(s *State, x *Instance) *Instance {
	if p := s.phases[x.Phase.Name]; p != nil {
		return p.all[key(x.Item)]
	}
	return nil
}

// Reuse is what an earlier flow of the thread made of an instance that is about to begin: that it
// counts, where it is done and its phase, the task, the model and the inputs that it was made from
// are the same. What it made and did not come to check is checked now. Whether its outputs are as
// they were recorded is for the host to see.
func Reuse(before, s *State, x *Instance, in []journal.Artifact) (journal.FlowPhaseEnded, bool) {
	end := journal.FlowPhaseEnded{
		Phase: x.Phase.Name, Item: x.Item, Attempt: 1, Part: journal.PartWork, Outcome: journal.PhaseReused, In: in,
	}
	y := same(before, x)
	was, is := before.Run.Created, s.Run.Created
	switch {
	case len(x.Attempts) > 0, y == nil, y.last() == nil, !reflect.DeepEqual(y.Phase, x.Phase):
		return end, false
	case was.Task != is.Task, before.Def.Preamble != s.Def.Preamble, x.Phase.Model == "" && was.Model != is.Model:
		return end, false
	}
	end.Unchecked = y.unchecked()
	if y.Status != StatusDone && !end.Unchecked || y.Status == StatusDone && y.Failure != "" || len(y.last().base) != len(in) {
		return end, false
	}
	for _, a := range in {
		if sha, ok := y.last().base[a.Path]; !ok || sha != a.SHA {
			return end, false
		}
	}
	for _, o := range y.Outputs() {
		out, ok := output(before, y, o.Path)
		if !ok {
			return end, false
		}
		end.Out = append(end.Out, out)
	}
	end.Run, end.Quiet, end.Did = y.last().run(), y.quiet, y.did()
	end.Reason = "made by run " + was.Run
	return end, true
}

// unchecked says whether the work is done and the flow ended before its checks did.
func (x *Instance) unchecked() bool {
	a := x.last()
	switch {
	case a == nil || a.End == nil || a.End.Failed || len(x.Phase.Checks) == 0:
		return false
	case a.End.Outcome != journal.PhaseDone && !a.End.Unchecked:
		return false
	case a.Check == nil:
		return x.Status == StatusChecking
	}
	return a.Check.Outcome == journal.PhaseCancelled && x.Status == StatusCancelled
}

// output is the version of an output that an instance made, as it counted last.
func output(s *State, x *Instance, name string) (journal.Artifact, bool) {
	if x.unchecked() { // a check that was cancelled leaves nothing that counts
		i := slices.IndexFunc(x.last().End.Out, func(a journal.Artifact) bool { return a.Path == name })
		if i < 0 {
			return journal.Artifact{}, false
		}
		return x.last().End.Out[i], true
	}
	v := s.path(name).layers[x.Phase.Name]
	if v == nil || v.maker != x {
		return journal.Artifact{}, false
	}
	return v.Artifact, true
}

// did lists what all attempts did beside writing their outputs.
func (x *Instance) did() []journal.PhaseCall {
	var out []journal.PhaseCall
	for _, a := range x.Attempts {
		if a.End != nil {
			out = append(out, a.End.Did...)
		}
	}
	return out
}

// Acted says whether an earlier flow did more of an instance than write its outputs, so that a
// person decides whether it is done again.
func Acted(before *State, x *Instance) bool {
	y := same(before, x)
	return y != nil && !y.quiet && x.Phase.Redo != RedoSafe
}

// Decision is what a person decided about work that an earlier flow did.
type Decision string

// The decisions; "" is none.
const (
	DecidedRedo Decision = answerRedo
	DecidedKeep Decision = answerKeep
)

// Decided is what a person decided of an instance with these inputs.
func Decided(x *Instance, in []journal.Artifact) Decision {
	same := func(decided map[string]string) bool {
		for _, a := range in {
			if sha, ok := decided[a.Path]; !ok || sha != a.SHA {
				return false
			}
		}
		return decided != nil
	}
	switch {
	case same(x.word):
		return DecidedRedo
	case same(x.keep):
		return DecidedKeep
	}
	return ""
}

// AskRepeat asks whether what an earlier flow of the thread did of an instance, and what cannot be
// taken over, is done again. It may be kept where its outputs are there and as its file wants them.
func AskRepeat(before, s *State, x *Instance, in []journal.Artifact, keep bool) *journal.Request {
	q := journal.PhaseQuestion{About: journal.AboutRedo, Phase: x.Phase.Name, Item: x.Item}
	for _, a := range in {
		q.Versions = append(q.Versions, journal.Artifact{Path: a.Path, SHA: a.SHA})
	}
	y := same(before, x)
	var choices []choice
	if x.Phase.Redo != RedoNever {
		choices = append(choices, choice{answerRedo, "does " + x.Name() + " again" + repeats(x.Phase)})
	}
	if keep {
		choices = append(choices, choice{answerKeep, x.Name() + " counts as done, as it is"})
	}
	choices = append(choices, choice{answerStop, "ends the flow"})
	return question(q, fmt.Sprintf("%s was at work before, in run %s: %s.%s", x.Name(), before.Run.Created.Run, y.Status, listed(x, y.did())), choices, false)
}

// Repeat has work done again that an earlier flow did: in the conversation that it had.
func Repeat(before *State, p *Part) {
	y := same(before, p.Instance)
	p.Why, p.Continues = journal.WhyPerson, y.last().run()
	p.Reason = fmt.Sprintf("it was at work before, in run %s: %s", before.Run.Created.Run, y.Status)
	if y.Failure != "" {
		p.Reason += ": " + y.Failure
	}
}

// Keep is the end of an instance that stands as an earlier flow left it, by a person's decision;
// wrong says what hinders that.
func Keep(before *State, x *Instance, in, out []journal.Artifact, wrong string) journal.FlowPhaseEnded {
	y := same(before, x)
	end := journal.FlowPhaseEnded{
		Phase: x.Phase.Name, Item: x.Item, Attempt: 1, Part: journal.PartWork, Outcome: journal.PhaseReused, In: in, Out: out,
		Run: y.last().run(), Quiet: y.quiet, Did: y.did(), Reason: "a person keeps what run " + before.Run.Created.Run + " made",
	}
	if wrong != "" {
		end.Outcome, end.Run, end.Out, end.Reason = journal.PhaseFailed, "", nil, "it was to stand as it is: "+wrong
	}
	return end
}
