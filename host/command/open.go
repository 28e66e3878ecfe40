package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"agent/db"
	"agent/host"
	"agent/host/stream"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/tools"
	"agent/tools/mcp"
	"agent/tools/ofd"
	"agent/tools/process"
)

// home is the state folder: $AGENT_HOME, else $XDG_STATE_HOME/agent, else ~/.local/state/agent.
func (a *App) home() (string, error) {
	if h := a.Env("AGENT_HOME"); h != "" {
		return filepath.Abs(h)
	}
	if x := a.Env("XDG_STATE_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "agent"), nil
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %v; set AGENT_HOME", err)
	}
	return filepath.Join(h, ".local", "state", "agent"), nil
}

// session is an open state folder with what is shown of it.
//
// Over budget: at most 86 methods: likewise with the commands that need a state folder
type session struct {
	*Folder
	app     *commandLine
	show    *terminal.Renderer
	older   int  // runs that the last list left out
	several bool // answers of several runs are printed: each names its run
}

// Folder is an open state folder with a host over it.
type Folder struct {
	*host.Host
	AskTrust asksTrust // asks whether a workspace's file may start something; nil where nobody can be asked
	Lost     []string  // runs that were found without their owner and not marked

	app     *App
	write   bool
	lock    *ofd.File // locks/store, shared by every process that drives; nil when nothing can be written
	guard   *ofd.File // locks/store while a full disk lets the state only be read
	log     *logger
	noticed []string  // that were printed
	pool    *mcp.Pool // the MCP servers of this process
	kept    lastServers
}

// CanWrite says whether something can be recorded here.
func (s *Folder) CanWrite() bool { return s.lock != nil }

// use says how a command uses the state folder.
type use int

const (
	useRead  use = iota // shows what is there; makes nothing, and marks runs without an owner where the folder can be written
	useDrive            // may drive runs; makes the state folder
	useLook             // as useRead, and marks nothing
)

