package terminal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// Journal is what the renderer reads when it was too slow, or joins a run in its middle.
type Journal interface {
	Load(ctx context.Context, run string, from int64) iter.Seq2[journal.Event, error]
	// Before is the number of the last fact before a turn.
	Before(ctx context.Context, run string, turn int) (int64, error)
}

// Renderer shows what happens in runs while it happens, as one observer among others: it never
// holds a run up.
type Renderer struct {
	*Printer
	hub     *stream.Hub
	journal Journal
	done    chan struct{}

	mu        sync.Mutex // held while something is shown, and by whoever needs the terminal
	cursors   map[string]int64
	turns     map[string]int  // highest turn whose answer was shown
	partial   *partial        // nil: nothing of an answer came
	answered  map[string]bool // runs whose last words were shown
	stopped   map[string]bool // runs that were interrupted: what still comes of an answer is void
	questions map[string]bool // questions that were shown whole
	asking    string          // what is waited for, while nothing else happens
	asked     time.Time
	again     time.Time // when a request that brought no answer is sent again
	waiting   bool      // for a person
	notice    *notifier // nil: the terminal does not call

	marksMu sync.Mutex
	marks   map[int]chan struct{}
	lastNo  int
}

// queue is how many events may wait for a slow terminal before it goes on from the journal.
const queue = 4096

// NewRenderer shows what hub publishes in t's lines, until hub is closed.
func NewRenderer(t *Printer, hub *stream.Hub, j Journal) *Renderer {
	r := &Renderer{
		Printer: t, hub: hub, journal: j, done: make(chan struct{}),
		cursors: map[string]int64{}, turns: map[string]int{}, answered: map[string]bool{}, questions: map[string]bool{},
		stopped: map[string]bool{}, marks: map[int]chan struct{}{},
	}
	r.learn, r.learnRun = r.lookUp, r.firstFact
	go r.watch(hub.Observe(queue))
	return r
}

// Wait waits until the hub is closed and everything is shown.
func (r *Renderer) Wait() { <-r.done }

func (r *Renderer) watch(obs *stream.Observer) {
	defer close(r.done)
	for {
		e, err := r.next(obs)
		switch {
		case err == nil:
			r.Take(e)
		case errors.Is(err, context.DeadlineExceeded):
			r.tick()
		case errors.Is(err, stream.ErrOverflow):
			obs = r.reconnect()
		default:
			r.tick()
			r.out.endLine() // of an answer that goes on without this observer
			return          // the hub is closed
		}
	}
}

// Next waits for the next event; where there is something to move, not for long.
func (r *Renderer) next(obs *stream.Observer) (stream.Event, error) {
	if !r.out.moves {
		return obs.Next(context.Background())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	return obs.Next(ctx)
}

// Take shows one event.
func (r *Renderer) Take(e stream.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Fact != nil {
		if b, ok := e.Fact.Body.(journal.RunCreated); ok {
			r.runs[b.Run] = startOf(b)
		}
	}
	defer r.about(e.Run)()
	child := r.label != ""
	switch {
	case e.Fact != nil:
		r.event(e.Run, *e.Fact)
	case child && (e.Text != "" || e.Reasoning != "" || e.Void): // several may write at once, and the parent gets the answer
	case e.Text != "":
		r.text(e)
	case e.Reasoning != "":
		r.reason(e)
	case child && e.Call != nil && r.othersAct(e.Run): // lines of many at once say nothing; the record has them
	case e.Call != nil:
		r.output(e.Run, *e.Call, e.Output)
	case e.Note != "":
		r.note(e)
	case e.Turn < 0:
		r.release(-e.Turn)
	case e.Void:
		r.restart(e)
	}
}

func (r *Renderer) note(e stream.Event) {
	if e.Warn {
		r.Line(Yellow, "!", e.Note)
		return
	}
	r.Line(Dim, "·", e.Note)
}

// event shows a fact, once.
func (r *Renderer) event(run string, e journal.Event) {
	if e.Seq <= r.cursors[run] {
		return
	}
	r.cursors[run] = e.Seq
	defer r.notify(run, e) // once it is shown
	if r.of(run).child {
		r.childEvent(run, e)
		return
	}
	r.asking, r.again, r.waiting = "", time.Time{}, false
	switch b := e.Body.(type) {
	case journal.ModelRequested, journal.ContextCompacted:
		r.asking, r.asked = askedModel, e.Time
	case journal.RequestOpened:
		r.waiting = true
	case journal.ModelAnswered:
		r.turns[run] = e.Turn
		e.Body = r.finishAnswer(run, e, b)
	case journal.ModelFailed:
		r.modelFailed(run, e, b)
		return
	case journal.RunClaimed:
		r.stopped[run] = false
	case journal.RunInterrupted:
		r.stopped[run] = true
		r.unfinished(run, true, "the answer above is partial and not kept; a resume asks again")
	case journal.RunFailed, journal.RunCancelled:
		r.unfinished(run, true, "the answer above is partial and not kept")
	}
	r.Fact(run, e)
}

// output shows a piece of a running call's output; one without bytes says that pieces were missed.
func (r *Renderer) output(run string, p journal.Place, b []byte) {
	c := r.call(run, p)
	if c.output == nil {
		c.output = newLiveOutput(r.out.moves, func(line string) { r.print(r.out.paint(Dim, r.bar(c, p)) + line) })
	}
	r.sayStart(c)
	if len(b) == 0 {
		c.output.gap()
		return
	}
	c.output.add(b)
}

// bar is what stands before a line of output. It names the call where several run.
func (r *Renderer) bar(c *activeCall, p journal.Place) string {
	for _, other := range r.calls {
		if other != c && other.output.some() {
			return fmt.Sprintf("  %s │ ", p)
		}
	}
	return "  │ "
}

// AnswerShown says whether the run's last words were shown.
func (r *Renderer) AnswerShown(run string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered[run]
}

// MarkShown notes that a question is shown whole. Only who has the terminal alone may say so: that
// holds what guards it.
func (r *Renderer) MarkShown(id string) { r.questions[id] = true }

// QuestionShown says whether the question was shown whole.
func (r *Renderer) QuestionShown(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.questions[id]
}

// reconnect goes on after the observation ended because this terminal was too slow: what is on
// record is read from there, and live pieces that were missed are named as missing.
func (r *Renderer) reconnect() *stream.Observer {
	obs := r.hub.Observe(queue)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c.output != nil {
			c.output.gap()
		}
	}
	for run, seq := range r.cursors {
		for e, err := range r.journal.Load(context.Background(), run, seq) {
			if err != nil {
				r.Line(Yellow, "!", fmt.Sprintf("some activity is not shown: %v", err))
				break
			}
			r.event(run, e)
		}
	}
	r.releaseAll()
	return obs
}

