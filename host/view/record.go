package view

import (
	"encoding/json"
	"time"

	"agent/host/flow/table"
	"agent/recovery/journal"
)

// Record is what show prints with --json: everything that is on record. Fields are only ever added.
type Record struct {
	Snapshot
	Calls []Call `json:"calls"`
	Facts []Fact `json:"facts"`
}

// Snapshot is where a run stands, without what it did on the way there. Fields are only ever added.
type Snapshot struct {
	Version int          `json:"version"`
	Run     Run          `json:"run"`
	By      string       `json:"started_by,omitempty"`
	Setup   *Setup       `json:"setup"` // null for a model without a provider, such as runbook
	Limits  Limits       `json:"limits"`
	Usage   *Usage       `json:"usage"`                 // null for a model without a provider
	CostUSD *json.Number `json:"cost_usd"`              // null where no price is known
	Kept    *Request     `json:"kept_answer,omitempty"` // the end of its question, which the run has not taken yet
	Cursor  string       `json:"cursor,omitempty"`      // behind the last fact that it reflects; of event lines

	*table.Table // of a flow: how its phases and artifacts stand

	Dirs        []journal.Dir `json:"dirs,omitempty"`        // beside its folder, that it reaches
	Environment []string      `json:"environment,omitempty"` // names of the recorded variables that commands get; values are shown nowhere

	now journal.RunCreated // what the run began with, as claims changed it since
}

// Fact is one fact of the journal; body is as it is stored.
type Fact struct {
	Seq  int64        `json:"seq"`
	Turn int          `json:"turn"`
	Time time.Time    `json:"recorded_at"`
	Kind journal.Kind `json:"kind"`
	Body journal.Body `json:"body"`
}

// Setup is what the model is asked with at every request. Fields are only ever added.
type Setup struct {
	Provider     string                `json:"provider"` // wire protocol: anthropic, responses or chat
	BaseURL      string                `json:"base_url,omitempty"`
	SystemName   string                `json:"system_name,omitempty"` // of our own part of the system prompt; the fact run.created has all of it
	Instructions []journal.Instruction `json:"instructions"`          // files that are shown to the model, quoted in the system prompt
	Window       int64                 `json:"window,omitempty"`      // tokens; not known when missing
	MaxOutput    int64                 `json:"max_output,omitempty"`  // tokens of one answer; left to the provider when missing
	Effort       journal.Effort        `json:"effort,omitempty"`
	Price        *journal.Price        `json:"price"` // of a million tokens, in millionths of a US dollar; null when not known
	NoCompact    bool                  `json:"no_compact,omitempty"`
	Images       int                   `json:"images,omitempty"`
}

// NewSetup shows a setup; nil for a model without a provider.
func NewSetup(m journal.Setup) *Setup {
	if m.Provider == "" {
		return nil
	}
	return &Setup{
		Provider: m.Provider, BaseURL: m.BaseURL, SystemName: m.SystemName, Instructions: append([]journal.Instruction{}, m.Instructions...),
		Window: m.Window, MaxOutput: m.MaxOutput, Effort: m.Effort, Price: m.Price, NoCompact: m.NoCompact, Images: len(m.Images),
	}
}

// Limits bounds a run as it is now; 0 and null are no limit. Fields are only ever added.
type Limits struct {
	MaxTurns   int          `json:"max_turns"`
	TimeoutMS  int64        `json:"timeout_ms"`
	MaxTokens  int64        `json:"max_tokens"`
	MaxCostUSD *json.Number `json:"max_cost_usd"`
}

// NewLimits shows limits.
func NewLimits(l journal.Limits) Limits {
	return Limits{
		MaxTurns: l.MaxTurns, TimeoutMS: l.Timeout.Milliseconds(), MaxTokens: l.MaxTokens,
		MaxCostUSD: Spending{cost: l.MaxCost, priced: l.MaxCost > 0}.Dollars(),
	}
}

// Add fills in what a fact says about the run as a whole.
func (v *Snapshot) Add(b journal.Body) {
	switch b := b.(type) {
	case journal.RunCreated:
		v.now, v.By, v.Setup, v.Limits, v.Dirs = b, b.By, NewSetup(b.Setup), NewLimits(b.Limits), b.Dirs
	case journal.RunClaimed:
		if b.Limits != nil {
			v.Limits = NewLimits(*b.Limits)
		}
		v.now = v.now.With(b)
		v.Setup = NewSetup(v.now.Setup)
	case journal.RunRestored:
		v.now.Folder = journal.FolderAfter(b, v.now.Folder)
		if b.Pack != "" {
			v.Dirs = nil
		}
	}
}

// Export is what export writes as JSON: whole runs, in the objects that other commands print with
// --json. Fields are only ever added.
type Export struct {
	Version int           `json:"version"`
	Thread  string        `json:"thread_id,omitempty"` // where all runs of a conversation are meant
	Runs    []ExportedRun `json:"runs"`                // in the order of the conversation
}

// ExportedRun is a run as show prints it, with what it changed as diff prints it. Fields are only
// ever added.
type ExportedRun struct {
	Record
	Diff   *Diff         `json:"diff"`             // null where nothing was changed, or it cannot be read
	Notes  []string      `json:"notes,omitempty"`  // what the diff cannot say
	Below  []ExportedRun `json:"below"`            // the runs that it has made, oldest first
	Unread []string      `json:"unread,omitempty"` // what of it could not be read, and why

	Tally string `json:"-"` // what it did and used, in a line; "" where that cannot be added up
}
