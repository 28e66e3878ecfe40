package child

import (
	"context"
	"errors"
	"fmt"

	"agent/host/drive"
	"agent/recovery/journal"
	"agent/tools"
)

// Call records the child and carries it to its end.
func (d *Delegate) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	t, ok := c.Handle.(*task)
	if !ok {
		return tools.Failed(journal.AppliedNo, errors.New("delegate a task: nothing was prepared for it"))
	}
	c.Child = t.Child()
	return d.carry(ctx, c, &t.created)
}

// Attach goes on with a child that is on record.
func (d *Delegate) Attach(ctx context.Context, c tools.Call) (journal.Result, error) {
	return d.carry(ctx, c, nil)
}

// carry drives the child until it has ended, and gives its result. created is the child that is to
// be recorded; nil for one that is on record.
func (d *Delegate) carry(ctx context.Context, c tools.Call, created *journal.RunCreated) (journal.Result, error) {
	err := d.Carry(ctx, Task{
		Run: c.Child, Created: created, Waits: c.Waits,
		Changes: changes(c),
		Slot:    func(ctx context.Context) (func(), error) { return d.slot(ctx, c.Run) },
	})
	if never := new(NeverError); errors.As(err, &never) {
		return tools.Failed(journal.AppliedNo, fmt.Errorf("delegate a task: %w", never.Err))
	}
	if err != nil {
		return journal.Result{}, err
	}
	return d.result(context.WithoutCancel(ctx), c)
}

// changes is what holds above and so holds here too: the mode, the folder where that was moved, and
// the model where the call named none. Without a price a limit on the cost of the child alone would
// be none, so it keeps its model then.
func changes(c tools.Call) drive.Changes {
	parent := c.Parent.Created
	t := drive.Changes{Mode: c.Parent.Mode, Folder: parent.Folder}
	a, err := tools.Decode[arguments](c.Args)
	if how := parent.Setup; err == nil && a.Model == "" && how.Provider != "" && (a.MaxCost == 0 || how.Price != nil) {
		t.Model = &journal.ModelChange{
			Name: parent.Model, Provider: how.Provider, BaseURL: how.BaseURL, Window: how.Window, MaxOutput: how.MaxOutput,
			Effort: how.Effort, Price: how.Price,
		}
	}
	return t
}
