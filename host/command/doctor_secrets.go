package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"agent/db"
	"agent/host/doctor"
	"agent/host/terminal"
)

const areaSecrets = "secrets"

// findSecrets looks through the whole state folder for secrets that lie in it in the clear.
func (a *commandLine) findSecrets(ctx context.Context, home string, f *doctor.Findings) {
	s, err := a.openDoctor(ctx, home)
	if errors.Is(err, db.ErrNoState) {
		f.OK(areaSecrets, "there is no state yet: nothing was run")
		return
	}
	if err != nil {
		f.Bad(areaSecrets, remedyFor(err), "%v", err)
		return
	}
	screen := terminal.NewScreen(a.Err, a.Getenv)
	var all int64
	found, err := s.Store.FindExposed(ctx, func(done, of int64) {
		all = of
		screen.Show(fmt.Sprintf("looked at %d of %d rows", done, of))
	})
	screen.Show("")
	if err != nil {
		f.Bad(areaSecrets, remedySave, "%v", err)
	}
	for _, x := range found {
		a.exposed(ctx, s, x, f)
	}
	if len(found) == 0 && err == nil {
		f.OK(areaSecrets, "%d rows and every file looked at: no known value and nothing that looks like a secret lies there in the clear", all)
	}
	if err := s.close(); err != nil {
		f.Bad(areaSecrets, "", "close: %v", err)
	}
}

// exposed tells of one place. What a command that is still running has printed lies there until its result is stored.
func (a *commandLine) exposed(ctx context.Context, s *session, x db.Exposed, f *doctor.Findings) {
	const change = "change that secret where it is valid, since whoever could read the folder may have it"
	switch run, isCall := strings.CutPrefix(x.File, "calls"+string(filepath.Separator)); {
	case isCall:
		run, _, _ = strings.Cut(run, string(filepath.Separator))
		if row, err := s.Store.Run(ctx, run); err == nil && !row.Status.Terminal() {
			f.Warn(areaSecrets, "it goes once the result is stored: agent resume "+run, "%s: %s, in what a command of run %s has printed", x.Rule, x.File, run)
			return
		}
		f.Bad(areaSecrets, change+"; then agent doctor --fix removes what calls left", "%s: %s", x.Rule, x.File)
	case x.File != "":
		f.Bad(areaSecrets, change+"; then remove the file when no agent is running, unless it is the database", "%s: %s%s", x.Rule, x.File, inName(x.Column))
	case x.Seq > 0:
		f.Bad(areaSecrets, change+older, "%s: run %s, fact %d (table %s)", x.Rule, x.Run, x.Seq, x.Table)
	case x.Run != "":
		f.Bad(areaSecrets, change+older, "%s: run %s (table %s, row %d, %s)", x.Rule, x.Run, x.Table, x.Row, x.Column)
	default:
		f.Bad(areaSecrets, change+older, "%s: table %s, row %d, %s", x.Rule, x.Table, x.Row, x.Column)
	}
}

const older = " (it was written by an older agent, or before it was known to be secret)"

func inName(column string) string {
	if column == "name" {
		return ", in its name"
	}
	return ""
}
