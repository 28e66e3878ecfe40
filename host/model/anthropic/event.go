package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"agent/host/model"
	"agent/recovery/journal"
)

// event is what any event of the stream may say. An event or a delta of a kind that is not known is
// passed over, as the provider's versioning rules want.
//
// Source: platform.claude.com/docs/en/build-with-claude/streaming.
type event struct {
	Type    string `json:"type"`
	Message *struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	Index        int             `json:"index"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        delta           `json:"delta"`
	Usage        *usage          `json:"usage"`
	Error        *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	PartialJSON string `json:"partial_json"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	StopReason  string `json:"stop_reason"`
	StopDetails *struct {
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// usage is cumulative: what a later event says replaces what an earlier one said.
type usage struct {
	Input   *int64 `json:"input_tokens"`
	Output  *int64 `json:"output_tokens"`
	Read    *int64 `json:"cache_read_input_tokens"`
	Created *int64 `json:"cache_creation_input_tokens"`
	Details *struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// block is a content block as it starts.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// part is a block of the answer as far as it has come.
type part struct {
	block
	raw   json.RawMessage // as it started, for a kind that is not known
	text  bytes.Buffer    // of text, thinking or arguments
	sign  bytes.Buffer
	ended bool
	odd   bool // something came for it that is not known, so that it cannot be sent back as it was
}

// assembly is an answer as far as it has come.
type assembly struct {
	began  bool // message_start came
	ended  bool // message_stop came
	id     string
	served string
	parts  []*part
	open   map[int]*part
	stop   string
	why    string // the provider's words about a refusal
	usage  usage
}

// protocolError says that what came is not the protocol.
type protocolError struct{ what string }

func (e *protocolError) Error() string { return e.what }

func broken(format string, args ...any) error { return &protocolError{fmt.Sprintf(format, args...)} }

// streamError is an error that the provider sent in the stream.
type streamError struct{ kind, message, origin string }

func (e *streamError) Error() string { return e.kind + ": " + e.message }

// take reads one event and returns what of it is shown.
func (a *assembly) take(name string, data []byte) (model.Delta, error) {
	if e, ok := quickly(data); ok && a.began {
		return a.blockDelta(e)
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return model.Delta{}, broken("an event is not JSON: %s", excerpt(data))
	}
	if e.Type == "" {
		e.Type = name
	}
	switch e.Type {
	case "message_start":
		return model.Delta{}, a.start(e)
	case "error":
		if e.Error == nil {
			return model.Delta{}, broken("an error without a message: %s", excerpt(data))
		}
		return model.Delta{}, &streamError{e.Error.Type, e.Error.Message, e.RequestID}
	case "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop":
		if !a.began {
			return model.Delta{}, broken("%s came before message_start", e.Type)
		}
	}
	switch e.Type {
	case "content_block_start":
		return a.blockStart(e)
	case "content_block_delta":
		return a.blockDelta(e)
	case "content_block_stop":
		p, err := a.at(e)
		if err == nil {
			p.ended = true
			delete(a.open, e.Index)
		}
		return model.Delta{}, err
	case "message_delta":
		a.usage.merge(e.Usage)
		if e.Delta.StopReason != "" {
			a.stop = e.Delta.StopReason
		}
		if d := e.Delta.StopDetails; d != nil {
			a.why = d.Explanation
		}
	case "message_stop":
		a.ended = true
	}
	return model.Delta{}, nil
}

func (a *assembly) start(e event) error {
	if a.began || e.Message == nil {
		return broken("a second message_start, or one without its message")
	}
	a.began, a.id, a.served = true, e.Message.ID, e.Message.Model
	a.open = map[int]*part{}
	a.usage.merge(e.Message.Usage)
	return nil
}

func (a *assembly) at(e event) (*part, error) {
	if p := a.open[e.Index]; p != nil {
		return p, nil
	}
	return nil, broken("%s for block %d, which is not open", e.Type, e.Index)
}

func (a *assembly) blockStart(e event) (model.Delta, error) {
	p := &part{}
	if err := json.Unmarshal(e.ContentBlock, &p.block); err != nil || p.Type == "" {
		return model.Delta{}, broken("content_block_start without a block: %s", excerpt(e.ContentBlock))
	}
	if a.open[e.Index] != nil {
		return model.Delta{}, broken("block %d started twice", e.Index)
	}
	a.open[e.Index] = p
	a.parts = append(a.parts, p)
	switch p.Type {
	case "text":
		p.text.WriteString(p.Text)
		return model.Delta{Text: p.Text}, nil
	case "thinking":
		p.text.WriteString(p.Thinking)
		p.sign.WriteString(p.Signature)
		return model.Delta{Reasoning: p.Thinking}, nil
	case "redacted_thinking", "tool_use":
	default:
		p.raw = e.ContentBlock
	}
	return model.Delta{}, nil
}

// wants is the kind of block that a kind of delta belongs to.
func wants(delta string) string {
	switch delta {
	case "text_delta":
		return "text"
	case "input_json_delta":
		return "tool_use"
	case "thinking_delta", "signature_delta":
		return "thinking"
	}
	return ""
}

func (a *assembly) blockDelta(e event) (model.Delta, error) {
	p, err := a.at(e)
	if err != nil {
		return model.Delta{}, err
	}
	kind := wants(e.Delta.Type)
	switch {
	case p.raw != nil || kind == "":
		p.odd = true // what it says is lost
		return model.Delta{}, nil
	case kind != p.Type:
		return model.Delta{}, broken("%s for a block of kind %s", e.Delta.Type, p.Type)
	}
	switch e.Delta.Type {
	case "text_delta":
		p.text.WriteString(e.Delta.Text)
		return model.Delta{Text: e.Delta.Text}, nil
	case "input_json_delta":
		p.text.WriteString(e.Delta.PartialJSON)
	case "thinking_delta":
		p.text.WriteString(e.Delta.Thinking)
		return model.Delta{Reasoning: e.Delta.Thinking}, nil
	case "signature_delta":
		p.sign.WriteString(e.Delta.Signature)
	}
	return model.Delta{}, nil
}

func (u *usage) merge(v *usage) {
	if v == nil {
		return
	}
	set := func(to **int64, from *int64) {
		if from != nil {
			*to = from
		}
	}
	set(&u.Input, v.Input)
	set(&u.Output, v.Output)
	set(&u.Read, v.Read)
	set(&u.Created, v.Created)
	if v.Details != nil {
		u.Details = v.Details
	}
}

// total is nil when the server said nothing; nothing but zeros, which no answer costs, says
// nothing.
func (u usage) total() *journal.Usage {
	n := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return max(*p, 0)
	}
	out := &journal.Usage{Output: n(u.Output), Cached: n(u.Read), Written: n(u.Created)}
	out.Input = n(u.Input) + out.Cached + out.Written
	if u.Details != nil {
		out.Reasoning = n(u.Details.Thinking)
	}
	if *out == (journal.Usage{}) {
		return nil
	}
	return out
}
