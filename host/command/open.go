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
func (a *commandLine) home() (string, error) {
	if h := a.Getenv("AGENT_HOME"); h != "" {
		return filepath.Abs(h)
	}
	if x := a.Getenv("XDG_STATE_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "agent"), nil
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %v; set AGENT_HOME", err)
	}
	return filepath.Join(h, ".local", "state", "agent"), nil
}

// session is an open state folder with a host over it.
//
// Over budget: at most 86 methods: likewise with the commands that need a state folder
type session struct {
	*host.Host
	app     *commandLine
	lock    *ofd.File // locks/store, shared by every process that drives; nil when nothing can be written
	show    *terminal.Renderer
	log     *logger
	guard   *ofd.File // locks/store while a full disk lets the state only be read
	older   int       // runs that the last list left out
	noticed []string  // that were printed
	several bool      // answers of several runs are printed: each names its run
	lost    []string  // runs that the look found without their owner and did not mark

	pool *mcp.Pool // the MCP servers of this process
	kept lastServers
}

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
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	s := &session{app: a, pool: mcp.NewPool()}
	write := true
	if how == useDrive {
		a.enforces.ahead()
	} else {
		if write, err = writable(home); err != nil {
			return nil, err
		}
	}
	store, err := s.store(ctx, home, write)
	if how != useDrive && (errors.Is(err, db.ErrDiskFull) || errors.Is(err, db.ErrNoFiles)) {
		store, err = s.crowded(ctx, home)
		write = false
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
			fmt.Fprintf(a.Err, "agent: warning: %s\n", veiledWords(at))
		}
	} else {
		s.sayBehind()
	}
	s.show = terminal.NewRenderer(a.Printer(a.Err), s.Hub, records{s.Store})
	s.log = newLogger(home, a.logTo(), s.Hub)
	if err := s.look(ctx, write, how); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
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
func (s *session) store(ctx context.Context, home string, write bool) (*db.Store, error) {
	return s.storeAnew(ctx, home, write, false)
}

// storeAnew is store, and with anew it makes a database where one is missing from the folder.
func (s *session) storeAnew(ctx context.Context, home string, write, anew bool) (*db.Store, error) {
	if !write {
		store, err := db.OpenRead(ctx, home)
		if err == nil {
			store.Know(known()...)
		}
		return store, err
	}
	o := db.Options{
		Now: fault.Now, Anew: anew, AllowUnsafeFS: s.app.Getenv("AGENT_ALLOW_UNSAFE_FS") == "1",
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
func (s *session) crowded(ctx context.Context, home string) (*db.Store, error) {
	s.guard, s.lock = s.lock, nil
	return db.OpenCrowded(ctx, home)
}

func (a *commandLine) host(home string, store *db.Store) (*host.Host, error) {
	a.cleans(store)
	exe, err := binary()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %v", err)
	}
	h := &host.Host{
		Store: store, Home: home, Hub: stream.NewHub(), Now: fault.Now, Version: Version, Self: process.Self(),
		Who: who(),
	}
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
func (s *session) notices() {
	for _, n := range s.Store.Notices() {
		if !slices.Contains(s.noticed, n) {
			s.noticed = append(s.noticed, n)
			fmt.Fprintf(s.app.Err, "agent: %s\n", n)
		}
	}
}

func (s *session) unlock() error {
	var err error
	for _, l := range []*ofd.File{s.lock, s.guard} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

func (s *session) close() error {
	s.kept.keep(nil)
	if r := s.app.ask.recorder; r != nil {
		if err := r.Close(); err != nil {
			fmt.Fprintf(s.app.Err, "agent: %v\n", err) // the run does not depend on it
		}
	}
	s.Hub.Close()
	if s.show != nil {
		s.show.Wait()
	}
	if s.log != nil {
		if err := s.log.close(); err != nil {
			fmt.Fprintf(s.app.Err, "agent: %v\n", err) // nothing of the run depends on it
		}
	}
	err := errors.Join(s.Store.Close(), s.unlock())
	s.notices() // closing is when the log is brought in
	return err
}

// look marks runs that lost their owner, where that can be written and is wanted, and prints one line for each.
func (s *session) look(ctx context.Context, write bool, how use) error {
	mark := write && how != useLook
	marks, err := s.Look(ctx, mark)
	for _, m := range marks {
		if !m.Kept {
			s.lost = append(s.lost, m.Run)
		}
		line := "run %s was interrupted (%s: %s); go on with: agent resume %s\n"
		switch m.Cause {
		case recovery.CauseAnswered, recovery.CauseExpired, recovery.CauseWithdrawn:
			line = "run %s can go on (%s: %s); go on with: agent resume %s\n"
		}
		fmt.Fprintf(s.app.Err, "agent: "+line, m.Run, m.Cause, m.Detail, m.Run)
	}
	switch {
	case len(s.lost) == 0:
	case write && !mark:
		fmt.Fprintln(s.app.Err, "agent: this is not recorded: a dry run changes nothing")
	default:
		fmt.Fprintf(s.app.Err, "agent: %s cannot be written, so this is not recorded\n", s.Home)
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
