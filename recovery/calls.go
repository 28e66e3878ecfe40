package recovery

import (
	"agent/recovery/journal"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Call is the folded state of one call.
type Call struct {
	journal.Place
	*journal.Proposal // shared with the fact; never changed in place

	Phase     journal.Phase
	StartedAt time.Time
	Epoch     int64           // epoch under which the present attempt was started
	Before    json.RawMessage // from call.started
	Child     string          // likewise: the run that carries it out; "" for none
	Judged    journal.Verdict // what recovery decided about the present attempt in the present epoch
	Approved  string          // what the yes that was given is bound to
	Denied    string          // why the call must not run: a person's no, an unanswered question
	Twin      journal.Word    // the answer to the twin guard
	Copy      journal.Word    // the answer to the question of a copy: happened, or nothing else than a yes or a no
	Reply     *string         // the answer to the call's own question
	Result    *journal.Result
	Resolved  journal.Word // a person's decision on an unknown outcome

	resolvedBy string // who said it
	happened   bool   // a person decided that; running it once more since changes nothing of that

	mode   journal.Mode     // mode under which the decision was made
	again  int64            // epoch whose owner meant to run it once more although it may have happened; 0 when there is none
	twin   *journal.Unknown // the call that the answer to the twin guard is about
	twinBy string           // who gave that answer
	copied bool             // the present attempt was started before the run was restored
	copyBy string           // who answered the question of a copy
	disk   *journal.Disk    // at the claim under which the present attempt was started
	boot   string           // likewise
}

// judged keeps what recovery decided about a call. A verdict to run puts a started call back before
// its start: it takes the ordinary path again, and only a new call.started lets it act.
func (s *State) judged(b journal.CallJudged) error {
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if err := c.judgeable(b); err != nil {
		return fmt.Errorf("call %s is %s: %w", c.Place, c.Phase, err)
	}
	c.Judged = b.Verdict
	if c.Phase == journal.PhaseProposed {
		return nil
	}
	switch b.Verdict {
	case journal.VerdictRun:
		c.Phase = journal.PhaseProposed
	case journal.VerdictAgain:
		c.Phase = journal.PhaseProposed
		if c.Effect != journal.EffectRead {
			c.again = s.Epoch
		}
	case journal.VerdictAttach:
		if c.Child == "" { // a run that stood still counts by what it records itself
			s.forward()
		}
	}
	return nil
}

// judgeable refuses a verdict that cannot be one about the call as it is.
func (c *Call) judgeable(b journal.CallJudged) error {
	switch {
	case c.Phase == journal.PhaseSettled:
		return errors.New("it needs no verdict")
	case b.Attempt != c.Attempt:
		return fmt.Errorf("the verdict is about attempt %d, not %d", b.Attempt, c.Attempt)
	}
	switch b.Verdict {
	case journal.VerdictRun, journal.VerdictSkip:
		return nil
	case journal.VerdictWait:
		if c.Phase == journal.PhaseProposed {
			return nil
		}
	case journal.VerdictAgain, journal.VerdictAttach, journal.VerdictAdopt:
		if c.Phase == journal.PhaseStarted {
			return nil
		}
	}
	return fmt.Errorf("verdict %q does not fit", b.Verdict)
}

// doubt makes the call a started one again when an earlier owner meant to run it once more and did
// not come to it: the first attempt may have happened, so what may be done now is judged afresh.
func (c *Call) doubt(epoch int64) {
	if c.Phase == journal.PhaseProposed && c.again != 0 && c.again != epoch {
		c.Phase, c.Judged, c.again = journal.PhaseStarted, "", 0
	}
}

func (s *State) started(e journal.Event, b journal.CallStarted) error {
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if c.Phase != journal.PhaseProposed {
		return fmt.Errorf("call %s is %s", c.Place, c.Phase)
	}
	if b.Attempt != c.Attempt+1 {
		return fmt.Errorf("call %s: attempt %d after %d", c.Place, b.Attempt, c.Attempt)
	}
	if err := s.mayStart(c, b.Binding); err != nil {
		return fmt.Errorf("call %s: %w", c.Place, err)
	}
	c.Phase, c.Attempt, c.StartedAt, c.Before, c.Child = journal.PhaseStarted, b.Attempt, e.Time, b.Before, b.Child
	c.Epoch, c.Judged, c.again, c.copied = s.Epoch, "", 0, false
	c.disk, c.boot = s.disk, s.boot
	return nil
}

// mayStart refuses what stands between a call and its start: the end of the run, a void yes, a
// question. A run with an open request is waiting, and starts nothing for that reason.
func (s *State) mayStart(c *Call, binding string) error {
	switch {
	case s.Stopping != nil:
		return errors.New("the run is to end")
	case c.Approved != "" && c.Approved != binding:
		return errors.New("the yes was given for something else")
	case guard{s}.before(c, exactly(c)) != nil:
		return errors.New("it may not act: it is refused, or a person must be asked")
	}
	return s.Turns.inOrder(c)
}

func (s *State) settled(b journal.CallSettled) error {
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if c.Phase == journal.PhaseSettled {
		return fmt.Errorf("call %s has a result already", c.Place)
	}
	if b.Fingerprint != c.Fingerprint {
		return fmt.Errorf("call %s: the result is of other arguments than the call", c.Place)
	}
	if err := c.fits(b); err != nil {
		return fmt.Errorf("call %s: %w", c.Place, err)
	}
	r := b.Result
	r.Full = nil // the store keeps it; a fold does not need it
	c.Phase, c.Result = journal.PhaseSettled, &r
	s.Below.add(r.Child)
	if c.Unknown() {
		s.unknown = append(s.unknown, c)
	}
	s.forward()
	return nil
}

// fits refuses a result that the call cannot have.
func (c *Call) fits(b journal.CallSettled) error {
	r := &b.Result
	switch r.Outcome {
	case journal.OutcomeOK, journal.OutcomeError, journal.OutcomeUnknown, journal.OutcomeSkipped, journal.OutcomeDenied:
	default:
		return fmt.Errorf("outcome %q is not known", r.Outcome)
	}
	if c.Phase == journal.PhaseProposed {
		if r.How != journal.HowTold || r.Outcome == journal.OutcomeUnknown && c.again == 0 {
			return errors.New("a result of a call that was never started")
		}
		if c.again != 0 && r.Outcome != journal.OutcomeUnknown {
			return errors.New("its first attempt may have happened, so its outcome is unknown")
		}
		return nil
	}
	if b.Attempt != c.Attempt {
		return fmt.Errorf("a result of attempt %d, not %d", b.Attempt, c.Attempt)
	}
	if r.Outcome == journal.OutcomeError && doubtful(r, c.Effect) {
		return errors.New("an error that leaves open whether it happened, not recorded as unknown")
	}
	return nil
}

// doubtful says whether a result leaves open if a side effect took place.
func doubtful(r *journal.Result, e journal.Effect) bool {
	return e != journal.EffectRead && r.Applied != journal.AppliedNo && r.Applied != journal.AppliedYes
}

func (s *State) resolved(b journal.CallResolved) error {
	if b.Run != "" && b.Run != s.Created.Run {
		s.resolvedElsewhere(b)
		return nil
	}
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if !c.Resolvable(b.Word) {
		return fmt.Errorf("call %s: its outcome is not unknown", c.Place)
	}
	c.Resolved, c.resolvedBy, c.happened = b.Word, b.By, c.happened || b.Word == journal.WordHappened
	if !b.Word.Settles() {
		return nil
	}
	s.settle(c, b.Word)
	if b.Word == journal.WordHappened {
		s.shown.Forget() // the model learns it where the result stands
	}
	return nil
}

// Resolvable says whether the word may still be said of the call. After happened nothing but that
// it was run once more may be.
func (c *Call) Resolvable(w journal.Word) bool {
	return c.Unknown() || w == journal.WordRun && c.Resolved == journal.WordHappened
}

// unbound gives a call the access that it requests, about which a person decides: rules let it run
// with less. How the system confines it then is not known here.
func (c *Call) unbound() {
	if c.Access == "" {
		return
	}
	p := *c.Proposal
	p.Access, p.Effect, p.RetrySafe, p.Sandbox = "", journal.EffectWriteExternal, false, ""
	c.Proposal = &p
}

func (s *State) voided(b journal.ApprovalVoided) error {
	c, err := s.Call(b.Place)
	if err != nil {
		return err
	}
	if c.Phase != journal.PhaseProposed || c.Approved == "" && !b.Decision.StricterThan(c.Decision) {
		return fmt.Errorf("call %s has no permission that could be void", c.Place)
	}
	if b.Decision.StricterThan(c.Decision) {
		p := *c.Proposal
		p.Decision, p.Why = b.Decision, b.Reason
		p.Always, p.Never, p.Offers = "", "", nil // they were made for other rules
		c.Proposal = &p
		c.unbound()
	}
	c.Approved, c.Twin, c.twin = "", "", nil
	return nil
}
