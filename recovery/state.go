package recovery

import (
	"encoding/json"
	"fmt"
	"time"
)

// State is what a journal says when it is read from its first fact to its last.
type State struct {
	Created    RunCreated
	Status     Status
	Seq        int64
	Epoch      int64
	Cause      Cause
	Detail     string
	Mode       Mode
	Limits     Limits
	Turns      []*Turn
	Requested  int       // highest turn for which the model was asked
	Open       *Request  // the question that stands
	Inherited  []Unknown // what other runs of the thread left unknown
	Stopping   *RunStopping
	Checkpoint string // the last settled turn's
	CheckSeq   int64  // sequence number of that fact
	Active     time.Duration
	Usage      Usage
	Fruitless  int    // claims in a row that brought nothing forward
	Final      string // the last words of a finished run: its answer or its reason
	Earlier    []Message

	grantedAt int    // turns used when the turn limit was last lifted
	limitNo   string // who said no to more turns
	progress  bool
	last      time.Time
}

// Turn is one answer of the model and the calls that it asked for.
type Turn struct {
	N       int
	Blocks  []Block
	Calls   []*Call
	Stop    AnswerStop
	Settled bool
}

// Fold reads a whole journal.
func Fold(events []Event) (*State, error) {
	s := &State{}
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Apply adds one fact. A fact that cannot follow what is there is refused by name, and the state must not be used further.
func (s *State) Apply(e Event) error {
	k := e.Body.Kind()
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("apply %s: sequence number %d after %d", k, e.Seq, s.Seq)
	}
	to := transition(s.Status, k)
	if to == refused {
		return fmt.Errorf("apply %s (fact %d): not possible in a run that is %q", k, e.Seq, s.Status)
	}
	if err := s.apply(e); err != nil {
		return fmt.Errorf("apply %s (fact %d): %w", k, e.Seq, err)
	}
	s.spend(e, k)
	s.Seq, s.Status = e.Seq, to
	return nil
}

// spend counts the time in which the run was going: not while it waits, and not from a crash to the word about it.
func (s *State) spend(e Event, k Kind) {
	ended := k == KindRunClaimed || k == KindRunInterrupted
	if s.Status == StatusRunning && !ended && e.Time.After(s.last) {
		s.Active += e.Time.Sub(s.last)
	}
	s.last = e.Time
}

func (s *State) apply(e Event) error {
	switch b := e.Body.(type) {
	case RunCreated:
		s.Created, s.Mode, s.Limits = b, b.Mode, b.Limits
	case RunClaimed:
		return s.claimed(b)
	case RunInterrupted:
		s.Cause, s.Detail = b.Cause, b.Detail
	case RunNoted:
	case RunStopping:
		if s.Stopping == nil {
			s.Stopping = &b
		}
	case RunCompleted:
		s.Final = b.Text
		return s.mayEnd()
	case RunFailed:
		s.Final = b.Reason
		return s.mayEnd()
	case RunCancelled:
		s.Final = b.Reason
		return s.mayEnd()
	case ModelRequested:
		return s.requested(e.Turn)
	case ModelAnswered:
		return s.answered(e.Turn, b)
	case TurnSettled:
		return s.turnSettled(e, b)
	default:
		return s.applyCall(e)
	}
	return nil
}

func (s *State) applyCall(e Event) error {
	switch b := e.Body.(type) {
	case CallJudged:
		return s.judged(b)
	case CallStarted:
		return s.started(e, b)
	case CallSettled:
		return s.settled(b)
	case CallRuled:
		return s.ruled(b)
	case ApprovalVoided:
		return s.voided(b)
	case RequestOpened:
		return s.opened(b)
	case RequestAnswered:
		return s.replied(b)
	case RequestClosed:
		return s.closed(b)
	}
	return fmt.Errorf("kind is not known")
}

func (s *State) claimed(b RunClaimed) error {
	if b.Epoch != s.Epoch+1 {
		return fmt.Errorf("epoch %d after %d", b.Epoch, s.Epoch)
	}
	if s.Epoch > 0 && !s.progress {
		s.Fruitless++
	} else {
		s.Fruitless = 0
	}
	s.Epoch, s.progress = b.Epoch, false
	s.Inherited = b.Unknown
	if b.Limits != nil {
		s.Limits = *b.Limits
	}
	if b.Mode != "" {
		s.Mode = b.Mode
	}
	for _, c := range s.current().calls() {
		if c.Phase == PhaseStarted {
			c.Judged = ""
		}
	}
	s.Cause, s.Detail = "", ""
	return nil
}

