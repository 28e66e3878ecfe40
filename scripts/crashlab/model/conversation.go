//go:build linux

package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// call is one call as a request shows it, with its result.
type call struct {
	id     string
	tool   string
	result string
}

// conversation is a conversation from its last prompt on.
type conversation struct {
	prompt  string
	turns   [][]*call
	before  int  // turns that a summary stands for
	summary bool // is asked for
}

// turnsDone is how modeltest's summaries say what they stand for.
const turnsDone = "[turns done: "

// summaryWords open a request for a summary, which shows the conversation that it is about.
const summaryWords = "Write a summary"

func (t *conversation) addPrompt(text string) {
	if strings.Contains(text, summaryWords) && len(t.turns) > 0 {
		t.summary = true
		return
	}
	if len(t.turns) == 0 {
		text = t.prompt + "\n" + text // a summary and the prompt come one after the other
	}
	t.prompt, t.turns, t.before = text, nil, 0
	if i := strings.LastIndex(text, turnsDone); i >= 0 {
		if _, err := fmt.Sscanf(text[i+len(turnsDone):], "%d", &t.before); err != nil {
			t.before = 0
		}
	}
}

func (t *conversation) addTurn() { t.turns = append(t.turns, nil) }

func (t *conversation) addCall(id, tool string) {
	if len(t.turns) == 0 {
		t.addTurn()
	}
	last := len(t.turns) - 1
	t.turns[last] = append(t.turns[last], &call{id: id, tool: tool})
}

// addResult belongs to the newest call of that id: providers' ids need not be unique.
func (t *conversation) addResult(id, text string) {
	for i := len(t.turns) - 1; i >= 0; i-- {
		for _, c := range t.turns[i] {
			if c.id == id && c.result == "" {
				c.result = text
				return
			}
		}
	}
}

// readConversation reads a request's conversation, by its path.
func readConversation(path string, body []byte) (*conversation, error) {
	t := &conversation{}
	var err error
	switch {
	case strings.HasSuffix(path, "/messages"):
		err = t.anthropic(body)
	case strings.HasSuffix(path, "/chat/completions"):
		err = t.chat(body)
	default:
		err = t.responses(body)
	}
	if err != nil {
		return nil, fmt.Errorf("read the conversation of a request to %s: %v", path, err)
	}
	return t, nil
}

// content is text, or a list of blocks that hold some.
type content json.RawMessage

// UnmarshalJSON keeps the value.
func (c *content) UnmarshalJSON(b []byte) error { *c = append((*c)[:0], b...); return nil }

func (c content) text() string {
	var s string
	if json.Unmarshal(c, &s) == nil {
		return s
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(c, &blocks) != nil {
		return string(c) // another form: whoever looks for words finds them there too
	}
	var b strings.Builder
	for _, x := range blocks {
		b.WriteString(x.Text)
	}
	return b.String()
}

type anthropicBlock struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Use     string  `json:"tool_use_id"`
	Content content `json:"content"`
}

func (t *conversation) anthropic(body []byte) error {
	var r struct {
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			t.addTurn()
		}
		var blocks []anthropicBlock
		if json.Unmarshal(m.Content, &blocks) != nil {
			blocks = []anthropicBlock{{Type: "text", Text: m.Content.text()}}
		}
		for _, b := range blocks {
			switch {
			case b.Type == "tool_use":
				t.addCall(b.ID, b.Name)
			case b.Type == "tool_result":
				t.addResult(b.Use, b.Content.text())
			case b.Type == "text" && m.Role == "user":
				t.addPrompt(b.Text)
			}
		}
	}
	return nil
}

func (t *conversation) chat(body []byte) error {
	var r struct {
		Messages []struct {
			Role      string  `json:"role"`
			Content   content `json:"content"`
			CallID    string  `json:"tool_call_id"`
			ToolCalls []struct {
				ID       string `json:"id"`
				Function struct {
					Name string `json:"name"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			t.addPrompt(m.Content.text())
		case "tool":
			t.addResult(m.CallID, m.Content.text())
		case "assistant":
			t.addTurn()
			for _, c := range m.ToolCalls {
				t.addCall(c.ID, c.Function.Name)
			}
		}
	}
	return nil
}

func (t *conversation) responses(body []byte) error {
	var r struct {
		Input []struct {
			Type    string  `json:"type"`
			Role    string  `json:"role"`
			Content content `json:"content"`
			CallID  string  `json:"call_id"`
			Name    string  `json:"name"`
			Output  content `json:"output"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}
	open := false // an answer is being read
	for _, it := range r.Input {
		own := it.Role == "assistant" || it.Type == "function_call" || it.Type == "reasoning"
		if own && !open {
			t.addTurn()
		}
		open = own
		switch {
		case it.Type == "function_call":
			t.addCall(it.CallID, it.Name)
		case it.Type == "function_call_output":
			t.addResult(it.CallID, it.Output.text())
		case it.Role == "user":
			t.addPrompt(it.Content.text())
		}
	}
	return nil
}
