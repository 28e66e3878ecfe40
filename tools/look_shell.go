package tools

import (
	"context"
	"fmt"
	"strings"

	"agent/recovery"
	"agent/tools/runner"
)

// scene looks at the world before a command whose effect can be looked at afterwards; nil for every other command.
func (t shell) scene(c Call, w *workspace, a shellArgs) *scene {
	d, ok := deedOf(a.Command, a.Shell)
	if !ok {
		return nil
	}
	name, _, _ := strings.Cut(d.verb, " ")
	if !trusted(name, t.env) {
		return nil
	}
	var sc scene
	if d.verb == "git commit" {
		repo, err := repoOf(c.Folder)
		if err != nil {
			return nil
		}
		repo.Message = d.message
		sc = scene{Verb: d.verb, Repo: &repo}
	} else if sc, ok = w.set(d); !ok {
		return nil
	}
	return &sc
}

// Inspect looks what became of a command that began and left no record of its end. Everything else its runner's files say.
func (t shell) Inspect(_ context.Context, c Call) recovery.Inspection {
	if len(c.Before) == 0 {
		return recovery.Inspection{}
	}
	is, err := decode[confined](c.Before)
	if err != nil || is.Scene == nil {
		return recovery.Inspection{}
	}
	sc := *is.Scene
	folder := t.callFolder(c)
	seen, err := runner.Look(folder, identity(c))
	if err != nil || seen.State != runner.Unknown || seen.Began == nil {
		return recovery.Inspection{}
	}
	unclear := func(format string, a ...any) recovery.Inspection {
		return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: fmt.Sprintf(format, a...)}
	}
	if living, err := seen.Trace().Living(); err != nil || len(living) > 0 {
		return unclear("something of it may still run, so nothing is read out of what is there")
	}
	began, err := runner.BeganAt(folder)
	if err != nil {
		return unclear("%v", err)
	}
	if sc.Repo != nil {
		return inspectionOf(sc, sc.Repo.look(began))
	}
	if t.printed(c) != nil {
		return unclear("it printed something, which it does only when something is wrong")
	}
	w, err := openWorkspace(c.Folder, t.barred)
	if err != nil {
		return unclear("%v", err)
	}
	defer w.close()
	return inspectionOf(sc, func() (found, string) {
		return w.look(sc, window{began.UnixNano(), began.Add(moment).UnixNano()})
	})
}

func inspectionOf(sc scene, look func() (found, string)) recovery.Inspection {
	f, why := look()
	switch f {
	case foundNew:
		r := done(recovery.AppliedYes, fmt.Sprintf("%s: %s (seen after an interruption; its exit status was lost)", sc.Verb, why))
		r.How = recovery.HowVerified
		return recovery.Inspection{Answer: recovery.InspectionHappened, Result: &r, Why: why}
	case foundOld:
		return recovery.Inspection{Answer: recovery.InspectionNotHappened, Why: why}
	}
	if len(sc.Places) > 1 && sc.Verb != "mv" {
		why += "; a command that was done in part is not repeated"
	}
	return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: why}
}

// judged is the result of a command whose runner was lost while the host waits for it, where a look tells what became of it.
func (t shell) judged(ctx context.Context, c Call) (recovery.Result, bool, error) {
	i := t.Inspect(ctx, c)
	switch {
	case i.Answer == recovery.InspectionHappened && i.Result != nil:
		return *i.Result, true, nil
	case i.Answer == recovery.InspectionNotHappened:
		r, err := failed(recovery.AppliedNo, fmt.Errorf("run the command: its runner was lost before the command did anything: %s", i.Why))
		return r, true, err
	}
	return recovery.Result{}, false, nil
}
