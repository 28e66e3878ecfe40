package recovery

import (
	"slices"
	"strings"
)

// ModelChange is another model for a run that has begun, and how it is asked. Fields mean what they mean in [Setup]; the rest of the
// setup, the system prompt and the pictures among it, stays as the run began.
type ModelChange struct {
	Name      string `json:"name"`
	Provider  string `json:"provider"`
	BaseURL   string `json:"base_url,omitempty"`
	Window    int64  `json:"window,omitempty"`
	MaxOutput int64  `json:"max_output,omitempty"`
	Effort    Effort `json:"effort,omitempty"`
	Price     *Price `json:"price,omitempty"`
}

// earlierCost is what a run had spent when its model was changed: each model has prices of its own.
type earlierCost struct {
	usage   Usage // charged until then
	micros  int64 // its cost, in millionths of a US dollar
	unknown bool  // a part of it has no known price
}

// takeChanges takes over what a claim changed about where the run works and which model it asks.
func (s *State) takeChanges(b RunClaimed) {
	if b.Model != nil {
		cost, known := s.Cost()
		s.spent.unknown = s.spent.unknown || !known && s.charged() != Usage{}
		s.spent.usage, s.spent.micros = s.charged(), cost
		s.overflow, s.tooLong = false, false // the window is another one
		if providerOf(b.Model.Name) != providerOf(s.Created.Model) {
			s.dropOpaque()
		}
	}
	s.Created = s.Created.With(b)
}

// With is the run's first fact as it would read had the run begun with what the claim changes.
func (c RunCreated) With(b RunClaimed) RunCreated {
	if b.Folder != "" {
		c.Folder = b.Folder
	}
	if m := b.Model; m != nil {
		c.Model = m.Name
		c.Setup.Provider, c.Setup.BaseURL, c.Setup.Window, c.Setup.MaxOutput = m.Provider, m.BaseURL, m.Window, m.MaxOutput
		c.Setup.Effort, c.Setup.Price = m.Effort, m.Price
	}
	if b.BaseURL != "" {
		c.Setup.BaseURL = b.BaseURL
	}
	return c
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
		t.Blocks = slices.DeleteFunc(t.Blocks, func(b Block) bool { return b.Kind == BlockReasoning })
		for i := range t.Blocks {
			t.Blocks[i].Opaque = nil
		}
	}
	s.said = nil
}
