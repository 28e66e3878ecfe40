package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

func fact(run string, seq int64) Event {
	return Event{Run: run, Fact: &journal.Event{Seq: seq, Body: journal.RunNoted{Text: "x"}}}
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// drain takes everything up to the observation's end and returns what ended it.
func drain(t testing.TB, o *Observer) ([]Event, error) {
	t.Helper()
	ctx := deadline(t)
	var all []Event
	for {
		e, err := o.Next(ctx)
		if err != nil {
			if errors.Is(err, ctx.Err()) {
				t.Fatalf("the observation did not end: %v", err)
			}
			return all, err
		}
		all = append(all, e)
	}
}

// STR-03, STR-04: an observer that never reads holds up neither the publisher nor another observer;
// its own observation ends, and says from which fact on it goes on elsewhere.
func TestStalledObserverIsTheOnlyOneToSuffer(t *testing.T) {
	const facts, limit = 100_000, 100
	h := NewHub()
	stalled, reading := h.Observe(limit), h.Observe(limit)
	ctx := deadline(t)
	for seq := int64(1); seq <= facts; seq++ {
		h.Publish(fact("r-1", seq))
		e, err := reading.Next(ctx)
		if err != nil || e.Fact.Seq != seq {
			t.Fatalf("the reading observer got %v, %v; want fact %d", e.Fact, err, seq)
		}
	}
	kept := len(h.observers())
	h.Close()
	got, err := drain(t, stalled)
	if len(got) != limit || got[limit-1].Fact.Seq != limit {
		t.Fatalf("the stalled observer got %d events, want the first %d", len(got), limit)
	}
	var over *OverflowError
	if !errors.As(err, &over) || !errors.Is(err, ErrOverflow) || over.After != limit || over.Cursors["r-1"] != limit {
		t.Fatalf("ended with %v, want an overflow after fact %d", err, limit)
	}
	if kept != 1 {
		t.Fatalf("the hub kept %d observers, want 1", kept)
	}
	if _, err := drain(t, reading); err != io.EOF {
		t.Fatalf("the reading observer ended with %v, want %v", err, io.EOF)
	}
}

func TestOverflowNamesEveryRunsCursor(t *testing.T) {
	h := NewHub()
	o := h.Observe(3)
	for _, e := range []Event{fact("r-1", 7), fact("r-2", 3), fact("r-1", 8), fact("r-2", 4)} {
		h.Publish(e)
	}
	h.Close()
	_, err := drain(t, o)
	want := &OverflowError{After: 8, Cursors: map[string]int64{"r-1": 8, "r-2": 3}}
	var got *OverflowError
	if !errors.As(err, &got) || !cmp.Equal(got, want) {
		t.Fatalf("ended with %+v, want %+v", err, want)
	}
	// As after any end, closing changes nothing.
	o.Close()
	if _, err := o.Next(deadline(t)); !errors.Is(err, ErrOverflow) {
		t.Fatalf("after Close the end is %v, want the overflow", err)
	}
}

// STR-05, STR-08: neighbours of one turn's text, of its reasoning and of one call's output merge,
// nothing else does, the order stays, and a character that comes in two pieces is whole.
func TestNeighboursMerge(t *testing.T) {
	h := NewHub()
	o := h.Observe(0)
	first, second := &journal.Place{Turn: 1, Index: 0, Attempt: 1}, &journal.Place{Turn: 1, Index: 0, Attempt: 2}
	for _, e := range []Event{
		{Run: "r-1", Turn: 1, Text: "na\xc3"},
		{Run: "r-1", Turn: 1, Text: "\xafve "},
		{Run: "r-1", Turn: 1, Text: "end"},
		{Run: "r-2", Turn: 1, Text: "another run"},
		{Run: "r-1", Turn: 1, Text: "a"},
		{Run: "r-1", Turn: 2, Text: "another turn"},
		{Run: "r-1", Turn: 2, Reasoning: "so \xc3"},
		{Run: "r-1", Turn: 2, Reasoning: "\xaf it is"},
		{Run: "r-1", Turn: 3, Reasoning: "a new turn"},
		{Run: "r-1", Turn: 3, Void: true},
		{Run: "r-1", Turn: 3, Reasoning: "anew"},
		fact("r-1", 1),
		fact("r-1", 2),
		{Run: "r-1", Turn: 2, Text: "after the facts"},
		{Run: "r-1", Call: first, Output: []byte("one ")},
		{Run: "r-1", Call: &journal.Place{Turn: 1, Index: 0, Attempt: 1}, Output: []byte("two")},
		{Run: "r-1", Call: second, Output: []byte("another attempt")},
		{Run: "r-1", Note: "a note"},
		{Run: "r-1", Note: "a note", Warn: true},
		{Run: "r-1", Call: second, Output: []byte("after the notes")},
	} {
		h.Publish(e)
	}
	h.Close()
	got, err := drain(t, o)
	if err != io.EOF {
		t.Fatalf("ended with %v, want %v", err, io.EOF)
	}
	want := []Event{
		{Run: "r-1", Turn: 1, Text: "na\u00efve end"},
		{Run: "r-2", Turn: 1, Text: "another run"},
		{Run: "r-1", Turn: 1, Text: "a"},
		{Run: "r-1", Turn: 2, Text: "another turn"},
		{Run: "r-1", Turn: 2, Reasoning: "so \u00ef it is"},
		{Run: "r-1", Turn: 3, Reasoning: "a new turn"},
		{Run: "r-1", Turn: 3, Void: true},
		{Run: "r-1", Turn: 3, Reasoning: "anew"},
		fact("r-1", 1),
		fact("r-1", 2),
		{Run: "r-1", Turn: 2, Text: "after the facts"},
		{Run: "r-1", Call: first, Output: []byte("one two")},
		{Run: "r-1", Call: second, Output: []byte("another attempt")},
		{Run: "r-1", Note: "a note"},
		{Run: "r-1", Note: "a note", Warn: true},
		{Run: "r-1", Call: second, Output: []byte("after the notes")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("delivered (-want +got):\n%s", diff)
	}
}

// STR-05: whatever is published and whenever it is taken, the observer sees the same facts, text
// and output in the same order.
func TestMergingLosesNothing(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		h := NewHub()
		o := h.Observe(0)
		var want, got string
		seq := int64(0)
		take := func() { got += told(must(o.Next(context.Background()))) }
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			e := Event{Run: rapid.SampledFrom([]string{"r-1", "r-2"}).Draw(t, "run")}
			piece := rapid.SampledFrom([]string{"a", "bc", "\xc3", "\xaf"}).Draw(t, "piece")
			n := rapid.IntRange(1, 2).Draw(t, "n")
			switch rapid.SampledFrom([]string{"fact", "text", "text", "reasoning", "reasoning", "output", "output", "note", "take"}).Draw(t, "kind") {
			case "fact":
				seq++
				e = fact(e.Run, seq)
			case "text":
				e.Turn, e.Text = n, piece
			case "reasoning":
				e.Turn, e.Reasoning = n, piece
			case "output":
				e.Call, e.Output = &journal.Place{Turn: n}, []byte(piece)
			case "note":
				e.Note = piece
			case "take":
				if len(o.queue) > o.head {
					take()
				}
				continue
			}
			want += told(e)
			h.Publish(e)
		}
		h.Close()
		for len(o.queue) > o.head {
			take()
		}
		if got != want {
			t.Fatalf("told  %q\nwant %q", got, want)
		}
		if o.size != 0 {
			t.Fatalf("an empty queue counts %d bytes", o.size)
		}
	})
}

