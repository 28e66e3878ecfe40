package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Effect says what a call may change. It decides what recovery may do, not what needs a yes.
type Effect string

// The effects. A tool that cannot tell says write_external.
const (
	EffectRead          Effect = "read"
	EffectWriteLocal    Effect = "write_local"
	EffectWriteExternal Effect = "write_external"
)

// Place is a call's identity inside its run. Index counts from 0 in the model's order, Attempt
// from 1.
type Place struct {
	Turn    int `json:"turn"`
	Index   int `json:"index"`
	Attempt int `json:"attempt,omitempty"`
}

func (p Place) String() string { return fmt.Sprintf("%d.%d", p.Turn, p.Index) }

// Decision is what the permission rules said about a call before it was recorded.
type Decision string

// The decisions.
const (
	DecisionAllow Decision = "allow"
	DecisionAsk   Decision = "ask"
	DecisionDeny  Decision = "deny"
)

// StricterThan says whether a decision lets less happen than another one.
func (d Decision) StricterThan(than Decision) bool {
	order := []Decision{DecisionAllow, DecisionAsk, DecisionDeny}
	return slices.Index(order, d) > slices.Index(order, than)
}

// Proposal is one call as the model asked for it and as the host read it, before it may act.
type Proposal struct {
	ID          string          `json:"id"`                 // c-…: what a person types
	Provider    string          `json:"provider,omitempty"` // the provider's own id; never trusted to be unique
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args"`
	Fingerprint string          `json:"fp"`
	Effect      Effect          `json:"effect"`
	RetrySafe   bool            `json:"retry_safe,omitempty"`
	Decision    Decision        `json:"decision"`
	Why         string          `json:"why,omitempty"`      // why it is allowed, asked about or denied
	Sandbox     string          `json:"sandbox,omitempty"`  // what the operating system keeps the call to; "" for nothing
	Access      string          `json:"access,omitempty"`   // of a command that requested more, because of why; "" for what it requested
	Always      string          `json:"always,omitempty"`   // of journals without Offers: the rules of the answer always
	Never       string          `json:"never,omitempty"`    // of journals without Offers: the rules of the answer never
	Offers      []Offer         `json:"offers,omitempty"`   // answers that hold for similar calls from then on
	Named       bool            `json:"named,omitempty"`    // a rule names all that it does, and allows it; said where it did so before
	Invalid     string          `json:"invalid,omitempty"`  // why the call cannot run at all: unknown tool, arguments that do not fit
	Question    *Question       `json:"question,omitempty"` // the call is a question to a person and runs nothing
}

// Offer is an answer to a question about permission that holds for similar calls too.
type Offer struct {
	Answer string `json:"answer"`
	Says   string `json:"says"`  // what it does, with what its rules are about
	Rules  string `json:"rules"` // that it adds, as they stand in a configuration
}

// The answers to a question about permission. Those that hold for similar calls add rules: to the
// person's configuration, or for the rest of the run.
const (
	AnswerYes    = "yes"
	AnswerNo     = "no" // with ", " and a reason behind it, which the model gets
	AnswerAlways = "always"
	AnswerPrefix = "always-prefix" // of older journals: a beginning of the command, which would grant less now than it promised
	AnswerWrite  = "always-write"
	AnswerRun    = "always-run"
	AnswerEdits  = "always-edits"
	AnswerNever  = "never"
)

// Outcome says how a call ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeError   Outcome = "error"
	OutcomeUnknown Outcome = "unknown" // it may have happened; no record says
	OutcomeSkipped Outcome = "skipped" // it was not executed
	OutcomeDenied  Outcome = "denied"  // a person or a rule said no; it was not executed
)

// Applied says whether a side effect took place.
type Applied string

// The answers to whether a side effect took place.
const (
	AppliedNo      Applied = "no"
	AppliedYes     Applied = "yes"
	AppliedUnknown Applied = "unknown"
)

// How says where a result comes from.
type How string

// The origins of a result.
const (
	HowExecuted How = "executed" // the call ran under this owner
	HowAttached How = "attached" // it was found running and waited for
	HowAdopted  How = "adopted"  // its own record was found
	HowVerified How = "verified" // its effect was looked at and is there
	HowTold     How = "told"     // nothing ran; the text says why
)

// Result is what a call gave. Content is what the model sees; it is bounded and valid UTF-8.
type Result struct {
	Outcome Outcome         `json:"outcome"`
	Applied Applied         `json:"applied"`
	How     How             `json:"how,omitempty"`
	Content string          `json:"content"`
	Data    json.RawMessage `json:"data,omitempty"`     // facts of the tool itself: exit status, hash after; with Alive, where to look for them again
	Full    []byte          `json:"-"`                  // the whole output where Content is only a part; the store keeps it as a body of its own
	Blob    string          `json:"blob,omitempty"`     // content hash under which the store keeps Full
	Size    int64           `json:"size,omitempty"`     // bytes of the whole output
	Took    time.Duration   `json:"took,omitempty"`     // nanoseconds
	Alive   []string        `json:"alive,omitempty"`    // processes of the call that could not be shown dead
	PutBack []string        `json:"put_back,omitempty"` // what the call planted for others to run, and what became of it; the content says it too
	Child   *ChildEnd       `json:"child,omitempty"`    // of a call that a run of its own carried out: how that ended
}

// PrintedMark is the line of a result whose outcome is unknown behind which stands what the call
// had printed.
const PrintedMark = "until then it had printed:"

// Phase says how far a call has come.
type Phase string

// The phases of a call.
const (
	PhaseProposed Phase = "proposed"
	PhaseStarted  Phase = "started"
	PhaseSettled  Phase = "settled"
)

// Unknown is a call that may not simply be done again, seen from another place of its thread: its
// outcome is unknown, or was before a person said that it happened, or it happened and the model
// has not heard of it.
type Unknown struct {
	Run         string          `json:"run"`
	ID          string          `json:"id"`
	Place       Place           `json:"place"`
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args,omitempty"`
	Fingerprint string          `json:"fp"`
	StartedAt   time.Time       `json:"started_at"`
	Alive       bool            `json:"alive,omitempty"`    // may still be running: running it once more is not offered
	Resolved    Word            `json:"resolved,omitempty"` // what a person last said of it: leave or happened
	By          string          `json:"-"`                  // who said it, where that was in this run

	// Done says that its outcome is known: it happened outside of the workspace, and a rewind or a
	// fork took it out of the conversation. Outcome and Content are what its result says.
	Done    bool    `json:"done,omitempty"`
	Outcome Outcome `json:"outcome,omitempty"`
	Content string  `json:"content,omitempty"`
}
