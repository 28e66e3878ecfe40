package worker

import (
	"fmt"

	"agent/fleet/custody"
)

// explain says what became of a run whose copy here is gone, or was taken in from the log and has
// not been claimed: that is no end, since all that counts is in the log.
func (d *drive) explain(r custody.Report) custody.Report {
	switch {
	case r.Status != interrupted || r.Handed || d.log.Facts == 0:
		return r
	case d.here == nil && r.Cause == "":
		r.Facts, r.Place = d.log.Facts, d.log.Place
	case d.here != nil && r.Cause == "restored":
		if place, err := takenAt(d.agent, d.run.ID); err != nil || place == 0 || place < d.log.Wrote {
			return r // somebody restored the state folder
		}
	default:
		return r
	}
	r.Cause = custody.CauseLost
	r.Detail = fmt.Sprintf("its %d facts are in the log, and no driver has claimed it here", d.log.Facts)
	if d.log.By == d.host.Name {
		r.Detail = fmt.Sprintf("the state folder of %s was lost; %s", d.host.Name, r.Detail)
	}
	if d.why != "" {
		r.Detail += ": " + d.why
	}
	return r
}
