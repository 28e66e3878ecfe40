package view

import (
	"agent/host"
	"agent/recovery/journal"
)

// Plan is what resume --dry-run prints with --json. Fields are only ever added.
type Plan struct {
	Version    int        `json:"version"`
	RunID      string     `json:"run_id"`
	Prompt     string     `json:"prompt"` // its beginning
	Checkpoint string     `json:"checkpoint,omitempty"`
	Replayed   int        `json:"replayed"`
	Steps      []PlanStep `json:"steps"`
	Then       string     `json:"then"`
	Notes      []string   `json:"notes"`
}

// PlanStep is a call that a resume decides on.
type PlanStep struct {
	Call    string          `json:"call_id"`
	Turn    int             `json:"turn"`
	Index   int             `json:"index"`
	Tool    string          `json:"tool"`
	Summary string          `json:"summary"` // of its arguments
	Verdict journal.Verdict `json:"verdict"`
	Reason  string          `json:"reason"`
}

// NewPlan shows a plan.
func NewPlan(p host.Plan) Plan {
	v := Plan{
		Version: 1, RunID: p.Run, Prompt: p.Prompt, Checkpoint: p.Checkpoint, Replayed: p.Replayed, Then: p.Then, Steps: []PlanStep{},
		Notes: append([]string{}, p.Notes...),
	}
	for _, s := range p.Steps {
		v.Steps = append(v.Steps, PlanStep{
			Call: s.ID, Turn: s.Place.Turn, Index: s.Place.Index, Tool: s.Tool, Summary: s.Words, Verdict: s.Verdict, Reason: s.Reason,
		})
	}
	return v
}

// Resumed is what resume --all prints with --json: for each run an outcome or a refusal. Fields are
// only ever added.
type Resumed struct {
	Version  int   `json:"version"`
	Runs     []any `json:"runs"`
	ExitCode int   `json:"exit_code"`
}

// Plans is what resume --all --dry-run prints with --json. Fields are only ever added.
type Plans struct {
	Version int    `json:"version"`
	Runs    []Plan `json:"runs"`
}
