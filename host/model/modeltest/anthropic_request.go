package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Fields of a request to Messages, from the reference of its create endpoint.
const messagesFields = `model messages max_tokens system tools tool_choice stream thinking output_config temperature top_p top_k stop_sequences
	metadata service_tier container cache_control context_management inference_geo speed`

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
		Data  string `json:"data"`
		URL   string `json:"url"`
	} `json:"source"`
	Cache json.RawMessage `json:"cache_control"`
}

type anthropicRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int            `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"input_schema"`
		Cache  json.RawMessage `json:"cache_control"`
	} `json:"tools"`
	Thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Output struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
}

// messages is the Messages API of Anthropic.
type messages struct{ quirks Quirks }

func (m messages) parse(h http.Header, body []byte) (*ask, *refusal) {
	if h.Get("anthropic-version") == "" {
		return nil, invalid("anthropic-version: header is required")
	}
	var r anthropicRequest
	a := &ask{usage: true, marks: []int{}}
	if err := json.Unmarshal(body, &a.raw); err != nil {
		return nil, invalid("The request body is not valid JSON: %v", err)
	}
	if f := unknownFields(a.raw, messagesFields); f != "" {
		return nil, invalid("%s: Extra inputs are not permitted", f)
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, invalid("%v", err)
	}
	a.model, a.stream, a.effort = r.Model, r.Stream, r.Output.Effort
	a.thinking = r.Thinking.Type == "enabled" || r.Thinking.Type == "adaptive"
	p := anthropicParser{ask: a, ids: map[string]bool{}, caches: len(bytes.TrimSpace(a.raw["cache_control"]))}
	if p.caches > 0 {
		p.caches = 1
	}
	for _, step := range []func(*anthropicRequest) *refusal{settings, p.tools, p.system, p.messages, p.thoughts} {
		if e := step(&r); e != nil {
			return nil, e
		}
	}
	if a.raw["cache_control"] != nil {
		a.marks = append(a.marks, len(a.prefix))
	}
	if p.caches > 4 {
		return nil, invalid("A maximum of 4 blocks with cache_control may be provided. Found %d.", p.caches)
	}
	return a, nil
}

func settings(r *anthropicRequest) *refusal {
	switch {
	case r.Model == "":
		return invalid("model: Field required")
	case r.MaxTokens == nil:
		return invalid("max_tokens: Field required")
	case *r.MaxTokens < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	case len(r.Messages) == 0:
		return invalid("messages: at least one message is required")
	}
	switch r.Thinking.Type {
	case "", "disabled", "adaptive":
	case "enabled":
		if r.Thinking.Budget < 1024 {
			return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		}
		if r.Thinking.Budget >= *r.MaxTokens {
			return invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
		}
	default:
		return invalid("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", r.Thinking.Type)
	}
	switch r.Output.Effort {
	case "", "low", "medium", "high", "xhigh", "max":
		return nil
	}
	return invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
}

// anthropicParser checks a request part by part.
type anthropicParser struct {
	ask    *ask
	ids    map[string]bool
	caches int
}

// piece adds to what the cache compares.
func (p *anthropicParser) piece(raw, cache json.RawMessage) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) == nil {
		delete(m, "cache_control")
		p.ask.prefix = append(p.ask.prefix, marshal(m))
	} else {
		p.ask.prefix = append(p.ask.prefix, string(raw))
	}
	if len(cache) > 0 && string(cache) != "null" {
		p.caches++
		p.ask.marks = append(p.ask.marks, len(p.ask.prefix))
	}
}

