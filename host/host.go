package host

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agent/db"
	"agent/host/model"
	"agent/host/permit"
	"agent/host/stream"
	"agent/recovery"
	"agent/tools"
)

// ErrShutdown is the one cause with which a context tells the host to stop: the run stays resumable.
var ErrShutdown = errors.New("told to stop")

// Host is what drives runs in this process.
type Host struct {
	Store   *db.Store
	Tools   *tools.Registry
	Models  func(recovery.RunCreated) (model.Model, error)
	Home    string // the state folder
	Hub     *stream.Hub
	Now     func() time.Time
	Version string
	Self    Identity
	// Ask puts a question to the person at the terminal and returns the answer; nil when there is no terminal. It returns
	// ErrLeftOpen when the person left the question open.
	Ask func(ctx context.Context, run string, r recovery.Request) (json.RawMessage, error)
	// Equip returns the tools of a run, with what is to be said of them, before it is created or claimed here; nil where all
	// runs have the same. Of a run that is not created yet it knows the folder and the model.
	Equip func(context.Context, recovery.RunCreated) (Equipment, error)
	// Rules reads the rules of permission that hold in a workspace; nil for none.
	Rules func(folder string) ([]permit.Rule, error)
	// Stand adds rules, as they stand in a configuration, to that of the person of this process, and says where; nil where answers
	// that stand cannot be kept.
	Stand func(run string, r recovery.Request, rules string) (string, error)
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

// outcome is what others may see of how far the run came.
func (h *Host) outcome(s *recovery.State) Outcome {
	o := Outcome{
		Run: s.Created.Run, Thread: s.Created.Thread, Status: s.Status, Cause: s.Cause, Detail: h.Store.Clean(s.Detail),
		Text: h.Store.Clean(s.Final), Request: db.Cleaned(h.Store, s.Open), Turns: len(s.Turns), Usage: s.Usage, Estimated: s.Estimated, Took: s.Active,
	}
	o.Cost, o.Priced = s.Cost()
	for _, t := range s.Turns {
		o.Calls += len(t.Calls)
		for _, c := range t.Calls {
			if c.Result != nil && c.Result.Outcome == recovery.OutcomeDenied {
				n := h.named(c)
				n.Why = h.Store.Clean(strings.TrimPrefix(c.Result.Content, "not executed: "))
				o.Denied = append(o.Denied, n)
			}
		}
	}
	for _, c := range s.Undecided() {
		o.Undecided = append(o.Undecided, h.named(c))
	}
	for _, c := range s.Unsettled() {
		if c.Phase == recovery.PhaseStarted && h.goesOn(s, c) {
			o.Running = append(o.Running, c.ID)
		}
	}
	return o
}

// goesOn says whether a call that was started runs outside this process.
func (h *Host) goesOn(s *recovery.State, c *recovery.Call) bool {
	t, err := h.Tools.Get(c.Tool)
	if err != nil {
		return false
	}
	a, ok := t.(tools.Attacher)
	if !ok {
		return false
	}
	d := driver{h: h, state: s}
	return a.Find(context.Background(), d.toolCall(c)).State == recovery.ProcessRunning
}

// IDLetters are Crockford's base 32 in lower case: no i, l, o, u, so an id can be read aloud and typed.
const IDLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID makes a short random id of the type: r for runs, t for threads, c for calls, p for pending requests.
func NewID(kind string) string {
	var b [5]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return kind + "-" + base32.NewEncoding(IDLetters).WithPadding(base32.NoPadding).EncodeToString(b[:])
}

// LockPath is the lock file of a run.
func (h *Host) LockPath(run string) string { return filepath.Join(h.Home, "locks", run) }

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
func (h *Host) Finished(s *recovery.State) Outcome { return h.outcome(s) }
