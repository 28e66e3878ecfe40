package custody

import (
	"fmt"
	"slices"
	"time"
)

// Event is what a custody learns: exactly one of the members after At is set.
type Event struct {
	At time.Time

	Taken   *Taken // a host took the offer
	Untaken string // nobody did, in the time that there was, or it could not be made: why
	Report  *Report
	Silent  *Silent
	Failed  *Failed // Drive gave an error
	Fenced  bool
	Timer   bool // the action's time is over
	Answer  *Answer
	Move    *Move
	Resume  bool
	Cancel  bool
}

// Silent says that a host let a Drive go without a report.
type Silent struct {
	Began   bool      // it did not begin it at all, or it was heard of before
	Last    *Progress // of the last heartbeat
	Elapsed Duration  // since it was asked, where it did not begin it
}

// Failed is an error of the activity.
type Failed struct {
	Why      string
	Stopping bool // the worker stops, and another may take its place
}

// On says what follows from an event. It decides everything and does nothing.
func (s State) On(e Event) State {
	if s.Phase == Ended {
		return s
	}
	switch {
	case e.Cancel:
		return s.cancelled(e.At)
	case e.Taken != nil:
		s.Host, s.Back, s.To, s.Reason, s.Silence, s.SilentAt = e.Taken.Host, "", "", "", 0, nil
		return s.goOn(e.At)
	case e.Untaken != "":
		return s.untaken(e.At, e.Untaken)
	case e.Report != nil:
		return s.reported(e.At, *e.Report)
	case e.Silent != nil:
		return s.silent(e.At, *e.Silent)
	case e.Failed != nil:
		return s.failed(e.At, *e.Failed)
	case e.Fenced:
		return s.fenced(e.At)
	case e.Timer:
		return s.timer(e.At)
	case e.Answer != nil:
		return s.answered(e.At, *e.Answer)
	case e.Move != nil:
		return s.moved(e.At, *e.Move)
	case e.Resume:
		s.Fruitless, s.Retries, s.Reason, s.Urged = 0, 0, "", true
		return s.goOn(e.At)
	}
	return s
}

func (s State) cancelled(at time.Time) State {
	if s.Cancel {
		return s
	}
	s.Cancel, s.Moving, s.Answer, s.Retries, s.Fruitless = true, false, nil, 0, 0
	switch {
	case s.Host != "", s.Had:
		return s.goOn(at)
	}
	return s.end(at, Report{Status: "cancelled", Exit: 6, Text: "cancelled before a host had it"})
}

func (s State) end(at time.Time, r Report) State {
	s.Report, s.Request, s.Answer, s.Moving, s.Reason = &r, nil, nil, false, r.Detail
	s.SilentAt = nil
	return s.enter(Ended, at)
}

func (s State) untaken(at time.Time, why string) State {
	s.placing = s.readmit(at, "")
	switch {
	case s.Phase == Fencing:
		return s.pause(at, 10*time.Second, "its host could not be shut out: "+why)
	case s.To != "":
		s.Reason = fmt.Sprintf("%s did not take it: %s", s.To, why)
		s.To = ""
		return s.enter(Queued, at)
	case s.Back != "":
		s.Host, s.Back = s.Back, ""
		s.placing = s.readmit(at, s.Host)
		return s.backOff(at, s.Reason)
	}
	return s.pause(at, time.Second, why)
}

// backOff waits longer each time, up to five minutes.
func (s State) backOff(at time.Time, why string) State {
	d := 5 * time.Second
	for range min(s.Retries, 4) {
		d *= 3
	}
	s.Retries++
	return s.pause(at, min(d, 5*time.Minute), why)
}

// fruitless counts an attempt after which the run is where it was.
func (s State) fruitless(at time.Time, why string) State {
	s.Fruitless++
	switch {
	case s.Cancel && s.Fruitless >= mostTries:
		s.Gone = true
		return s.goOn(at)
	case s.Fruitless >= mostTries:
		return s.park(at, fmt.Sprintf("%d attempts in a row came to nothing; the last one: %s", s.Fruitless, why))
	case s.Fruitless == 1:
		return s.pause(at, time.Second, why)
	}
	return s.pause(at, 10*time.Second, why)
}

