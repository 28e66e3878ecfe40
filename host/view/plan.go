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

	Flow      string         `json:"flow,omitempty"` // name of its file
	Phases    []PlanPhase    `json:"phases,omitempty"`
	Artifacts []PlanArtifact `json:"artifacts,omitempty"`
	Redone    []PlanRedo     `json:"redone,omitempty"` // phases that are done again for that
}

// PlanPhase is how a phase of a flow, or a branch of one, stands by its record.
type PlanPhase struct {
	Phase  string `json:"phase"`
	Status string `json:"status"`
	RunID  string `json:"run_id,omitempty"` // that carries it out, where it is under way
}

// PlanArtifact is how a file that counts compares with its record.
type PlanArtifact struct {
	Path    string                  `json:"path"`
	State   journal.ArtifactState   `json:"state"`
	Verdict journal.ArtifactVerdict `json:"verdict"`
	Reason  string                  `json:"reason,omitempty"`
	SHA     string                  `json:"sha,omitempty"` // as it is now
	Size    int64                   `json:"size"`          // bytes, likewise
}

// PlanRedo is a phase that is done again.
type PlanRedo struct {
	Phase  string `json:"phase"`
	Reason string `json:"reason"`
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
	if p.Flow != nil {
		v.flow(*p.Flow)
	}
	return v
}

func (v *Plan) flow(p host.FlowPlan) {
	v.Flow = p.Name
	for _, l := range p.Phases {
		v.Phases = append(v.Phases, PlanPhase{l.Name, l.Status, l.Run})
	}
	for _, a := range p.Artifacts {
		v.Artifacts = append(v.Artifacts, PlanArtifact{a.Path, a.State, a.Verdict, a.Reason, a.SHA, a.Size})
	}
	for _, r := range p.Redone {
		name := r.Phase
		if r.Item != nil {
			name += "[" + r.Item.Name + "]"
		}
		v.Redone = append(v.Redone, PlanRedo{name, r.Reason})
	}
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
