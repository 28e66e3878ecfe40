package recovery

import (
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

// transition answers every pair of status and fact: the status after it, or refused.
func transition(from Status, k Kind) Status {
	if k == KindCallRuled && from != StatusNone && from != StatusQueued {
		return from // a person's word on an unknown call counts at any time
	}
	switch from {
	case StatusNone:
		return pick(k, map[Kind]Status{KindRunCreated: StatusQueued})
	case StatusQueued:
		return pick(k, map[Kind]Status{KindRunClaimed: StatusRunning, KindRunInterrupted: StatusInterrupted})
	case StatusRunning:
		return fromRunning(k)
	case StatusWaiting:
		return pick(k, map[Kind]Status{
			KindRunClaimed: StatusWaiting, KindRunNoted: StatusWaiting,
			KindRunInterrupted: StatusInterrupted,
			KindRunStopping:    StatusRunning, KindRequestAnswered: StatusRunning, KindRequestClosed: StatusRunning,
		})
	case StatusInterrupted:
		return pick(k, map[Kind]Status{KindRunClaimed: StatusRunning})
	}
	return refused
}

func fromRunning(k Kind) Status {
	switch k {
	case KindRunCreated:
		return refused
	case KindRunInterrupted:
		return StatusInterrupted
	case KindRequestOpened:
		return StatusWaiting
	case KindRunCompleted:
		return StatusCompleted
	case KindRunFailed:
		return StatusFailed
	case KindRunCancelled:
		return StatusCancelled
	}
	return StatusRunning
}

func pick(k Kind, m map[Kind]Status) Status {
	if to, ok := m[k]; ok {
		return to
	}
	return refused
}

// Diagram draws the table: one line for each status and each status that a fact can lead to.
func Diagram() string {
	var b strings.Builder
	for _, from := range append([]Status{StatusNone}, Statuses()...) {
		for _, to := range Statuses() {
			var kinds []string
			for _, k := range Kinds() {
				if transition(from, k) == to {
					kinds = append(kinds, string(k))
				}
			}
			if len(kinds) == 0 {
				continue
			}
			name := string(from)
			if from == StatusNone {
				name = "(none)"
			}
			fmt.Fprintf(&b, "%-11s -> %-11s on %s\n", name, to, wrap(kinds))
		}
	}
	return b.String()
}

func wrap(words []string) string {
	var b strings.Builder
	width := 0
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
			width += 2
		}
		if width+len(w) > 80 {
			b.WriteString("\n" + strings.Repeat(" ", 30))
			width = 0
		}
		b.WriteString(w)
		width += len(w)
	}
	return b.String()
}
