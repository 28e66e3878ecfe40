package terminal

import (
	"strings"

	"agent/recovery/journal"
)

// childEvent shows a fact of a run that carries out a call of another. Its last answer is shown as
// the result of that call.
func (r *Renderer) childEvent(run string, e journal.Event) {
	switch b := e.Body.(type) {
	case journal.RequestOpened:
		r.waiting = true
	case journal.RequestAnswered, journal.RequestClosed:
		r.waiting = false
	case journal.ModelAnswered:
		r.turns[run] = e.Turn
		if lastWords(b) != endNot {
			b.Blocks = without(b.Blocks, journal.BlockText)
			e.Body = b
		}
	}
	r.Fact(run, e)
}

// othersAct says whether calls of children other than this one are under way.
func (r *Renderer) othersAct(child string) bool {
	for k, c := range r.calls {
		run, _, _ := strings.Cut(k, "/")
		if run != child && !c.since.IsZero() && r.of(run).child {
			return true
		}
	}
	return false
}
