package recovery

import (
	"encoding/json"
	"fmt"
	"time"
)

// Mode says what needs a person's yes.
type Mode string

// The modes of permission, from the tightest to the loosest: plan, ask, auto, yolo.
const (
	ModePlan Mode = "plan" // reads only; anything else is refused
	ModeAsk  Mode = "ask"  // reads run, anything else is asked about
	ModeAuto Mode = "auto" // reads and writes inside the workspace run, the rest is asked about
	ModeYolo Mode = "yolo" // everything runs
)

// Modes lists the modes from the tightest to the loosest.
func Modes() []Mode { return []Mode{ModePlan, ModeAsk, ModeAuto, ModeYolo} }

// Effect says what a call may change. It decides what recovery may do, not what needs a yes.
type Effect string

// The effects. A tool that cannot tell says write_external.
const (
	EffectRead          Effect = "read"
	EffectWriteLocal    Effect = "write_local"
	EffectWriteExternal Effect = "write_external"
)

// Place is a call's identity inside its run. Index counts from 0 in the model's order, Attempt from 1.
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
	Always      string          `json:"always,omitempty"`   // rules that a person may add to allow similar calls from then on
	Never       string          `json:"never,omitempty"`    // rules that a person may add to deny similar calls from then on
	Invalid     string          `json:"invalid,omitempty"`  // why the call cannot run at all: unknown tool, arguments that do not fit
	Question    *Question       `json:"question,omitempty"` // the call is a question to a person and runs nothing
}

// Question is what a person is asked.
type Question struct {
	Kind    RequestKind     `json:"kind"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"`            // JSON Schema of the answer
	Choices []string        `json:"choices,omitempty"` // the answers, where they can be listed
	Hints   []string        `json:"hints,omitempty"`   // what each choice does, in the order of Choices
	About   string          `json:"about,omitempty"`   // id of the call whose unknown outcome the question is about
}

// RequestKind says why a person is asked.
type RequestKind string

// The kinds of pending requests.
const (
	RequestAskUser    RequestKind = "ask_user"
	RequestConfirm    RequestKind = "confirm_action"
	RequestPermission RequestKind = "permission"
	RequestTwin       RequestKind = "twin"
	RequestMaxTurns   RequestKind = "max_turns"
	RequestMaxTokens  RequestKind = "max_tokens"
	RequestMaxCost    RequestKind = "max_cost"
	RequestElicit     RequestKind = "elicitation" // asked by a tool while its call is under way
)

// Request is an open question of a run.
type Request struct {
	ID string `json:"id"` // p-…; filled in by the host
	Question
	Call *Place `json:"call,omitempty"`

	// Of the call that the question belongs to, filled in by the host; the arguments where they are what is decided on.
	CallID string          `json:"call_id,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"arguments,omitempty"`

	Binding string     `json:"binding,omitempty"` // what a yes is bound to; filled in by the host
	Opened  time.Time  `json:"opened"`
	Expires *time.Time `json:"expires,omitempty"`
	// Rules are what an answer adds to the configuration of whoever gives it, as it is to stand there, by the answer.
	Rules map[string]string `json:"rules,omitempty"`
}

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
}

// Phase says how far a call has come.
type Phase string

// The phases of a call.
const (
	PhaseProposed Phase = "proposed"
	PhaseStarted  Phase = "started"
	PhaseSettled  Phase = "settled"
)

// Call is the folded state of one call.
type Call struct {
	Place
	Proposal
	Phase     Phase
	StartedAt time.Time
	Epoch     int64           // epoch under which the present attempt was started
	Before    json.RawMessage // from call.started
	Judged    Verdict         // what recovery decided about the present attempt in the present epoch
	Approved  string          // what the yes that was given is bound to
	Denied    string          // why the call must not run: a person's no, an unanswered question
	Twin      Word            // the answer to the twin guard
	Reply     *string         // the answer to the call's own question
	Result    *Result
	Resolved  Word // a person's decision on an unknown outcome

	resolvedBy string // who said it
	happened   bool   // a person decided that; running it once more since changes nothing of that

	mode   Mode    // mode under which the decision was made
	again  int64   // epoch whose owner meant to run it once more although it may have happened; 0 when there is none
	twin   Unknown // the call that the answer to the twin guard is about
	twinBy string  // who gave that answer
	disk   *Disk   // at the claim under which the present attempt was started
	boot   string  // likewise
}

// Unknown is a call whose outcome is unknown, or was before a person said that it happened, seen from another place of its thread.
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
}

// Block is one piece of a message.
type Block struct {
	Kind   BlockKind       `json:"kind"`
	Text   string          `json:"text,omitempty"`
	Call   *CallBlock      `json:"call,omitempty"`
	Result *ResultBlock    `json:"result,omitempty"`
	Image  *Image          `json:"image,omitempty"`
	Opaque json.RawMessage `json:"opaque,omitempty"` // what a provider needs back unchanged: {"<wire protocol>": anything}
}

// BlockKind names a kind of block.
type BlockKind string

// The kinds of blocks.
const (
	BlockText      BlockKind = "text"
	BlockReasoning BlockKind = "reasoning"
	BlockCall      BlockKind = "call"
	BlockResult    BlockKind = "result"
	BlockImage     BlockKind = "image"
)

// CallBlock is a call inside an assistant's message.
type CallBlock struct {
	ID       string          `json:"id"`
	Provider string          `json:"provider,omitempty"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
}

// ResultBlock is a call's result inside a tool's message.
type ResultBlock struct {
	ID       string  `json:"id"` // of the call
	Provider string  `json:"provider,omitempty"`
	Tool     string  `json:"tool"`
	Outcome  Outcome `json:"outcome"`
	Text     string  `json:"text"`
}

// Role says who speaks.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of the transcript.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}
