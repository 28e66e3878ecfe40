package recovery

import (
	"agent/recovery/journal"
	"strings"
)

// takeChanges takes over what a claim changed about where the run works and which model it asks.
func (s *State) takeChanges(b journal.RunClaimed) {
	if b.Model != nil {
		s.closeAccount(s.Created.Setup.Price)
		s.shown.NewWindow()
		if providerOf(b.Model.Name) != providerOf(s.Created.Model) {
			s.Turns.dropOpaque()
			s.shown.Forget()
		}
	}
	s.Created = s.Created.With(b)
}

// providerOf is the first part of a model's name, provider/model.
func providerOf(model string) string {
	name, _, _ := strings.Cut(model, "/")
	return name
}
