package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"agent/db"
	"agent/host/doctor"
	"agent/host/view"
)

const (
	areaDatabase = "database"
	remedySave   = "restore a backup, or save what is left: agent doctor --salvage FILE"
)

// walExpected is a log that is worth a word: it is brought into the database while agent is idle.
const walExpected = 64 << 20

// examineDatabase looks at the file as a whole: damage, settings, sizes.
func (a *commandLine) examineDatabase(ctx context.Context, s *session, f *doctor.Findings) {
	if b := s.Store.Behind(); b != nil {
		f.Bad(areaDatabase, remedyFor(b), "%v", b)
	}
	r, err := s.Store.Check(ctx)
	if err != nil {
		f.Bad(areaDatabase, remedySave, "%v", err)
		return
	}
	if len(r.Problems) > 0 {
		for _, p := range r.Problems[:min(20, len(r.Problems))] {
			f.Bad(areaDatabase, remedySave, "%s: %s", r.Path, p)
		}
	} else {
		f.OK(areaDatabase, "%s is whole: format %d, SQLite %s", r.Path, r.Format, r.SQLite)
	}
	if s.CanWrite() { // what is opened for reading only has other settings, and they say nothing
		a.examineSettings(r, f)
	}
	a.examineSizes(r, f)
}

// examineSchema compares every table, index and view with what the migrations make, and with fix makes them so again.
func (a *commandLine) examineSchema(ctx context.Context, s *session, fix bool, f *doctor.Findings) {
	list, err := s.Store.SchemaDifferences(ctx)
	if err != nil {
		f.Bad(areaDatabase, remedySave, "%v", err)
		return
	}
	r, err := s.Store.Check(ctx)
	if fix && (len(list) > 0 || err != nil || len(r.Problems) > 0) {
		fixed, err := s.Store.RepairSchema(ctx)
		if err != nil {
			f.Bad(areaDatabase, remedySave, "%v", err)
		}
		for _, d := range fixed {
			f.Done(areaDatabase, "%s: it was made again", d)
		}
		if err == nil && len(r.Problems) > 0 {
			f.Done(areaDatabase, "every index was built anew from its table, because of: %s", r.Problems[0])
		}
		if list, err = s.Store.SchemaDifferences(ctx); err != nil {
			f.Bad(areaDatabase, remedySave, "%v", err)
		}
	}
	for _, d := range list {
		remedy := "agent doctor --fix makes it again"
		if !d.Repairable() {
			remedy = remedySave
		}
		f.Bad(areaDatabase, remedy, "%s", d)
	}
}

func (a *commandLine) examineSettings(r db.Report, f *doctor.Findings) {
	var settings []string
	for name, value := range r.Settings {
		settings = append(settings, name+"="+value)
	}
	slices.Sort(settings)
	f.OK(areaDatabase, "settings: %s", strings.Join(settings, " "))
	switch {
	case r.OFDLocks:
		f.OK(areaDatabase, "locks belong to open files")
	case runtime.GOOS == "linux":
		f.Bad(areaDatabase, "use another build of agent", "locks belong to the process: opening and closing the file twice in it would lose them")
	}
}

func (a *commandLine) examineSizes(r db.Report, f *doctor.Findings) {
	if r.Log > walExpected {
		f.Warn(areaDatabase, "end the processes that read for long; the log is brought in when agent is idle", "its log has grown to %s", view.Bytes(r.Log))
	}
	f.OK(areaDatabase, "%s, log %s, bodies in files %s", view.Bytes(r.Database), view.Bytes(r.Log), view.Bytes(r.Blobs))
	if r.Ballast == 0 {
		f.Warn(areaDatabase, "free some space: the next run makes it", "there is no ballast, so a full disk stops agent at once")
	} else {
		f.OK(areaDatabase, "ballast %s, freed when the disk is full", view.Bytes(r.Ballast))
	}
	if len(r.Leftover) > 0 {
		f.Warn(areaDatabase, "when no agent is running, remove them", "%d files of bodies belong to no fact: %s", len(r.Leftover), strings.Join(r.Leftover[:min(5, len(r.Leftover))], ", "))
	}
}

// salvage writes what can be read of a database, damaged or not, to a new file or to stdout.
func (a *commandLine) salvage(ctx context.Context, home, to string) (err error) {
	if _, err := os.Stat(home); err != nil {
		return fmt.Errorf("salvage: %v", err)
	}
	if to == "-" {
		return db.Salvage(ctx, home, a.Out)
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("salvage to a new file: %v", err)
	}
	err = db.Salvage(ctx, home, f)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	a.Say(a.Err, "saved to %s; a table's last line says how many of its rows could not be read", to)
	return nil
}
