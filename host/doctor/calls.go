package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agent/db"
	"agent/recovery/journal"
	"agent/tools/runner"
	"agent/tools/sandbox"
)

// leftovers looks at the folders that commands leave: those whose result is in the database are
// needed no more.
func (e *examiner) leftovers(ctx context.Context) error {
	all, err := filepath.Glob(filepath.Join(e.h.CallsDir(), "*", "*"))
	if err != nil {
		return fmt.Errorf("list the folders of calls: %v", err)
	}
	left, err := runner.Leftovers(e.h.CallsDir())
	if err != nil {
		return err
	}
	ended := map[string]bool{}
	for _, folder := range left {
		ended[folder] = true
	}
	for _, folder := range all {
		if err := e.callFolder(ctx, folder, ended[folder]); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		e.OK(areaCalls, "no command runs, and none left files")
	}
	return nil
}

// temps looks at the temporary folders that commands of a run share: one stays behind when the host
// is killed at the run's end. Those of runs that are not known here belong to another state folder.
func (e *examiner) temps(context.Context) error {
	runs, err := sandbox.Temps()
	if err != nil {
		return err
	}
	for _, run := range runs {
		row, known := e.rows[run]
		switch {
		case !known || !row.Status.Terminal():
		case !e.fix:
			e.Warn(areaTemp, "agent doctor --fix removes it", "the temporary folder of run %s is there, and the run is over", run)
		default:
			if err := sandbox.RemoveTemp(run); err != nil {
				return err
			}
			e.Done(areaTemp, "removed the temporary folder of run %s, which is over", run)
		}
	}
	return nil
}

func (e *examiner) callFolder(ctx context.Context, folder string, ended bool) error {
	id, ok := runner.IdentityOf(folder)
	run, place := id.Run, journal.Place{Turn: id.Turn, Index: id.Index, Attempt: id.Attempt}
	row, known := e.rows[run]
	if at, err := db.Pruned(ctx, e.h.Store, run); ok && !known && err == nil && !at.IsZero() {
		e.Warn(areaCalls, "the next agent prune removes it", "%s is of run %s, which was removed", folder, run)
		return nil
	}
	if !ok || !known {
		e.Warn(areaCalls, "look into it, and remove it when it is not needed", "%s belongs to no run of this database", folder)
		return nil
	}
	if !ended {
		e.stillRunning(folder, row)
		return nil
	}
	call, found, err := e.callAt(ctx, run, place)
	switch {
	case err != nil:
		return err
	case !found && !row.Status.Terminal():
		e.OK(areaCalls, "%s: its call was never recorded, so it never ran", folder)
	case !found:
		call.Run, call.ID = run, place.String()
		return e.needless(folder, call)
	case call.Phase != journal.PhaseSettled:
		e.OK(areaCalls, "%s: call %s of run %s has no result yet; the run looks at it when it goes on", folder, call.ID, run)
	default:
		return e.needless(folder, call)
	}
	return nil
}

// needless is the folder of a call whose result is in the database, or that can never run. With fix
// it is removed, unless the run is being driven: its owner does so itself.
func (e *examiner) needless(folder string, call db.CallRow) error {
	if !e.fix {
		e.Warn(areaCalls, "agent doctor --fix removes it", "%s: what became of call %s is in the database, the folder is needed no more", folder, call.ID)
		return nil
	}
	if busy, err := e.h.Held(call.Run); err != nil || busy {
		return err
	}
	if err := runner.Discard(folder); err != nil {
		return err
	}
	e.Done(areaCalls, "%s is removed: what became of call %s is in the database", folder, call.ID)
	return nil
}

func (e *examiner) stillRunning(folder string, row db.RunRow) {
	if busy, err := e.h.Held(row.ID); err == nil && busy {
		e.OK(areaCalls, "%s: its command is running", folder)
		return
	}
	if row.Status.Terminal() {
		e.Warn(areaCalls, "see its processes: the record `began` in that folder names them",
			"%s: its command is still running although run %s is %s", folder, row.ID, row.Status)
		return
	}
	e.OK(areaCalls, "%s: its command goes on without an owner; agent resume %s picks it up, agent cancel %s stops it", folder, row.ID, row.ID)
}

// callAt finds the call that a folder was made for.
func (e *examiner) callAt(ctx context.Context, run string, p journal.Place) (db.CallRow, bool, error) {
	rows, err := e.h.Store.Calls(ctx, run)
	for _, c := range rows {
		if c.Turn == p.Turn && c.Index == p.Index {
			return c, true, nil
		}
	}
	var corrupt *db.CorruptError
	if errors.As(err, &corrupt) {
		err = nil // it was reported with its journal; its folders are left alone
	}
	return db.CallRow{}, false, err
}

// live finds the text of answers that nobody gives any more. A run that goes on drops its own.
func (e *examiner) live(context.Context) error {
	entries, err := os.ReadDir(filepath.Join(e.h.Home, "live"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list live text: %v", err)
	}
	for _, entry := range entries {
		path := filepath.Join(e.h.Home, "live", entry.Name())
		row, known := e.rows[strings.TrimSuffix(entry.Name(), filepath.Ext(entry.Name()))]
		busy := false
		if known {
			if busy, err = e.h.Held(row.ID); err != nil {
				return err
			}
		}
		switch {
		case known && (busy || !row.Status.Terminal()):
			continue
		case !e.fix:
			e.Warn(areaLive, "agent doctor --fix removes it", "%s: its run has ended", path)
		default:
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove live text: %v", err)
			}
			e.Done(areaLive, "%s is removed: its run has ended", path)
		}
	}
	return nil
}
