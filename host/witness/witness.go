package witness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/db"
	"agent/db/moves"
	"agent/host/drive"
	"agent/host/witness/line"
	"agent/recovery/journal"
)

// Options are what a witness is reached with.
type Options struct {
	Address  string // unix: and the absolute path of its socket
	Wrong    error  // why the address is none; nil where it is one
	Patience time.Duration
	Home     string // the state folder, where the last place of each log is kept
	Store    *db.Store
	Version  string // of this binary
	Warn     func(run, format string, args ...any)
}

// Witness is somebody who hears what runs did before they act.
type Witness struct {
	address, path string
	wrong         error
	patience      time.Duration
	answer        time.Duration // answerFor
	seen          seen
	store         *db.Store
	version       string
	warn          func(run, format string, args ...any)

	mu       sync.Mutex
	families map[string]*family
	later    sync.WaitGroup // facts that go there beside the run
	closed   bool
}

// New is the witness at an address. It is reached when a run is driven first.
func New(o Options) *Witness {
	path := strings.TrimPrefix(o.Address, "unix:")
	return &Witness{
		address: o.Address, path: path, wrong: o.Wrong, patience: o.Patience, answer: answerFor, seen: seen{filepath.Join(o.Home, "witness")},
		store: o.Store, version: o.Version, warn: o.Warn, families: map[string]*family{},
	}
}

// Name is the address.
func (w *Witness) Name() string { return w.address }

// family is what the witness knows of a run and the runs below it.
type family struct {
	w    *Witness
	root string

	turn   chan struct{} // has one token, for whoever speaks with the witness
	conn   connection
	place  int64 // the last one that was seen; -1 before the first word
	stands map[string]*stand
	named  *moves.Names  // by facts in the log: it has what they name
	sent   *line.Request // of which nobody knows whether it was taken
	after  func()        // what is known once it was
	said   time.Time     // when the witness last said that the family is here

	soonMu sync.Mutex
	soon   map[string]bool // runs of which something is to be said
	timer  *time.Timer
	hurry  context.CancelFunc // ends what is being said beside the run
}

func (w *Witness) family(c journal.RunCreated) *family {
	root := cmp.Or(c.Root, c.Run)
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.families[root]
	if f == nil {
		f = &family{w: w, root: root, turn: make(chan struct{}, 1), conn: connection{path: w.path, answer: w.answer}, place: -1, soon: map[string]bool{}}
		f.turn <- struct{}{}
		w.families[root] = f
	}
	return f
}

// within is how soon the witness has what nothing waits for.
const within = 2 * time.Second

// Soon has the facts of a run said beside whatever goes on.
func (w *Witness) Soon(c journal.RunCreated) {
	f := w.family(c)
	f.soonMu.Lock()
	defer f.soonMu.Unlock()
	f.soon[c.Run] = true
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || f.timer != nil {
		return
	}
	w.later.Add(1)
	f.timer = time.AfterFunc(within, func() {
		defer w.later.Done()
		ctx, cancel := context.WithTimeout(context.Background(), answerFor)
		defer cancel()
		f.soonMu.Lock()
		f.timer, f.hurry = nil, cancel
		f.soonMu.Unlock()
		if f.take(ctx) == nil {
			_ = f.try(ctx, "later") // what waits for the witness next meets the same, and says so
			f.release()
		}
	})
}

// take waits for the turn. What is being said beside the run gives way.
func (f *family) take(ctx context.Context) error {
	select {
	case <-f.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *family) release() { f.turn <- struct{}{} }

// first is take for what somebody waits for.
func (f *family) first(ctx context.Context) error {
	f.soonMu.Lock()
	if f.hurry != nil {
		f.hurry()
		f.hurry = nil
	}
	f.soonMu.Unlock()
	return f.take(ctx)
}

// Close waits for what is being said, and says nothing more beside a run.
func (w *Witness) Close() error {
	w.mu.Lock()
	w.closed = true
	all := slices.Collect(maps.Values(w.families))
	w.mu.Unlock()
	for _, f := range all {
		f.soonMu.Lock()
		if f.timer != nil && f.timer.Stop() {
			w.later.Done()
		}
		f.soonMu.Unlock()
	}
	w.later.Wait()
	var err error
	for _, f := range all {
		err = errors.Join(err, f.conn.close())
	}
	return err
}

// Tell returns once the witness has all facts of the run, and those of its family that were named
// to Soon.
func (w *Witness) Tell(ctx context.Context, c journal.RunCreated, why string) error {
	f := w.family(c)
	f.soonMu.Lock()
	f.soon[c.Run] = true
	f.soonMu.Unlock()
	if err := f.first(ctx); err != nil {
		return err
	}
	defer f.release()
	err := f.patiently(ctx, func(ctx context.Context) error { return f.try(ctx, why) })
	if err == nil && why == drive.WitnessedEnd && c.Root == "" {
		return w.seen.forget(f.root)
	}
	return err
}

// good is for how long the last word of the witness holds.
const good = 5 * time.Second

// Still asks the witness once more where it said a while ago that the run is driven here: this
// process, or the whole machine, may have slept since.
func (w *Witness) Still(ctx context.Context, c journal.RunCreated) error {
	f := w.family(c)
	if err := f.first(ctx); err != nil {
		return err
	}
	defer f.release()
	if f.place >= 0 && since(f.said) < good {
		return nil
	}
	return f.patiently(ctx, f.hello)
}

// since is how much time passed, at least: one clock stands still while a machine sleeps, and the
// other may be set.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// laterError says that the witness has to be asked again.
type laterError struct{ why string }

func (e *laterError) Error() string { return e.why }

// patiently tries until the witness takes it, or says that it never will.
func (f *family) patiently(ctx context.Context, try func(context.Context) error) error {
	const first, most = 100 * time.Millisecond, 5 * time.Second
	began, said := time.Now(), false
	for wait := first; ; wait = min(2*wait, most) {
		bounded, cancel := context.WithTimeout(ctx, max(time.Second, f.w.patience-time.Since(began)))
		err := try(bounded)
		cancel()
		var later *laterError
		if !errors.As(err, &later) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !said {
			said = true
			f.w.warn(f.root, "waiting for the log since %s: %s", began.Format("15:04:05"), later.why)
		}
		if left := f.w.patience - time.Since(began); left <= 0 {
			return &drive.WitnessError{Run: f.root, Why: "since " + began.Format("15:04:05") + " " + later.why}
		} else if left < wait {
			wait = left
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// reachFor is how long anybody may take to say that they listen.
const reachFor = 5 * time.Second

// Reach says whether anybody listens there, before a run is recorded that would wait for it.
func (w *Witness) Reach(ctx context.Context) error {
	if w.wrong != nil {
		return fmt.Errorf("use the witness %s: %v", w.address, w.wrong)
	}
	c := connection{path: w.path, answer: w.answer}
	ctx, cancel := context.WithTimeout(ctx, reachFor)
	defer cancel()
	reply, err := c.ask(ctx, line.Request{Op: line.Hello, Root: "", Agent: w.version})
	switch {
	case err != nil:
		return fmt.Errorf("%s; start it: agent-fleet witness", words(w.path, err))
	case reply.V != line.Version || reply == line.Reply{V: line.Version}:
		return fmt.Errorf("what listens at %s is no witness, or one of another version", w.path)
	}
	return c.close()
}

var _ drive.Witness = (*Witness)(nil)
