package recovery

import (
	"agent/recovery/journal"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

func (s *State) opened(b journal.RequestOpened) error {
	if s.Open != nil {
		return fmt.Errorf("request %s is open already", s.Open.ID)
	}
	r := b.Request
	if err := r.Validate(); err != nil {
		return err
	}
	if err := s.mayAsk(&r); err != nil {
		return err
	}
	s.Open, s.asking, s.aboutWas = &r, false, s.byID(r.About).Resolved
	return nil
}

// mayAsk refuses a question while calls are under way: all but the one that asks itself.
func (s *State) mayAsk(r *journal.Request) error {
	flying := s.InFlight()
	if n := len(flying) + len(s.Lost()); n > 0 && (r.Kind != journal.RequestElicit || n > 1) {
		return fmt.Errorf("%d calls have no result", n)
	}
	if r.Call == nil {
		return nil
	}
	c, err := s.Call(*r.Call)
	switch {
	case err != nil:
		return err
	case r.Kind == journal.RequestElicit && (len(flying) != 1 || flying[0] != c || s.Stopping != nil):
		return fmt.Errorf("call %s is not under way", c.Place)
	case r.Kind != journal.RequestElicit && c.Phase != journal.PhaseProposed:
		return fmt.Errorf("call %s is %s", c.Place, c.Phase)
	}
	return nil
}

// Orphaned is the end of a question whose asker is gone: a tool asked while its call was under way,
// and nothing is left of that call that could take an answer.
func Orphaned(s *State) (journal.RequestClosed, bool) {
	if s.Open == nil || s.Open.Kind != journal.RequestElicit {
		return journal.RequestClosed{}, false
	}
	if c, err := s.Call(*s.Open.Call); err == nil && c.flies(s.Epoch) {
		return journal.RequestClosed{}, false
	}
	return journal.RequestClosed{ID: s.Open.ID, Status: "cancelled", Reason: "the call that asked is no longer under way"}, true
}

// limitOf says whether a request asks what to do at a limit, and of what.
func limitOf(k journal.RequestKind) (what string, limit bool) {
	switch k {
	case journal.RequestMaxTurns:
		return "turn", true
	case journal.RequestMaxTokens:
		return "token", true
	case journal.RequestMaxCost:
		return "cost", true
	}
	return "", false
}

func plural(what string) string {
	if what == "cost" {
		return what
	}
	return what + "s"
}

func (s *State) replied(b journal.RequestAnswered) error {
	r := s.Open
	if r == nil || r.ID != b.ID {
		return fmt.Errorf("request %s is not open", b.ID)
	}
	s.Open = nil
	s.forward()
	switch r.Kind {
	case journal.RequestPhase:
		return nil // the flow takes the answer
	case journal.RequestPlan:
		decide(s, b)
		return nil
	}
	s.asking = s.Requested > len(s.Turns)
	text := journal.Text(b.Answer)
	if what, limit := limitOf(r.Kind); limit {
		if text == "yes" {
			s.grant(r.Kind, len(s.Turns), s.Created.Setup.Price)
		} else {
			s.limited = journal.RunCancelled{By: b.By, Reason: fmt.Sprintf("stopped at the %s limit: %s answered no to more %s", what, by(b.By), plural(what))}
		}
		return nil
	}
	c, err := s.Call(*r.Call)
	if err != nil || r.Kind == journal.RequestElicit {
		return err // the call itself takes the answer
	}
	s.reply(c, r, text, b.By)
	c.doubt(s.Epoch)
	return nil
}

func (s *State) reply(c *Call, r *journal.Request, text, who string) {
	switch r.Kind {
	case journal.RequestAskUser, journal.RequestConfirm:
		c.Reply = &text
	case journal.RequestPermission:
		why, _ := strings.CutPrefix(text, NoBecause)
		switch {
		case text == journal.AnswerYes, strings.HasPrefix(text, journal.AnswerAlways):
			c.Approved = s.binding(r)
			c.unbound()
		case text == journal.AnswerNever:
			c.Denied = by(who) + " answered never"
		case why != text:
			c.Denied = by(who) + " said no: " + why
		default:
			c.Denied = by(who) + " said no"
		}
	case journal.RequestTwin:
		s.answeredTwin(c, r, text, who)
	case journal.RequestCopy:
		answeredCopy(s, c, r, text, who)
	}
}

// wordOf reads an answer to the twin guard: yes means run; no and anything that was not offered
// mean the answer that runs nothing.
func wordOf(r *journal.Request, text string) journal.Word {
	w := journal.Word(text)
	if text == "yes" {
		w = journal.WordRun
	}
	offered := func(w journal.Word) bool { return slices.Contains(r.Choices, string(w)) }
	switch {
	case slices.Contains([]journal.Word{journal.WordRun, journal.WordHappened, journal.WordStop}, w) && offered(w):
		return w
	case !offered(journal.WordLeave) && offered(journal.WordStop):
		return journal.WordStop
	case !offered(journal.WordLeave) && offered(journal.WordHappened):
		return journal.WordHappened
	}
	return journal.WordLeave
}

func by(who string) string {
	if who == "" {
		return "a person"
	}
	return who
}

func (s *State) closed(b journal.RequestClosed) error {
	r := s.Open
	if r == nil || r.ID != b.ID {
		return fmt.Errorf("request %s is not open", b.ID)
	}
	s.Open = nil
	if r.Kind == journal.RequestPhase || b.Again {
		return nil
	}
	if r.Kind == journal.RequestPlan {
		s.planning.decided = journal.AnswerEnds
		return nil
	}
	reason := b.Reason
	if reason == "" {
		reason = "the question was closed without an answer"
	}
	if what, limit := limitOf(r.Kind); limit {
		s.limited = unanswered(b.Status, "stopped at the "+what+" limit: "+reason)
		return nil
	}
	c, err := s.Call(*r.Call)
	if err != nil || r.Kind == journal.RequestElicit {
		return err // the call is under way, and gets the answer
	}
	if !s.closedTwin(c, r) {
		c.Denied = reason
	}
	c.doubt(s.Epoch)
	return nil
}

// unanswered is the end of a run whose limit's question nobody answered: only what a person
// withdrew was cancelled.
func unanswered(status, reason string) journal.Body {
	if status == "cancelled" {
		return journal.RunCancelled{Reason: reason}
	}
	return journal.RunFailed{Reason: reason}
}

// planning is what a person answered about the plan of a run, until the model has it.
type planning struct {
	decided string // "" for nothing
	by      string
}

// LoosenedBy is the mode in which an answer to a question has the plan of the run carried out; ""
// where it does not.
func LoosenedBy(kind journal.RequestKind, answer json.RawMessage) journal.Mode {
	if kind != journal.RequestPlan {
		return ""
	}
	switch journal.Text(answer) {
	case journal.AnswerYes:
		return journal.ModeAsk
	case journal.AnswerAuto:
		return journal.ModeAuto
	}
	return ""
}

// decide takes an answer to the question about the plan. It is the one thing that loosens the mode
// of a run, and no other such question follows it.
func decide(s *State, b journal.RequestAnswered) {
	s.planning = planning{decided: journal.Text(b.Answer), by: b.By}
	if b.Mode != "" {
		s.Mode = b.Mode
	}
}

// done is what follows an answer of the model that has no calls: the end of the run, or the
// question about its plan.
func (s decider) done() journal.Body {
	if s.Mode != journal.ModePlan || !s.Created.AskPlan || s.planning.decided != "" {
		return journal.RunCompleted{Text: s.text()}
	}
	return journal.RequestOpened{Request: journal.Request{Question: journal.Question{
		Kind:    journal.RequestPlan,
		Message: PlanAsked + "\n\n" + s.text(),
		Schema:  json.RawMessage(`{"type":"string"}`),
		Choices: []string{journal.AnswerYes, journal.AnswerAuto, journal.AnswerEnds},
		Hints: []string{
			"carries it out in mode ask: what acts is asked about",
			"carries it out in mode auto: writes in the folder are not asked about",
			"ends the run; any other text has the plan changed",
		},
	}}}
}

// PlanAsked is what the question about a plan begins with; the plan follows.
const PlanAsked = "carry out this plan?"

// toPlanner is what the model is to hear of the answer about its plan; nil for nothing.
func (s decider) toPlanner() journal.Body {
	text := s.planning.decided
	switch text {
	case "", journal.AnswerEnds:
		return nil
	case journal.AnswerYes:
		text = "Carry the plan out. This run is in mode ask from here on: a person is asked before each call that acts."
	case journal.AnswerAuto:
		text = "Carry the plan out. This run is in mode auto from here on: it may write in the workspace, and a person is asked about the rest."
	}
	return journal.MessageAdded{Text: text, By: s.planning.by, Decides: true}
}
