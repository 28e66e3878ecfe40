package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/hook"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/mcp"
	"agent/tools/ofd"
)

// Folder is an open state folder with a host over it.
type Folder struct {
	*host.Host
	AskTrust AskTrust // asks whether a workspace's file may start something; nil where nobody can be asked
	Only     string   // folder whose runs alone are listed; "" for all
	Lost     []string // runs that were found without their owner and not marked
	Hooks    *hook.Caller

	app     *App
	write   bool
	lock    *ofd.File // locks/store, shared by every process that drives; nil when nothing can be written
	guard   *ofd.File // locks/store while a full disk lets the state only be read
	log     *logWriter
	noticed []string        // that were printed
	pool    *mcp.Pool       // the MCP servers of this process
	stopped <-chan struct{} // closed when the process is asked to stop
	kept    lastServers
}

// CanWrite says whether something can be recorded here.
func (s *Folder) CanWrite() bool { return s.lock != nil }

// Tilde shortens a path below the person's home folder.
func (s *Folder) Tilde(path string) string { return s.app.tilde(path) }

// Where names the folder in Only at the end of a sentence; empty without one.
func (s *Folder) Where() string {
	if s.Only == "" {
		return ""
	}
	return " in " + s.Tilde(s.Only)
}

// Use says how a command uses the state folder.
type Use int

const (
	Read   Use = iota // shows what is there; makes nothing, and marks runs without an owner if it can write
	Drive             // may drive runs; makes the state folder
	DryRun            // as useRead, and marks nothing
)

// Open opens the state folder. db.ErrNoState means that nothing was ever run. Once somebody
// observes the hub, begin follows.
func (a *App) Open(ctx context.Context, how Use) (*Folder, error) {
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	s := &Folder{app: a, pool: mcp.NewPool(), write: true, stopped: ctx.Done()}
	if how == Drive {
		a.enforces.ahead()
	} else {
		if s.write, err = Writable(home); err != nil {
			return nil, err
		}
	}
	store, err := s.store(ctx, home, s.write)
	if how != Drive && (errors.Is(err, db.ErrDiskFull) || errors.Is(err, db.ErrNoFiles)) {
		store, err = s.crowded(ctx, home)
		s.write = false
	}
	if err == nil {
		s.Host, err = a.host(home, store)
	}
	if err != nil {
		return nil, errors.Join(noRoom(home, err), s.unlock())
	}
	s.EnvOf = s.envOf
	s.permitted()
	s.notices()
	if how == Drive {
		for _, at := range a.sandbox("", home).Veiled() {
			a.Notice("warning: " + veiledWords(at))
		}
	}
	return s, nil
}

// noRoom says what could not be done where the system alone says that there is no room: a state
// folder is made file by file.
func noRoom(home string, err error) error {
	if errors.Is(err, db.ErrDiskFull) || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return fmt.Errorf("use state folder %s: %w, or has no inode left (see df and df -i): %w", home, db.ErrDiskFull, err)
}

// RawOptions says how openRaw opens a state folder.
type RawOptions struct {
	Write   bool
	Anew    bool // makes a database where one is missing
	Crowded bool // reads what a full disk keeps from being opened
}

// OpenRaw opens without the look that every other command begins with, and without a log.
func (a *App) OpenRaw(ctx context.Context, home string, how RawOptions) (*Folder, error) {
	s := &Folder{app: a, write: how.Write}
	store, err := s.storeAnew(ctx, home, how.Write, how.Anew)
	if how.Crowded && errors.Is(err, db.ErrDiskFull) {
		store, err = s.crowded(ctx, home)
	}
	if err == nil {
		s.Host, err = a.host(home, store)
	}
	if err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	return s, nil
}

// Begin writes the log from here on, and marks runs that lost their owner.
func (s *Folder) Begin(ctx context.Context, how Use) error {
	s.log = newLogger(s.Home, s.app.logTo(), s.Hub)
	s.Hooks = hook.Watch(s.Hub, hook.Options{
		Home: s.Home, Environ: os.Environ(), Hooks: s.app.hooks, Run: s.Store.Run, Redact: s.app.Redacted, OpenLog: s.app.OpenLog,
		Clean: func(c hook.Call) hook.Call { return db.RedactValue(s.Store, c) },
	})
	s.Env.Before = s.Hooks.Before
	if how == Drive && s.Witness != nil {
		if err := s.Witness.Reach(ctx); err != nil {
			return err
		}
	}
	return s.reconcile(ctx, how)
}

// Writable says whether the state that is there can be written; db.ErrNoState when there is none.
func Writable(home string) (bool, error) {
	if _, err := os.Stat(filepath.Join(home, "agent.db")); errors.Is(err, fs.ErrNotExist) {
		if err := db.NoState(home); err != nil {
			return false, err
		}
	}
	// A folder that is not ours gets no folder of ours.
	if err := db.Refuse(home, db.Options{AllowUnsafeFS: true}); err != nil {
		return false, err
	}
	locks := filepath.Join(home, "locks")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return false, nil // as below
	}
	f, err := os.OpenFile(filepath.Join(locks, "store"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, nil // a folder that cannot be written is shown as it is
	}
	return true, f.Close()
}

// store opens the database under locks/store, which every process that writes holds shared. Who
// finds it free and a write-ahead log left behind is the first after an unclean end, and repairs
// alone.
func (s *Folder) store(ctx context.Context, home string, write bool) (*db.Store, error) {
	return s.storeAnew(ctx, home, write, false)
}