// open opens the state folder, looks for runs that lost their owner, and says so. db.ErrNoState means that nothing was
// ever run.
func (a *commandLine) open(ctx context.Context, how use) (*session, error) {
	f, err := a.App.open(ctx, how)
	if err != nil {
		return nil, err
	}
	s := &session{app: a, Folder: f}
	if how != useDrive {
		s.sayBehind()
	}
	s.show = terminal.NewRenderer(a.Printer(a.Err), s.Hub, records{s.Store})
	if err := s.begin(ctx, how); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// open opens the state folder. db.ErrNoState means that nothing was ever run. Once somebody observes the hub, begin follows.
func (a *App) open(ctx context.Context, how use) (*Folder, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	s := &Folder{app: a, pool: mcp.NewPool(), write: true}
	if how == useDrive {
		a.enforces.ahead()
	} else {
		if s.write, err = writable(home); err != nil {
			return nil, err
		}
	}
	store, err := s.store(ctx, home, s.write)
	if how != useDrive && (errors.Is(err, db.ErrDiskFull) || errors.Is(err, db.ErrNoFiles)) {
		store, err = s.crowded(ctx, home)
		s.write = false
	}
	if err == nil {
		s.Host, err = a.host(home, store)
	}
	if err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	s.EnvOf = s.envOf
	s.permitted()
	s.notices()
	if how == useDrive {
		for _, at := range a.sandbox("", home).Veiled() {
			a.Notice("warning: " + veiledWords(at))
		}
	}
	return s, nil
}

// raw says how openRaw opens a state folder.
type raw struct {
	write   bool
	anew    bool // makes a database where one is missing
	crowded bool // reads what a full disk keeps from being opened
}

// openRaw opens without the look that every other command begins with, and without a log.
func (a *App) openRaw(ctx context.Context, home string, how raw) (*Folder, error) {
	s := &Folder{app: a, write: how.write}
	store, err := s.storeAnew(ctx, home, how.write, how.anew)
	if how.crowded && errors.Is(err, db.ErrDiskFull) {
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

// begin writes the log from here on, and marks runs that lost their owner.
func (s *Folder) begin(ctx context.Context, how use) error {
	s.log = newLogger(s.Home, s.app.logTo(), s.Hub)
	return s.reconcile(ctx, how)
}

// sayBehind prints that nothing is driven here and what decides about it. A command that would drive is refused with the same.
func (s *session) sayBehind() {
	if b := s.Store.Behind(); b != nil {
		s.app.Say(s.app.Err, "agent: %v", b)
		for _, hint := range hints(b) {
			s.app.Say(s.app.Err, "       %s", hint)
		}
	}
}

// unlessBehind is the error of a list that cannot be whole: the folder knows of more than its database.
func (s *session) unlessBehind() error {
	if s.Store.Behind() != nil {
		return withCode(view.ExitFailed)
	}
	return nil
}

// writable says whether the state that is there can be written; db.ErrNoState when there is none.
func writable(home string) (bool, error) {
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

// store opens the database under locks/store, which every process that writes holds shared. Who finds it free and a
// write-ahead log left behind is the first after an unclean end, and repairs alone.
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
		Known: known(),
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

// crowded opens for reading what a full disk keeps from being opened as always. The lock that was taken is kept, and the
// session counts as one that cannot write.
func (s *Folder) crowded(ctx context.Context, home string) (*db.Store, error) {
	s.guard, s.lock = s.lock, nil
	return db.OpenCrowded(ctx, home)
}

func (a *App) host(home string, store *db.Store) (*host.Host, error) {
	a.cleans(store)
	exe, err := binary()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %v", err)
	}
	h := &host.Host{Process: host.Process{
		Store: store, Home: home, Hub: stream.NewHub(), Now: fault.Now, Version: a.Version, Self: process.Self(),
		Who: who(),
	}}
	h.Env.Tools, err = tools.BuiltinRegistry(tools.Options{
		State: home, Calls: h.CallsDir(), Exe: exe, Environ: os.Environ(), Outputs: outputs{store},
		Fetch: a.fetchOptions(), Sandbox: a.sandbox(exe, home),
	})
	if err != nil {
		return nil, err
	}
	h.Env.Model = a.newModel
	return h, nil
}

// binary is what this process starts itself again by. Where the kernel has it that is no name: a command that may write where the
// binary lies, a workspace with its own build among them, could put another in its place, and the host would start that one outside
// of every sandbox.
func binary() (string, error) {
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Stat(self); err == nil {
			return self, nil
		}
	}
	return os.Executable()
}

func who() string {
	u, err := user.Current()
	if err != nil {
		return "somebody" // the name is for people only
	}
	return u.Username
}

// storeLock takes locks/store: alone where it is free, else shared. It waits for a process that repairs.
func storeLock(ctx context.Context, home string) (*ofd.File, bool, error) {
	dir := filepath.Join(home, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("make %s: %w", dir, err)
	}
	f, err := ofd.Open(filepath.Join(dir, "store"))
	if err != nil {
		return nil, false, err
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

// notices prints what the store has to say and has not said yet.
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

// close waits until everything is shown, and closes the folder.
func (s *session) close() error {
	s.end()
	if s.show != nil {
		s.show.Wait()
	}
	return s.Folder.close()
}

// end ends what the folder started and lets observers come to their end. close follows.
func (s *Folder) end() {
	s.kept.keep(nil)
	if r := s.app.recording; r != nil {
		if err := r.Close(); err != nil {
			s.app.Notice(err.Error()) // the run does not depend on it
		}
	}
	s.Hub.Close()
}

func (s *Folder) close() error {
	if s.log != nil {
		if err := s.log.close(); err != nil {
			s.app.Notice(err.Error()) // nothing of the run depends on it
		}
	}
	err := errors.Join(s.Store.Close(), s.unlock())
	s.notices() // closing is when the log is brought in
	return err
}

// reconcile marks runs that lost their owner, where that can be written and is wanted, and notes each in one line.
func (s *Folder) reconcile(ctx context.Context, how use) error {
	mark := s.write && how != useLook
	marks, err := s.Look(ctx, mark)
	for _, m := range marks {
		if !m.Kept {
			s.Lost = append(s.Lost, m.Run)
		}
		line := "run %s was interrupted (%s: %s); go on with: agent resume %s"
		switch m.Cause {
		case recovery.CauseAnswered, recovery.CauseExpired, recovery.CauseWithdrawn:
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

// records are journals as they are shown.
type records struct{ *db.Store }

// Before is the number of the last fact before a turn.
func (r records) Before(ctx context.Context, run string, turn int) (int64, error) {
	rows, err := r.Checkpoints(ctx, run)
	before := int64(0)
	for _, row := range rows {
		if row.Turn < turn {
			before = row.Seq
		}
	}
	return before, err
}

// outputs lets read_output read what the store keeps.
type outputs struct{ *db.Store }

// Output is the whole output of a call by the call's id, or what was piped into a run by the run's id.
func (o outputs) Output(ctx context.Context, _, callID string) (io.ReaderAt, int64, error) {
	if strings.HasPrefix(callID, "r-") {
		return o.Store.TrueInput(ctx, callID)
	}
	return o.Store.TrueOutput(ctx, callID)
}
