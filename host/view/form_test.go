package view_test

import (
	"encoding/json"
	"testing"

	"agent/host/view"
	"agent/recovery/journal"
)

// What a tool asks in a form can be typed as values, as name=value, as JSON, or be declined;
// nothing else is an answer.
func TestFormsAreTyped(t *testing.T) {
	one := journal.Question{Kind: journal.RequestElicit, Schema: json.RawMessage(
		`{"anyOf":[{"type":"object","properties":{"branch":{"type":"string"}},"required":["branch"]},{"enum":["decline","cancel"]}]}`)}
	two := journal.Question{Kind: journal.RequestElicit, Schema: json.RawMessage(
		`{"anyOf":[{"type":"object","properties":{"count":{"type":"integer"},"force":{"type":"boolean"}},"required":["count"]},` +
			`{"enum":["decline","cancel"]}]}`)}
	for _, c := range []struct {
		q           journal.Question
		typed, want string // "" is no answer
	}{
		{one, "main", `{"branch":"main"}`},
		{one, "feature branch", `{"branch":"feature branch"}`},
		{one, "branch=main", `{"branch":"main"}`},
		{one, `{"branch":"main"}`, `{"branch":"main"}`},
		{one, "Decline", `"decline"`},
		{one, `{"branch":7}`, ""},
		{one, `{}`, ""},
		{two, "count=3 force=yes", `{"count":3,"force":true}`},
		{two, "count=3", `{"count":3}`},
		{two, "count=3.5", ""},
		{two, "count=many", ""},
		{two, "count=3 colour=red", ""},
		{two, "force=yes", ""},
		{two, "3", ""},
		{two, "", ""},
		{two, "cancel", `"cancel"`},
	} {
		got, err := view.ParseAnswer(c.q, c.typed)
		if string(got) != c.want && c.want != "" || (err == nil) != (c.want != "") {
			t.Errorf("%q: %s, %v; want %q", c.typed, got, err, c.want)
		}
	}
}
