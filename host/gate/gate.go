// Package gate is what every event passes on its way to observers: no secret leaves this process
// through one.
package gate

import (
	"sync"

	"agent/db"
	"agent/host/stream"
	"agent/recovery/journal"
)

// gate lets events through. Facts come from the store, which replaced each by what it wrote; text
// that comes in pieces is held back as far as it may be the beginning of a secret.
type gate struct {
	store *db.Store

	mu    sync.Mutex
	texts map[text]*passing
}

// passing is a text on its way.
type passing struct {
	*db.Redactor
	passed int64 // bytes that observers were given
}

// text is one text that comes in pieces: an answer, what the model thinks on its way to it, or the
// output of a call.
type text struct {
	run       string
	turn      int
	reasoning bool
	output    bool
	call      journal.Place
}

// New makes the gate of a store, for stream.Hub.Through.
func New(s *db.Store) func(stream.Event) []stream.Event {
	return (&gate{store: s, texts: map[text]*passing{}}).pass
}

// pass gives the events that observers may see instead of one.
func (g *gate) pass(e stream.Event) []stream.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case e.Fact != nil:
		return append(g.ended(e.Run, *e.Fact), e)
	case e.Text != "":
		return g.piece(e, text{run: e.Run, turn: e.Turn})
	case e.Reasoning != "":
		return g.piece(e, text{run: e.Run, turn: e.Turn, reasoning: true})
	case len(e.Output) > 0 && e.Call != nil:
		return g.piece(e, text{run: e.Run, output: true, call: *e.Call})
	case e.Whole:
		return g.whole(nil, e.Run, e.Turn)
	case e.Note != "":
		e.Note = g.store.Redact(e.Note)
	case e.Void:
		delete(g.texts, text{run: e.Run, turn: e.Turn})
		delete(g.texts, text{run: e.Run, turn: e.Turn, reasoning: true})
	}
	return []stream.Event{e}
}

// piece redacts a piece. What a model thinks and what it says take turns: the rest of one comes
// before the other.
func (g *gate) piece(e stream.Event, of text) []stream.Event {
	var out []stream.Event
	if !of.output {
		other := of
		other.reasoning = !of.reasoning
		out = g.rest(out, other)
	}
	c := g.texts[of]
	if c == nil {
		c = &passing{Redactor: g.store.NewRedactor()}
		g.texts[of] = c
	}
	data := e.Output
	if !of.output {
		data = []byte(e.Text + e.Reasoning)
	}
	return of.append(out, c, c.Piece(data))
}

// ended gives what was held back of the texts that a fact ends.
func (g *gate) ended(run string, fact journal.Event) []stream.Event {
	var out []stream.Event
	switch b := fact.Body.(type) {
	case journal.ModelAnswered, journal.ModelFailed, journal.ContextCompacted:
		out = g.whole(out, run, fact.Turn)
	case journal.CallSettled:
		out = g.rest(out, text{run: run, output: true, call: b.Place})
	case journal.RunInterrupted, journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		for of := range g.texts {
			if of.run == run {
				delete(g.texts, of)
			}
		}
	}
	return out
}

// whole gives what was held back of an answer.
func (g *gate) whole(out []stream.Event, run string, turn int) []stream.Event {
	return g.rest(g.rest(out, text{run: run, turn: turn, reasoning: true}), text{run: run, turn: turn})
}

func (g *gate) rest(out []stream.Event, of text) []stream.Event {
	c := g.texts[of]
	if c == nil {
		return out
	}
	delete(g.texts, of)
	return of.append(out, c, c.Rest())
}

func (of text) append(out []stream.Event, c *passing, data []byte) []stream.Event {
	if len(data) == 0 {
		return out
	}
	e := stream.Event{Run: of.run, Turn: of.turn}
	switch {
	case of.output:
		e.Call, e.Output, e.At = &of.call, data, c.passed
		c.passed += int64(len(data))
	case of.reasoning:
		e.Reasoning = string(data)
	default:
		e.Text = string(data)
	}
	return append(out, e)
}
