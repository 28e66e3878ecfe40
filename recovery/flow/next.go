package flow

import (
	"agent/recovery"
	"agent/recovery/journal"
	"slices"
)

// Next says what the flow needs, the first that applies.
func Next(s *State, w World) Action {
	switch s.Run.Status {
	case recovery.StatusCompleted, recovery.StatusFailed, recovery.StatusCancelled:
		return Done{}
	case recovery.StatusNone, recovery.StatusQueued, recovery.StatusInterrupted:
		return Claim{}
	}
	if s.Run.Status == recovery.StatusWaiting && s.Run.Open == nil {
		return Claim{} // it was parked
	}
	a := assess(s, w)
	if stop := s.Run.Stopping; stop != nil {
		return a.stop(*stop)
	}
	if s.Run.Open != nil {
		return AskPerson{s.Run.Open, a.drive}
	}
	if s.final != nil {
		return a.bringHome(true, s.final)
	}
	if s.checked < s.Run.Epoch || s.again {
		return Check{s.Subjects(w)}
	}
	if a.unreadable != "" {
		return a.interrupt()
	}
	if len(a.repairs) > 0 {
		return Restore{a.repairs}
	}
	if a.failure != "" {
		return a.bringHome(false, journal.RunFailed{Reason: a.failure})
	}
	return a.goOn()
}

// goOn is what follows where nothing hinders: what is to be redone first, then what ended, then
// what can begin.
func (a *assessment) goOn() Action {
	switch {
	case a.question != nil && len(a.running) == 0:
		return Record{[]journal.Body{journal.RequestOpened{Request: *a.question}}}
	case a.s.text != nil:
		return Record{[]journal.Body{asker{a.s}.askedFor()}}
	case a.back != nil:
		return Record{[]journal.Body{*a.back}}
	case len(a.rewinds) > 0:
		return Record{[]journal.Body{journal.PhaseRewound{Phases: a.rewinds}}}
	case len(a.end) > 0:
		return EndChildren{a.end, a.endWhy}
	case len(a.collect) > 0:
		return Collect{a.collect}
	case len(a.lists) > 0:
		return a.lists[0]
	}
	if parts := a.afford(a.starts); len(parts) > 0 {
		return Start{parts}
	}
	switch {
	case len(a.drive) > 0:
		return Await{a.drive, a.tightened()}
	case a.question != nil:
		return Record{[]journal.Body{journal.RequestOpened{Request: *a.question}}}
	case a.later != nil:
		return Record{[]journal.Body{journal.RequestOpened{Request: *a.later}}}
	case len(a.waiting) > 0:
		return Park{a.waiting}
	}
	for _, p := range a.s.Graph.Order() {
		if !a.settled[p.Name] {
			return Record{[]journal.Body{journal.RunFailed{Reason: stuck + p.Name}}}
		}
	}
	return Complete{a.s.lastRun()}
}

// stuck is how a flow ends that holds a phase which can neither begin nor end: there is none.
const stuck = "nothing can be done about phase "

// interrupt leaves the flow where an artifact cannot be read, once nothing of it runs.
func (a *assessment) interrupt() Action {
	if len(a.running) > 0 {
		return Await{Runs: a.running}
	}
	c := a.s.found[a.unreadable]
	return Record{[]journal.Body{unreadable(c.Path, c.Reason)}}
}

// stop ends the flow early: all children first. A question that still waits after another process
// has claimed the run is closed before: no phase ends while the run waits.
func (a *assessment) stop(why journal.RunStopping) Action {
	if open := a.s.Run.Open; open != nil && a.s.Run.Status == recovery.StatusWaiting {
		return Record{[]journal.Body{journal.RequestClosed{ID: open.ID, Status: "cancelled", Reason: why.Reason}}}
	}
	var end journal.Body = journal.RunFailed{Reason: why.Reason}
	if why.Why == journal.StopCancelled {
		end = journal.RunCancelled{By: why.By, Reason: why.Reason}
	}
	return a.bringHome(true, end)
}

// bringHome begins nothing more and ends the flow once no part of a phase is under way. What runs
// is stopped where all is to end at once; else it goes on to its end, and only what waits for a
// person, or may not go on, is stopped.
func (a *assessment) bringHome(all bool, end journal.Body) Action {
	var stop, collect, drive []string
	for _, x := range a.s.open() {
		run := x.Open.Run
		switch state := a.w.Children[run].State; {
		case state == ChildEnded, state == ChildAbsent:
			collect = append(collect, run)
		case all, !slices.Contains(a.drive, run):
			stop = append(stop, run)
		default:
			drive = append(drive, run)
		}
	}
	switch {
	case len(stop) > 0:
		return EndChildren{stop, reasonOf(end)}
	case len(collect) > 0:
		return Collect{collect}
	case len(drive) > 0:
		return Await{drive, a.tightened()}
	}
	facts := []journal.Body{end}
	if open := a.s.Run.Open; open != nil {
		facts = []journal.Body{journal.RequestClosed{ID: open.ID, Status: "cancelled", Reason: reasonOf(end)}, end}
	}
	return Record{facts}
}

func reasonOf(end journal.Body) string {
	switch b := end.(type) {
	case journal.RunFailed:
		return b.Reason
	case journal.RunCancelled:
		return b.Reason
	}
	return ""
}

// lastRun is the run whose answer is the flow's: that of the last phase that was at work.
func (s *State) lastRun() string {
	order := s.Graph.Order()
	slices.Reverse(order)
	for _, p := range order {
		for _, x := range s.phases[p.Name].instances() {
			if a := x.last(); a != nil && x.Status == StatusDone && p.Each == "" {
				return a.run()
			}
		}
	}
	return ""
}

// run is the child that did the attempt.
func (a *Attempt) run() string {
	if a.Start.Run == "" && a.End != nil {
		return a.End.Run // an earlier flow's
	}
	return a.Start.Run
}
