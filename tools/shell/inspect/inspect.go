// Package inspect tells whether a command whose end nobody saw has happened. Of a script that is
// one simple command (mkdir, rm, mv, touch, git commit) it records what is there before; afterwards
// it compares. It says nothing where what is there may have another cause.
package inspect

import (
	"fmt"
	"strings"
	"time"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/files"
)

// Record looks at the world before a command whose effect can be looked at afterwards; nil for
// every other command. A repository in which git runs the program exe for messages is like one
// without hooks.
func Record(w *files.Workspace, folder, script, shell, exe string, env []string) *Before {
	d, ok := parse(script, shell)
	if !ok {
		return nil
	}
	name, _, _ := strings.Cut(d.verb, " ")
	if !trusted(name, env) {
		return nil
	}
	var sc Before
	if d.verb == "git commit" {
		repo, err := repoOf(folder, exe, d.flags["a"])
		if err != nil {
			return nil
		}
		repo.Message = d.message
		sc = Before{Verb: d.verb, Repo: &repo}
	} else if sc, ok = record(w, d); !ok {
		return nil
	}
	return &sc
}

// InspectCommit looks what became of a git commit that began at that time.
func (sc Before) InspectCommit(began time.Time) recovery.Inspection {
	f, why := sc.Repo.inspect(began)
	return sc.inspection(f, why)
}

// InspectFiles looks what became of any other command that began at that time.
func (sc Before) InspectFiles(w *files.Workspace, began time.Time) recovery.Inspection {
	f, why := inspect(w, sc, window{began.UnixNano(), began.Add(windowLength).UnixNano()})
	return sc.inspection(f, why)
}

func (sc Before) inspection(f found, why string) recovery.Inspection {
	switch f {
	case foundNew:
		r := tools.Done(journal.AppliedYes, fmt.Sprintf("%s: %s (seen after an interruption; its exit status was lost)", sc.Verb, why))
		r.How = journal.HowVerified
		return recovery.Inspection{Answer: recovery.InspectionHappened, Result: &r, Why: why}
	case foundOld:
		return recovery.Inspection{Answer: recovery.InspectionNotHappened, Why: why}
	}
	if len(sc.Places) > 1 && sc.Verb != "mv" {
		why += "; a command that was done in part is not repeated"
	}
	return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: why}
}
