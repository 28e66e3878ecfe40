package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/host/child"
	"agent/host/drive"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// start looks at the inputs of parts that may begin, and records that they do.
func (f *carrying) start(ctx context.Context, h drive.Hands, a flow.Start) error {
	if taken, err := makes(ctx, f, h.Process()); err != nil {
		return unlessEnded(ctx, err)
	} else if taken != "" {
		f.record(h, journal.RunFailed{Reason: taken})
		return nil
	}
	for _, p := range a.Parts {
		looks, err := lookAt(ctx, f, h.Process(), p.In)
		if err != nil {
			return unlessEnded(ctx, err)
		}
		if end, ok, err := f.reuse(ctx, h.Process(), p, looks); err != nil {
			return unlessEnded(ctx, err)
		} else if ok {
			f.record(h, end)
			return nil // what may begin now is another question
		}
		asks, end, err := repeats(ctx, f, h.Process(), &p, looks)
		switch {
		case err != nil:
			return f.unreadable(ctx, h, err)
		case end != nil:
			f.record(h, end)
			return nil
		case asks:
			continue // when nothing else can be done
		}
		before, err := f.before(ctx, p)
		if err != nil {
			return f.unreadable(ctx, h, err)
		}
		fact := f.s.Begin(p, looks, before, drive.NewID("r"))
		if left, ok := fact.(journal.RunInterrupted); ok {
			return f.unreadable(ctx, h, errors.New(left.Detail))
		}
		f.record(h, fact)
		if fact.Kind() != journal.KindPhaseStarted {
			return nil // what follows from that is another state
		}
	}
	return nil
}

// makes says which other flow makes a file of this one. Two that were started at the same moment
// found the folder free both: the first of them goes on. A flow that has begun is asked no more.
func makes(ctx context.Context, f *carrying, p *drive.Process) (string, error) {
	if flow.Begun(f.s) {
		return "", nil
	}
	c := f.s.Run.Created
	row, err := p.Store.Run(ctx, c.Run)
	if err != nil {
		return "", err
	}
	return takenBy(ctx, p.Store, c.Folder, f.def, row.No)
}

// before is what lies where a part will write, copied. An error is a reason not to begin.
func (f *carrying) before(ctx context.Context, p flow.Part) ([]journal.Artifact, error) {
	taken, err := f.folder.Before(ctx, p.Instance.Outputs(), f.copies)
	if err != nil {
		return nil, err
	}
	var out []journal.Artifact
	for _, t := range taken {
		if t.SHA == "" && t.Invalid != "" && (p.Why == journal.WhyPerson || p.Why == journal.WhyRedo) {
			// It came there since the phase was done, and a command that writes there may write
			// through a link to a file of a person's.
			return nil, fmt.Errorf("do %s again: %s: %s; move it away, then resume", p.Instance.Name(), t.Path, t.Invalid)
		}
		if t.SHA != "" {
			out = append(out, t.Artifact)
		}
	}
	return out, nil
}

// task is a child that is to go on, or to be created. ok is false where something else follows
// first from what its inputs are now.
func (f *carrying) task(ctx context.Context, h drive.Hands, run string) (t child.Task, ok bool, err error) {
	t.Run = run
	_, there, err := f.engine.Carrier.Row(ctx, run)
	if err != nil {
		return t, false, err
	}
	if there {
		t.Changes = drive.Changes{Mode: f.s.Run.Mode, Folder: f.s.Run.Created.Folder}
		return t, true, nil
	}
	x := f.s.Of(run)
	inputs, same, err := f.inputs(ctx, h, x)
	if err != nil || !same {
		return t, false, unlessEnded(ctx, err)
	}
	c := f.created(h, x)
	if c.Prompt, err = f.prompt(ctx, x, inputs); errors.Is(err, errChanged) {
		return t, false, nil // it is looked at again
	}
	if err != nil {
		return t, false, unlessEnded(ctx, err)
	}
	if from := x.Open.Continues; from != "" && c.Setup.Provider != "" {
		if t.Earlier, err = f.goOn(ctx, h, &c, from); err != nil {
			return t, false, err
		}
	}
	t.Created = &c
	return t, true, nil
}

