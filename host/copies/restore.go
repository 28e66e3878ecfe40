package copies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agent/db/backup"
	"agent/db/maintain"
	"agent/host/app"
	"agent/host/view"
	"agent/recovery/fault"
	"agent/tools/durable"
)

// Restore makes the state folder of a backup. The folder must be empty, or not there; it is whole
// or not at all. decide is asked once what is in the backup is known to be sound.
func Restore(ctx context.Context, a *app.App, file string, open *Opener, decide func(view.RestoredFrom) (WentOn, error)) (r view.RestoredFrom, err error) {
	r = view.RestoredFrom{Version: 1, Backup: file, Key: open != nil}
	if r.Home, err = a.Home(); err != nil {
		return r, err
	}
	if real, err := filepath.EvalSymlinks(r.Home); err == nil {
		r.Home = real
	}
	if err := vacant(r.Home); err != nil {
		return r, err
	}
	above := filepath.Dir(r.Home)
	if err := os.MkdirAll(above, 0o700); err != nil {
		return r, fmt.Errorf("restore %s: %w", file, err)
	}
	backup.Sweep(above, backup.Unpacking)
	temp, err := os.MkdirTemp(above, backup.TempName(backup.Unpacking))
	if err != nil {
		return r, fmt.Errorf("restore %s: %w; it is unpacked beside its place, so you must be able to write there", file, err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temp) // what went wrong says more
		}
	}()
	m, err := backup.Unpack(ctx, file, temp, open)
	if err != nil {
		return r, err
	}
	r.Made, r.Incarnation, r.Runs = m.Made, m.Incarnation+1, runsOf(m)
	on, err := decide(r)
	if err != nil {
		return r, err
	}
	r.WentOn = on.String()
	d := Decision{on, "it was restored from a backup of " + view.Stamp(r.Made), r.Made}
	if err := decided(ctx, a, file, temp, d); err != nil {
		return r, fmt.Errorf("restore %s: %w", file, err)
	}
	fault.Hit(fault.StoreDecided)
	if err := placed(temp, r.Home); err != nil {
		return r, fmt.Errorf("restore %s: %w", file, err)
	}
	fault.Hit(fault.StoreNamed)
	return r, nil
}

// vacant refuses a folder that holds something.
func vacant(home string) error {
	list, err := os.ReadDir(home)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(list) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("restore into %s: %w", home, err)
	}
	return &OccupiedError{home}
}

// OccupiedError says that a state folder is not empty.
type OccupiedError struct{ Home string }

func (e *OccupiedError) Error() string {
	return fmt.Sprintf("restore into %s: it is not empty, and a backup is restored into an empty folder only", e.Home)
}

// decided records the decision in a folder that has not its place yet.
func decided(ctx context.Context, a *app.App, file, temp string, d Decision) error {
	f, err := a.OpenRaw(ctx, temp, app.RawOptions{Write: true})
	if err != nil {
		return err
	}
	if err = ordinary(ctx, f.Store, file); err == nil {
		_, err = Apply(ctx, f.Host, d)
	}
	return errors.Join(err, f.Close())
}

// ordinary refuses a backup with tables that are not as this program makes them, such as one with a
// trigger that somebody added.
func ordinary(ctx context.Context, s *app.Store, file string) error {
	list, err := maintain.SchemaDifferences(ctx, s)
	if err != nil || len(list) == 0 {
		return err
	}
	return &backup.RefusedError{Path: file, What: "in it, " + list[0].String(), Remedy: "if you trust it: agent doctor --fix where it was made, then back up again"}
}

// placed gives the folder its name. An empty folder of that name is replaced.
func placed(temp, home string) error {
	if err := os.Rename(temp, home); err != nil {
		return fmt.Errorf("%w; if a disk is mounted there, restore into a folder on it: AGENT_HOME=%s", err, filepath.Join(home, "agent"))
	}
	return durable.SyncDir(filepath.Dir(home))
}