// mayEnd refuses a terminal fact while a call or a question is open.
func (s *State) mayEnd() error {
	for _, c := range s.current().calls() {
		if c.Phase != PhaseSettled {
			return fmt.Errorf("call %s is not settled", c.Place)
		}
	}
	if s.Open != nil {
		return fmt.Errorf("request %s is open", s.Open.ID)
	}
	return nil
}

func (s *State) requested(turn int) error {
	if turn != len(s.Turns)+1 || !s.current().done() {
		return fmt.Errorf("turn %d is not the next", turn)
	}
	s.Requested = turn
	return nil
}

func (s *State) answered(turn int, b ModelAnswered) error {
	if turn != len(s.Turns)+1 || s.Requested != turn {
		return fmt.Errorf("turn %d was not asked for", turn)
	}
	t := &Turn{N: turn, Blocks: b.Blocks, Stop: b.Stop}
	for i, p := range b.Calls {
		t.Calls = append(t.Calls, &Call{Place: Place{Turn: turn, Index: i}, Proposal: p, Phase: PhaseProposed})
	}
	s.Turns, s.progress = append(s.Turns, t), true
	if b.Usage != nil {
		s.Usage.Input += b.Usage.Input
		s.Usage.Output += b.Usage.Output
		s.Usage.Cached += b.Usage.Cached
	}
	return nil
}

func (s *State) turnSettled(e Event, b TurnSettled) error {
	t := s.current()
	if t == nil || t.N != e.Turn || t.Settled {
		return fmt.Errorf("turn %d is not open", e.Turn)
	}
	for _, c := range t.Calls {
		if c.Phase != PhaseSettled {
			return fmt.Errorf("call %s is not settled", c.Place)
		}
	}
	t.Settled, s.Checkpoint, s.CheckSeq = true, b.Checkpoint, e.Seq
	return nil
}

// current is the last turn that the model answered; nil before the first.
func (s *State) current() *Turn {
	if len(s.Turns) == 0 {
		return nil
	}
	return s.Turns[len(s.Turns)-1]
}

func (t *Turn) calls() []*Call {
	if t == nil {
		return nil
	}
	return t.Calls
}

func (t *Turn) done() bool { return t == nil || t.Settled }

// Call finds a call by its place; the attempt does not count.
func (s *State) Call(p Place) (*Call, error) {
	if p.Turn < 1 || p.Turn > len(s.Turns) {
		return nil, fmt.Errorf("call %s: there is no such turn", p)
	}
	t := s.Turns[p.Turn-1]
	if p.Index < 0 || p.Index >= len(t.Calls) {
		return nil, fmt.Errorf("call %s: there is no such call in the turn", p)
	}
	return t.Calls[p.Index], nil
}

// CallByID finds a call by its id; nil when the run has none.
func (s *State) CallByID(id string) *Call {
	for _, t := range s.Turns {
		for _, c := range t.Calls {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

// TurnsLeft is what is left of the turn budget; -1 without a limit.
func (s *State) TurnsLeft() int {
	if s.Limits.MaxTurns == 0 {
		return -1
	}
	return max(0, s.Limits.MaxTurns-(len(s.Turns)-s.grantedAt))
}

// Unsettled lists the calls of the last turn that have no result, in the model's order.
func (s *State) Unsettled() []*Call {
	var out []*Call
	for _, c := range s.current().calls() {
		if c.Phase != PhaseSettled {
			out = append(out, c)
		}
	}
	return out
}

// InFlight lists the calls that were started or picked up again under the present owner.
func (s *State) InFlight() []*Call {
	var out []*Call
	for _, c := range s.current().calls() {
		if c.Phase == PhaseStarted && (c.Epoch == s.Epoch || c.Judged == VerdictAttach) {
			out = append(out, c)
		}
	}
	return out
}

// Lost lists the calls that an earlier owner started and left without a result, and about which nothing was decided yet.
func (s *State) Lost() []*Call {
	var out []*Call
	for _, c := range s.current().calls() {
		if c.Phase == PhaseStarted && c.Epoch != s.Epoch && c.Judged == "" {
			out = append(out, c)
		}
	}
	return out
}

// UnknownCalls lists the run's calls whose outcome is unknown and about which nobody has said a word.
func (s *State) UnknownCalls() []*Call {
	var out []*Call
	for _, t := range s.Turns {
		for _, c := range t.Calls {
			if c.Unknown() {
				out = append(out, c)
			}
		}
	}
	return out
}

// Unknown says whether the call's outcome is unknown and nobody has settled it since.
func (c *Call) Unknown() bool {
	return c.Result != nil && c.Result.Outcome == OutcomeUnknown && c.Ruled != WordHappened
}

// Text reads an answer as a person would say it: yes, no, or the text.
func Text(answer json.RawMessage) string {
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return string(answer)
	}
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return v
	}
	return string(answer)
}
