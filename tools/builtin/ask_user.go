package builtin

import (
	"encoding/json"
	"errors"

	"agent/recovery/journal"
	"agent/tools"
)

// askUser asks a person for a text.
type askUser struct{}

type askArgs struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
}

// Spec describes the tool.
func (askUser) Spec() tools.Spec {
	return tools.Spec{
		Name: "ask_user", Asks: true,
		Description: "Ask the person a question and wait for the answer, however long it takes. " +
			"Use it when only they can know or decide; give choices when the answers can be listed.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"question": {"type": "string", "minLength": 1},
				"choices": {
					"type": "array", "minItems": 1, "maxItems": 50, "uniqueItems": true,
					"items": {"type": "string", "minLength": 1},
					"description": "the possible answers; any text if left out"
				}
			},
			"required": ["question"],
			"additionalProperties": false
		}`),
	}
}

// Describe reads the question. The effect is a local write: it makes a pending request.
func (t askUser) Describe(_ string, args json.RawMessage) tools.Traits {
	d := tools.Traits{Effect: journal.EffectWriteLocal}
	if q, err := t.question(args); err == nil {
		d.Question = &q
	}
	return d
}

// Check says why arguments make no question.
func (t askUser) Check(args json.RawMessage) error {
	_, err := t.question(args)
	return err
}

func (askUser) question(args json.RawMessage) (journal.Question, error) {
	a, err := tools.Decode[askArgs](args)
	if err != nil {
		return journal.Question{}, err
	}
	if a.Question == "" {
		return journal.Question{}, errors.New("the question is empty")
	}
	schema := map[string]any{"type": "string"}
	if len(a.Choices) > 0 {
		schema["enum"] = a.Choices
	}
	return journal.Question{Kind: journal.RequestAskUser, Message: a.Question, Schema: tools.Encode(schema), Choices: a.Choices}, nil
}
