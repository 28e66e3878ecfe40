package drive

import (
	"encoding/json"
	"strings"
	"testing"

	"agent/host/permission"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// A call's paths are looked up where a rule is about its tool, and where a person is asked, whose
// standing answer names them.
func TestPathsAreLookedUpForRules(t *testing.T) {
	args := json.RawMessage(`{"path":"docs/a.md"}`)
	is := tools.Traits{Effect: journal.EffectWriteLocal}
	state := &recovery.State{Mode: journal.ModeAsk, Created: journal.RunCreated{Folder: t.TempDir()}}
	pol := &policy{recorder: &recorder{p: &Process{}, state: state}}
	if q := pol.query(is, "write_file", args); q.Paths != nil {
		t.Errorf("%q without a rule", q.Paths)
	}
	p := journal.Proposal{Tool: "write_file", Args: args}
	pol.env.Stand = func(string, journal.Request, string) (string, error) { return "", nil }
	pol.env.ReadRules = func(string) ([]permission.Rule, error) { return nil, nil }
	pol.permission(&p, is)
	rules := map[string]string{}
	for _, o := range p.Offers {
		rules[o.Answer] = o.Rules
	}
	for _, answer := range []string{journal.AnswerAlways, journal.AnswerNever} {
		if !strings.Contains(rules[answer], `path = "docs/a.md"`) {
			t.Errorf("%s:\n%s", answer, rules[answer])
		}
	}
	pol.rules = permission.New(permission.Rule{Decision: journal.DecisionDeny, Tool: "write_*", Path: "docs"})
	pol.permission(&p, is)
	if p.Decision != journal.DecisionDeny {
		t.Errorf("%s (%s) in spite of a rule", p.Decision, p.Why)
	}
}

// described is a tool whose calls are what the test says.
type described struct {
	prop
	is tools.Traits
}

func (d *described) Describe(string, json.RawMessage) tools.Traits { return d.is }

// What a tool says of a call is what is recorded of it, and what the decision is made from.
func TestTraitsAreRecordedAndDecidedUpon(t *testing.T) {
	tool := &described{prop: prop{name: "described"}}
	reg, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	state := &recovery.State{Mode: journal.ModeAsk, Created: journal.RunCreated{Folder: t.TempDir()}}
	pol := &policy{recorder: &recorder{p: &Process{}, env: Env{Tools: reg}, state: state}}
	for _, tt := range []struct {
		is   tools.Traits
		want journal.Decision
	}{
		{tools.Traits{Effect: journal.EffectRead}, journal.DecisionAllow},
		{tools.Traits{Effect: journal.EffectRead, RetrySafe: true, Confinement: "a sandbox"}, journal.DecisionAllow},
		{tools.Traits{Effect: journal.EffectRead, Outward: "example.com:443"}, journal.DecisionAsk},
		{tools.Traits{Effect: journal.EffectWriteLocal}, journal.DecisionAsk},
	} {
		tool.is = tt.is
		p := journal.Proposal{Tool: "described", Args: json.RawMessage(`{}`)}
		pol.classify(&p, tool)
		if p.Effect != tt.is.Effect || p.RetrySafe != tt.is.RetrySafe || p.Sandbox != tt.is.Confinement || p.Decision != tt.want {
			t.Errorf("%+v: %+v", tt.is, p)
		}
	}
}