// told writes an event so that the parts of a merged one and the merged one read the same.
func told(e Event) string {
	var b strings.Builder
	switch {
	case e.Fact != nil:
		fmt.Fprintf(&b, "<%s fact %d>", e.Run, e.Fact.Seq)
	case e.Note != "":
		fmt.Fprintf(&b, "<%s note %s>", e.Run, e.Note)
	case e.Call != nil:
		for _, c := range e.Output {
			fmt.Fprintf(&b, "<%s %v out %x>", e.Run, e.Call, c)
		}
	default:
		for i := range len(e.Reasoning) {
			fmt.Fprintf(&b, "<%s %d thought %x>", e.Run, e.Turn, e.Reasoning[i])
		}
		for i := range len(e.Text) {
			fmt.Fprintf(&b, "<%s %d text %x>", e.Run, e.Turn, e.Text[i])
		}
	}
	return b.String()
}

func must(e Event, err error) Event {
	if err != nil {
		panic(err)
	}
	return e
}

// STR-13: a queue is bounded in bytes too, merged text included, and what it holds was not cut.
func TestBytesAreBounded(t *testing.T) {
	h := NewHub()
	o := h.Observe(0)
	piece := strings.Repeat("\u00e9", 1000)
	for range 2 * maxQueued / len(piece) {
		h.Publish(Event{Run: "r-1", Turn: 1, Text: piece})
	}
	h.Close()
	got, err := drain(t, o)
	if !errors.Is(err, ErrOverflow) || len(got) != 1 {
		t.Fatalf("got %d events and %v, want one and an overflow", len(got), err)
	}
	if n := len(got[0].Text); n > maxQueued || n < maxQueued*9/10 || n%len(piece) != 0 || !utf8.ValidString(got[0].Text) {
		t.Fatalf("delivered %d bytes of text, want as many whole pieces as fit into %d", n, maxQueued)
	}
}

// A result larger than the whole queue must reach an observer that keeps up.
func TestAnEmptyQueueTakesAnything(t *testing.T) {
	h := NewHub()
	o := h.Observe(1)
	big := bytes.Repeat([]byte{'x'}, 3*maxQueued)
	for range 2 {
		h.Publish(Event{Run: "r-1", Call: &journal.Place{Turn: 1}, Output: big})
		if e, err := o.Next(deadline(t)); err != nil || !bytes.Equal(e.Output, big) {
			t.Fatalf("got %d bytes, %v; want %d", len(e.Output), err, len(big))
		}
	}
}

