package journal

import "time"

// RunRestored says that the database of the run went back in time, or is that of a copy, and that a
// person let it count from there. The run may have gone further than its journal says: nothing that
// acts starts in it until a person said that it has not happened, in every mode, and no yes from
// before counts. With Nothing all that happened after this copy is in it, and what held before
// holds.
type RunRestored struct {
	Reason      string    `json:"reason"` // how it was seen that the database is behind, or what was restored
	By          string    `json:"by,omitempty"`
	Made        time.Time `json:"made,omitzero"`           // when the copy was made, where that is known
	Incarnation int64     `json:"incarnation,omitempty"`   // of the store from then on
	Nothing     bool      `json:"nothing_after,omitempty"` // a person said that nothing happened after that
}

// Kind names the fact.
func (RunRestored) Kind() Kind { return KindRunRestored }
