package host

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agent/db"
	"agent/host/owner"
	"agent/host/stream"
	"agent/recovery"
	"agent/tools/process"
)

// ErrShutdown is the one cause with which a context tells the host to stop: the run stays resumable.
var ErrShutdown = errors.New("asked to stop")

// Host is what drives runs in this process.
//
// Over budget: at most 74 methods: it drives, looks and repairs; see the package
type Host struct {
	Store   *db.Store
	Home    string // the state folder
	Hub     *stream.Hub
	Now     func() time.Time
	Version string
	Self    process.Identity
	Env     Env // what runs are looked at with, and driven with where EnvOf is nil
	// EnvOf makes the environment of a run before it is created or claimed here. Of a run that is not created yet it knows the
	// folder and the model.
	EnvOf func(context.Context, recovery.RunCreated) (Env, error)
	// Disk reads what the file system of the state folder says of itself; nil reads it from the system.
	Disk func() recovery.Disk
	// Who names the person of this process in answers.
	Who string

	wakes   wakes
	guarded sync.Once
}

// ErrLeftOpen says that the person at the terminal left the question open.
var ErrLeftOpen = errors.New("the question was left open")

// Outcome is how far a run came while this process drove it.
type Outcome struct {
	Run       string
	Thread    string
	Status    recovery.Status
	Cause     recovery.Cause
	Detail    string
	Text      string // the answer, or the reason of the end
	Request   *recovery.Request
	Undecided []NamedCall // calls whose outcome is unknown and on which no person has decided
	Unread    bool        // its journal is damaged: nobody can decide on those calls
	Denied    []NamedCall // calls that a rule, the mode or a person refused
	Turns     int
	Calls     int
	Usage     recovery.Usage
	Estimated recovery.Usage // charged beside it: requests that brought no answer
	Cost      int64          // millionths of a US dollar, what is estimated included
	Priced    bool           // Cost is known
	Took      time.Duration  // time spent running, over all owners
	Running   []string       // calls that go on under their runner
	Reused    bool
	Submitted bool
}

// NamedCall is a call as it is named to a person.
type NamedCall struct {
	ID      string
	Tool    string
	Words   string    // its arguments in a few words
	Started time.Time // zero: it never started
	Why     string    // of a refused one
}

func (h *Host) named(c *recovery.Call) NamedCall {
	return NamedCall{ID: c.ID, Tool: c.Tool, Words: h.words(c), Started: c.StartedAt}
}

// IDLetters are Crockford's base 32 in lower case: no i, l, o, u, so an id can be read aloud and typed.
const IDLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID makes a short random id of the type: r for runs, t for threads, c for calls, p for pending requests.
func NewID(kind string) string {
	var b [5]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return kind + "-" + base32.NewEncoding(IDLetters).WithPadding(base32.NoPadding).EncodeToString(b[:])
}

// locks say who drives the runs of this state folder.
func (h *Host) locks() owner.Locks {
	return owner.Locks{Dir: filepath.Join(h.Home, "locks"), Self: h.Self}
}

// Held says whether some process drives the run. It looks and takes nothing.
func (h *Host) Held(run string) (bool, error) { return h.locks().Held(run) }

// Owner is the process that drives a run now; false when there is none. It looks and takes nothing.
func (h *Host) Owner(run string) (process.Identity, bool, error) { return h.locks().Owner(run) }

// CallsDir is the folder of the runner's files.
func (h *Host) CallsDir() string { return filepath.Join(h.Home, "calls") }

// note shows a sentence of the host to whoever watches.
func (h *Host) note(run, format string, args ...any) {
	h.guard()
	h.Hub.Publish(stream.Event{Run: run, Note: fmt.Sprintf(format, args...)})
}

func (h *Host) warn(run, format string, args ...any) {
	h.guard()
	h.Hub.Publish(stream.Event{Run: run, Note: fmt.Sprintf(format, args...), Warn: true})
}

// brief shortens a text to its first words for a line of its own.
func brief(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Finished is the outcome of a run that has ended.
func (h *Host) Finished(s *recovery.State) Outcome { return h.judge().outcome(s) }
