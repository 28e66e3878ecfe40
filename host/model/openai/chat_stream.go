package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"agent/host/model"
	"agent/recovery/journal"
)

// chunk is one event of Chat Completions. The library's own type is not used: it has no place for
// what compatible servers add, and reads five times slower.
type chunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Index  int       `json:"index"`
		Delta  chatDelta `json:"delta"`
		Finish string    `json:"finish_reason"`
	} `json:"choices"`
	Usage  json.RawMessage `json:"usage"`
	Error  trouble         `json:"error"`
	Object string          `json:"object"`
}

type chatDelta struct {
	Content  loose             `json:"content"`
	Refusal  loose             `json:"refusal"`
	Thinking loose             `json:"reasoning_content"` // vLLM, llama.cpp, DeepSeek
	Thought  loose             `json:"reasoning"`         // Ollama, OpenRouter, newer vLLM
	Details  []json.RawMessage `json:"reasoning_details"` // OpenRouter
	Calls    []toolDelta       `json:"tool_calls"`
}

// loose is text that may be null, a string, or a list of parts with text.
type loose string

// UnmarshalJSON never fails on JSON: what is no text is none.
func (l *loose) UnmarshalJSON(data []byte) error {
	*l = ""
	switch data[0] {
	case '"':
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*l = loose(s)
	case '[':
		var parts []struct {
			Text string `json:"text"`
		}
		if err := decode(data, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			*l += loose(p.Text)
		}
	}
	return nil
}

// chatParser puts an answer of Chat Completions together.
type chatParser struct {
	id, served string
	text       strings.Builder
	thought    strings.Builder
	details    details
	calls      assembly
	usage      json.RawMessage
	finish     string
	refused    bool
	usual      frame // of an event with a piece of text and nothing else
}

// ended is never known before [DONE] or the end of the stream: the usage comes behind the end of
// the answer.
func (p *chatParser) ended() bool { return false }

func (p *chatParser) take(data []byte, _ string) (model.Delta, error) {
	if text, ok := p.usual.text(data); ok {
		p.text.WriteString(text)
		return model.Delta{Text: text}, nil
	}
	var c chunk
	if err := decode(data, &c); err != nil {
		return model.Delta{}, garbage("the server sent an event that is not JSON", err)
	}
	if c.Object == "error" && !c.Error.there() {
		c.Error = trouble{raw: data}
	}
	if c.Error.there() {
		return model.Delta{}, &c.Error
	}
	if c.ID != "" {
		p.id = c.ID
	}
	if c.Model != "" {
		p.served = c.Model
	}
	if len(c.Usage) > 0 && !bytes.Equal(c.Usage, []byte("null")) {
		p.usage = c.Usage
	}
	var shown model.Delta
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue // one answer was asked for
		}
		p.delta(&c.Choices[i].Delta, &shown)
		if f := c.Choices[i].Finish; f != "" {
			p.finish = f
		}
	}
	if text, ok := c.onlyText(); ok {
		p.usual.learn(data, "content", text)
	}
	return shown, nil
}

// onlyText is the text of an event that holds a piece of it and nothing else that is used.
func (c *chunk) onlyText() (string, bool) {
	if len(c.Choices) != 1 || c.Choices[0].Index != 0 || c.Choices[0].Finish != "" || len(c.Usage) > 0 && !bytes.Equal(c.Usage, []byte("null")) {
		return "", false
	}
	d := &c.Choices[0].Delta
	return string(d.Content), d.Content != "" && d.Refusal == "" && d.Thinking == "" && d.Thought == "" && len(d.Details) == 0 && len(d.Calls) == 0
}

// delta takes a piece. Servers that send the reasoning under two names send it twice.
func (p *chatParser) delta(d *chatDelta, shown *model.Delta) {
	shown.Text += string(d.Content) + string(d.Refusal)
	p.text.WriteString(string(d.Content) + string(d.Refusal))
	p.refused = p.refused || d.Refusal != ""
	thought := string(d.Thought)
	if thought == "" {
		thought = string(d.Thinking)
	}
	if from := p.details.take(d.Details); thought == "" {
		thought = from
	}
	shown.Reasoning += thought
	p.thought.WriteString(thought)
	for i := range d.Calls {
		p.calls.take(&d.Calls[i])
	}
}

func (p *chatParser) answer() (*model.Answer, error) {
	if p.finish == "" {
		return nil, nil
	}
	a := &model.Answer{Served: p.served, Origin: p.id, Usage: p.used()}
	switch p.finish {
	case "length":
		a.Stop = journal.AnswerLength
	case "content_filter":
		a.Stop = journal.AnswerRefuse
	case "error", "abort", "insufficient_system_resource":
		return nil, &trouble{raw: quoted(fmt.Sprintf("the provider ended the answer with %q", p.finish))}
	case "tool_calls", "function_call":
		a.Stop = journal.AnswerCalls
	default:
		a.Stop = journal.AnswerEnd
	}
	if p.refused {
		a.Stop = journal.AnswerRefuse
	}
	if err := p.reasoning(a); err != nil {
		return nil, err
	}
	if p.text.Len() > 0 {
		a.Blocks = append(a.Blocks, journal.Block{Kind: journal.BlockText, Text: p.text.String()})
	}
	calls := p.calls.blocks(a.Stop == journal.AnswerLength)
	switch {
	case a.Stop == journal.AnswerRefuse:
		return a, nil // nothing of what was refused runs
	case len(calls) == 0 && a.Stop == journal.AnswerCalls:
		a.Stop = journal.AnswerEnd
	case len(calls) > 0 && a.Stop == journal.AnswerEnd:
		a.Stop = journal.AnswerCalls
	}
	a.Blocks = append(a.Blocks, calls...)
	return a, nil
}

// reasoning is a block of its own. Text that a person may read is not sent back; what a router
// wants back is.
func (p *chatParser) reasoning(a *model.Answer) error {
	b := journal.Block{Kind: journal.BlockReasoning, Text: p.thought.String()}
	raw, err := p.details.json()
	if err != nil {
		return garbage("the server sent reasoning details that cannot be read", err)
	}
	if raw != "" {
		if b.Opaque, err = (returned{Chat: &routed{raw}}).raw(); err != nil {
			return err
		}
	}
	if b.Text != "" || b.Opaque != nil {
		a.Blocks = append(a.Blocks, b)
	}
	return nil
}

// used is nil where the server does not say. DeepSeek names what came from its cache in its own
// way.
func (p *chatParser) used() *journal.Usage {
	var u struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Hit        int64 `json:"prompt_cache_hit_tokens"`
		In         struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if p.usage == nil || decode(p.usage, &u) != nil || u.Prompt+u.Completion == 0 {
		return nil
	}
	return &journal.Usage{
		Input: u.Prompt, Cached: max(u.In.Cached, u.Hit), Written: u.In.Written,
		Output: u.Completion, Reasoning: u.Out.Reasoning,
	}
}
