package recovery

import (
	"agent/recovery/journal"
	"agent/recovery/transcript"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// State is what a journal says when it is read from its first fact to its last.
// State is what a run's facts say of it, folded one after the other.
//
// Over budget: at most 104 methods: what the model is shown, limits and the twin guard are to be types of their own
// Over budget: at most 54 fields: likewise
type State struct {
	Created    journal.RunCreated
	Status     Status
	Seq        int64
	Epoch      int64
	Cause      journal.Cause
	Detail     string
	Mode       journal.Mode
	Limits     journal.Limits
	Turns      Turns
	Requested  int               // highest turn for which the model was asked
	Open       *journal.Request  // the question that stands
	Inherited  []journal.Unknown // what other runs of the thread left unknown, and what a person said of it
	Stopping   *journal.RunStopping
	Checkpoint string // the last settled turn's
	CheckSeq   int64  // sequence number of that fact
	Active     time.Duration
	Usage      journal.Usage // as providers reported it
	Estimated  journal.Usage // charged without a report: requests that brought no answer
	Fruitless  int           // claims in a row that brought nothing forward
	Final      string        // the last words of a finished run: its answer or its reason
	Earlier    []journal.Message
	Restored   bool // its database went back in time: see RunRestored

	// Acting gives what of a call acts, seen from the folder, for the twin guard; nil where calls are compared by their fingerprints
	// alone. It decides from its arguments, and is asked only while an earlier call of the same tool is in doubt.
	Acting func(tool string, args json.RawMessage, folder string) Acts

	grantedAt     int   // turns used when the turn limit was last lifted
	grantedTokens int64 // tokens used when the token limit was last lifted
	grantedCost   int64 // millionths of a dollar spent when the cost limit was last lifted

	failed   *journal.ModelFailed // the last request under this owner, when it brought no answer
	tries    int                  // requests in a row that brought none under this owner
	retryAt  time.Time            // no request before
	asking   bool                 // the model was asked, and nothing came of it yet
	cuts     int                  // answers in a row that were cut off or paused, without a whole call
	summary  *journal.ContextCompacted
	overflow bool  // a request was refused as too long since the last summary
	tooLong  bool  // and so was the request for a summary that came of it
	held     int64 // tokens of the next request, as far as they are counted or estimated
	counted  bool  // held is all of them; else the opening comes on top
	overhead int64 // tokens of a request beside what is estimated (tools, frames); -1 until a provider counted

	stale *journal.Request // the question that stood when the run was restored
	spent earlierCost      // what models that the run asked before cost

	limited   journal.Body           // what ends the run at the turn limit: a person's no, or nobody's word
	disk      *journal.Disk          // at the last claim
	boot      string                 // likewise
	unknown   []*Call                // calls of this run whose outcome is unknown, in their order
	happened  []*Call                // calls of this run of which a person said that they happened
	elsewhere []journal.CallResolved // what a person said from here about calls of other runs
	answers   map[string]said        // what was last answered in this run about an earlier call, by the call's id
	aboutWas  journal.Word           // what had been said, when it was opened, of the call that the open question is about
	progress  bool                   // something came forward since the last claim
	last      time.Time              // of the last fact
	idle      time.Duration          // since an owner was last seen, while a call may have gone on

	shown transcript.Transcript
}

// Turn is one answer of the model and the calls that it asked for.
type Turn struct {
	N       int
	Blocks  []journal.Block
	Calls   []*Call
	Stop    journal.AnswerStop
	Settled bool
}

// Fold reads a whole journal.
func Fold(events []journal.Event) (*State, error) {
	s := &State{}
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Apply adds one fact. A fact that cannot follow what is there is refused by name, and the state must not be used further.
func (s *State) Apply(e journal.Event) error {
	k := e.Body.Kind()
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("apply %s: sequence number %d after %d", k, e.Seq, s.Seq)
	}
	to := transition(s.Status, k, s.Open != nil)
	if to == refused {
		return fmt.Errorf("apply %s (fact %d): not possible in a run that is %q", k, e.Seq, s.Status)
	}
	if err := s.apply(e); err != nil {
		return fmt.Errorf("apply %s (fact %d): %w", k, e.Seq, err)
	}
	s.shown.Note(s.run(), e.Body)
	s.spend(e, k)
	s.Seq, s.Status = e.Seq, to
	return nil
}

// spend counts the time in which the run was going: not while it waits, and not from a crash to the word about it, since
// nobody knows when it was. An owner that leaves of itself writes down when it does.
func (s *State) spend(e journal.Event, k journal.Kind) {
	going := k != journal.KindRunClaimed
	if b, ok := e.Body.(journal.RunInterrupted); ok {
		going = b.Cause == journal.CauseShutdown || b.Cause == journal.CauseModel
	} else if k == journal.KindRunRestored {
		going = false
	}
	gap := e.Time.Sub(s.last)
	if b, ok := e.Body.(journal.RunNoted); ok {
		gap -= b.Clock
	}
	gap = max(0, gap)
	switch {
	case s.Status == StatusRunning && going:
		s.Active += gap
	case s.Status == StatusRunning, s.Status == StatusInterrupted:
		s.idle += gap
	}
	s.charge(e)
	s.last = e.Time
}

// charge counts the time without an owner in which a call went on by itself: a crash refills no budget.
func (s *State) charge(e journal.Event) {
	switch b := e.Body.(type) {
	case journal.CallJudged:
		if b.Verdict == journal.VerdictAttach {
			s.Active, s.idle = s.Active+s.idle, 0
		}
	case journal.CallSettled:
		if b.Result.How == journal.HowAdopted {
			s.Active, s.idle = s.Active+min(s.idle, b.Result.Took), 0
		}
	case journal.CallStarted, journal.ModelRequested, journal.ModelAnswered:
		s.idle = 0
	}
}

func (s *State) apply(e journal.Event) error {
	switch b := e.Body.(type) {
	case journal.RunCreated:
		s.Created, s.Mode, s.Limits = b, b.Mode, b.Limits
	case journal.RunClaimed:
		return s.claimed(b)
	case journal.RunInterrupted:
		s.Cause, s.Detail = b.Cause, b.Detail
	case journal.RunRestored:
		s.restored(b)
	case journal.RunNoted:
		s.gone(b.Gone)
		if !s.retryAt.IsZero() {
			s.retryAt = s.retryAt.Add(b.Clock)
		}
	case journal.RunStopping:
		if s.Stopping == nil {
			s.Stopping = &b
		}
	case journal.RunCompleted:
		s.Final = b.Text
		return s.mayEnd()
	case journal.RunFailed:
		s.Final = b.Reason
		return s.mayEnd()
	case journal.RunCancelled:
		s.Final = b.Reason
		return s.mayEnd()
	case journal.ModelRequested:
		return s.requested(e.Turn)
	case journal.ModelAnswered:
		return s.answered(e.Turn, b)
	case journal.ModelFailed:
		return s.modelFailed(e, b)
	case journal.ContextCompacted:
		return s.compacted(b)
	case journal.TurnSettled:
		return s.turnSettled(e, b)
	case journal.MessageAdded:
		return s.shown.Add(s.run(), e.Turn, b)
	default:
		return s.applyCall(e)
	}
	return nil
}

func (s *State) applyCall(e journal.Event) error {
	switch b := e.Body.(type) {
	case journal.CallJudged:
		return s.judged(b)
	case journal.CallStarted:
		return s.started(e, b)
	case journal.CallSettled:
		return s.settled(b)
	case journal.CallResolved:
		return s.resolved(b)
	case journal.ApprovalVoided:
		return s.voided(b)
	case journal.RequestOpened:
		return s.opened(b)
	case journal.RequestAnswered:
		return s.replied(b)
	case journal.RequestClosed:
		return s.closed(b)
	}
	return fmt.Errorf("kind is not known")
}

func (s *State) claimed(b journal.RunClaimed) error {
	if b.Epoch != s.Epoch+1 {
		return fmt.Errorf("epoch %d after %d", b.Epoch, s.Epoch)
	}
	if err := s.tighten(b); err != nil {
		return err
	}
	s.disk, s.boot = b.Disk, b.Boot
	// A run that waits for a person loses nothing when its owner goes: to look after it again is not fruitless.
	waits := s.Status == StatusWaiting
	switch {
	case s.progress:
		s.Fruitless = 0
	case s.Epoch > 0 && !waits:
		s.Fruitless++
	}
	s.Epoch, s.progress = b.Epoch, waits
	s.inVain() // at the prices of the model that was asked
	s.takeChanges(b)
	s.inherit(b.Unknown)
	for _, c := range s.current().calls() {
		if c.Phase == journal.PhaseStarted {
			c.Judged = ""
		}
		if s.Open == nil || !s.Open.StandsFor(c.Place) {
			c.doubt(s.Epoch)
		}
	}
	s.Cause, s.Detail = "", ""
	return nil
}

// tighten takes over what the claimer changed about the run. Looser is impossible.
func (s *State) tighten(b journal.RunClaimed) error {
	if l := b.Limits; l != nil {
		if s.Limits.Tighten(*l) != *l {
			return fmt.Errorf("limits %+v are looser than %+v", *l, s.Limits)
		}
		s.Limits = *l
	}
	if b.Mode != "" {
		if b.Mode.LooserThan(s.Mode) {
			return fmt.Errorf("mode %q is looser than %q", b.Mode, s.Mode)
		}
		s.Mode = b.Mode
	}
	return nil
}

// mayEnd refuses a terminal fact while a call or a question is open.
func (s *State) mayEnd() error {
	for _, c := range s.current().calls() {
		if c.Phase != journal.PhaseSettled {
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
	s.Requested, s.asking = turn, true
	return nil
}

func (s *State) answered(turn int, b journal.ModelAnswered) error {
	if turn != len(s.Turns)+1 || s.Requested != turn {
		return fmt.Errorf("turn %d was not asked for", turn)
	}
	t := &Turn{N: turn, Blocks: slices.Clone(b.Blocks), Stop: b.Stop}
	for i := range t.Blocks {
		t.Blocks[i].Opaque = compact(t.Blocks[i].Opaque)
	}
	for i, p := range b.Calls {
		p.Args = compact(p.Args)
		t.Calls = append(t.Calls, &Call{
			Place: journal.Place{Turn: turn, Index: i}, Proposal: p, Phase: journal.PhaseProposed, mode: s.Mode,
		})
	}
	s.Turns, s.progress, s.asking = append(s.Turns, t), true, false
	s.failed, s.tries, s.retryAt = nil, 0, time.Time{}
	if b.Usage != nil {
		s.Usage.Add(*b.Usage)
	}
	s.cuts++
	whole := func(p journal.Proposal) bool { return p.Invalid == "" }
	if slices.ContainsFunc(b.Calls, whole) || t.Stop != journal.AnswerLength && t.Stop != journal.AnswerPause {
		s.cuts = 0
	}
	return nil
}

func (s *State) turnSettled(e journal.Event, b journal.TurnSettled) error {
	t := s.current()
	if t == nil || t.N != e.Turn || t.Settled {
		return fmt.Errorf("turn %d is not open", e.Turn)
	}
	for _, c := range t.Calls {
		if c.Phase != journal.PhaseSettled {
			return fmt.Errorf("call %s is not settled", c.Place)
		}
	}
	t.Settled, s.Checkpoint, s.CheckSeq = true, b.Checkpoint, e.Seq
	return nil
}

// compact takes the white space out of raw JSON, as storing does, so that the request to a model is the same to the byte
// before and after a crash.
func compact(raw json.RawMessage) json.RawMessage {
	if !spaced(raw) {
		return raw
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw // not JSON: it will be refused where it is stored
	}
	return b.Bytes()
}

// spaced says whether there is white space outside of strings.
func spaced(raw []byte) bool {
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			return true
		}
	}
	return false
}
