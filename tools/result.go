package tools

import (
	"encoding/json"
	"fmt"

	"agent/recovery/journal"
)

// Decode reads arguments that Read has let through.
func Decode[T any](args json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(args, &v); err != nil {
		return v, fmt.Errorf("read arguments: %v", err)
	}
	return v, nil
}

// Encode encodes a struct of strings and numbers, which cannot fail.
func Encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// Done is the result of a call that did what was asked.
func Done(applied journal.Applied, content string) journal.Result {
	return journal.Result{
		Outcome: journal.OutcomeOK, Applied: applied, How: journal.HowExecuted, Content: content, Size: int64(len(content)),
	}
}

// Failed is what a call returns that went wrong: the host words the result from the error.
func Failed(applied journal.Applied, err error) (journal.Result, error) {
	return journal.Result{Applied: applied, How: journal.HowExecuted}, err
}
