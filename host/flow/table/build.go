package table

import (
	"agent/recovery"
	"agent/recovery/flow"
	"agent/recovery/journal"
	"cmp"
	"fmt"
	"slices"
)

type builder struct {
	s        *flow.State
	children map[string]Child
	out      *Table
}

func (b builder) phase(def *flow.Phase) Phase {
	if def.Each == "" {
		p, _ := b.instance(b.s.Instances(def.Name)[0])
		return p
	}
	p := Phase{Name: def.Name, Title: def.Title, Each: def.Each, Tries: def.Tries, Outputs: []string{}, Counts: map[Status]int{}}
	var all used
	for _, x := range b.s.Instances(def.Name) {
		v, took := b.instance(x)
		p.Counts[v.Status]++
		p.Attempts += v.Attempts
		all.add(took)
		p.Request = cmp.Or(p.Request, v.Request)
		p.Outputs = append(p.Outputs, v.Outputs...)
		p.Branches = append(p.Branches, v)
	}
	p.measure(all)
	p.Status = b.group(p.Counts)
	known, failure, goesOn := flow.ListOf(b.s, def.Name)
	asked := b.asks(def.Name, nil)
	if goesOn && asked == "" {
		failure += goesOnText
	}
	switch {
	case failure != "":
		p.Status, p.Reason = Failed, failure
		p.Request = cmp.Or(asked, p.Request)
	case !known:
		p.Status, p.Counts = NotYet, nil
	}
	if asked != "" && p.Status == NotYet {
		p.Status, p.Request = Waiting, asked
	}
	return p
}

// group is the status of a phase of many branches: what is not as it shall be comes first.
func (b builder) group(counts map[Status]int) Status {
	for _, s := range []Status{Running, Waiting, Interrupted, Failed, Cancelled, Stale, ToRedo} {
		if counts[s] > 0 {
			return s
		}
	}
	switch {
	case counts[NotYet] == 0 && counts[Done] == 0 && counts[Skipped] > 0:
		return Skipped
	case counts[NotYet] == 0:
		return Done
	case counts[Done]+counts[Skipped] > 0 && b.goes():
		return Running // between two branches
	}
	return NotYet
}

// goesOnText follows why a phase came to nothing, where the flow does not end with it.
const goesOnText = "; the flow goes on without it"

// goes says whether the flow is driven, as far as its record says.
func (b builder) goes() bool { return b.s.Run.Status == recovery.StatusRunning }

// asks is the id of the flow's own question, where that is about this.
func (b builder) asks(phase string, item *journal.PhaseItem) string {
	r := b.s.Run.Open
	if r == nil || r.Phase == nil || r.Phase.Phase != phase || r.Phase.Item != nil && (item == nil || *r.Phase.Item != *item) {
		return ""
	}
	return r.ID
}

func (b builder) instance(x *flow.Instance) (p Phase, all used) {
	shown := flow.Show(b.s, x)
	p = Phase{
		Name: x.Phase.Name, Title: x.Phase.Title, Attempts: len(x.Attempts), Try: shown.Try, Tries: x.Phase.Tries,
		Outputs: []string{}, Request: b.asks(x.Phase.Name, x.Item),
	}
	if x.Item != nil {
		p.Item = x.Item.Name
	}
	for _, m := range shown.Made {
		p.Outputs = append(p.Outputs, m.Path)
		b.artifact(m, x)
	}
	for _, a := range x.Attempts {
		p.Run, p.Reused = a.Start.Run, false
		if p.Run == "" {
			p.Run, p.Reused = a.End.Run, true
			continue // an earlier flow paid for it
		}
		for _, end := range []*journal.FlowPhaseEnded{a.End, a.Check} {
			if end != nil {
				all.add(used{end.Usage.Tokens(), end.Cost, end.Took})
			}
		}
	}
	if x.Open != nil {
		child := b.children[x.Open.Run]
		all.add(used{child.Tokens, child.Cost, child.Took})
		b.underWay(&p, x, shown)
	} else {
		b.settled(&p, x, shown)
	}
	if x.Phase.Pass != "" && x.Status == flow.StatusDone {
		passed := x.Failure == ""
		p.Passed = &passed
	}
	p.measure(all)
	return p, all
}