// learn takes over how far the run came.
func (s State) learn(facts, place int64, turn int) State {
	if turn > s.Turn || facts > s.Facts+bookkeeping {
		s.Fruitless, s.Retries, s.Urged = 0, 0, false
	}
	s.Facts, s.Turn = max(s.Facts, facts), max(s.Turn, turn)
	s.Begun = s.Begun || facts > 0 || place > 0
	s.Logged = s.Logged || place > 0
	return s
}

func (s State) failed(at time.Time, f Failed) State {
	switch {
	case f.Stopping:
		return s.pause(at, 2*time.Second, f.Why)
	case s.Moving: // it can wait until it is clear that the host cannot hand it over
		if s = s.fruitless(at, f.Why); s.Phase == Parked {
			s.Reason = "it was not handed over: " + f.Why
		}
		return s
	}
	return s.fruitless(at, f.Why)
}

// silent gives the host that kept silent another chance, until its time is over. It counts the time
// that the host had, and not what the clock says: when the engine was away, the host was not, and
// takes the run up again. Only one that may not be away at all gets no chance.
func (s State) silent(at time.Time, e Silent) State {
	if e.Last != nil {
		s = s.learn(e.Last.Facts, e.Last.Log, e.Last.Turn)
		s.Silence, s.SilentAt = 0, nil
	}
	if e.Began {
		s.Silence += beatLimit
	} else {
		s.Silence += min(e.Elapsed, startLimit)
	}
	if s.SilentAt == nil {
		s.SilentAt = &at
	}
	switch {
	case s.Cancel && s.Silence >= cancelLimit:
		s.Gone = true
		return s.goOn(at)
	case !s.Cancel && s.Silence >= s.Run.away() && (!e.Began || s.Run.away() == 0):
		s.Reason = fmt.Sprintf("%s is silent since %s", s.Host, s.SilentAt.UTC().Format("15:04:05"))
		s = s.leave(at, "silent")
		return s.onward(at)
	}
	return s.enter(Driven, at)
}

// onward finds another host for a run that has none. One with an open question needs none yet.
func (s State) onward(at time.Time) State {
	if s.Request != nil && s.Answer == nil && !s.Cancel {
		return s.enter(Asked, at)
	}
	return s.enter(Queued, at)
}

func (s State) fenced(at time.Time) State {
	if s.Cancel {
		return s.end(at, s.ended())
	}
	s = s.leave(at, "gone")
	return s.onward(at)
}

// ended is the report of a run that was cancelled behind the back of its host.
func (s State) ended() Report {
	r := Report{}
	if s.Report != nil {
		r = *s.Report
	}
	r.Status, r.Exit, r.Cause, r.Request = "cancelled", 6, "", nil
	r.Text = "cancelled; its last host did not answer, and can start nothing any more"
	r.Facts, r.Turn = max(r.Facts, s.Facts), max(r.Turn, s.Turn)
	return r
}

func (s State) timer(at time.Time) State {
	switch s.Phase {
	case Driven: // the silent host has begun, and is heard of
		s.Silence, s.SilentAt = 0, nil
		return s
	case Asked: // the question's time is over: the run goes on, and says so
		s.Request = nil
		return s.goOn(at)
	case Paused:
		return s.goOn(at)
	}
	return s
}

func (s State) answered(at time.Time, a Answer) State {
	if s.Request == nil || s.Request.ID != a.Request { // it has its answer
		return s
	}
	s.Answer, s.Request = &a, nil
	s.Answered = append(slices.Clone(s.Answered), a)
	if n := len(s.Answered) - kept; n > 0 {
		s.Answered = s.Answered[n:]
	}
	if s.Phase != Asked { // being handed over: it goes along
		return s
	}
	return s.goOn(at)
}

func (s State) moved(at time.Time, m Move) State {
	s.Fruitless, s.Retries, s.To, s.Reason = 0, 0, m.To, ""
	switch {
	case s.Host == "" && s.Phase == Asked:
		s.Named = s.To != "" && m.Shown
		return s
	case s.Host == "":
		return s.enter(Queued, at)
	case m.Gone:
		s.Moving, s.Gone = false, true
		return s.goOn(at)
	}
	s.Moving = true
	return s.goOn(at)
}