// inputs looks at what a child is to be made from, right before it begins.
func (f *carrying) inputs(ctx context.Context, h drive.Hands, x *flow.Instance) ([]journal.Artifact, bool, error) {
	var looks []flow.Look
	var in []journal.Artifact
	same := true
	for _, was := range x.Open.In {
		counts, _ := f.s.Counts(was.Path)
		l, err := f.look(ctx, h.Process(), counts)
		if err != nil {
			return nil, false, err
		}
		looks, in = append(looks, l), append(in, counts)
		same = same && l.State == journal.ArtifactIntact
	}
	if !same {
		f.record(h, f.s.Cascade(looks, x.Name()))
	}
	return in, same, nil
}

// goOn has a child go on in the thread of an earlier attempt.
func (f *carrying) goOn(ctx context.Context, h drive.Hands, c *journal.RunCreated, from string) ([]journal.Message, error) {
	row, err := h.Process().Store.Run(ctx, from)
	if err != nil {
		return nil, err
	}
	rows, err := h.Process().Store.ThreadRuns(ctx, row.Thread)
	if err != nil {
		return nil, err
	}
	c.Thread, c.Previous = row.Thread, rows[len(rows)-1].ID
	return h.Process().ThreadTranscript(ctx, row.Thread)
}

// created is the first fact of the child that carries out a part, without its prompt.
func (f *carrying) created(h drive.Hands, x *flow.Instance) journal.RunCreated {
	o, of := *x.Open, f.s.Run.Created
	c := journal.RunCreated{
		Run: o.Run, Thread: drive.NewID("t"), By: of.By, Folder: of.Folder, Mode: cmp.Or(o.Mode, f.s.Run.Mode), Expire: of.Expire,
		Version: h.Process().Version, Environ: of.Environ, Env: of.Env, Terms: of.Terms.Below(), Called: journal.Called{Witness: of.Witness},
		FlowRun: journal.FlowRun{Vars: vars(x, of.Task)},
		Limits:  o.Limits.Tighten(journal.Limits{MaxTurns: f.s.Run.Limits.MaxTurns}),
		Family: journal.Family{
			Parent: of.Run, Root: cmp.Or(of.Root, of.Run), RootThread: of.FamilyThread(),
			Guarded: f.s.Run.Restored, Role: flow.Part{Instance: x, Part: o.Part, Attempt: o.Attempt}.Role(),
		},
	}
	p := x.Phase
	if p.Tools != nil {
		c.Only = slices.Clone(*p.Tools)
	}
	switch {
	case o.Part != journal.PartWork: // commands of the author: the mode of the phase is for its model
		c.Model, c.ModelWhy, c.Mode, c.Repeat, c.Only = flow.Runbook, "the flow's commands", f.s.Run.Mode, true, nil
	case p.Model == flow.Runbook, p.Model == "" && of.Model == flow.Runbook:
		c.Model, c.ModelWhy, c.Repeat = flow.Runbook, "the flow says so", p.Redo == flow.RedoSafe
	case p.Model == "":
		c.Model, c.ModelWhy, c.Setup = of.Model, "the flow's", of.Setup
	default:
		c.Model, c.ModelWhy, c.Setup = p.Model, "the flow says so", f.def.Setups[p.Model]
	}
	c.Authored = c.Model == flow.Runbook
	if p.Effort != "" && c.Setup.Provider != "" {
		c.Setup.Effort = p.Effort
	}
	c.Setup.Images = nil
	return c
}

// vars is what the commands of a part find in their environment beside what they get anyway.
func vars(x *flow.Instance, task string) []string {
	out := []string{"AGENT_PHASE=" + x.Phase.Name, "AGENT_TASK=" + task}
	if x.Item != nil {
		out = append(out, "AGENT_ITEM="+x.Item.Name)
	}
	return out
}

// itemOf is the item of a branch with what it says, from its list as it is.
func (f *carrying) itemOf(ctx context.Context, x *flow.Instance) (string, error) {
	list, _ := f.s.Counts(x.Phase.Each)
	text, err := content(ctx, f.folder, list)
	if err != nil {
		return "", err
	}
	items, err := readItems(text)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", list.Path, errChanged)
	}
	i := slices.IndexFunc(items, func(i item) bool { return i.PhaseItem == *x.Item })
	if i < 0 {
		return "", fmt.Errorf("read %s: %w", list.Path, errChanged)
	}
	return items[i].data, nil
}
