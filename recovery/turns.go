package recovery

import (
	"agent/recovery/journal"
	"agent/recovery/transcript"
	"fmt"
	"slices"
)

// Turn is one answer of the model and the calls that it asked for.
type Turn struct {
	N       int
	Blocks  []journal.Block
	Calls   []*Call
	Stop    journal.AnswerStop
	Settled bool
}

// Turns are the turns that the model answered.
type Turns []*Turn

// Len is how many there are.
func (t Turns) Len() int { return len(t) }

// At is a turn, from 0, as the model is shown it.
func (t Turns) At(i int) transcript.Turn {
	turn := t[i]
	out := transcript.Turn{Blocks: turn.Blocks, Stop: turn.Stop, Calls: make([]transcript.Call, len(turn.Calls))}
	for i, c := range turn.Calls {
		out.Calls[i] = transcript.Call{Proposal: c.Proposal, Result: c.Result, Happened: c.happened}
	}
	return out
}

// Settled says whether every call of a turn, from 0, has its result.
func (t Turns) Settled(i int) bool { return t[i].Settled }

// current is the last turn that the model answered; nil before the first.
func (t Turns) current() *Turn {
	if len(t) == 0 {
		return nil
	}
	return t[len(t)-1]
}

// Unsettled lists the calls of the last turn that have no result, in the model's order.
func (t Turns) Unsettled() []*Call {
	var out []*Call
	for _, c := range t.current().calls() {
		if c.Phase != journal.PhaseSettled {
			out = append(out, c)
		}
	}
	return out
}

// inOrder refuses a start while an earlier call is open, unless both only read.
func (t Turns) inOrder(c *Call) error {
	for _, d := range t.current().calls()[:c.Index] {
		if d.Phase != journal.PhaseSettled && (d.Effect != journal.EffectRead || c.Effect != journal.EffectRead) {
			return fmt.Errorf("call %s before it is not settled", d.Place)
		}
	}
	return nil
}

// dropOpaque leaves out of earlier answers what only the provider that gave them understands:
// reasoning, and what it wants back unchanged. Another provider refuses it, also where it speaks
// the same protocol.
func (ts Turns) dropOpaque() {
	for _, t := range ts {
		t.Blocks = slices.DeleteFunc(t.Blocks, func(b journal.Block) bool { return b.Kind == journal.BlockReasoning })
		for i := range t.Blocks {
			t.Blocks[i].Opaque = nil
		}
	}
}
