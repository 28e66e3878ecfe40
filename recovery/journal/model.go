package journal

import (
	"fmt"
	"strings"
	"time"
)

// Setup is what a model is asked with at every request of a run. It is recorded when the run is
// created, so that the requests after a crash, an upgrade or an edited file are those of before.
type Setup struct {
	Provider     string        `json:"provider,omitempty"` // wire protocol: anthropic, responses or chat; "" for a model without one
	BaseURL      string        `json:"base_url,omitempty"` // where it is asked, when a flag named it; else the configuration does
	System       string        `json:"system,omitempty"`   // the whole system prompt
	SystemName   string        `json:"system_name,omitempty"`
	Instructions []Instruction `json:"instructions,omitempty"` // files that System quotes
	Window       int64         `json:"window,omitempty"`       // tokens that a request and its answer may have together; 0 when not known
	MaxOutput    int64         `json:"max_output,omitempty"`   // tokens that one answer may have; 0 leaves it to the provider
	Effort       Effort        `json:"effort,omitempty"`
	Price        *Price        `json:"price,omitempty"` // nil when not known
	NoCompact    bool          `json:"no_compact,omitempty"`
	Images       []Image       `json:"images,omitempty"`  // shown to the model with the prompt
	Servers      []ServerPin   `json:"servers,omitempty"` // MCP servers that were started for the run, with what they said of their tools
}

// ServerPin is what an MCP server said of its tools when a run began.
type ServerPin struct {
	Name  string    `json:"name"`
	Tools []ToolPin `json:"tools,omitempty"`
}

// ToolPin identifies a tool of an MCP server, and keeps enough of it to say how another one
// differs.
type ToolPin struct {
	Name        string   `json:"name"`                  // the server's own
	Pin         string   `json:"pin"`                   // SHA-256 of name, description, schema and hints, hex
	Description string   `json:"description,omitempty"` // its beginning
	Schema      []string `json:"schema,omitempty"`      // "digest name" of each argument and of what else there is
}

// Instruction is a file of a person's standing instructions, such as AGENTS.md.
type Instruction struct {
	Path   string `json:"path"`
	Digest string `json:"digest"` // SHA-256 of the file, hex
	Bytes  int64  `json:"bytes"`
}

// Image is a picture. Data is base64 in JSON.
type Image struct {
	Media string `json:"media"` // image/png, image/jpeg, image/gif or image/webp
	Data  []byte `json:"data"`
}

// Effort says how long a model may think before it answers; "" leaves it to the provider.
type Effort string

// The efforts.
const (
	EffortNone   Effort = "none"
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
)

// Efforts lists the efforts from the smallest.
func Efforts() []Effort { return []Effort{EffortNone, EffortLow, EffortMedium, EffortHigh} }

// Price is what a million tokens cost, in millionths of a US dollar.
type Price struct {
	Input   int64 `json:"input"`             // read afresh
	Cached  int64 `json:"cached,omitempty"`  // read from the provider's cache
	Written int64 `json:"written,omitempty"` // read and written to the provider's cache
	Output  int64 `json:"output"`
}

// Usage is what requests cost, in tokens.
type Usage struct {
	Input     int64 `json:"input,omitempty"`     // all that the model read, from a cache or not
	Output    int64 `json:"output,omitempty"`    // all that it wrote, reasoning included
	Cached    int64 `json:"cached,omitempty"`    // part of Input that came from the provider's cache
	Written   int64 `json:"written,omitempty"`   // part of Input that was written to the provider's cache
	Reasoning int64 `json:"reasoning,omitempty"` // part of Output that was reasoning, where the provider says so
}

// Add sums up.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.Cached += v.Cached
	u.Written += v.Written
	u.Reasoning += v.Reasoning
}

// Minus is the usage without an earlier part of it.
func (u Usage) Minus(v Usage) Usage {
	u.Add(Usage{-v.Input, -v.Output, -v.Cached, -v.Written, -v.Reasoning})
	return u
}

// Tokens is all that was read and written.
func (u Usage) Tokens() int64 { return u.Input + u.Output }

// Cost is what the usage costs, in millionths of a US dollar, rounded up.
func (p Price) Cost(u Usage) int64 {
	fresh := max(0, u.Input-u.Cached-u.Written)
	total := fresh*p.Input + u.Cached*p.Cached + u.Written*p.Written + u.Output*p.Output
	return (total + 999_999) / 1_000_000
}

