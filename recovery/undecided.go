package recovery

import (
	"agent/recovery/journal"
	"fmt"
)

// unknownBefore is the first call of the turn, up to but without the one numbered index, whose
// outcome is unknown; nil when there is none.
func (t *Turn) unknownBefore(index int) *Call {
	for _, c := range t.Calls[:index] {
		if c.Phase == journal.PhaseSettled && c.Unknown() {
			return c
		}
	}
	return nil
}

// notBehind settles what is left of an answer behind a call whose outcome is unknown. The model
// chose these calls before it knew that: it sees the result first and decides afresh.
func notBehind(first *Call, rest []*Call) Record {
	why := fmt.Sprintf("it was asked for in one answer with %s (%s), whose outcome is unknown. Look at that result first; "+
		"ask for this call again if it is still wanted", first.ID, first.Tool)
	var facts []journal.Body
	for _, c := range rest {
		if c.Phase != journal.PhaseSettled {
			facts = append(facts, NotRun(c, journal.OutcomeSkipped, why))
		}
	}
	return Record{facts}
}
