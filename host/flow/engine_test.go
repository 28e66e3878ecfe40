package flow_test

import (
	"encoding/json"
	"errors"
	"testing"

	"agent/host/flow"
	"agent/recovery/journal"
)

// A flow that says more than this binary knows is not begun: what it does not know might be what
// keeps the flow from doing harm (EX-55).
func TestOpenRefusesANewerFlow(t *testing.T) {
	for _, newer := range []string{`,"sandboxed":true`, ""} {
		text := `{"name":"f.md","task":"none","parallel":4,"on_fail":"stop","phases":[{"name":"a","redo":"ask","on_fail":"stop","tries":1,"rounds":3}]` + newer + `}`
		f, err := (&flow.Engine{}).Open(journal.RunCreated{Run: "r-flow", FlowRun: journal.FlowRun{Flow: json.RawMessage(text)}}, nil)
		if refused := errors.As(err, new(*journal.UnknownFactError)) && f == nil; refused != (newer != "") || newer == "" && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
