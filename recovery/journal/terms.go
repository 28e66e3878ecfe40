package journal

import "encoding/json"

// Terms are what a person set for one run alone.
type Terms struct {
	Rules        string          `json:"rules,omitempty"`         // of permission, as they stand in a configuration; runs below it have them too
	OutputSchema json.RawMessage `json:"output_schema,omitempty"` // a JSON Schema, which the answer of the run must fit
	AskPlan      bool            `json:"ask_plan,omitempty"`      // in mode plan it ends with the question whether its plan is to be carried out
	Dirs         []Dir           `json:"dirs,omitempty"`          // that it reaches beside its workspace; runs below it do too
}

// Dir is a folder beside a run's workspace.
type Dir struct {
	Path  string `json:"path"`            // absolute, without links when it was given
	Write bool   `json:"write,omitempty"` // it may be written too
}

// Below are the terms of a run that this one makes.
func (t Terms) Below() Terms { return Terms{Rules: t.Rules, Dirs: t.Dirs} }