func (p *Phase) measure(u used) {
	p.DurationMS, p.Tokens, p.Cost, p.CostUSD = u.took.Milliseconds(), u.tokens, u.cost, dollars(u.cost)
}

// settled is an instance of which no part is under way.
func (b builder) settled(p *Phase, x *flow.Instance, shown flow.Shown) {
	p.Reason = x.Failure
	switch x.Status {
	case flow.StatusChecking:
		p.Status, p.Part = Interrupted, journal.PartCheck
		if b.goes() {
			p.Status = Running
		}
	case flow.StatusRewound:
		p.Status = ToRedo
		if shown.Rewound != nil {
			p.Reason = shown.Rewound.Reason
		}
	case flow.StatusFailed:
		p.Status = Failed
	case flow.StatusCancelled:
		p.Status = Cancelled
	case flow.StatusSkipped:
		p.Status = Skipped
	case flow.StatusDone:
		p.Status = Done
		if shown.Stale != "" {
			p.Status, p.Reason = Stale, "it was made from "+shown.Stale
		}
	default:
		p.Status = NotYet
		if p.Request != "" {
			p.Status = Waiting
		}
	}
	if p.Reason != "" && shown.GoesOn {
		p.Reason += goesOnText
	}
}

// underWay is a part that has begun and not ended.
func (b builder) underWay(p *Phase, x *flow.Instance, shown flow.Shown) {
	child := b.children[x.Open.Run]
	p.Run, p.Part = x.Open.Run, x.Open.Part
	switch {
	case child.Status == recovery.StatusWaiting:
		p.Status = Waiting
		p.Request = cmp.Or(child.Request, p.Request)
	case child.Driven, b.goes(), b.s.Run.Status == recovery.StatusWaiting && child.Status.Terminal():
		p.Status = Running
	default:
		p.Status = Interrupted
	}
	switch {
	case shown.Rewound != nil:
		p.Reason = "to be redone: " + shown.Rewound.Reason
	case shown.Stale != "":
		p.Reason = "it is made from " + shown.Stale
	case x.Open.Why != journal.WhyFirst && x.Open.Why != "":
		p.Reason = x.Open.Reason
	}
}

func (b builder) artifact(m flow.Made, x *flow.Instance) {
	a := Artifact{Path: m.Path, Digest: m.SHA, Bytes: m.Size, State: journal.ArtifactIntact, PutBack: m.PutBack, Edited: m.ByHand, Copied: m.Copy != "", Call: m.Call}
	if m.Lost != nil {
		a.State = m.Lost.State
	}
	if x != nil {
		a.Phase = x.Phase.Name
		if x.Item != nil {
			a.Item = x.Item.Name
		}
	}
	b.out.Artifacts = append(b.out.Artifacts, a)
}

// Of lists the artifacts that a phase made, or one branch of it; with "" for the phase, what was
// there.
func (t *Table) Of(p Phase) []Artifact {
	var out []Artifact
	for _, a := range t.Artifacts {
		if a.Phase == p.Name && (a.Item == p.Item || p.Each != "") {
			out = append(out, a)
		}
	}
	return out
}

// Notes says in words what is special about an artifact; nothing where nothing is.
func (a Artifact) Notes() []string {
	var out []string
	if a.State != journal.ArtifactIntact {
		out = append(out, string(a.State))
	}
	if a.PutBack {
		out = append(out, "put back")
	}
	if a.Edited {
		out = append(out, "yours")
	}
	return out
}

// TryText is which attempt it is at: "2/3" while more may follow, else how many there were.
func (p Phase) TryText() string {
	going := slices.Contains([]Status{Running, Waiting, Interrupted, Failed}, p.Status)
	switch {
	case p.Each != "" || p.Attempts == 0:
		return ""
	case going && p.Tries > 1 && p.Try > 0:
		return fmt.Sprintf("%d/%d", p.Try, p.Tries)
	}
	return fmt.Sprint(p.Attempts)
}

// StatusText is the status in short.
func (p Phase) StatusText() string {
	switch {
	case p.Status == Running && p.Part == journal.PartCheck:
		return "checking"
	case p.Status == Done && p.Reused:
		return "reused"
	case p.Status == Done && p.Passed != nil && !*p.Passed:
		return "done, says no"
	}
	return string(p.Status)
}