// lookUp reads about the calls of a run's present turn, which was answered before this process
// came.
func (r *Renderer) lookUp(run string, p journal.Place) *journal.Proposal {
	ctx := context.Background()
	from, err := r.journal.Before(ctx, run, p.Turn)
	if err != nil {
		return nil // its lines then name the call by its place
	}
	for e, err := range r.journal.Load(ctx, run, from) {
		if err != nil {
			return nil // as above
		}
		if b, ok := e.Body.(journal.ModelAnswered); ok && e.Turn == p.Turn && p.Index < len(b.Calls) {
			return &b.Calls[p.Index]
		}
	}
	return nil
}

// firstFact reads how a run was started.
func (r *Renderer) firstFact(run string) (journal.RunCreated, bool) {
	for e, err := range r.journal.Load(context.Background(), run, 0) {
		b, ok := e.Body.(journal.RunCreated)
		return b, ok && err == nil // without it the run's lines name no model
	}
	return journal.RunCreated{}, false
}

// tick moves the line of progress.
func (r *Renderer) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Show(r.progress(fault.Now()))
}

// progress says what is waited for, once that has taken a moment.
func (r *Renderer) progress(now time.Time) string {
	var first *activeCall
	running := 0
	for _, c := range r.calls {
		if c.since.IsZero() {
			continue
		}
		running++
		if first == nil || c.since.Before(first.since) {
			first = c
		}
	}
	what, since := r.asking, r.asked
	if left := r.again.Sub(now); left > 0 {
		what = fmt.Sprintf("the model is asked again in %s", view.Duration(left.Round(time.Second)))
	}
	if first != nil {
		what, since = first.name(), first.since
		if n, last := first.output.hidden(); n > 0 {
			what = fmt.Sprintf("%s: %s", view.Count(n, "more line"), last)
		}
		if running > 1 {
			what += fmt.Sprintf(" (and %d more)", running-1)
		}
	}
	took := now.Sub(since)
	if what == "" || r.waiting || took < 500*time.Millisecond {
		return ""
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	frame := frames[int(now.UnixMilli()/100)%len(frames)]
	what = strings.Join(strings.Fields(stream.Sanitize(what)), " ")
	return fmt.Sprintf("%c %s  %s", frame, view.Duration(took.Truncate(time.Second)), what)
}

// Alone waits until everything that happened so far is shown, and then keeps the terminal for
// whoever asks there. Nothing else is shown before the function that it returns was called. It
// returns the context's error when that ends first.
func (r *Renderer) Alone(ctx context.Context) (release func(), err error) {
	if err := r.CaughtUp(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.out.Show("")
	r.out.endLine()
	return r.mu.Unlock, nil
}

// Idle takes the line of progress away until something happens again.
func (r *Renderer) Idle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = ""
	for _, c := range r.calls {
		c.since = time.Time{}
	}
	r.out.wipe()
}

// CaughtUp waits until everything that was published so far is shown. A mark without content, which
// travels the same way, says when.
func (r *Renderer) CaughtUp(ctx context.Context) error {
	r.marksMu.Lock()
	r.lastNo++
	no, reached := r.lastNo, make(chan struct{})
	r.marks[no] = reached
	r.marksMu.Unlock()
	r.hub.Publish(stream.Event{Turn: -no})
	select {
	case <-reached:
	case <-r.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (r *Renderer) release(no int) {
	r.marksMu.Lock()
	defer r.marksMu.Unlock()
	if ch := r.marks[no]; ch != nil {
		close(ch)
		delete(r.marks, no)
	}
}

// releaseAll is for marks that were lost on the way: what came before them is shown by now.
func (r *Renderer) releaseAll() {
	r.marksMu.Lock()
	defer r.marksMu.Unlock()
	for no, ch := range r.marks {
		close(ch)
		delete(r.marks, no)
	}
}

// Known is what is known of a call, for others than the renderer itself.
func (r *Renderer) Known(run string, p journal.Place) journal.Proposal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.call(run, p).Proposal
}
