package standing_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agent/host/flow/standing"
	"agent/host/flow/table"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// A journal is folded as it is read. Another run is no flow, and what cannot follow is said.
func TestFold(t *testing.T) {
	def, err := json.Marshal(flow.Definition{Name: "one.md", Phases: []flow.Phase{{Name: "scout", Tries: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	var f, other standing.Fold
	for i, b := range []journal.Body{journal.RunCreated{Run: "r-flow", FlowRun: journal.FlowRun{Flow: def}}, journal.RunClaimed{Epoch: 1}, journal.ArtifactsChecked{Epoch: 1},
		journal.FlowPhaseStarted{Phase: "scout", Part: journal.PartWork, Run: "r-1"}} {
		f.Take(journal.Event{Seq: int64(i + 1), Body: b})
	}
	v, err := f.Table(nil, nil)
	if err != nil || len(v.Phases) != 1 || v.Phases[0].Status != table.Running {
		t.Fatal(v, err)
	}
	f.Take(journal.Event{Seq: 5, Body: journal.FlowPhaseStarted{Phase: "ghost", Part: journal.PartWork, Run: "r-2"}})
	if v, err := f.Table(nil, nil); v != nil || err == nil || !strings.Contains(err.Error(), `no phase "ghost"`) {
		t.Errorf("a phase that is none: %v", err)
	}
	other.Take(journal.Event{Seq: 1, Body: journal.RunCreated{Run: "r-other"}})
	if v, err := other.Table(nil, nil); v != nil || err != nil {
		t.Errorf("no flow: %v %v", v, err)
	}
	other.Take(journal.Event{Seq: 1, Body: journal.RunCreated{Run: "r-other", FlowRun: journal.FlowRun{Flow: json.RawMessage(`{"phases":3}`)}}})
	if _, err := other.Table(nil, nil); err == nil {
		t.Error("a definition that cannot be read is taken")
	}
}
