package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"agent/host/model"
	"agent/recovery/journal"
)

// chatHead is what a request says beside the conversation.
type chatHead struct {
	Model     string     `json:"model"`
	Stream    bool       `json:"stream"`
	Options   options    `json:"stream_options"`
	MaxOutput int64      `json:"max_completion_tokens,omitempty"`
	Max       int64      `json:"max_tokens,omitempty"`
	CacheKey  string     `json:"prompt_cache_key,omitempty"`
	Effort    string     `json:"reasoning_effort,omitempty"`
	Reasoning *reasoning `json:"reasoning,omitempty"` // OpenRouter's way to say the effort
	Tools     []chatTool `json:"tools,omitempty"`
}

type options struct {
	Usage bool `json:"include_usage"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatBody is the request of Chat Completions. What only OpenAI itself understands is sent to
// nobody else: strict servers refuse parameters that they do not know.
func (c *client) chatBody(req model.Request) ([]byte, error) {
	head := chatHead{Model: c.o.Model, Stream: true, Options: options{Usage: true}}
	if own(c.o.BaseURL) {
		head.MaxOutput, head.CacheKey = max(0, req.MaxOutput), req.Thread
	} else {
		head.Max = max(0, req.MaxOutput)
	}
	if req.Effort != "" && !plain(c.o.Model) {
		e := effort(c.o.Model, req.Effort)
		if at(c.o.BaseURL, "openrouter.ai") {
			head.Reasoning = &reasoning{Effort: e}
		} else {
			head.Effort = e
		}
	}
	for _, t := range req.Tools {
		head.Tools = append(head.Tools, chatTool{"function", chatFunction{t.Name, valid(t.Description), schema(t)}})
	}
	t := talk{thinking: at(c.o.BaseURL, "deepseek.com", "moonshot.ai", "moonshot.cn")}
	from := c.sent.resume(req, &t.messages, &t.open)
	if from == 0 && req.System != "" {
		if err := t.add(chatMessage{Role: "system", Content: valid(req.System)}); err != nil {
			return nil, err
		}
	}
	for i, m := range req.Messages[from:] {
		c.sent.keep(req, from+i, t.messages, t.open)
		if err := t.message(m); err != nil {
			return nil, err
		}
	}
	return closing(head, "messages", t.messages)
}

// chatMessage is one message; chatCall a call in it, chatImage a picture in it.
type (
	chatMessage struct {
		Role      string          `json:"role"`
		Content   any             `json:"content"`
		Result    string          `json:"tool_call_id,omitempty"`
		Calls     []chatCall      `json:"tool_calls,omitempty"`
		Reasoning string          `json:"reasoning_content,omitempty"`
		Details   json.RawMessage `json:"reasoning_details,omitempty"`
	}
	chatCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function chatArgument `json:"function"`
	}
	chatArgument struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	chatImage struct {
		Type string  `json:"type"`
		URL  chatURL `json:"image_url"`
	}
	chatURL struct {
		URL string `json:"url"`
	}
)

// talk is the list of messages that the model reads.
type talk struct {
	messages [][]byte
	thinking bool // the server refuses an answer with calls that comes back without its reasoning
	open     said // the last message, where it is the person's
}

// said is what a person said in one message.
type said struct {
	parts    []any
	texts    []string
	pictures bool
}

func (s *said) content() any {
	if s.pictures {
		return s.parts
	}
	return strings.Join(s.texts, "\n\n")
}

func (t *talk) add(m chatMessage) error {
	raw, err := quote(m)
	if err != nil {
		return fmt.Errorf("encode a message of the request: %w", err)
	}
	t.messages, t.open = append(t.messages, raw), said{}
	return nil
}

// person adds to what the person said. Two messages in a row, as a run that was cancelled leaves
// them, become one: the templates of many models take only one of each side in turn.
func (t *talk) person(more said) error {
	if len(more.parts) == 0 {
		return nil
	}
	all := said{append(t.open.parts, more.parts...), append(t.open.texts, more.texts...), t.open.pictures || more.pictures}
	if len(t.open.parts) > 0 {
		t.messages = t.messages[:len(t.messages)-1]
	}
	if err := t.add(chatMessage{Role: "user", Content: all.content()}); err != nil {
		return err
	}
	t.open = all
	return nil
}

// message is one of ours. Results come first: they must follow their calls at once.
func (t *talk) message(m journal.Message) error {
	if m.Role == journal.RoleAssistant {
		return t.answer(m)
	}
	var person said
	for _, b := range m.Blocks {
		switch b.Kind {
		case journal.BlockResult:
			if err := t.add(chatMessage{Role: "tool", Content: valid(b.Result.Text), Result: b.Result.ID}); err != nil {
				return err
			}
		case journal.BlockImage:
			person.pictures = true
			person.parts = append(person.parts, chatImage{"image_url", chatURL{dataURL(b.Image)}})
		case journal.BlockText:
			person.texts = append(person.texts, valid(b.Text))
			person.parts = append(person.parts, inputText{"text", valid(b.Text)})
		}
	}
	return t.person(person)
}

// answer is an assistant's message. Its content is never null: some servers' templates write that
// as a word.
func (t *talk) answer(m journal.Message) error {
	a := chatMessage{Role: "assistant"}
	var said, thought []string
	var details []json.RawMessage
	for _, b := range m.Blocks {
		switch b.Kind {
		case journal.BlockText:
			said = append(said, valid(b.Text))
		case journal.BlockReasoning:
			r, err := recall(b)
			if err != nil {
				return err
			}
			if r.Chat != nil && r.Chat.Details != "" {
				details = append(details, json.RawMessage(r.Chat.Details))
			}
			thought = append(thought, valid(b.Text))
		case journal.BlockCall:
			args, err := arguments(b.Call.Args)
			if err != nil {
				return err
			}
			a.Calls = append(a.Calls, chatCall{b.Call.ID, "function", chatArgument{toolName(b.Call.Tool), args}})
		}
	}
	if len(said) == 0 && len(a.Calls) == 0 {
		return nil
	}
	a.Content = strings.Join(said, "\n\n")
	if len(details) == 1 {
		a.Details = details[0]
	}
	if t.thinking {
		a.Reasoning = strings.Join(thought, "\n\n")
	}
	return t.add(a)
}
