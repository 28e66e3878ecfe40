package stream

import (
	"sync"
	"sync/atomic"

	"agent/recovery/journal"
)

// Event is one thing to show. It is a fact, a piece of text, a piece of reasoning, a piece of
// output, a note or a word that an answer starts over, in this order of precedence should more than
// one be set.
type Event struct {
	Run       string
	Fact      *journal.Event // durable before it came here; shared by all observers, so never changed
	Text      string         // a piece of the model's answer, not durable; the answer's fact replaces it
	Reasoning string         // a piece of what the model thinks, as Text; shown only to who asks for it
	Turn      int            // of Text, Reasoning, Whole and Void
	Call      *journal.Place // with Output: live output of a running call, not durable; shared, so never changed
	Output    []byte         // the receiver's own copy
	At        int64          // with Output: the bytes of the call's output that came before it
	Note      string         // a sentence of the host for the person; what must survive an overflow is a fact instead
	Warn      bool           // the note is a warning
	Quotes    bool           // the note quotes what was asked: it is for the person, not for a log
	Whole     bool           // the text of the turn's answer is whole: for who holds a part of it back, not for observers
	Void      bool           // what came of the turn's answer is void: it starts over
}

// Hub hands events to observers. Its methods may be called by any goroutine at any time. Events
// that one goroutine publishes reach every observer in that order.
type Hub struct {
	mu     sync.Mutex                  // held to change observers or closed
	list   atomic.Pointer[[]*Observer] // never changed in place, so that Publish needs no lock of the hub
	closed bool

	filter atomic.Pointer[func(Event) []Event]
}

// NewHub makes a hub without observers.
func NewHub() *Hub { return &Hub{} }

// Through has every event pass a filter on its way to the observers, who get what the filter
// returns instead. It is called by whoever publishes, several at a time.
func (h *Hub) Through(filter func(Event) []Event) { h.filter.Store(&filter) }

// Publish hands e to every observer and returns at once, whatever the observers do. It keeps no
// reference to e.Output. After Close it does nothing.
func (h *Hub) Publish(e Event) {
	filter := h.filter.Load()
	if filter == nil {
		h.publish(e)
		return
	}
	for _, passed := range (*filter)(e) {
		h.publish(passed)
	}
}

func (h *Hub) publish(e Event) {
	list := h.list.Load()
	if list == nil {
		return
	}
	for _, o := range *list {
		if !o.offer(&e) {
			h.remove(o)
		}
	}
}

// Observe starts an observation of what is published from now on, of the named runs or else of all.
// Its queue holds at most limit events (DefaultLimit if limit is not positive) and about 1 MiB. On
// a closed hub it is at its end already.
func (h *Hub) Observe(limit int, runs ...string) *Observer {
	return h.observe(newObserver(h, limit, runs))
}

// ObserveOnly is Observe of the events that wants names; whoever publishes calls it.
func (h *Hub) ObserveOnly(wants func(*Event) bool, runs ...string) *Observer {
	o := newObserver(h, 0, runs)
	o.wants = wants
	return h.observe(o)
}

func (h *Hub) observe(o *Observer) *Observer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		o.end()
		return o
	}
	h.set(append(h.observers(), o))
	return o
}

// Close ends every observation, once it delivered what is queued, and the hub. Closing again does
// nothing.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, o := range h.observers() {
		o.end()
	}
	h.list.Store(nil)
}

func (h *Hub) remove(o *Observer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var rest []*Observer
	for _, other := range h.observers() {
		if other != o {
			rest = append(rest, other)
		}
	}
	h.set(rest)
}

// observers returns a copy that the caller may change. It wants h.mu.
func (h *Hub) observers() []*Observer {
	list := h.list.Load()
	if list == nil {
		return nil
	}
	return append([]*Observer(nil), *list...)
}

// set wants h.mu. No observers is nil, which makes Publish to nobody one load.
func (h *Hub) set(list []*Observer) {
	if len(list) == 0 {
		h.list.Store(nil)
		return
	}
	h.list.Store(&list)
}
