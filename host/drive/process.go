package drive

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"agent/db"
	"agent/host/gate"
	"agent/host/model"
	"agent/host/owner"
	"agent/host/permission"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/process"
)

// ErrShutdown is the one cause with which a context tells the host to stop: the run stays
// resumable.
var ErrShutdown = errors.New("asked to stop")

// ErrLeftOpen says that the person at the terminal left the question open.
var ErrLeftOpen = errors.New("the question was left open")

// Process is what the runs that this process drives share. Its fields are set before the first run
// and stay as they are.
type Process struct {
	Store *db.Store
	// Journal is where facts become durable; nil is Store.
	Journal Journal
	Home    string // the state folder
	Hub     *stream.Hub
	Now     func() time.Time
	Version string
	Self    process.Identity
	Env     Env // what runs are looked at with, and driven with where EnvOf is nil
	// EnvOf makes the environment of a run before it is created or claimed here. Of a run that is
	// not created yet it knows the folder and the model.
	EnvOf func(context.Context, journal.RunCreated) (Env, error)
	// Disk reads what the file system of the state folder says of itself; nil reads it from the
	// system.
	Disk func() journal.Disk
	// Flows folds the journal of a run that is a flow, whose first fact is given; none of it where
	// the run is about to be created.
	Flows func(c journal.RunCreated, facts []journal.Event) (Flow, error)
	// Files keeps what calls may destroy of the files of their workspaces; nil keeps nothing.
	Files Files
	// Witness hears what each run that has one did, before it acts; nil drives only runs
	// that have none.
	Witness Witness
	// Who names the person of this process in answers.
	Who string
	// Detached says that this process is one of a run's own, which outlives the terminal that it
	// was started from; Why, why it goes on without a person who asked for it.
	Detached bool
	Why      string
	// Claimed is given each run that is driven here, once that is durable; nil for nobody.
	Claimed func(run, thread string)

	waker   stream.SharedWaker
	guarded sync.Once
}

// Journal takes the facts of a run: all of a call, or none.
type Journal interface {
	Create(ctx context.Context, thread db.ThreadRef, facts []journal.Event) (db.Head, error)
	Append(ctx context.Context, head db.Head, facts []journal.Event, o db.AppendOptions) (db.Head, error)
}

// journal is where facts become durable.
func (p *Process) journal() Journal {
	if p.Journal != nil {
		return p.Journal
	}
	return p.Store
}

// Outcome is how far a run came while this process drove it.
type Outcome struct {
	Run       string
	Thread    string
	Status    recovery.Status
	Cause     journal.Cause
	Detail    string
	Text      string // the answer, or the reason of the end
	Request   *journal.Request
	Questions int         // open ones of runs below that this one waits for; Request is the first
	Undecided []NamedCall // calls whose outcome is unknown and on which no person has decided
	// AboutUndecided says that the request is about such a call, of this run or of an earlier one
	// of its thread.
	AboutUndecided bool

	Unread    bool        // its journal is damaged: nobody can decide on those calls
	Denied    []NamedCall // calls that a rule, the mode or a person refused
	Turns     int
	Calls     int
	Flow      bool  // it is a flow
	Plan      bool  // a model's answer in mode plan, which nobody carried out
	Below     Below // what runs below it did
	Usage     journal.Usage
	Estimated journal.Usage    // charged beside it: requests that brought no answer
	Cost      int64            // millionths of a US dollar, what is estimated included
	Priced    bool             // Cost is known
	Took      time.Duration    // time spent running, over all owners
	Running   []string         // calls that go on under their runner
	Reused    bool             // the run was there before this process was asked to start one
	Submitted bool             // this process recorded the run
	Owner     process.Identity // that drives it now, where this process does not
}

// Below is how much runs below another did.
type Below struct{ Runs, Turns, Calls int }

// NamedCall is a call as it is named to a person.
type NamedCall struct {
	ID      string
	Tool    string
	Words   string    // its arguments in a few words
	Started time.Time // zero: it never started
	Why     string    // of a refused one
}

// IDLetters are Crockford's base 32 in lower case: no i, l, o, u, so an id can be read aloud and
// typed.
const IDLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID makes a short random id of the type: r for runs, t for threads, c for calls, p for pending
// requests.
func NewID(kind string) string {
	var b [5]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return kind + "-" + base32.NewEncoding(IDLetters).WithPadding(base32.NoPadding).EncodeToString(b[:])
}

// Locks say who drives the runs of this state folder.
func (p *Process) Locks() owner.Locks {
	return owner.Locks{Dir: filepath.Join(p.Home, "locks"), Self: p.Self}
}