// Many large facts fill a queue, since they keep memory; one does not.
func TestFactsCountWhatTheyKeep(t *testing.T) {
	h := NewHub()
	o := h.Observe(0)
	body := journal.CallSettled{Result: journal.Result{Full: make([]byte, 8<<20)}}
	for seq := int64(1); seq <= 20; seq++ {
		h.Publish(Event{Run: "r-1", Fact: &journal.Event{Seq: seq, Body: body}})
	}
	h.Close()
	got, err := drain(t, o)
	if !errors.Is(err, ErrOverflow) || len(got) != 15 {
		t.Fatalf("got %d facts and %v, want 15 and an overflow", len(got), err)
	}
}

func TestOutputIsEachObserversOwn(t *testing.T) {
	h := NewHub()
	a, b := h.Observe(0), h.Observe(0)
	call, buf := &journal.Place{Turn: 1}, []byte("one")
	h.Publish(Event{Run: "r-1", Call: call, Output: buf})
	copy(buf, "two")
	h.Publish(Event{Run: "r-1", Call: call, Output: buf})
	copy(buf, "xxx")
	fromA, fromB := must(a.Next(deadline(t))), must(b.Next(deadline(t)))
	copy(fromA.Output, "------")
	if got := string(fromB.Output); got != "onetwo" {
		t.Fatalf("the second observer got %q, want %q", got, "onetwo")
	}
}

func TestObserveOneRun(t *testing.T) {
	h := NewHub()
	o := h.Observe(1, "r-2")
	h.Publish(fact("r-1", 1))
	h.Publish(fact("r-2", 1))
	h.Publish(fact("r-1", 2))
	h.Close()
	got, err := drain(t, o)
	if diff := cmp.Diff([]Event{fact("r-2", 1)}, got); diff != "" || err != io.EOF {
		t.Fatalf("ended with %v; delivered (-want +got):\n%s", err, diff)
	}
}

// STR-06: every end can come twice and from both sides, keeps what is queued, and makes Publish do
// nothing.
func TestCloseIsIdempotent(t *testing.T) {
	h := NewHub()
	o, other := h.Observe(0), h.Observe(0)
	h.Publish(fact("r-1", 1))
	o.Close()
	o.Close()
	h.Publish(fact("r-1", 2))
	if got, err := drain(t, o); len(got) != 1 || err != io.EOF {
		t.Fatalf("the closed observer got %d events and %v, want 1 and %v", len(got), err, io.EOF)
	}
	h.Close()
	h.Close()
	o.Close()
	h.Publish(fact("r-1", 3))
	if got, err := drain(t, other); len(got) != 2 || err != io.EOF {
		t.Fatalf("the other observer got %d events and %v, want 2 and %v", len(got), err, io.EOF)
	}
	if got, err := drain(t, h.Observe(0)); len(got) != 0 || err != io.EOF {
		t.Fatalf("an observer of a closed hub got %d events and %v", len(got), err)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	h := NewHub()
	o := h.Observe(0)
	ctx, cancel := context.WithCancel(deadline(t))
	ended := make(chan error)
	go func() {
		_, err := o.Next(ctx)
		ended <- err
	}()
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Fatalf("ended with %v, want %v", err, context.Canceled)
	}
	// The observation itself goes on.
	h.Publish(fact("r-1", 1))
	if e, err := o.Next(deadline(t)); err != nil || e.Fact.Seq != 1 {
		t.Fatalf("got %v, %v; want fact 1", e, err)
	}
}

// Publishers, observers that read, leave or overflow, and the hub's end, all at once: every reader
// sees each publisher's facts in order and without a gap.
func TestConcurrentUse(t *testing.T) {
	const publishers, facts, readers = 4, 2000, 6
	h := NewHub()
	ctx := deadline(t)
	var publishing, reading sync.WaitGroup
	for i := range readers {
		o := h.Observe(publishers * facts)
		reading.Go(func() {
			next := map[string]int64{}
			for n := 0; ; n++ {
				e, err := o.Next(ctx)
				if err != nil {
					if err != io.EOF && !errors.Is(err, ErrOverflow) {
						t.Errorf("reader %d ended with %v", i, err)
					}
					return
				}
				next[e.Run]++
				if e.Fact.Seq != next[e.Run] {
					t.Errorf("reader %d got fact %d of %s, want %d", i, e.Fact.Seq, e.Run, next[e.Run])
				}
				if i == 0 && n == 100 {
					o.Close()
				}
			}
		})
	}
	for i := range publishers {
		publishing.Go(func() {
			run := fmt.Sprintf("r-%d", i)
			for seq := int64(1); seq <= facts; seq++ {
				h.Publish(fact(run, seq))
				if seq%500 == 0 {
					h.Observe(1)
				}
			}
		})
	}
	publishing.Wait()
	h.Close()
	reading.Wait()
}
