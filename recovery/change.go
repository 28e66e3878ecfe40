package recovery

import (
	"agent/recovery/journal"
	"slices"
	"strings"
)

// earlierCost is what a run had spent when its model was changed: each model has prices of its own.
type earlierCost struct {
	usage   journal.Usage // charged until then
	micros  int64         // its cost, in millionths of a US dollar
	unknown bool          // a part of it has no known price
}

// takeChanges takes over what a claim changed about where the run works and which model it asks.
func (s *State) takeChanges(b journal.RunClaimed) {
	if b.Model != nil {
		cost, known := s.Cost()
		s.spent.unknown = s.spent.unknown || !known && s.charged() != journal.Usage{}
		s.spent.usage, s.spent.micros = s.charged(), cost
		s.shown.NewWindow()
		if providerOf(b.Model.Name) != providerOf(s.Created.Model) {
			s.dropOpaque()
		}
	}
	s.Created = s.Created.With(b)
}

// providerOf is the first part of a model's name, provider/model.
func providerOf(model string) string {
	name, _, _ := strings.Cut(model, "/")
	return name
}

// dropOpaque leaves out of earlier answers what only the provider that gave them understands: reasoning, and what it wants
// back unchanged. Another provider refuses it, also where it speaks the same protocol.
func (s *State) dropOpaque() {
	for _, t := range s.Turns {
		t.Blocks = slices.DeleteFunc(t.Blocks, func(b journal.Block) bool { return b.Kind == journal.BlockReasoning })
		for i := range t.Blocks {
			t.Blocks[i].Opaque = nil
		}
	}
	s.shown.Forget()
}