// Subscribe gives hints that the database changed.
func (p *Process) Subscribe() (*stream.Subscription, error) {
	w, err := p.waker.Subscribe(p.Store.Files()...)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %v", p.Home, err)
	}
	return w, nil
}

// Held says whether some process drives the run. It looks and takes nothing.
func (p *Process) Held(run string) (bool, error) { return p.Locks().Held(run) }

// Owner is the process that drives a run now; false when there is none. It looks and takes nothing.
func (p *Process) Owner(run string) (process.Identity, bool, error) { return p.Locks().Owner(run) }

// CallsDir is the folder of the runner's files.
func (p *Process) CallsDir() string { return filepath.Join(p.Home, "calls") }

// Note shows a sentence of the host to whoever watches.
func (p *Process) Note(run, format string, args ...any) {
	p.Guard()
	p.Hub.Publish(stream.Event{Run: run, Note: fmt.Sprintf(format, args...)})
}

// Warn is Note for what a person should act on.
func (p *Process) Warn(run, format string, args ...any) {
	p.Guard()
	p.Hub.Publish(stream.Event{Run: run, Note: fmt.Sprintf(format, args...), Warn: true})
}

// Finished is the outcome of a run that has ended.
func (p *Process) Finished(s *recovery.State) Outcome { return p.judge().outcome(s) }

// Guard puts the gate before the observers, once.
func (p *Process) Guard() {
	p.guarded.Do(func() {
		if p.Store != nil && p.Hub != nil {
			p.Hub.Through(gate.New(p.Store))
		}
	})
}

// sayKept tells, once per run and kind of secret, what was kept out of the record that was just
// written.
func (p *Process) sayKept(run string) {
	for _, k := range p.Store.TakeRedacted(run) {
		p.Note(run, "a secret (%s) is kept out of the record, which has %s in its place; the model sees it as it is", k.Rule, k.Placeholder)
	}
}

// Env is what one run is driven with. It belongs to that run: other runs of the process may have
// other tools, servers, rules and models, and begin and end meanwhile.
type Env struct {
	Tools   *tools.Registry     // all of the run's tools
	Servers []journal.ServerPin // what MCP servers said of theirs
	Notes   []string            // what is to be said of them; the journal of the run has them
	Told    []string            // what whoever watches hears when a conversation begins, beside that
	Model   func(journal.RunCreated, *tools.Registry) (model.Model, error)
	// Ask puts a question to the person at the terminal and returns the answer; nil when there is
	// no terminal. It returns ErrLeftOpen when the person left the question open.
	Ask func(ctx context.Context, run string, r journal.Request) (json.RawMessage, error)
	// Rules reads the rules of permission that hold in a workspace; nil for none.
	Rules func(folder string) ([]permission.Rule, error)
	// ReadRules reads rules as they stand in a configuration; nil where no answer can hold for
	// later calls.
	ReadRules func(text string) ([]permission.Rule, error)
	// Stand adds rules, as they stand in a configuration, to that of the person of this process,
	// and says where; nil where answers that stand cannot be kept.
	Stand func(run string, r journal.Request, rules string) (string, error)
	// Before returns why a call may not act, whatever the rules say of it, "" when nothing is
	// against it, and whether it took time to find that out; ctx's error where that ends first. Nil
	// denies nothing.
	Before func(ctx context.Context, run journal.RunCreated, mode journal.Mode, call *recovery.Call) (why string, looked bool, err error)
	// Environ is what the commands of a run that is created get, to be recorded with it; nil
	// records nothing.
	Environ []string
	// Variables names what a yes is bound to of the variables that commands get.
	Variables []string
	// Close ends the run's use of what it shares with other runs, such as servers; nil where it
	// shares nothing. It may be called again.
	Close func()
}

// Release ends the use of the environment.
func (e Env) Release() {
	if e.Close != nil {
		e.Close()
	}
}

// EnvFor makes the environment of a run before it is created or claimed. Whoever asked for it
// releases it.
func (p *Process) EnvFor(ctx context.Context, c journal.RunCreated) (Env, error) {
	if p.EnvOf == nil {
		return p.Env, nil
	}
	return p.EnvOf(ctx, c)
}

// envToLook is EnvFor for a look at a run. Only a run that was started with other tools than those
// that every run has needs its own.
func (p *Process) envToLook(ctx context.Context, s *recovery.State) (Env, error) {
	if s.Created.ToolsHash == p.Env.Tools.Digest() {
		return p.Env, nil
	}
	return p.EnvFor(ctx, s.Created)
}
