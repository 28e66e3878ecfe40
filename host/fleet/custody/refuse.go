package custody

import (
	"fmt"
	"slices"
)

// RefuseAnswer says why an answer cannot be accepted. An answer to a question that was answered is
// not refused here: who sends it gets the first one back.
func (s State) RefuseAnswer(a Answer) error {
	if _, known := s.first(a.Request); known {
		return nil
	}
	switch {
	case s.Phase == Ended:
		return fmt.Errorf("run %s has ended (%s)", s.Run.ID, s.status())
	case s.Cancel:
		return fmt.Errorf("run %s is being cancelled", s.Run.ID)
	case s.Request == nil && slices.Contains(s.Asked, a.Request):
		return fmt.Errorf("%s is not open any more", a.Request)
	case s.Request == nil:
		return fmt.Errorf("run %s has no open question", s.Run.ID)
	case s.Request.ID != a.Request:
		return fmt.Errorf("%s is not open; the question of run %s is %s", a.Request, s.Run.ID, s.Request.ID)
	case a.Text == "":
		return fmt.Errorf("the answer to %s is empty", a.Request)
	case sealed(a.Text) > mostAnswer:
		return fmt.Errorf("the answer to %s has %d KB, and at most %d go through the engine: put the rest in a file that the run can read", a.Request, kilo(sealed(a.Text)), mostAnswer/1000)
	}
	return s.Request.Fits(a.Text)
}

// RefuseMove says why a move cannot be made.
func (s State) RefuseMove(m Move) error {
	switch {
	case s.Phase == Ended:
		return fmt.Errorf("run %s has ended (%s)", s.Run.ID, s.status())
	case s.Cancel:
		return fmt.Errorf("run %s is being cancelled", s.Run.ID)
	case s.Phase == Fencing:
		return fmt.Errorf("run %s is being moved already", s.Run.ID)
	case m.To != "" && m.To == s.Host && m.Gone:
		return fmt.Errorf("%s is where run %s is: it cannot be gone and go on with it", m.To, s.Run.ID)
	case m.To != "" && m.To == s.Host:
		return fmt.Errorf("run %s is on %s already", s.Run.ID, m.To)
	case s.Host == "" && m.Gone:
		return fmt.Errorf("no host has run %s", s.Run.ID)
	case s.Host == "" && m.To == "":
		return fmt.Errorf("no host has run %s, and any may take it", s.Run.ID)
	}
	return nil
}

// RefuseResume says why a run cannot be resumed.
func (s State) RefuseResume() error {
	if s.Phase == Parked || s.Phase == Paused {
		return nil
	}
	if s.Host == "" {
		return fmt.Errorf("run %s is %s", s.Run.ID, s.status())
	}
	return fmt.Errorf("run %s is %s on %s", s.Run.ID, s.status(), s.Host)
}
