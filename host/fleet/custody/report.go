package custody

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// reported says what follows from the report of a host.
func (s State) reported(at time.Time, r Report) State {
	s.Silence, s.SilentAt = 0, nil
	s = s.learn(r.Facts, r.Place, r.Turn)
	if r.Status == "waiting" && r.Request == nil && len(r.Unknown) > 0 {
		r.Request = decision(r.Unknown[0])
	}
	s.Report = &r
	brought := s.Answer != nil && !s.Moving && !s.Cancel // the host was asked to give the answer
	if r.Refused == "" {
		s = s.take(r, brought)
	}
	switch {
	case r.Status == "cancelled" && s.Begun && r.Facts == 0:
		r.Text = "cancelled; " + s.noRecord()
		return s.end(at, r)
	case r.Status == "completed", r.Status == "failed", r.Status == "cancelled":
		return s.end(at, r)
	case r.Refused != "":
		return s.refused(at, r.Refused)
	case s.Cancel:
		return s.fruitless(at, "it was not cancelled: "+explained(r))
	case r.Handed:
		s.Reason = ""
		return s.leave(at, "handed it over").onward(at)
	case s.Moving:
		return s.kept(at, r)
	case r.Request != nil && s.Request == nil: // answered before
		return s.goOn(at)
	case r.Request != nil:
		return s.asked(at)
	}
	return s.interrupted(at, r)
}

// decision asks what is to be assumed of a call of unknown outcome, whose id its description begins
// with.
func decision(call string) *Request {
	id, _, _ := strings.Cut(call, " ")
	return &Request{ID: id, Kind: "unknown call", Text: call + ": outcome unknown"}
}

// take compares the question that the host knows of with those that were answered. The answer to a
// question that a host knows nothing of yet is brought again: an accepted answer is not lost
// because a host was.
func (s State) take(r Report, brought bool) State {
	switch {
	case r.Request == nil && (r.Handed || r.Cause == "moved"):
		return s // the next host knows
	case r.Request == nil:
		s.Request, s.Answer = nil, nil
		return s
	}
	request := *r.Request
	if !slices.Contains(s.Asked, request.ID) {
		s.Asked = append(slices.Clone(s.Asked), request.ID)
		s.Asked = s.Asked[max(0, len(s.Asked)-kept):]
	}
	answer, known := s.first(request.ID)
	switch {
	case known && brought && s.Answer.Request == request.ID:
		s.Request = &request // see asked
	case known:
		s.Request, s.Answer = nil, &answer
	default:
		s.Request, s.Answer = &request, nil
	}
	return s
}

// asked waits for an answer. One that was brought and left the question open was none.
func (s State) asked(at time.Time) State {
	s.Reason = ""
	if a := s.Answer; a != nil {
		s.Reason = fmt.Sprintf("the answer %q of %s was not taken", a.Text, a.By)
		if s.Report.Detail != "" {
			s.Reason += ": " + s.Report.Detail
		}
		s.Answered = slices.DeleteFunc(slices.Clone(s.Answered), func(x Answer) bool { return x.Request == a.Request })
		s.Answer = nil
		s.Refused++
	}
	return s.enter(Asked, at)
}

// refused offers the run to another host.
func (s State) refused(at time.Time, why string) State {
	s = s.leave(at, why)
	if s.Cancel {
		return s.goOn(at)
	}
	return s.onward(at)
}

// kept goes on with a move that a host did not carry out, for some attempts.
func (s State) kept(at time.Time, r Report) State {
	if r.Cause == "moved" {
		return s.leave(at, "it went on elsewhere").onward(at)
	}
	if s.Fruitless+1 < mostTries {
		return s.fruitless(at, "it was not handed over: "+explained(r))
	}
	s.Moving, s.To, s.Fruitless = false, "", 0
	reason := fmt.Sprintf("%s did not hand it over: %s", s.Host, explained(r))
	if s.Request != nil {
		s.Reason = reason
		return s.enter(Asked, at)
	}
	return s.park(at, reason)
}

// interrupted says what follows from a run that stopped in the middle.
func (s State) interrupted(at time.Time, r Report) State {
	why := explained(r)
	switch r.Cause {
	case "log": // perhaps of this host alone: another one may have it
		s.Back, s.Reason = s.Host, why
		return s.leave(at, "it does not reach the log").enter(Queued, at)
	case "model", "store":
		return s.backOff(at, why)
	case "moved":
		if s = s.fruitless(at, why); s.Phase == Paused {
			s = s.leave(at, "it went on elsewhere").enter(Queued, at)
		}
		return s
	case CauseLost:
		return s.lost(at, why)
	case CauseRecord:
		return s.park(at, s.noRecord()+"; a new run takes another key")
	case "corrupt", "restored", "tools", "artifact":
		return s.park(at, why)
	}
	return s.fruitless(at, why)
}

// noRecord says what is known of a run that began, and of which neither a host nor the log has
// anything.
func (s State) noRecord() string {
	if s.Run.Reads() {
		return "no record of it is left; it only read"
	}
	return "no record of it is left, so anything may have happened"
}

// lost has the host try again, which takes the run in from the log; then another one, and then a
// person has to come.
func (s State) lost(at time.Time, why string) State {
	next := s.fruitless(at, why)
	switch {
	case s.Cancel, next.Fruitless < mostTries, next.Fruitless >= 2*mostTries:
		return next
	case next.Fruitless > mostTries: // of the next host
		next = s
		next.Fruitless++
		return next.pause(at, 10*time.Second, why)
	}
	next = s
	next.Fruitless++
	next.Reason = why
	return next.leave(at, "it could not go on there").enter(Queued, at)
}

func explained(r Report) string {
	switch {
	case r.Cause == "":
		return "it is " + r.Status
	case r.Detail == "":
		return r.Status + " (" + r.Cause + ")"
	}
	return r.Status + " (" + r.Cause + "): " + r.Detail
}
