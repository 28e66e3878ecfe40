package recovery

import (
	"errors"
	"fmt"
	"slices"
)

func (s *State) opened(b RequestOpened) error {
	if s.Open != nil {
		return fmt.Errorf("request %s is open already", s.Open.ID)
	}
	if n := len(s.InFlight()) + len(s.Lost()); n > 0 {
		return fmt.Errorf("%d calls have no result", n)
	}
	r := b.Request
	if err := r.whole(); err != nil {
		return err
	}
	if r.Call != nil {
		c, err := s.Call(*r.Call)
		if err != nil {
			return err
		}
		if c.Phase != PhaseProposed {
			return fmt.Errorf("call %s is %s", c.Place, c.Phase)
		}
	}
	s.Open = &r
	return nil
}

// whole refuses a request whose answer could not be taken later.
func (r *Request) whole() error {
	if r.ID == "" {
		return errors.New("the request has no id")
	}
	switch r.Kind {
	case RequestMaxTurns:
		return nil
	case RequestAskUser, RequestConfirm, RequestPermission, RequestTwin:
	default:
		return fmt.Errorf("request kind %q is not known", r.Kind)
	}
	if r.Call == nil {
		return errors.New("the request belongs to no call")
	}
	if r.Kind == RequestPermission && r.Binding == "" {
		return errors.New("a yes to the request would be bound to nothing")
	}
	return nil
}

// about says whether the request stands for the call.
func (r *Request) about(c *Call) bool {
	return r.Call != nil && r.Call.Turn == c.Turn && r.Call.Index == c.Index
}

func (s *State) replied(b RequestAnswered) error {
	r := s.Open
	if r == nil || r.ID != b.ID {
		return fmt.Errorf("request %s is not open", b.ID)
	}
	s.Open, s.progress, s.Fruitless = nil, true, 0
	text := Text(b.Answer)
	if r.Kind == RequestMaxTurns {
		if text == "yes" {
			s.grantedAt = len(s.Turns)
		} else {
			s.limited = RunCancelled{By: b.By, Reason: "stopped at the turn limit: " + by(b.By) + " said no to more turns"}
		}
		return nil
	}
	c, err := s.Call(*r.Call)
	if err != nil {
		return err
	}
	s.reply(c, r, text, b.By)
	c.doubt(s.Epoch)
	return nil
}

func (s *State) reply(c *Call, r *Request, text, who string) {
	switch r.Kind {
	case RequestAskUser, RequestConfirm:
		c.Reply = &text
	case RequestPermission:
		if text == "yes" {
			c.Approved = r.Binding
		} else {
			c.Denied = by(who) + " said no"
		}
	case RequestTwin:
		c.Twin, c.twin, c.twinBy = r.word(text), s.unknownByID(r.About), who
		if c.Twin == WordRun {
			c.Approved = r.Binding
		}
	}
}

// word reads an answer to the twin guard: yes means run, no and anything that was not offered mean leave.
func (r *Request) word(text string) Word {
	w := Word(text)
	if text == "yes" {
		w = WordRun
	}
	if w != WordRun && w != WordHappened || !slices.Contains(r.Choices, string(w)) {
		return WordLeave
	}
	return w
}

func by(who string) string {
	if who == "" {
		return "a person"
	}
	return who
}

func (s *State) closed(b RequestClosed) error {
	r := s.Open
	if r == nil || r.ID != b.ID {
		return fmt.Errorf("request %s is not open", b.ID)
	}
	s.Open = nil
	reason := b.Reason
	if reason == "" {
		reason = "the question was closed without an answer"
	}
	if r.Kind == RequestMaxTurns {
		s.limited = unanswered(b.Status, "stopped at the turn limit: "+reason)
		return nil
	}
	c, err := s.Call(*r.Call)
	if err != nil {
		return err
	}
	c.Denied = reason
	c.doubt(s.Epoch)
	return nil
}

// unanswered is the end of a run whose limit's question nobody answered: only what a person withdrew was cancelled.
func unanswered(status, reason string) Body {
	if status == "cancelled" {
		return RunCancelled{Reason: reason}
	}
	return RunFailed{Reason: reason}
}
