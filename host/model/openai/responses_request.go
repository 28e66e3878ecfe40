package openai

import (
	"encoding/json"
	"fmt"
	"slices"

	"agent/host/model"
	"agent/recovery/journal"
)

// responsesHead is what a request says beside the conversation.
type responsesHead struct {
	Model     string       `json:"model"`
	Stream    bool         `json:"stream"`
	Store     bool         `json:"store"`
	Include   []string     `json:"include,omitempty"`
	CacheKey  string       `json:"prompt_cache_key,omitempty"`
	MaxOutput int64        `json:"max_output_tokens,omitempty"`
	Reasoning *reasoning   `json:"reasoning,omitempty"`
	System    string       `json:"instructions,omitempty"`
	Tools     []definition `json:"tools,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary,omitempty"`
}

// definition describes a tool. Strict would make every argument required.
type definition struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// responsesBody is the request of the Responses API. Nothing is kept at the provider: every request
// carries the whole conversation, with the encrypted reasoning of models that reason.
//
// A summary of the reasoning is asked for only together with an effort: OpenAI refuses it to
// organizations that it has not verified, and whoever asks for nothing should not be refused.
func (c *client) responsesBody(req model.Request) ([]byte, error) {
	head := responsesHead{
		Model: c.o.Model, Stream: true, CacheKey: req.Thread, MaxOutput: max(0, req.MaxOutput), System: valid(req.System),
	}
	if !plain(c.o.Model) {
		head.Include = []string{"reasoning.encrypted_content"}
		if req.Effort != "" {
			head.Reasoning = &reasoning{Effort: effort(c.o.Model, req.Effort)}
		}
		if req.Effort != "" && req.Effort != journal.EffortNone {
			head.Reasoning.Summary = "auto"
		}
	}
	for _, t := range req.Tools {
		head.Tools = append(head.Tools, definition{Type: "function", Name: t.Name, Description: valid(t.Description), Parameters: schema(t)})
	}
	var in input
	from := c.sent.resume(req, &in.items, nil)
	for i, m := range req.Messages[from:] {
		c.sent.keep(req, from+i, in.items, said{})
		if err := in.message(c.o.Model, m); err != nil {
			return nil, err
		}
	}
	return closing(head, "input", in.items)
}

// The items of a conversation.
type (
	message struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		ID      string `json:"id,omitempty"`
		Status  string `json:"status,omitempty"`
		Phase   string `json:"phase,omitempty"`
		Content any    `json:"content"`
	}
	inputText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	inputImage struct {
		Type   string `json:"type"`
		Detail string `json:"detail"`
		URL    string `json:"image_url"`
	}
	outputText struct {
		Type        string     `json:"type"`
		Text        string     `json:"text"`
		Annotations []struct{} `json:"annotations"`
	}
	functionCall struct {
		Type      string `json:"type"`
		ID        string `json:"id,omitempty"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	functionOutput struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}
)

// input is the list of items that the model reads.
type input struct{ items [][]byte }

func (in *input) add(item any) error {
	raw, err := quote(item)
	if err != nil {
		return fmt.Errorf("encode an item of the request: %w", err)
	}
	in.items = append(in.items, raw)
	return nil
}

// message is one of ours. Results come first: they must follow their calls.
func (in *input) message(name string, m journal.Message) error {
	if m.Role == journal.RoleAssistant {
		return in.answer(name, m)
	}
	var said []any
	for _, b := range m.Blocks {
		switch b.Kind {
		case journal.BlockResult:
			if err := in.add(functionOutput{"function_call_output", b.Result.ID, valid(b.Result.Text)}); err != nil {
				return err
			}
		case journal.BlockImage:
			said = append(said, inputImage{"input_image", "auto", dataURL(b.Image)})
		case journal.BlockText:
			said = append(said, inputText{"input_text", valid(b.Text)})
		}
	}
	if len(said) == 0 {
		return nil
	}
	return in.add(message{Type: "message", Role: "user", Content: said})
}

// answered is an answer taken apart: what is no call, with what was kept of it, and the calls.
type answered struct {
	blocks []journal.Block
	notes  []kept
	calls  []*journal.CallBlock
	ids    []string // item ids of the calls
}

// takeApart reads an answer. The provider refuses an item by whose id it knows that its reasoning
// is missing; so where reasoning cannot go back, no id does.
func takeApart(name string, m journal.Message) (answered, error) {
	var a answered
	whole := true
	for _, b := range m.Blocks {
		if b.Kind == journal.BlockCall {
			a.calls = append(a.calls, b.Call)
			continue
		}
		r, err := recall(b)
		if err != nil {
			return a, err
		}
		var k kept
		if r.Responses != nil {
			k = *r.Responses
		}
		if b.Kind == journal.BlockReasoning && (k.Item == "" || k.Model != name) {
			whole, k.Item = false, ""
		}
		a.ids = slices.Concat(a.ids, k.Calls)
		a.blocks, a.notes = append(a.blocks, b), append(a.notes, k)
	}
	if !whole {
		a.ids = nil
		for i := range a.notes {
			a.notes[i].ID = ""
		}
	}
	return a, nil
}

// answer puts an answer's blocks and calls into the order in which they came: a reasoning item must
// be followed by what it was the reasoning for, and the host keeps blocks and calls apart.
// Reasoning that was cut off before anything came of it is left out: the provider refuses it.
func (in *input) answer(name string, m journal.Message) error {
	a, err := takeApart(name, m)
	if err != nil {
		return err
	}
	at, end := 0, len(in.items)
	for i := range len(a.calls) + 1 {
		for at < len(a.blocks) && (a.notes[at].After <= i || i == len(a.calls)) {
			before := len(in.items)
			if err := in.block(a.blocks[at], a.notes[at]); err != nil {
				return err
			}
			if a.blocks[at].Kind == journal.BlockText && len(in.items) > before {
				end = len(in.items)
			}
			at++
		}
		if i == len(a.calls) {
			break
		}
		id := ""
		if i < len(a.ids) {
			id = a.ids[i]
		}
		if err := in.call(a.calls[i], id); err != nil {
			return err
		}
		end = len(in.items)
	}
	in.items = in.items[:end]
	return nil
}

// block is a part of an answer that is no call.
func (in *input) block(b journal.Block, k kept) error {
	switch {
	case b.Kind == journal.BlockReasoning && k.Item != "":
		in.items = append(in.items, []byte(k.Item))
	case b.Kind != journal.BlockText || b.Text == "":
	case k.ID != "":
		return in.add(message{
			Type: "message", Role: "assistant", ID: k.ID, Status: "completed", Phase: k.Phase,
			Content: []outputText{{"output_text", valid(b.Text), []struct{}{}}},
		})
	default:
		return in.add(message{Type: "message", Role: "assistant", Phase: k.Phase, Content: valid(b.Text)})
	}
	return nil
}

func (in *input) call(c *journal.CallBlock, id string) error {
	args, err := arguments(c.Args)
	if err != nil {
		return err
	}
	return in.add(functionCall{"function_call", id, c.ID, toolName(c.Tool), args})
}
