package openai

import (
	"encoding/json"
	"fmt"

	"agent/recovery/journal"
)

// kept is what a block of the Responses API carries for its way back. Text in JSON strings survives
// the journal byte for byte, which bare JSON does not.
type kept struct {
	Item  string   `json:"item,omitempty"`  // a reasoning item as it came
	ID    string   `json:"id,omitempty"`    // a message's id
	Phase string   `json:"phase,omitempty"` // whether a message is commentary or the final answer
	After int      `json:"after,omitempty"` // calls of the same answer that came before this block
	Calls []string `json:"calls,omitempty"` // item ids of the answer's calls, in their order; on its first block only
	Model string   `json:"model,omitempty"` // who reasoned: nobody else can read it
}

func (k kept) empty() bool {
	return k.Item == "" && k.ID == "" && k.Phase == "" && k.After == 0 && len(k.Calls) == 0
}

// returned is what blocks carry for their way back, by the name of the protocol. What another
// protocol keeps is none of ours.
type returned struct {
	Responses *kept   `json:"responses,omitempty"`
	Chat      *routed `json:"chat,omitempty"`
}

// routed is what a block of Chat Completions carries.
type routed struct {
	Details string `json:"reasoning_details"` // OpenRouter's list
}

func (r returned) raw() (json.RawMessage, error) {
	raw, err := quote(r)
	if err != nil {
		return nil, fmt.Errorf("keep what the provider wants back: %w", err)
	}
	return raw, nil
}

// recall reads what a block keeps.
func recall(b journal.Block) (returned, error) {
	var r returned
	if len(b.Opaque) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(b.Opaque, &r); err != nil {
		return r, fmt.Errorf("read what a %s block keeps: %w", b.Kind, err)
	}
	return r, nil
}
