package witness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	Patience time.Duration
	Store    *db.Store
	Version  string // of this binary
	Warn     func(run, format string, args ...any)
}

// Witness is somebody who hears what runs did before they act.
type Witness struct {
	address, path string
	patience      time.Duration
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
	return &Witness{address: o.Address, path: path, patience: o.Patience, store: o.Store, version: o.Version, warn: o.Warn, families: map[string]*family{}}
}

// Name is the address.
func (w *Witness) Name() string { return w.address }

// family is what the witness knows of a run and the runs below it.
type family struct {
	w    *Witness
	root string

	mu     sync.Mutex // one entry at a time
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
}

func (w *Witness) family(c journal.RunCreated) *family {
	root := cmp.Or(c.Root, c.Run)
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.families[root]
	if f == nil {
		f = &family{w: w, root: root, conn: connection{path: w.path}, place: -1, soon: map[string]bool{}}
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
		f.soonMu.Lock()
		f.timer = nil
		f.soonMu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), answerFor)
		defer cancel()
		f.mu.Lock()
		defer f.mu.Unlock()
		_ = f.try(ctx, "later") // what waits for the witness next meets the same, and says so
	})
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
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.patiently(ctx, func() error { return f.try(ctx, why) })
}

// good is for how long the last word of the witness holds.
const good = 5 * time.Second

// Still asks the witness once more where it said a while ago that the run is driven here: this
// process, or the whole machine, may have slept since.
func (w *Witness) Still(ctx context.Context, c journal.RunCreated) error {
	f := w.family(c)
	f.mu.Lock()
	defer f.mu.Unlock()
	if since(f.said) < good {
		return nil
	}
	return f.patiently(ctx, func() error {
		if f.place < 0 {
			return f.hello(ctx)
		}
		reply, err := f.ask(ctx, line.Request{Op: line.Hello, Root: f.root, Agent: w.version})
		if err == nil && reply.OK.Place != f.place {
			err = &drive.FencedError{Run: f.root}
		}
		return err
	})
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
func (f *family) patiently(ctx context.Context, try func() error) error {
	const first, most = 100 * time.Millisecond, 5 * time.Second
	var began time.Time
	for wait := first; ; wait = min(2*wait, most) {
		err := try()
		var later *laterError
		if !errors.As(err, &later) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if began.IsZero() {
			began = time.Now()
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

// try tells once what is new.
func (f *family) try(ctx context.Context, why string) error {
	if f.place < 0 {
		if err := f.hello(ctx); err != nil {
			return err
		}
	}
	if f.sent != nil { // the same again: it may have been taken
		if err := f.send(ctx); err != nil {
			return err
		}
	}
	f.soonMu.Lock()
	runs := slices.Collect(maps.Keys(f.soon))
	clear(f.soon) // what comes from now on is named again
	f.soonMu.Unlock()
	err := f.tell(ctx, why, f.inOrder(ctx, runs))
	if errors.As(err, new(*drive.FencedError)) {
		err = f.retell(ctx, why, runs, err)
	}
	if err != nil {
		f.soonMu.Lock()
		for _, run := range runs {
			f.soon[run] = true
		}
		f.soonMu.Unlock()
	}
	return err
}

// retell asks once more how far the log is, where the place of an entry was taken: what took it may
// be the last word of a process of this host that was killed, which is on record here too.
func (f *family) retell(ctx context.Context, why string, runs []string, fenced error) error {
	f.place, f.sent, f.after = -1, nil, nil
	err := f.hello(ctx)
	if err == nil {
		err = f.tell(ctx, why, f.inOrder(ctx, runs))
	}
	if later := new(laterError); err == nil || errors.As(err, &later) {
		return err
	}
	return fenced
}

// tell sends what is new of the runs.
func (f *family) tell(ctx context.Context, why string, runs []string) error {
	e, err := f.gather(ctx, runs)
	if err != nil {
		return fmt.Errorf("gather what the witness of run %s hears: %w", f.root, err)
	}
	if len(e.facts) == 0 {
		return nil
	}
	head, err := f.w.store.Head(ctx, f.root)
	if err != nil {
		return err
	}
	f.sent = &line.Request{Op: line.Append, Root: f.root, Place: f.place + 1, Why: why, Epoch: head.Epoch, Records: append(e.named, e.facts...)}
	f.after = func() {
		for run, st := range e.after {
			f.stands[run] = &st
		}
		f.named.Join(e.names)
	}
	return f.send(ctx)
}

// inOrder sorts runs by when they began.
func (f *family) inOrder(ctx context.Context, runs []string) []string {
	no := map[string]int64{}
	for _, run := range runs {
		if head, err := f.w.store.Head(ctx, run); err == nil { // else the reading says so
			no[run] = head.No
		}
	}
	slices.SortFunc(runs, func(a, b string) int { return cmp.Compare(no[a], no[b]) })
	return runs
}

// hello learns how far the log is.
func (f *family) hello(ctx context.Context) error {
	reply, err := f.ask(ctx, line.Request{Op: line.Hello, Root: f.root, Agent: f.w.version})
	if err != nil {
		return err
	}
	f.stands, f.named = map[string]*stand{}, moves.NewNames()
	for run, at := range reply.OK.Runs {
		head, err := f.w.store.Head(ctx, run)
		if errors.As(err, new(*db.UnknownIDError)) || err == nil && head.Seq < at.Facts {
			return &drive.WitnessError{Run: f.root, Why: fmt.Sprintf("the log has more of run %s than this state folder (%d facts): it went on elsewhere; take it in first", run, at.Facts)}
		}
		if err != nil {
			return err
		}
		same, err := f.learn(ctx, run, at)
		if err != nil {
			return err
		}
		if !same {
			return &drive.FencedError{Run: f.root}
		}
		f.soonMu.Lock()
		f.soon[run] = true // what is recorded here and not there
		f.soonMu.Unlock()
	}
	f.place = reply.OK.Place
	return nil
}

// send sends the entry that is under way.
func (f *family) send(ctx context.Context) error {
	reply, err := f.ask(ctx, *f.sent)
	if err != nil {
		return err
	}
	if reply.OK.Place != f.sent.Place {
		return &drive.WitnessError{Run: f.root, Why: fmt.Sprintf("it took place %d for %d", reply.OK.Place, f.sent.Place)}
	}
	f.place = f.sent.Place
	f.after()
	f.sent, f.after = nil, nil
	return nil
}

// ask sends a request, and makes an error of every answer but ok.
func (f *family) ask(ctx context.Context, r line.Request) (line.Reply, error) {
	asked := time.Now()
	reply, err := f.conn.ask(ctx, r)
	switch {
	case err != nil:
		return reply, &laterError{words(f.w.path, err)}
	case reply.Fenced != nil:
		return reply, &drive.FencedError{Run: f.root, By: reply.Fenced.By, Epoch: reply.Fenced.Epoch, At: reply.Fenced.At}
	case reply.Later != "":
		return reply, &laterError{reply.Later}
	case reply.OK == nil:
		return reply, &drive.WitnessError{Run: f.root, Why: cmp.Or(reply.Refused, "its answer says nothing")}
	}
	f.said = asked
	return reply, nil
}

// Reach says whether anybody listens there, before a run is recorded that would wait for it.
func (w *Witness) Reach(ctx context.Context) error {
	c := connection{path: w.path}
	_, err := c.ask(ctx, line.Request{Op: line.Hello, Root: "", Agent: w.version})
	if err != nil {
		return fmt.Errorf("%s; start it: agent-fleet witness", words(w.path, err))
	}
	return c.close()
}

var _ drive.Witness = (*Witness)(nil)
