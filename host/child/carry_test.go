package child

import (
	"encoding/json"
	"testing"

	"agent/recovery/journal"
	"agent/tools"
)

// A run below another goes by what holds above: the mode, the folder, and the model where none was
// named for it. One whose cost is limited is not asked of a model without a price.
func TestWhatHoldsAbove(t *testing.T) {
	priced := journal.Setup{Provider: "anthropic", BaseURL: "http://127.0.0.1:1", Effort: "low", Price: &journal.Price{Input: 1}}
	free := priced
	free.Price = nil
	for _, c := range []struct {
		name, args string
		setup      journal.Setup
		want       string
	}{
		{"none named", `{"task":"x"}`, priced, "anthropic/new"},
		{"one of its own", `{"task":"x","model":"anthropic/own"}`, priced, ""},
		{"the same one, by its name", `{"task":"x","model":"anthropic/new"}`, priced, ""},
		{"limited, at a price", `{"task":"x","max_cost":1}`, priced, "anthropic/new"},
		{"limited, without a price", `{"task":"x","max_cost":1}`, free, ""},
		{"a runbook's", `{"task":"x"}`, journal.Setup{}, ""},
	} {
		got := changes(tools.Call{Args: json.RawMessage(c.args), Parent: tools.Parent{
			Mode: journal.ModePlan, Created: journal.RunCreated{Model: "anthropic/new", Folder: "/work", Setup: c.setup},
		}})
		if got.Mode != journal.ModePlan || got.Folder != "/work" {
			t.Errorf("%s: %+v", c.name, got)
		}
		model := ""
		if m := got.Model; m != nil {
			model = m.Name
			if m.Provider != c.setup.Provider || m.BaseURL != c.setup.BaseURL || m.Effort != c.setup.Effort || m.Price != c.setup.Price {
				t.Errorf("%s: %+v", c.name, m)
			}
		}
		if model != c.want {
			t.Errorf("%s: the model becomes %q, want %q", c.name, model, c.want)
		}
	}
}
