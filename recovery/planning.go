package recovery

import (
	"encoding/json"

	"agent/recovery/journal"
)

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
func (s *State) decide(b journal.RequestAnswered) {
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
