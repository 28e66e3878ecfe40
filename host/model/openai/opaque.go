package openai

import (
	"encoding/json"
	"fmt"

	"agent/recovery"
)

// kept is what a block of the Responses API carries for its way back. Text in JSON strings survives the journal byte for
// byte, which bare JSON does not.
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

// opaque wraps what a block keeps under the name of its protocol.
func opaque(p Protocol, v any) (json.RawMessage, error) {
	raw, err := quote(map[Protocol]any{p: v})
	if err != nil {
		return nil, fmt.Errorf("keep what %s wants back: %w", p, err)
	}
	return raw, nil
}

// recall reads what a block keeps for the protocol. What another protocol keeps is none of ours.
func recall(p Protocol, b recovery.Block, into any) error {
	if len(b.Opaque) == 0 {
		return nil
	}
	var all map[Protocol]json.RawMessage
	if err := json.Unmarshal(b.Opaque, &all); err != nil {
		return fmt.Errorf("read what a %s block keeps: %w", b.Kind, err)
	}
	raw, ok := all[p]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read what a %s block keeps for %s: %w", b.Kind, p, err)
	}
	return nil
}
