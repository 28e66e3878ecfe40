package builtin

import (
	"encoding/json"
	"errors"

	"agent/recovery/journal"
	"agent/tools"
)

// confirmAction asks a person for a yes or a no.
type confirmAction struct{}

type confirmArgs struct {
	Question string `json:"question"`
	About    string `json:"about"`
}

// Spec describes the tool.
func (confirmAction) Spec() tools.Spec {
	return tools.Spec{
		Name: "confirm_action", Asks: true,
		Description: "Ask the person for a yes or a no before something that should not happen without it, and wait for the answer, " +
			"however long it takes.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"question": {"type": "string", "minLength": 1, "description": "what a yes would do"},
				"about": {"type": "string", "minLength": 1, "description": "id of an earlier call (c-…) that the question is about"}
			},
			"required": ["question"],
			"additionalProperties": false
		}`),
	}
}

// Describe reads the question. The effect is a local write: it makes a pending request.
func (t confirmAction) Describe(_ string, args json.RawMessage) tools.Traits {
	d := tools.Traits{Effect: journal.EffectWriteLocal}
	if q, err := t.question(args); err == nil {
		d.Question = &q
	}
	return d
}

// Check says why arguments make no question.
func (t confirmAction) Check(args json.RawMessage) error {
	_, err := t.question(args)
	return err
}

func (confirmAction) question(args json.RawMessage) (journal.Question, error) {
	a, err := tools.Decode[confirmArgs](args)
	if err != nil {
		return journal.Question{}, err
	}
	if a.Question == "" {
		return journal.Question{}, errors.New("the question is empty")
	}
	return journal.Question{
		Kind: journal.RequestConfirm, Message: a.Question, Schema: json.RawMessage(`{"type":"boolean"}`),
		Choices: []string{"yes", "no"}, About: a.About,
	}, nil
}
