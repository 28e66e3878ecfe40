package child

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"agent/host/drive"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// Delegate is the tool of one process. Its fields are set before the first run.
type Delegate struct {
	*Carrier
	// Setup chooses a model by its name for a child, as for a run that a person starts, with how it
	// is asked. The system prompt and the limits are the parent's.
	Setup func(ctx context.Context, parent journal.RunCreated, model string) (name string, s journal.Setup, err error)

	mu    sync.Mutex
	slots map[string]chan struct{} // of a run, by its id: one for each child that is driven
}

// atOnce is how many children of one run are driven at once.
const atOnce = 8

// task is a call on its way to its child.
type task struct{ created journal.RunCreated }

// Child is tools.Delegated.
func (t *task) Child() string { return t.created.Run }

// Prepare decides about the child and its id. Nothing of it exists yet.
func (d *Delegate) Prepare(ctx context.Context, c tools.Call) (json.RawMessage, any, error) {
	a, err := tools.Decode[arguments](c.Args)
	if err != nil {
		return nil, nil, err
	}
	p, parent := c.Parent, c.Parent.Created
	switch {
	case level(parent) >= levels:
		return nil, nil, fmt.Errorf("delegate a task: this run carries out a task that was delegated twice; do it here")
	case p.Spent:
		return nil, nil, errors.New("delegate a task: nothing is left of this run's limit on tokens or cost, or its cost is not known; do it here")
	}
	if err := d.known(p.Tools, a.Tools); err != nil {
		return nil, nil, fmt.Errorf("delegate a task: %w", err)
	}
	only := narrowed(parent.Only, a.Tools)
	if len(only) == 0 && len(a.Tools) > 0 { // none would stand for all of them
		return nil, nil, fmt.Errorf("delegate a task with %s: this run has %s alone", strings.Join(a.Tools, ", "), strings.Join(parent.Only, ", "))
	}
	created := journal.RunCreated{
		Run: drive.NewID("r"), Thread: drive.NewID("t"), By: parent.By, Prompt: a.Task, Folder: parent.Folder,
		Model: parent.Model, ModelWhy: "the parent's", Mode: tighter(p.Mode, a.Mode), Expire: parent.Expire, Version: d.Process.Version,
		Setup: parent.Setup, Environ: parent.Environ, Env: parent.Env, Terms: parent.Terms.Below(), Called: journal.Called{Witness: parent.Witness}, FlowRun: journal.FlowRun{Vars: parent.Vars},
		Limits: p.Limits.Tighten(journal.Limits{MaxTurns: a.MaxTurns, MaxTokens: a.MaxTokens, MaxCost: millionths(a.MaxCost)}),
		Family: journal.Family{
			Parent: parent.Run, Root: cmp.Or(parent.Root, parent.Run), RootThread: parent.FamilyThread(), Role: Name + " " + c.ID,
			Only: only, Guarded: p.Guarded,
		},
	}
	if a.Model != "" && a.Model != parent.Model {
		if created.Model, created.Setup, err = d.Setup(ctx, parent, a.Model); err != nil {
			return nil, nil, fmt.Errorf("delegate a task to %s: %w", a.Model, err)
		}
		created.ModelWhy = "the parent named it"
	}
	if created.Limits.MaxCost > 0 && created.Setup.Price == nil && created.Setup.Provider != "" {
		return nil, nil, fmt.Errorf("delegate a task to %s: its cost is limited to %s, and what it costs is not known", created.Model, journal.Dollars(created.Limits.MaxCost))
	}
	created.Setup.System += system
	created.Setup.Images = nil
	return nil, &task{created}, nil
}

// system stands behind the system prompt of its parent's model in that of a child's.
const system = `

# Your task was delegated

This task was handed to you by another run, as a part of its own work. You see nothing of its conversation. Do what the task says and nothing beyond it. Your last answer is all that it gets: put into it whatever it needs, and say plainly what you did not do or could not find out.`

// millionths is an amount of dollars as limits count it. One that is too small for that is the
// least that there is, since 0 is no limit.
func millionths(dollars float64) int64 {
	if dollars <= 0 {
		return 0
	}
	return int64(max(1, math.Round(min(dollars, maxDollars)*1e6)))
}

// maxDollars keeps an amount in what limits can count.
const maxDollars = 1e9

// tighter is the tighter of a mode and one that may be left open.
func tighter(mode, wanted journal.Mode) journal.Mode {
	if wanted != "" && mode.LooserThan(wanted) {
		return wanted
	}
	return mode
}

// known refuses the name of a tool that neither the parent has nor any run.
func (d *Delegate) known(has, wanted []string) error {
	for _, name := range wanted {
		if slices.Contains(has, name) {
			continue
		}
		if _, err := d.Process.Env.Tools.Get(name); err != nil {
			return fmt.Errorf("there is no tool %q; there are %s", name, strings.Join(has, ", "))
		}
	}
	return nil
}

// narrowed are the tools that are wanted, of those that there may be; none means all of them.
func narrowed(of, wanted []string) []string {
	switch {
	case len(wanted) == 0:
		return of
	case len(of) == 0:
		return wanted
	}
	return slices.DeleteFunc(slices.Clone(wanted), func(n string) bool { return !slices.Contains(of, n) })
}

// slot waits until the run may have one more child driven; release lets the next.
func (d *Delegate) slot(ctx context.Context, run string) (release func(), err error) {
	d.mu.Lock()
	if d.slots == nil {
		d.slots = map[string]chan struct{}{}
	}
	if d.slots[run] == nil {
		d.slots[run] = make(chan struct{}, atOnce)
	}
	free := d.slots[run]
	d.mu.Unlock()
	select {
	case free <- struct{}{}:
		return func() { <-free }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Tidy forgets a run that has ended.
func (d *Delegate) Tidy(run string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.slots, run)
	return nil
}

// Find looks for the child. One without a row never began.
func (d *Delegate) Find(ctx context.Context, c tools.Call) recovery.ProcessEvidence {
	row, there, err := d.Row(ctx, c.Child)
	switch {
	case err != nil:
		return recovery.ProcessEvidence{State: recovery.ProcessLost, Why: err.Error()}
	case !there:
		return recovery.ProcessEvidence{State: recovery.ProcessNever, Why: "run " + c.Child + ", which was to carry it out, never began"}
	case !row.Status.Terminal():
		e := recovery.ProcessEvidence{State: recovery.ProcessRunning, Why: "run " + c.Child + " carries it out and goes on"}
		if e.Asked = d.asked(ctx, row); len(e.Asked) > 0 {
			e.Why = journal.WaitsForPeople + "run " + c.Child + ", agent answer " + strings.Join(e.Asked, ", agent answer ")
		}
		return e
	}
	r, err := d.result(ctx, c)
	if err != nil {
		return recovery.ProcessEvidence{State: recovery.ProcessLost, Why: err.Error()}
	}
	return recovery.ProcessEvidence{State: recovery.ProcessEnded, Result: &r, Why: "run " + c.Child + " carried it out and is " + string(row.Status)}
}

// Stop has the child end, durably.
func (d *Delegate) Stop(c tools.Call, reason string) error {
	return d.Carrier.Stop(context.Background(), c.Child, c.Run, reason)
}

// Kill has nothing to end: no process outlives the host on a child's own account.
func (d *Delegate) Kill(context.Context, tools.Call) ([]string, error) { return nil, nil }

// Survivors has nothing to look for, likewise.
func (d *Delegate) Survivors(json.RawMessage) ([]string, error) { return nil, nil }

// Discard removes nothing: the child is a part of the record.
func (d *Delegate) Discard(tools.Call) error { return nil }