func (p *anthropicParser) tools(r *anthropicRequest) *refusal {
	var raw []json.RawMessage
	if t := p.ask.raw["tools"]; t != nil {
		if err := json.Unmarshal(t, &raw); err != nil {
			return invalid("tools: Input should be a valid list")
		}
	}
	names := map[string]bool{}
	for i, t := range r.Tools {
		if t.Type != "" && t.Type != "custom" {
			return invalid("tools.%d: Input tag '%s' found using 'type' does not match any of the expected tags", i, t.Type)
		}
		if !plainName(t.Name, 128) {
			return invalid("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		}
		if names[t.Name] {
			return invalid("tools: Tool names must be unique.")
		}
		names[t.Name] = true
		if why := objectSchema(t.Schema); why != "" {
			return invalid("tools.%d.custom.input_schema: %s", i, why)
		}
		p.ask.tools = append(p.ask.tools, t.Name)
		p.piece(raw[i], t.Cache)
	}
	return nil
}

func (p *anthropicParser) system(r *anthropicRequest) *refusal {
	if len(r.System) == 0 {
		return nil
	}
	raw, blocks, err := blocksOf(r.System)
	if err != nil {
		return invalid("system: %v", err)
	}
	for i, b := range blocks {
		if b.Type != "text" {
			return invalid("system.%d.type: Input should be 'text'", i)
		}
		if b.Text == "" {
			return invalid("system: text content blocks must be non-empty")
		}
		p.piece(raw[i], b.Cache)
	}
	return nil
}

// blocksOf reads content: a text, or a list of blocks.
func blocksOf(content json.RawMessage) ([]json.RawMessage, []anthropicBlock, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []json.RawMessage{content}, []anthropicBlock{{Type: "text", Text: text}}, nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(content, &raw); err != nil {
		return nil, nil, errors.New("input should be a valid list")
	}
	blocks := make([]anthropicBlock, len(raw))
	for i := range raw {
		if err := json.Unmarshal(raw[i], &blocks[i]); err != nil {
			return nil, nil, err
		}
	}
	return raw, blocks, nil
}

func (p *anthropicParser) messages(r *anthropicRequest) *refusal {
	var open []string // calls of the message before that have no result yet
	for i, m := range r.Messages {
		want := [2]string{"user", "assistant"}[i%2]
		if m.Role != want {
			return invalid("messages: roles must alternate between \"user\" and \"assistant\", but messages.%d is of %q", i, m.Role)
		}
		raw, blocks, err := blocksOf(m.Content)
		if err != nil {
			return invalid("messages.%d.content: %v", i, err)
		}
		if len(blocks) == 0 {
			return invalid("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		var bad *refusal
		if m.Role == "user" {
			bad = p.user(i, blocks, open)
			open = nil
		} else {
			open, bad = p.assistant(i, blocks)
		}
		if bad != nil {
			return bad
		}
		for k := range raw {
			p.piece(raw[k], blocks[k].Cache)
		}
	}
	if len(open) > 0 {
		return withoutResult(len(r.Messages)-1, open)
	}
	return nil
}

func withoutResult(i int, ids []string) *refusal {
	return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		i, strings.Join(ids, ", "))
}

// user checks a person's message: results of all calls before it come first.
func (p *anthropicParser) user(i int, blocks []anthropicBlock, open []string) *refusal {
	left := map[string]bool{}
	for _, id := range open {
		left[id] = true
	}
	var text []string
	got := false
	for k, b := range blocks {
		switch b.Type {
		case "tool_result":
			if !left[b.ToolUseID] {
				return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, k, b.ToolUseID)
			}
			if len(text) > 0 {
				return withoutResult(i-1, []string{b.ToolUseID})
			}
			delete(left, b.ToolUseID)
			got = true
			if why := p.result(b); why != "" {
				return invalid("messages.%d.content.%d.tool_result.content: %s", i, k, why)
			}
		case "text", "image":
			if why := p.said(b); why != "" {
				return invalid("messages.%d.content.%d: %s", i, k, why)
			}
			text = append(text, b.Text)
		default:
			return invalid("messages.%d.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags for a user", i, k, b.Type)
		}
	}
	if len(left) > 0 {
		var ids []string
		for _, id := range open {
			if left[id] {
				ids = append(ids, id)
			}
		}
		return withoutResult(i-1, ids)
	}
	if got {
		p.ask.entries = append(p.ask.entries, entry{from: results})
	}
	if len(text) > 0 {
		p.ask.entries = append(p.ask.entries, entry{from: person, text: strings.Join(text, "\n")})
	}
	return nil
}

func (p *anthropicParser) said(b anthropicBlock) string {
	if b.Type == "image" {
		if b.Source.Type == "url" && b.Source.URL != "" {
			return ""
		}
		return picture(b.Source.Media, b.Source.Data)
	}
	if b.Text == "" {
		return "text content blocks must be non-empty"
	}
	if strings.TrimSpace(b.Text) == "" {
		return "text content blocks must contain non-whitespace text"
	}
	return ""
}

func (p *anthropicParser) result(b anthropicBlock) string {
	if len(b.Content) == 0 {
		return ""
	}
	_, blocks, err := blocksOf(b.Content)
	if err != nil {
		return err.Error()
	}
	var text string
	if json.Unmarshal(b.Content, &text) == nil {
		return ""
	}
	for _, c := range blocks {
		if c.Type != "text" && c.Type != "image" {
			return fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags", c.Type)
		}
		if why := p.said(c); why != "" {
			return why
		}
	}
	return ""
}