// storeAnew is store, and with anew it makes a database where one is missing from the folder.
func (s *Folder) storeAnew(ctx context.Context, home string, write, anew bool) (*db.Store, error) {
	if !write {
		store, err := db.OpenRead(ctx, home)
		if err == nil {
			store.Know(known()...)
		}
		return store, err
	}
	o := db.Options{
		Now: fault.Now, Anew: anew, AllowUnsafeFS: s.app.Env("AGENT_ALLOW_UNSAFE_FS") == "1",
		Known: known(), Marks: marksFolder(s.app),
	}
	if err := db.Refuse(home, o); err != nil { // before a lock file is made in it
		return nil, err
	}
	lock, alone, err := storeLock(ctx, home)
	if err != nil {
		return nil, err
	}
	s.lock = lock
	o.Alone, o.FirstAfterCrash = alone, alone && walLeft(home)
	store, err := db.Open(ctx, home, o)
	if err == nil && alone {
		if ok, lockErr := lock.TryLockShared(); lockErr != nil || !ok {
			err = errors.Join(fmt.Errorf("share %s: held by another process", filepath.Join(home, "locks", "store")), lockErr, store.Close())
		}
	}
	return store, err
}

// Crowded opens for reading what a full disk keeps from being opened as always. The lock that was
// taken is kept, and the session counts as one that cannot write.
func (s *Folder) crowded(ctx context.Context, home string) (*db.Store, error) {
	s.guard, s.lock = s.lock, nil
	return db.OpenDiskFull(ctx, home)
}

// storeLock takes locks/store: alone where it is free, else shared. It waits for a process that
// repairs.
func storeLock(ctx context.Context, home string) (*ofd.File, bool, error) {
	dir := filepath.Join(home, "locks")
	err := os.MkdirAll(dir, 0o700)
	var f *ofd.File
	if err == nil {
		f, err = ofd.Open(filepath.Join(dir, "store"))
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: %w", db.ErrReadOnly, err)
	}
	if err != nil {
		return nil, false, fmt.Errorf("lock the state folder: %w", err)
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		alone, err := f.TryLock()
		if err == nil && !alone {
			var shared bool
			if shared, err = f.TryLockShared(); err == nil && shared {
				return f, false, nil
			}
		}
		if err != nil {
			return nil, false, errors.Join(err, f.Close())
		}
		if alone {
			return f, true, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, false, errors.Join(fmt.Errorf("wait for %s: %v", dir, context.Cause(ctx)), f.Close())
		}
	}
}

func walLeft(home string) bool {
	info, err := os.Stat(filepath.Join(home, "agent.db-wal"))
	return err == nil && info.Size() > 0
}

// notices reports what the store notes, once.
func (s *Folder) notices() {
	for _, n := range s.Store.Notices() {
		if !slices.Contains(s.noticed, n) {
			s.noticed = append(s.noticed, n)
			s.app.Notice(n)
		}
	}
}

func (s *Folder) unlock() error {
	var err error
	for _, l := range []*ofd.File{s.lock, s.guard} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// End ends what the folder started and lets observers come to their end. close follows.
func (s *Folder) End() {
	s.kept.keep(nil)
	if r := s.app.recording; r != nil {
		if err := r.Close(); err != nil {
			s.app.Notice(err.Error()) // the run does not depend on it
		}
	}
	s.Hub.Close()
}

// Close closes the folder; End goes before.
func (s *Folder) Close() error {
	if s.log != nil {
		if err := s.log.close(); err != nil {
			s.app.Notice(err.Error()) // nothing of the run depends on it
		}
	}
	s.Hooks.Seen()
	var err error
	if s.Witness != nil {
		err = s.Witness.Close()
	}
	err = errors.Join(err, s.Store.Close(), s.unlock())
	s.notices() // closing is when the log is brought in
	if late := s.Hooks.Wait(s.stopped, func() { s.app.Notice("waiting for a [[hook]] command to end; Ctrl-C leaves it to itself") }); late != nil {
		s.app.Notice(late.Error()) // as above
	}
	return err
}

// reconcile marks runs that lost their owner, where that can be written and is wanted, and notes
// each in one line.
func (s *Folder) reconcile(ctx context.Context, how Use) error {
	mark := s.write && how != DryRun
	marks, err := s.Reconcile(ctx, mark)
	for _, m := range marks {
		if !m.Kept {
			s.Lost = append(s.Lost, m.Run)
		}
		line := "run %s was interrupted (%s: %s); go on with: agent resume %s"
		switch m.Cause {
		case journal.CauseAnswered, journal.CauseExpired, journal.CauseWithdrawn:
			line = "run %s can go on (%s: %s); go on with: agent resume %s"
		}
		s.app.Notice(fmt.Sprintf(line, m.Run, m.Cause, m.Detail, m.Run))
	}
	switch {
	case len(s.Lost) == 0:
	case s.write && !mark:
		s.app.Notice("this is not recorded: a dry run changes nothing")
	default:
		s.app.Notice(s.Home + " cannot be written, so this is not recorded")
	}
	return err
}

// MustWrite refuses what has to be recorded where nothing can be.
func (s *Folder) MustWrite(what string) error {
	switch {
	case s.guard != nil:
		return fmt.Errorf("%s: %w (%s)", what, db.ErrDiskFull, s.Home)
	case s.lock == nil:
		return fmt.Errorf("%s: %w (%s)", what, db.ErrReadOnly, s.Home)
	}
	return nil
}
