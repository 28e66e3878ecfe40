package recovery

import "agent/recovery/journal"

// restored takes note that the run may have gone further than its journal says. What a person
// allowed before was allowed without that knowledge.
func (s *State) restored(b journal.RunRestored) {
	s.Cause, s.Detail = journal.CauseRestored, b.Reason
	s.Restored, s.stale = true, s.Open
	for _, c := range s.Turns.current().calls() {
		if c.Phase != journal.PhaseSettled {
			c.Approved = ""
		}
	}
}

// binding is what a yes to the request lets act. A yes to a question from before the run was
// restored lets nothing act: the call is asked about afresh, and that question says why.
func (s *State) binding(r *journal.Request) string {
	if r == s.stale {
		return ""
	}
	return r.Binding
}

// askRestored stands before the start of every call that acts in a restored run. Absence from its
// journal proves nothing.
const askRestored = "the database was restored, and this run may have gone further than it says: this may have happened already"
