package recovery

import (
	"errors"
	"fmt"
)

// judged keeps what recovery decided about a started call. A verdict to run puts the call back before its start: it takes
// the ordinary path again, and only a new call.started lets it act.
func (s *State) judged(b CallJudged) error {
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if c.Phase != PhaseStarted {
		return fmt.Errorf("call %s is %s", c.Place, c.Phase)
	}
	c.Judged = b.Verdict
	switch b.Verdict {
	case VerdictRun, VerdictAgain:
		c.Phase = PhaseProposed
	case VerdictAttach:
		s.progress, s.Fruitless = true, 0
	}
	return nil
}

func (s *State) started(e Event, b CallStarted) error {
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if c.Phase != PhaseProposed {
		return fmt.Errorf("call %s is %s", c.Place, c.Phase)
	}
	if b.Attempt != c.Attempt+1 {
		return fmt.Errorf("call %s: attempt %d after %d", c.Place, b.Attempt, c.Attempt)
	}
	if s.Open != nil {
		return fmt.Errorf("call %s: request %s is open", c.Place, s.Open.ID)
	}
	if err := s.inOrder(c); err != nil {
		return err
	}
	c.Phase, c.Attempt, c.StartedAt, c.Before = PhaseStarted, b.Attempt, e.Time, b.Before
	c.Epoch, c.Judged = s.Epoch, ""
	return nil
}

// inOrder refuses a start while an earlier call is open, unless both only read.
func (s *State) inOrder(c *Call) error {
	for _, d := range s.current().calls()[:c.Index] {
		if d.Phase != PhaseSettled && (d.Effect != EffectRead || c.Effect != EffectRead) {
			return fmt.Errorf("call %s: call %s before it is not settled", c.Place, d.Place)
		}
	}
	return nil
}

func (s *State) settled(b CallSettled) error {
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if c.Phase == PhaseSettled {
		return fmt.Errorf("call %s has a result already", c.Place)
	}
	if b.Fingerprint != c.Fingerprint {
		return fmt.Errorf("call %s: the result is of other arguments than the call", c.Place)
	}
	ran := b.Result.How != HowTold
	if c.Phase == PhaseProposed && ran {
		return fmt.Errorf("call %s: a result of a call that was never started", c.Place)
	}
	r := b.Result
	c.Phase, c.Result = PhaseSettled, &r
	s.progress, s.Fruitless = true, 0
	return nil
}

func (s *State) ruled(b CallRuled) error {
	if b.Run != "" && b.Run != s.Created.Run {
		s.Inherited = without(s.Inherited, b)
		return nil
	}
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if !c.Unknown() {
		return fmt.Errorf("call %s: its outcome is not unknown", c.Place)
	}
	c.Ruled = b.Word
	return nil
}

// without drops the unknown call that a person said has happened. Any other word leaves it unknown.
func without(list []Unknown, b CallRuled) []Unknown {
	var out []Unknown
	for _, u := range list {
		same := u.Run == b.Run && u.Place.Turn == b.Turn && u.Place.Index == b.Index
		if !same || b.Word != WordHappened {
			out = append(out, u)
		}
	}
	return out
}

func (s *State) voided(b ApprovalVoided) error {
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if c.Phase != PhaseProposed || c.Approved == "" {
		return fmt.Errorf("call %s has no yes that could be void", c.Place)
	}
	c.Approved, c.Twin = "", ""
	return nil
}

func (s *State) opened(b RequestOpened) error {
	if s.Open != nil {
		return fmt.Errorf("request %s is open already", s.Open.ID)
	}
	if n := len(s.InFlight()) + len(s.Lost()); n > 0 {
		return fmt.Errorf("%d calls have no result", n)
	}
	if b.Request.Call != nil {
		if c, err := s.Call(*b.Request.Call); err != nil {
			return err
		} else if c.Phase != PhaseProposed {
			return fmt.Errorf("call %s is %s", c.Place, c.Phase)
		}
	}
	r := b.Request
	s.Open = &r
	return nil
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
			s.limitNo = by(b.By)
		}
		return nil
	}
	if r.Call == nil {
		return errors.New("the request belongs to no call")
	}
	c, err := s.Call(*r.Call)
	if err != nil {
		return err
	}
	return c.reply(r, text, b.By)
}

func (c *Call) reply(r *Request, text, who string) error {
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
		c.Twin = word(text)
		if c.Twin == WordRun {
			c.Approved = r.Binding
		}
	default:
		return fmt.Errorf("request kind %q is not known", r.Kind)
	}
	return nil
}

// word reads an answer to the twin guard: yes means run, no and anything else means leave.
func word(text string) Word {
	switch text {
	case "yes", string(WordRun):
		return WordRun
	case string(WordHappened):
		return WordHappened
	}
	return WordLeave
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
	if r.Kind == RequestMaxTurns {
		s.limitNo = b.Reason
		return nil
	}
	if r.Call == nil {
		return errors.New("the request belongs to no call")
	}
	c, err := s.Call(*r.Call)
	if err != nil {
		return err
	}
	c.Denied = b.Reason
	return nil
}
