package stream

import (
	"context"
	"testing"

	"agent/recovery/journal"
)

// What publishing costs the one who publishes. The limit to compare with is no observer at all: one
// load. The fast observer takes each event at once, and its taking is in the figure; the stalled
// one is replaced each time it overflows, so that filling its queue is in the figure.
func BenchmarkPublish(b *testing.B) {
	for _, kind := range []struct {
		name  string
		event Event
	}{
		{"text", Event{Run: "r-1", Turn: 1, Text: "token "}},
		{"fact", Event{Run: "r-1", Fact: &journal.Event{Seq: 1, Body: journal.RunNoted{Text: "x"}}}},
		{"output4k", Event{Run: "r-1", Call: &journal.Place{Turn: 1}, Output: make([]byte, 4096)}},
	} {
		b.Run(kind.name+"/none", func(b *testing.B) {
			h := NewHub()
			for b.Loop() {
				h.Publish(kind.event)
			}
		})
		b.Run(kind.name+"/fast", func(b *testing.B) {
			h := NewHub()
			o := h.Observe(0)
			for b.Loop() {
				h.Publish(kind.event)
				if _, err := o.Next(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(kind.name+"/stalled", func(b *testing.B) {
			h := NewHub()
			for b.Loop() {
				if h.list.Load() == nil {
					h.Observe(0)
				}
				h.Publish(kind.event)
			}
		})
	}
}
