package flow

import (
	"agent/recovery/journal"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// What a newer binary wrote is refused by name, and neither half understood nor taken for damage
// (EX-55).
func TestFlowsOfANewerBinary(t *testing.T) {
	for name, text := range map[string]string{
		"key":           `{"name":"f.md","task":"none","phases":[{"name":"a","redo":"ask","on_fail":"stop"}],"night":true}`,
		"key of phase":  `{"name":"f.md","task":"none","phases":[{"name":"a","redo":"ask","on_fail":"stop","confirm":"twice"}]}`,
		"key of output": `{"name":"f.md","task":"none","phases":[{"name":"a","outputs":[{"path":"x","signed":true}]}]}`,
		"choice":        `{"name":"f.md","task":"none","phases":[{"name":"a","redo":"perhaps"}]}`,
		"mode":          `{"name":"f.md","task":"none","phases":[{"name":"a","mode":"dream"}]}`,
		"failure":       `{"name":"f.md","task":"none","on_fail":"call","phases":[{"name":"a"}]}`,
		"task":          `{"name":"f.md","task":"several","phases":[{"name":"a"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Defined(journal.RunCreated{Run: "r-flow", FlowRun: journal.FlowRun{Flow: json.RawMessage(text)}})
			if !errors.As(err, new(*journal.UnknownFactError)) || d != nil || !strings.Contains(err.Error(), "r-flow") || !strings.Contains(err.Error(), "newer") {
				t.Errorf("%v, %v", d, err)
			}
		})
	}
	d, err := Defined(journal.RunCreated{Run: "r-flow", FlowRun: journal.FlowRun{Flow: json.RawMessage(`{"name":7}`)}})
	if err == nil || errors.As(err, new(*journal.UnknownFactError)) || d != nil || !strings.Contains(err.Error(), "r-flow") {
		t.Errorf("damage: %v, %v", d, err)
	}
	whole := feature()
	whole.Task, whole.Setups = TaskOptional, map[string]journal.Setup{"": {Provider: "anthropic"}}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Defined(journal.RunCreated{FlowRun: journal.FlowRun{Flow: text}}); err != nil {
		t.Errorf("its own: %v", err)
	}
}

// So are facts of a flow: an outcome that is not known is no failure, and a verdict no loss
// (EX-55).
func TestFlowFactsOfANewerBinary(t *testing.T) {
	plan := journal.Artifact{Path: "plan.md", SHA: "p1"}
	for name, fact := range map[string]func(v *tale) journal.Body{
		"part": func(*tale) journal.Body {
			return journal.FlowPhaseStarted{Phase: "plan", Part: "rehearsal", Run: "r-1", Why: journal.WhyFirst}
		},
		"outcome": func(v *tale) journal.Body {
			v.starts("plan", nil)
			return journal.FlowPhaseEnded{Phase: "plan", Part: journal.PartWork, Run: v.s.Instances("plan")[0].Open.Run, Outcome: "postponed"}
		},
		"verdict": func(v *tale) journal.Body {
			v.does("plan", true, nil, []journal.Artifact{plan})
			return journal.ArtifactsChecked{Epoch: 1, Before: "build", Artifacts: []journal.ArtifactCheck{{Artifact: plan, State: journal.ArtifactEdited, Verdict: "merge"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := begin(t, feature())
			err := v.s.Apply(journal.Event{Seq: v.n + 1, Body: fact(v)})
			if !errors.As(err, new(*journal.UnknownFactError)) || !strings.Contains(err.Error(), "not known to this binary") {
				t.Error(err)
			}
		})
	}
}
