package client

import (
	"slices"
	"strings"
	"time"

	"agent/fleet/custody"
)

// What a queued run lacks.
const (
	Slot   = "slot"
	Labels = "labels"
	Hosts  = "hosts"
)

// lacking says what a queued run waits for. The engine keeps workers for minutes after it heard
// of them last, and those that could have the run have no free slot, or they would.
func (r Row) lacking(workers []string) Row {
	before := len(r.Labels) == 0 && strings.Contains(r.Reason, custody.AndLabels) // labels were left for lists
	if r.Status != "queued" || time.Since(r.Since) < Young || before {
		return r
	}
	if len(workers) == 0 {
		r.Lacks = Hosts
		r.Reason += "; no worker has asked for work lately"
		return r
	}
	var able []string
	left := false // some host may have it, and was passed over
	for _, w := range workers {
		has, known := labelsOf(w)
		switch host := hostOf(w); {
		case !known && len(r.Labels) > 0:
			left = true // an older worker, which may have any labels
		case slices.ContainsFunc(r.Labels, func(l string) bool { return !slices.Contains(has, l) }):
		case strings.Contains(r.Reason, "; not "+host+": "):
			left = true
		case !slices.Contains(able, host):
			able = append(able, host)
		}
	}
	switch {
	case len(able) > 0:
		r.Lacks = Slot
		r.Reason += "; no free slot at " + strings.Join(able, ", ") + ", unless it was lost just now or is drained"
	case !left:
		r.Lacks = Labels
		r.Reason += "; no worker that asked for work lately has them all"
	}
	return r
}
