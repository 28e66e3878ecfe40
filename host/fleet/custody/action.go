package custody

import "time"

// Action is what the workflow carries out until the state has another one: one of the activities,
// or none, and a timer, if Until is set. The zero Action waits for people alone.
type Action struct {
	Queue string
	Offer *Offer
	Drive *Drive
	Fence *Fence
	Limit Duration // for an offer until somebody took it, for a Drive until it began; 0 for none
	Until time.Time
}

// Action says what is to be carried out in a state.
func (s State) Action(now time.Time) Action {
	switch s.Phase {
	case Queued:
		return s.offer(now)
	case Driven:
		return s.drive(now)
	case Fencing:
		return Action{Queue: CustodyQueue, Fence: &Fence{Run: s.Run.ID, Cancel: s.Cancel, Reads: s.Run.Reads(), By: s.Run.By}}
	case Asked:
		if s.Request != nil && s.Request.Expires != nil {
			return Action{Until: s.Request.Expires.Add(time.Second)}
		}
	case Paused:
		if s.Until != nil {
			return Action{Until: *s.Until}
		}
	}
	return Action{}
}

func (s State) offer(now time.Time) Action {
	a := Action{Queue: Pool(s.Run.Labels), Offer: &Offer{Run: s.Run.ID, Labels: s.Run.Labels}}
	if s.To != "" {
		a.Queue, a.Limit = HostQueue+s.To, namedLimit
		return a
	}
	for _, x := range s.Not {
		a.Offer.Not = append(a.Offer.Not, x.Host)
		if d := max(x.Until.Sub(now), time.Second); a.Limit == 0 || d < a.Limit {
			a.Limit = d
		}
	}
	if s.Back != "" {
		a.Limit = min(a.Limit, otherLimit)
	}
	return a
}

func (s State) drive(now time.Time) Action {
	d := &Drive{Run: s.Run.unsent(), Step: s.step(), Logged: s.Logged}
	a := Action{Queue: HostQueue + s.Host, Drive: d, Limit: startLimit}
	if s.SilentAt == nil {
		return a
	}
	if !s.Cancel {
		a.Limit = max(min(startLimit, s.Run.away()-s.Silence), chance)
	}
	a.Until = now.Add(a.Limit + beatLimit + 5*time.Second) // by then it has begun, or it has failed
	return a
}

// step is what the host is asked for. An accepted answer stays where it is while the run is handed
// over: the next host gets it.
func (s State) step() Step {
	switch {
	case s.Cancel:
		return Step{Cancel: true}
	case s.Moving:
		return Step{Hand: true}
	case s.Answer != nil:
		return Step{Answer: s.Answer}
	case !s.Begun:
		run := s.Run
		return Step{Start: &run}
	}
	return Step{Resume: true}
}
