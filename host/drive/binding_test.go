package drive

import (
	"encoding/json"
	"testing"

	"agent/host/drive/bind"
	"agent/host/permission"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// held is a tool that the system keeps to what the test says.
type held struct {
	tools.Tool
	to string
}

func (h held) Spec() tools.Spec {
	return tools.Spec{Name: "held", Asks: true, Description: "a test's tool", Schema: json.RawMessage(`{"type":"object"}`)}
}
func (h held) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: journal.EffectWriteLocal, Confinement: h.to, Question: &journal.Question{}}
}

// PERM: a yes holds for the call, the folder, the mode, the environment's names, the sandbox, the
// rules and the tools that it was given for. Each of them voids it when it changes, by name.
func TestEveryPartOfAYesCounts(t *testing.T) {
	bound := func(change func(*policy, *recovery.Call)) string {
		t.Helper()
		reg, err := tools.NewRegistry(held{to: "namespaces"})
		if err != nil {
			t.Fatal(err)
		}
		pol := &policy{recorder: &recorder{
			p: &Process{}, env: Env{Tools: reg},
			state: &recovery.State{Mode: journal.ModeAsk, Created: journal.RunCreated{Folder: "/w"}},
		}}
		c := &recovery.Call{Proposal: &journal.Proposal{Tool: "held", Args: json.RawMessage(`{}`), Fingerprint: "hmac-sha256:v1:1"}}
		if change != nil {
			change(pol, c)
		}
		return pol.binding(c)
	}
	registry := func(list ...tools.Tool) *tools.Registry {
		reg, err := tools.NewRegistry(list...)
		if err != nil {
			t.Fatal(err)
		}
		return reg
	}
	given := bound(nil)
	if now := bound(nil); bind.Changes(given, now) != "" {
		t.Errorf("nothing changed: %q", bind.Changes(given, now))
	}
	for want, change := range map[string]func(*policy, *recovery.Call){
		"the call changed":                       func(_ *policy, c *recovery.Call) { c.Fingerprint = "hmac-sha256:v1:2" },
		"the folder changed":                     func(pol *policy, _ *recovery.Call) { pol.state.Created.Folder = "/v" },
		"the mode changed":                       func(pol *policy, _ *recovery.Call) { pol.state.Mode = journal.ModeAuto },
		"what the system confines it to changed": func(pol *policy, _ *recovery.Call) { pol.env.Tools = registry(held{to: "none"}) },
		"the environment of commands changed":    func(pol *policy, _ *recovery.Call) { pol.env.Variables = []string{"PATH"} },
		"the rules changed": func(pol *policy, _ *recovery.Call) {
			pol.rules = permission.New(permission.Rule{Decision: journal.DecisionDeny, Tool: "other"})
		},
	} {
		if got := bind.Changes(given, bound(change)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is different from when a run was created is recorded at its claim: the binary and the tools
// among it.
func TestChangedBinaryAndToolsAreTold(t *testing.T) {
	reg, err := tools.NewRegistry(held{})
	if err != nil {
		t.Fatal(err)
	}
	j := judge{Process: &Process{Version: "2"}, tools: reg}
	same := journal.RunCreated{Version: "2", ToolsHash: reg.Digest()}
	if got := j.changes(&recovery.State{Created: same}); len(got) != 0 {
		t.Errorf("nothing changed: %q", got)
	}
	other := journal.RunCreated{Version: "1", ToolsHash: "others"}
	want := []string{"the run was started by agent 1, this is 2", "the tools differ from those that the run was started with"}
	if got := j.changes(&recovery.State{Created: other}); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q, want %q", got, want)
	}
}
