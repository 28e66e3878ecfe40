package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"agent/recovery/journal"
)

// DefaultLimit is the number of events that a queue holds if its maker names none.
const DefaultLimit = 1024

const (
	maxQueued  = 1 << 20  // bytes in one queue
	eventCost  = 256      // bytes that a place in the queue is counted as, beside its content
	pieceCost  = 16       // bytes that a piece merged into one is counted as, beside its content
	maxFactual = 64 << 10 // bytes that one fact is counted as at most: its body is shared by all observers, not copied
)

// ErrOverflow is what an *OverflowError is.
var ErrOverflow = errors.New("observer fell behind")

// OverflowError ends an observation whose queue was full. Everything up to the event that found it
// full was delivered.
type OverflowError struct {
	After   int64            // sequence number of the last fact delivered, of whatever run; 0 if none was
	Cursors map[string]int64 // the same by run, for those who observe several
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("%v: go on after fact %d", ErrOverflow, e.After)
}

// Is makes errors.Is(err, ErrOverflow) true.
func (e *OverflowError) Is(target error) bool { return target == ErrOverflow }

// Observer is one observation. Next is meant for one goroutine, Close for any.
type Observer struct {
	hub   *Hub
	limit int
	runs  []string          // nil: all
	wants func(*Event) bool // nil: every event of the runs; called by whoever publishes
	wake  chan struct{}     // holds one token when there may be something to take
	done  chan struct{}     // closed when nothing more will be queued

	mu       sync.Mutex
	queue    []item // from head on
	head     int
	size     int // bytes, as costOf counts
	ended    bool
	overflow bool
	after    int64
	cursors  map[string]int64
}

// item is a queued event. What neighbours added to its text or output is in more: whoever publishes
// only hands it over, and the observer puts it together.
type item struct {
	event Event
	more  []string
	cost  int
}

func newObserver(h *Hub, limit int, runs []string) *Observer {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Observer{
		hub: h, limit: limit, runs: append([]string(nil), runs...),
		wake: make(chan struct{}, 1), done: make(chan struct{}), cursors: map[string]int64{},
	}
}

// Next returns the next event, waiting for it. Its errors are ctx's own, io.EOF after Close or the
// hub's Close once everything queued was delivered, and an *OverflowError once everything queued
// before the overflow was delivered.
func (o *Observer) Next(ctx context.Context) (Event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Event{}, err
		}
		it, ok, err := o.take()
		if ok {
			return it.whole(), nil
		}
		if err != nil {
			return Event{}, err
		}
		select {
		case <-o.wake:
		case <-o.done:
		case <-ctx.Done():
		}
	}
}

// Close ends the observation: what is queued can still be taken, then comes io.EOF. Closing again
// does nothing.
func (o *Observer) Close() {
	o.end()
	o.hub.remove(o)
}

func (o *Observer) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endLocked()
}

func (o *Observer) endLocked() {
	if !o.ended {
		o.ended = true
		close(o.done)
	}
}

// take returns the first of the queue, or why there will be none, or neither.
func (o *Observer) take() (item, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.head == len(o.queue) {
		return item{}, false, o.endErr()
	}
	it := o.queue[o.head]
	o.queue[o.head] = item{} // so that what was delivered is not kept alive
	o.head++
	if o.head == len(o.queue) {
		o.queue, o.head = o.queue[:0], 0
	}
	o.size -= it.cost
	if f := it.event.Fact; f != nil {
		o.after = f.Seq
		o.cursors[it.event.Run] = f.Seq
	}
	return it, true, nil
}

func (o *Observer) endErr() error {
	switch {
	case o.overflow:
		return &OverflowError{After: o.after, Cursors: maps.Clone(o.cursors)}
	case o.ended:
		return io.EOF
	}
	return nil
}

// offer queues a copy of e. It returns false when that is the end of the observation and the hub
// should forget it.
func (o *Observer) offer(e *Event) bool {
	if len(o.runs) > 0 && !slices.Contains(o.runs, e.Run) || o.wants != nil && !o.wants(e) {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	queued := len(o.queue) - o.head
	last := o.last()
	merges := last != nil && last.joins(e)
	cost := costOf(e) + eventCost
	if merges {
		cost += pieceCost - eventCost
	}
	// An empty queue takes anything: else an event larger than the bound could never be delivered.
	if queued > 0 && (o.size+cost > maxQueued || (queued >= o.limit && !merges)) {
		o.overflow = true
		o.endLocked()
		return false
	}
	o.size += cost
	if merges {
		last.join(e)
		last.cost += cost
		return true // the token for the queue's last was given when it came
	}
	o.push(e, cost)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return true
}

func (o *Observer) last() *item {
	if o.head == len(o.queue) {
		return nil
	}
	return &o.queue[len(o.queue)-1]
}

func (o *Observer) push(e *Event, cost int) {
	// Move to the front when at least half was taken: the array stays within a few limits, at
	// constant cost per event.
	if len(o.queue) == cap(o.queue) && o.head > 0 && o.head >= len(o.queue)/2 {
		n := copy(o.queue, o.queue[o.head:])
		clear(o.queue[n:])
		o.queue, o.head = o.queue[:n], 0
	}
	it := item{event: *e, cost: cost}
	it.event.Output = bytes.Clone(e.Output)
	o.queue = append(o.queue, it)
}

// isText, isReasoning and isOutput say which of the mergeable kinds e is.
func isText(e *Event) bool { return e.Fact == nil && e.Text != "" }

func isReasoning(e *Event) bool { return e.Fact == nil && e.Text == "" && e.Reasoning != "" }

func isOutput(e *Event) bool {
	return e.Fact == nil && e.Text == "" && e.Reasoning == "" && e.Call != nil && len(e.Output) > 0
}

// joins says whether e continues the queued event: the same turn's text or reasoning, or the same
// call's output.
func (it *item) joins(e *Event) bool {
	q := &it.event
	switch {
	case q.Run != e.Run:
		return false
	case isText(q):
		return isText(e) && q.Turn == e.Turn
	case isReasoning(q):
		return isReasoning(e) && q.Turn == e.Turn
	case isOutput(q):
		return isOutput(e) && *q.Call == *e.Call
	}
	return false
}

// join adds e to the queued event. Pieces are only ever put together, so no character is cut.
func (it *item) join(e *Event) {
	switch {
	case isText(e):
		it.more = append(it.more, e.Text)
	case isReasoning(e):
		it.more = append(it.more, e.Reasoning)
	default:
		it.more = append(it.more, string(e.Output))
	}
}

// whole is the event as it is delivered. It runs outside the lock, since it copies.
func (it *item) whole() Event {
	e := it.event
	switch {
	case len(it.more) == 0:
	case isText(&e):
		e.Text += strings.Join(it.more, "")
	case isReasoning(&e):
		e.Reasoning += strings.Join(it.more, "")
	default:
		e.Output = append(e.Output, strings.Join(it.more, "")...)
	}
	return e
}

// costOf is the bytes of content that a queued e is counted as.
func costOf(e *Event) int {
	cost := len(e.Text) + len(e.Reasoning) + len(e.Output) + len(e.Note)
	if e.Fact == nil {
		return cost
	}
	body := 0
	switch b := e.Fact.Body.(type) {
	case journal.ModelAnswered:
		for i := range b.Blocks {
			body += len(b.Blocks[i].Text)
		}
		for i := range b.Calls {
			body += len(b.Calls[i].Args)
		}
	case journal.CallSettled:
		body += len(b.Result.Content) + len(b.Result.Data) + len(b.Result.Full)
	}
	return cost + min(body, maxFactual)
}