// Dollars writes millionths of a US dollar.
func Dollars(micros int64) string {
	text := strings.TrimRight(fmt.Sprintf("%d.%06d", micros/1_000_000, micros%1_000_000), "0")
	if i := strings.IndexByte(text, '.'); len(text)-i < 3 {
		text += "00"[:3-(len(text)-i)]
	}
	return "$" + text
}

// ModelChange is another model for a run that has begun, and how it is asked. Fields mean what they
// mean in [Setup]; the rest of the setup, the system prompt and the pictures among it, stays as the
// run began.
type ModelChange struct {
	Name      string `json:"name"`
	Provider  string `json:"provider"`
	BaseURL   string `json:"base_url,omitempty"`
	Window    int64  `json:"window,omitempty"`
	MaxOutput int64  `json:"max_output,omitempty"`
	Effort    Effort `json:"effort,omitempty"`
	Price     *Price `json:"price,omitempty"`
}

// With is the run's first fact as it would read had the run begun with what the claim changes.
func (c RunCreated) With(b RunClaimed) RunCreated {
	if b.Folder != "" {
		c.Folder = b.Folder
	}
	if m := b.Model; m != nil {
		c.Model = m.Name
		c.Setup.Provider, c.Setup.BaseURL, c.Setup.Window, c.Setup.MaxOutput = m.Provider, m.BaseURL, m.Window, m.MaxOutput
		c.Setup.Effort, c.Setup.Price = m.Effort, m.Price
	}
	if b.BaseURL != "" {
		c.Setup.BaseURL = b.BaseURL
	}
	return c
}

// FolderAfter is where a run works after one of its facts, given where it worked before.
func FolderAfter(b Body, before string) string {
	folder := ""
	switch b := b.(type) {
	case RunCreated:
		folder = b.Folder
	case RunClaimed:
		folder = b.Folder
	case RunRestored:
		folder = b.Folder
	}
	if folder == "" {
		return before
	}
	return folder
}

// ModelFailed says that a request to the model brought no answer.
type ModelFailed struct {
	Fault  Fault         `json:"fault"`
	Detail string        `json:"detail"`           // what happened
	Remedy string        `json:"remedy,omitempty"` // what a person can do about it
	Tries  int           `json:"tries"`            // requests in a row that failed under this owner, this one included
	Again  bool          `json:"again,omitempty"`  // the same request is sent again
	Wait   time.Duration `json:"wait,omitempty"`   // until then, in nanoseconds
	Usage  *Usage        `json:"usage,omitempty"`  // what it cost nevertheless; estimated
}

// ContextCompacted says that the model is shown a summary instead of older messages from here on.
// The record keeps them.
type ContextCompacted struct {
	Through int    `json:"through"` // the summary stands for earlier runs and for the turns up to this one; 0: for none of this run
	Summary string `json:"summary"`
	Before  int64  `json:"before,omitempty"` // tokens of the next request without it, estimated
	After   int64  `json:"after,omitempty"`  // and with it
	Usage   *Usage `json:"usage,omitempty"`  // what the summary cost
}

// Kind names the fact.
func (ModelFailed) Kind() Kind      { return KindModelFailed }
func (ContextCompacted) Kind() Kind { return KindCompacted }

// Fault says why a request to a model brought no answer.
type Fault string

// The faults.
const (
	FaultRateLimit  Fault = "rate_limit" // too many requests or tokens for now
	FaultOverloaded Fault = "overloaded" // the provider has no capacity for now
	FaultServer     Fault = "server"     // the provider failed
	FaultNetwork    Fault = "network"    // no connection, or it broke before the answer began
	FaultStalled    Fault = "stalled"    // no byte came for too long
	FaultCut        Fault = "cut"        // the answer broke off
	FaultGarbage    Fault = "garbage"    // what came is not the provider's protocol
	FaultTooLarge   Fault = "too_large"  // the answer is larger than what is taken
	FaultContext    Fault = "context"    // the request is longer than the model's window
	FaultFiltered   Fault = "filtered"   // the provider's content filter refused it
	FaultKey        Fault = "key"        // a key that is not accepted
	FaultNoKey      Fault = "no_key"     // no key to ask with
	FaultCredit     Fault = "credit"     // nothing left to pay with
	FaultNoModel    Fault = "no_model"   // the provider has no such model
	FaultRequest    Fault = "request"    // the provider refuses the request for another reason
)
