package custody

import (
	"fmt"
	"strings"
	"time"
)

// Where says where the run is.
func (s State) Where() Where {
	w := Where{
		Run: s.Run.ID, Status: s.status(), Host: s.Host, Since: s.Since, Request: s.Request,
		Reason: s.Reason, Next: s.next(), Report: s.Report, By: s.Run.By, Labels: s.Run.Labels, Refused: s.Refused,
	}
	if s.SilentAt != nil && w.Status == "unreachable" {
		w.Since = *s.SilentAt
	}
	switch {
	case w.Status == "queued":
		w.Reason = s.queuedFor()
	case s.Phase == Asked && s.Host == "" && s.Named:
		w.Reason = strings.TrimPrefix(w.Reason+"; it goes on at "+s.To+" once it has its answer", "; ")
	case s.Cancel && s.Phase != Ended && s.Phase != Paused:
		w.Reason = "it is being cancelled"
	}
	return w
}

func (s State) status() string {
	switch {
	case s.Phase == Ended && s.Report != nil:
		return s.Report.Status
	case s.SilentAt != nil && s.Host != "":
		return "unreachable"
	case s.Cancel && s.Had:
		return "running"
	case s.Moving, s.Phase == Fencing, s.Phase == Queued && s.To != "":
		return "moving"
	case s.Phase == Queued, s.Phase == Paused && s.Host == "":
		return "queued"
	case s.Phase == Asked:
		return "waiting"
	case s.Phase == Parked:
		return "parked"
	}
	return "running"
}

func (s State) next() string {
	if s.Cancel && s.Phase != Ended {
		return "agent-fleet show " + s.Run.ID
	}
	switch s.status() {
	case "waiting":
		if s.Request != nil {
			return "agent-fleet answer " + s.Request.ID
		}
	case "unreachable":
		return "agent-fleet move " + s.Run.ID + " --host-is-gone"
	case "parked":
		if s.Report != nil && s.Report.Cause == CauseRecord {
			return "agent-fleet cancel " + s.Run.ID
		}
		if s.Urged { // to have it go on here once more would bring as little
			return "agent-fleet move " + s.Run.ID
		}
		return "agent-fleet resume " + s.Run.ID
	case "queued":
		return "agent-fleet cancel " + s.Run.ID
	case "running", "moving":
		return "agent-fleet attach " + s.Run.ID
	}
	return ""
}

// AndLabels is before the labels in what is said of a run that waits for them.
const AndLabels = " and the labels "

// queuedFor says what a queued run waits for.
func (s State) queuedFor() string {
	why := "waits for a host with a free slot"
	if len(s.Run.Labels) > 0 {
		why += AndLabels + strings.Join(s.Run.Labels, " ")
	}
	if s.Reason != "" {
		why += "; " + s.Reason
	}
	for _, x := range s.Not {
		why += fmt.Sprintf("; not %s: %s", x.Host, x.Why)
	}
	return why
}

// Left is how long a silent host still keeps the run.
func (s State) Left(now time.Time) time.Duration {
	if s.SilentAt == nil {
		return 0
	}
	return max(s.Run.away()-s.Silence, 0)
}
