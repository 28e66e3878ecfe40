package journal

import "encoding/json"

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
