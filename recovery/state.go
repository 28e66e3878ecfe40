package recovery

import (
	"agent/recovery/journal"
	"agent/recovery/transcript"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is what a run's facts say of it, folded one after the other.
type State struct {
	Created    journal.RunCreated
	Status     Status
	Seq        int64
	Cause      journal.Cause
	Detail     string
	Mode       journal.Mode
	Turns      Turns
	Open       *journal.Request // the question that stands
	Stopping   *journal.RunStopping
	Checkpoint string // the last settled turn's
	CheckSeq   int64  // sequence number of that fact
	Final      string // the last words of a finished run: its answer or its reason
	Earlier    []journal.Message
	Restored   bool // it may have gone further than its journal says: see RunRestored

	RestoredAt time.Time // of the last RunRestored, whatever was said of it since; zero for none

	Moved *journal.RunExported // it went to another store, and is not driven here; nil for most

	// What its next owner tells the model: the run was restored, or came from another store, since
	// the last claim, and files that it wrote are not in its folder.
	Back   *journal.RunRestored
	Behind *journal.WorkspaceBehind

	// Acting gives what of a call acts, seen from the folder, for the twin guard; nil where calls
	// are compared by their fingerprints alone. It decides from its arguments, and is asked only
	// while an earlier call of the same tool is in doubt.
	Acting func(tool string, args json.RawMessage, folder string) Acts

	ownership
	spending
	timing
	requests
	doubts

	stale   *journal.Request // the question that stood when the run was restored
	limited journal.Body     // what ends the run at the turn limit: a person's no, or nobody's word
	shown   transcript.Transcript
}

// ownership is who drives the run, and what came of it.
type ownership struct {
	Epoch     int64
	Fruitless int           // claims in a row that brought nothing forward
	progress  bool          // something came forward since the last claim
	disk      *journal.Disk // at the last claim
	boot      string        // likewise
}

// forward takes note that the run came forward.
func (o *ownership) forward() { o.progress, o.Fruitless = true, 0 }

// claim begins another epoch. A run that waits for a person loses nothing when its owner goes: to
// look after it again is not fruitless.
func (o *ownership) claim(b journal.RunClaimed, waits bool) {
	switch {
	case o.progress, b.MovedOn:
		o.Fruitless = 0
	case o.Epoch > 0 && !waits:
		o.Fruitless++
	}
	o.Epoch, o.progress, o.disk, o.boot = b.Epoch, waits, b.Disk, b.Boot
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

// Apply adds one fact. A fact that cannot follow what is there is refused by name, and the state
// must not be used further.
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
	s.pass(e, s.Status, goesOnAlone(s, e))
	s.Seq, s.Status = e.Seq, to
	return nil
}

func (s *State) apply(e journal.Event) error {
	switch b := e.Body.(type) {
	case journal.RunCreated:
		s.Created, s.Mode, s.Limits, s.runID, s.Restored = b, b.Mode, b.Limits, b.Run, b.Guarded
	case journal.RunClaimed:
		return s.claimed(b)
	case journal.RunInterrupted:
		s.Cause, s.Detail = b.Cause, b.Detail
	case journal.RunRestored:
		s.restored(e.Time, b)
	case journal.RunExported:
		s.Cause, s.Detail, s.Moved = journal.CauseMoved, "to "+b.Store(), &b
	case journal.WorkspaceBehind:
		s.Behind = &b
	case journal.RunNoted:
		s.gone(b.Gone)
		s.postpone(b.Clock)
		if b.Unknown != nil {
			s.inherit(b.Unknown)
		}
	case journal.RunParked:
		return parked(s, b)
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
		if b.Misfit {
			s.Misfits++
		}
		if b.Decides {
			s.planning = planning{}
		}
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
	case journal.FlowPhaseEnded:
		s.forward()
		s.Below.charge(b.Usage, b.Cost, !b.Unpriced)
		return nil
	case journal.FlowPhaseStarted, journal.ArtifactRestored, journal.PhaseRewound:
		s.forward() // what they say is package flow's to read
		return nil
	case journal.ArtifactsChecked:
		return nil // every resume looks: that alone brings nothing forward
	case journal.FilesBase, journal.FilesChanged, journal.CommitSeen:
		return nil // what they say is package workspace's to read; a call brings the run forward
	}
	return fmt.Errorf("kind is not known")
}

func (s *State) claimed(b journal.RunClaimed) error {
	if b.Epoch != s.Epoch+1 {
		return fmt.Errorf("epoch %d after %d", b.Epoch, s.Epoch)
	}
	if s.Moved != nil {
		return fmt.Errorf("it went to %s", s.Moved.Store())
	}
	if err := s.tighten(b); err != nil {
		return err
	}
	s.claim(b, s.Status == StatusWaiting)
	s.inVain() // at the prices of the model that was asked
	s.takeChanges(b)
	s.inherit(b.Unknown)
	for _, c := range s.Turns.current().calls() {
		if c.Phase == journal.PhaseStarted {
			c.Judged = ""
		}
		if s.Open == nil || !s.Open.StandsFor(c.Place) {
			c.doubt(s.Epoch)
		}
	}
	s.Cause, s.Detail, s.Back, s.Behind = "", "", nil, nil
	return nil
}

// parked refuses to wait for runs below where something else is under way.
func parked(s *State, b journal.RunParked) error {
	if s.Open != nil || s.Stopping != nil {
		return errors.New("it does not only wait for runs below it")
	}
	for _, c := range s.InFlight() {
		if !slices.Contains(b.Children, c.Child) {
			return fmt.Errorf("call %s is under way", c.Place)
		}
	}
	return nil
}

// goesOnAlone says whether a fact is about a call that went on while nobody drove the run. A run
// that carries out a call does not.
func goesOnAlone(s *State, e journal.Event) bool {
	b, ok := e.Body.(journal.CallJudged)
	if !ok || b.Verdict != journal.VerdictAttach {
		return false
	}
	c, err := s.Call(b.Place)
	return err == nil && c.Child == ""
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
	for _, c := range s.Turns.current().calls() {
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
	if turn != len(s.Turns)+1 || !s.Turns.current().done() {
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
	for i := range b.Calls {
		p := &b.Calls[i]
		if args := compact(p.Args); len(args) != len(p.Args) {
			written := *p
			written.Args, p = args, &written
		}
		t.Calls = append(t.Calls, &Call{
			Place: journal.Place{Turn: turn, Index: i}, Proposal: p, Phase: journal.PhaseProposed, mode: s.Mode,
		})
	}
	s.Turns, s.progress = append(s.Turns, t), true
	s.answer(b)
	if b.Usage != nil {
		s.Usage.Add(*b.Usage)
	}
	return nil
}

func (s *State) turnSettled(e journal.Event, b journal.TurnSettled) error {
	t := s.Turns.current()
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

// compact takes the white space out of raw JSON, as storing does, so that the request to a model is
// the same to the byte before and after a crash.
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
