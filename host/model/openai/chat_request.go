package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"agent/host/model"
	"agent/recovery"
)

// chatBody is the request of Chat Completions. What only OpenAI itself understands is sent to nobody else: strict servers
// refuse parameters that they do not know.
func (c *client) chatBody(req model.Request) ([]byte, error) {
	p := sdk.ChatCompletionNewParams{Model: c.o.Model}
	p.StreamOptions.IncludeUsage = some(true)
	if req.MaxOutput > 0 {
		if own(c.o.BaseURL) {
			p.MaxCompletionTokens = some(req.MaxOutput)
		} else {
			p.MaxTokens = some(req.MaxOutput)
		}
	}
	if req.Thread != "" && own(c.o.BaseURL) {
		p.PromptCacheKey = some(req.Thread)
	}
	if req.Effort != "" && !plain(c.o.Model) {
		e := effort(c.o.Model, req.Effort)
		if at(c.o.BaseURL, "openrouter.ai") {
			p.SetExtraFields(map[string]any{"reasoning": map[string]string{"effort": string(e)}})
		} else {
			p.ReasoningEffort = e
		}
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(definition(t)))
	}
	head, err := p.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	t := talk{thinking: at(c.o.BaseURL, "deepseek.com", "moonshot.ai", "moonshot.cn")}
	if req.System != "" {
		if err := t.add(sdk.SystemMessage(valid(req.System))); err != nil {
			return nil, err
		}
	}
	for _, m := range req.Messages {
		if err := t.message(m); err != nil {
			return nil, err
		}
	}
	return closing(head, "messages", t.messages), nil
}

// talk is the list of messages that the model reads.
type talk struct {
	messages [][]byte
	thinking bool // the server refuses an answer with calls that comes back without its reasoning
}

func (t *talk) add(m sdk.ChatCompletionMessageParamUnion) error {
	raw, err := m.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode a message of the request: %w", err)
	}
	t.messages = append(t.messages, raw)
	return nil
}

// message is one of ours. Results come first: they must follow their calls at once.
func (t *talk) message(m recovery.Message) error {
	if m.Role == recovery.RoleAssistant {
		return t.answer(m)
	}
	var parts []sdk.ChatCompletionContentPartUnionParam
	var said []string
	pictures := false
	for _, b := range m.Blocks {
		switch b.Kind {
		case recovery.BlockResult:
			if err := t.add(sdk.ToolMessage(valid(b.Result.Text), b.Result.ID)); err != nil {
				return err
			}
		case recovery.BlockImage:
			pictures = true
			parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: dataURL(b.Image)}))
		case recovery.BlockText:
			said = append(said, valid(b.Text))
			parts = append(parts, sdk.TextContentPart(valid(b.Text)))
		}
	}
	switch {
	case pictures:
		return t.add(sdk.UserMessage(parts))
	case len(said) > 0:
		return t.add(sdk.UserMessage(strings.Join(said, "\n\n")))
	}
	return nil
}

// answer is an assistant's message. Its content is never null: some servers' templates write that as a word.
func (t *talk) answer(m recovery.Message) error {
	var a sdk.ChatCompletionAssistantMessageParam
	var said, thought []string
	var details []json.RawMessage
	for _, b := range m.Blocks {
		switch b.Kind {
		case recovery.BlockText:
			said = append(said, valid(b.Text))
		case recovery.BlockReasoning:
			r, err := recall(b)
			if err != nil {
				return err
			}
			if r.Chat != nil && r.Chat.Details != "" {
				details = append(details, json.RawMessage(r.Chat.Details))
			}
			thought = append(thought, valid(b.Text))
		case recovery.BlockCall:
			args, err := arguments(b.Call.Args)
			if err != nil {
				return err
			}
			a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
					ID:       b.Call.ID,
					Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: toolName(b.Call.Tool), Arguments: args},
				},
			})
		}
	}
	if len(said) == 0 && len(a.ToolCalls) == 0 {
		return nil
	}
	a.Content.OfString = some(strings.Join(said, "\n\n"))
	extra := map[string]any{}
	if len(details) == 1 {
		extra["reasoning_details"] = details[0]
	}
	if t.thinking && len(thought) > 0 {
		extra["reasoning_content"] = strings.Join(thought, "\n\n")
	}
	a.SetExtraFields(extra)
	return t.add(sdk.ChatCompletionMessageParamUnion{OfAssistant: &a})
}
