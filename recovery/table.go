package recovery

import (
	"agent/recovery/journal"
	"fmt"
	"strings"
)

// Status is where a run stands.
type Status string

// The statuses of a run. The last three are terminal and final.
const (
	StatusNone        Status = "" // before its first fact
	StatusQueued      Status = "queued"
	StatusRunning     Status = "running"
	StatusWaiting     Status = "waiting"     // for a person
	StatusInterrupted Status = "interrupted" // it was going, nobody drives it, it can be resumed
	StatusCompleted   Status = "completed"
	StatusFailed      Status = "failed"
	StatusCancelled   Status = "cancelled"
)

// Statuses lists every status that a stored run can have.
func Statuses() []Status {
	return []Status{
		StatusQueued, StatusRunning, StatusWaiting, StatusInterrupted,
		StatusCompleted, StatusFailed, StatusCancelled,
	}
}

// Terminal says whether the status is final.
func (s Status) Terminal() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled
}

// refused marks a pair that no valid journal contains.
const refused Status = "refused"

// table answers every pair of status and fact with the status after it; what is not named is
// refused. It is read only.
//
// A claim leads to waiting, and not to running, while a request stands: see transition.
var table = map[Status]map[journal.Kind]Status{
	StatusNone: {
		journal.KindRunCreated: StatusQueued,
	},
	StatusQueued: {
		journal.KindRunClaimed:     StatusRunning,
		journal.KindRunInterrupted: StatusInterrupted,
		journal.KindRunRestored:    StatusInterrupted,
	},
	StatusRunning: {
		journal.KindRunClaimed:      StatusRunning, // the owner before went without a fact
		journal.KindRunInterrupted:  StatusInterrupted,
		journal.KindRunRestored:     StatusInterrupted,
		journal.KindRunNoted:        StatusRunning,
		journal.KindRunStopping:     StatusRunning,
		journal.KindRunCompleted:    StatusCompleted,
		journal.KindRunFailed:       StatusFailed,
		journal.KindRunCancelled:    StatusCancelled,
		journal.KindModelRequested:  StatusRunning,
		journal.KindModelAnswered:   StatusRunning,
		journal.KindModelFailed:     StatusRunning,
		journal.KindCompacted:       StatusRunning,
		journal.KindCallJudged:      StatusRunning,
		journal.KindCallStarted:     StatusRunning,
		journal.KindCallSettled:     StatusRunning,
		journal.KindCallResolved:    StatusRunning,
		journal.KindApprovalVoided:  StatusRunning,
		journal.KindRequestOpened:   StatusWaiting,
		journal.KindRequestAnswered: StatusRunning, // after a stop, which is no longer waiting
		journal.KindRequestClosed:   StatusRunning, // likewise
		journal.KindTurnSettled:     StatusRunning,
		journal.KindMessageAdded:    StatusRunning,
		journal.KindRunParked:       StatusWaiting,

		journal.KindPhaseStarted:     StatusRunning,
		journal.KindPhaseEnded:       StatusRunning,
		journal.KindArtifactsChecked: StatusRunning,
		journal.KindArtifactRestored: StatusRunning,
		journal.KindPhaseRewound:     StatusRunning,

		journal.KindFilesBase:    StatusRunning,
		journal.KindFilesChanged: StatusRunning,
		journal.KindCommitSeen:   StatusRunning,
	},
	StatusWaiting: {
		journal.KindRunClaimed:      StatusRunning, // what it waited for is over, or it was parked
		journal.KindRunInterrupted:  StatusInterrupted,
		journal.KindRunRestored:     StatusInterrupted,
		journal.KindRunNoted:        StatusWaiting,
		journal.KindRunStopping:     StatusRunning,
		journal.KindCallResolved:    StatusWaiting,
		journal.KindRequestAnswered: StatusRunning,
		journal.KindRequestClosed:   StatusRunning,
		journal.KindMessageAdded:    StatusWaiting,
		journal.KindFilesBase:       StatusWaiting,
		journal.KindFilesChanged:    StatusWaiting,
		journal.KindCommitSeen:      StatusWaiting,
	},
	StatusInterrupted: {
		journal.KindRunClaimed:      StatusRunning,
		journal.KindRunRestored:     StatusInterrupted,
		journal.KindRunExported:     StatusInterrupted,
		journal.KindWorkspaceBehind: StatusInterrupted, // seen where it came to
		journal.KindRequestClosed:   StatusInterrupted, // before it goes to another store
		journal.KindCallResolved:    StatusInterrupted, // a person's decision on an unknown call needs no owner
		journal.KindCommitSeen:      StatusInterrupted, // nor does a commit of a person's
	},
	StatusCompleted: {journal.KindCallResolved: StatusCompleted, journal.KindCommitSeen: StatusCompleted},
	StatusFailed:    {journal.KindCallResolved: StatusFailed, journal.KindCommitSeen: StatusFailed},
	StatusCancelled: {journal.KindCallResolved: StatusCancelled, journal.KindCommitSeen: StatusCancelled},
}

// StatusAfter is where a run stands after a fact, for who has no fold of its journal: the status
// before shows whether a request stands. It says false where the fact cannot follow.
func StatusAfter(from Status, k journal.Kind) (Status, bool) {
	to := transition(from, k, from == StatusWaiting)
	return to, to != refused
}

// transition answers a pair of status and fact, given whether a request stands.
func transition(from Status, k journal.Kind, asked bool) Status {
	to, ok := table[from][k]
	switch {
	case !ok:
		return refused
	case asked && k == journal.KindRunClaimed && from != StatusQueued:
		return StatusWaiting
	}
	return to
}

// Diagram draws the table: one line for each status and each status that a fact can lead to.
func Diagram() string {
	var b strings.Builder
	for _, from := range append([]Status{StatusNone}, Statuses()...) {
		for _, to := range Statuses() {
			if kinds := leading(from, to); len(kinds) > 0 {
				fmt.Fprintf(&b, "%-11s -> %-11s on %s\n", or(string(from), "(none)"), to, wrap(kinds))
			}
		}
	}
	return b.String()
}

// leading lists the facts that lead from one status to the other.
func leading(from, to Status) []string {
	var kinds []string
	for _, k := range journal.Kinds() {
		plain, asked := transition(from, k, false), transition(from, k, true)
		switch {
		case plain == to && asked == to:
			kinds = append(kinds, string(k))
		case plain == to:
			kinds = append(kinds, string(k)+" (nothing asked)")
		case asked == to:
			kinds = append(kinds, string(k)+" (a request stands)")
		}
	}
	return kinds
}

// wrap joins the words and breaks lines that grow too long, indented below the first.
func wrap(words []string) string {
	var b strings.Builder
	width := 0
	for i, w := range words {
		switch {
		case i == 0:
		case width+len(w) > 63:
			b.WriteString(",\n" + strings.Repeat(" ", 30))
			width = 0
		default:
			b.WriteString(", ")
		}
		b.WriteString(w)
		width += len(w) + 2
	}
	return b.String()
}
