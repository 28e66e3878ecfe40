package shell

import (
	"context"
	"fmt"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/files"
	"agent/tools/runner"
)

// Inspect looks what became of a command that began and left no record of its end. Everything else
// its runner's files say.
func (t shell) Inspect(_ context.Context, c tools.Call) recovery.Inspection {
	i := t.inspected(c)
	if i.Result != nil {
		i.Result.Content = withAccess(c, i.Result.Content)
	}
	return i
}

func (t shell) inspected(c tools.Call) recovery.Inspection {
	if len(c.Before) == 0 {
		return recovery.Inspection{}
	}
	is, err := tools.Decode[confined](c.Before)
	if err != nil || is.Before == nil {
		return recovery.Inspection{}
	}
	sc := *is.Before
	folder := t.callFolder(c)
	seen, err := runner.Inspect(folder, identity(c))
	if err != nil || seen.State != runner.Unknown || seen.Began == nil {
		return recovery.Inspection{}
	}
	unclear := func(format string, a ...any) recovery.Inspection {
		return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: fmt.Sprintf(format, a...)}
	}
	if living, err := seen.Trace().Survivors(); err != nil || len(living) > 0 {
		return unclear("something of it may still run, so nothing is read out of what is there")
	}
	began, err := runner.BeganAt(folder)
	if err != nil {
		return unclear("%v", err)
	}
	if sc.Repo != nil {
		return sc.InspectCommit(began)
	}
	if t.printed(c) != nil {
		return unclear("it printed something, which it does only when something is wrong")
	}
	w, err := files.OpenWorkspace(c.Folder, t.denied)
	if err != nil {
		return unclear("%v", err)
	}
	defer w.Close()
	return sc.InspectFiles(w, began)
}

// judged is the result of a command whose runner was lost while the host waits for it, where a look
// tells what became of it.
func (t shell) judged(ctx context.Context, c tools.Call) (journal.Result, bool, error) {
	i := t.Inspect(ctx, c)
	switch {
	case i.Answer == recovery.InspectionHappened && i.Result != nil:
		return *i.Result, true, nil
	case i.Answer == recovery.InspectionNotHappened:
		r, err := tools.Failed(journal.AppliedNo, fmt.Errorf("run the command: its runner was lost before the command did anything: %s", i.Why))
		return r, true, err
	}
	return journal.Result{}, false, nil
}
