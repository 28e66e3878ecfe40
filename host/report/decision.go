package report

import (
	"strings"

	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

// Answered prints what became of an answer to a run that is not driven here.
func Answered(t *terminal.Terminal, v view.Answered) {
	what := v.Request
	if v.Call != "" {
		what = v.Call
	}
	t.Say(t.Err, "%s: %s", what, journal.Text(v.Answer))
	switch {
	case v.State == "kept":
		t.Say(t.Err, "the answer is kept; %s holds run %s and has not taken it yet", v.Owner, v.Run)
	case v.State == "taken":
		t.Say(t.Err, "the owner of run %s took the answer; the run is %s", v.Run, v.Status)
	default:
		t.Say(t.Err, "recorded; run %s is %s", v.Run, v.Status)
	}
	switch {
	case len(v.Next) == 0:
	case v.Status.Terminal():
		t.Say(t.Err, "another call is not decided on yet:\n    %s", strings.Join(v.Next, "\n    "))
	case len(v.Next) == 1:
		t.Say(t.Err, "go on with: %s", v.Next[0])
	default:
		t.Say(t.Err, "it asks again:\n    %s", strings.Join(v.Next, "\n    "))
	}
}

// Told prints what becomes of a message.
func Told(t *terminal.Terminal, v view.Told) {
	switch {
	case v.Driven && v.Status != recovery.StatusWaiting:
		t.Say(t.Err, "run %s is %s; its model gets the message with its next request", v.Run, v.Status)
	case len(v.Next) > 0:
		t.Say(t.Err, "run %s is %s; the message is kept, and its model gets it when it goes on: %s", v.Run, v.Status, v.Next[0])
	}
}

// Cancelled prints what became of a run that was to be ended, or of a question that was withdrawn.
func Cancelled(t *terminal.Terminal, v view.Cancelled) {
	switch {
	case v.Request != "":
		withdrawn(t, v)
	case v.Status == recovery.StatusCancelled && v.Already:
		t.Say(t.Err, "run %s was %s before", v.Run, cancelled(v.Reason))
	case v.Status == recovery.StatusCancelled:
		t.Say(t.Err, "run %s is %s", v.Run, cancelled(v.Reason))
	case v.Status.Terminal():
		t.Say(t.Err, "run %s is %s: there is nothing to cancel", v.Run, v.Status)
	default:
		t.Say(t.Err, "run %s is %s; its end is asked for and kept", v.Run, v.Status)
	}
	for _, u := range v.Unknown {
		t.Say(t.Err, "%s", u.Line())
	}
}

func withdrawn(t *terminal.Terminal, v view.Cancelled) {
	word := "is"
	if v.Already {
		word = "was"
	}
	t.Say(t.Err, "request %s of run %s %s withdrawn", v.Request, v.Run, word)
	if len(v.Next) > 0 {
		t.Say(t.Err, "go on with: %s", v.Next[0])
	}
}

// cancelled is the reason of a cancelled run, which says the word in most cases.
func cancelled(reason string) string {
	if strings.HasPrefix(reason, "cancelled") {
		return reason
	}
	return "cancelled: " + reason
}

// TakenIn prints what an import brought.
func TakenIn(t *terminal.Terminal, v view.Imported) {
	switch {
	case v.Taken != nil:
		t.Say(t.Err, "it was taken in before, on %s; nothing was changed", view.Stamp(*v.Taken))
	case !v.New:
		t.Say(t.Err, "all of it is here already; nothing was changed")
	default:
		t.Say(t.Err, "taken in: %s", view.Count(len(v.Runs)+v.Below, "run"))
		for _, r := range v.Runs {
			if r.New && v.Unfinished > 0 && !view.Ended(r.Status) {
				t.Say(t.Err, "go on with: agent resume %s", r.Run)
			}
		}
	}
}
