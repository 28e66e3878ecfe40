package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Fields of a request to Chat Completions, from the reference of its create endpoint, and those
// that servers of others added for what it lacks.
const chatFields = `model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens temperature top_p
	frequency_penalty presence_penalty n seed stop store metadata user safety_identifier prompt_cache_key prompt_cache_retention
	reasoning_effort response_format logprobs top_logprobs logit_bias service_tier modalities prediction verbosity web_search_options audio
	reasoning usage cache_prompt chat_template_kwargs keep_alive`

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	Refusal   string `json:"refusal"`
	Reasoning string `json:"reasoning_content"`
}

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	Effort        string        `json:"reasoning_effort"`
	StreamOptions *struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
			Strict     *bool           `json:"strict"`
		} `json:"function"`
	} `json:"tools"`
}

// chat is the Chat Completions API of OpenAI, and of the many servers that follow it.
type chat struct{ quirks Quirks }

func (c chat) parse(_ http.Header, body []byte) (*ask, *refusal) {
	var r chatRequest
	a := &ask{thinking: c.quirks.Reasoning != ""}
	if err := json.Unmarshal(body, &a.raw); err != nil {
		return nil, invalid("We could not parse the JSON body of your request. (%v)", err)
	}
	if f := unknownFields(a.raw, chatFields); f != "" {
		return nil, param(invalid("Unrecognized request argument supplied: %s", f), f, "unknown_parameter")
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, invalid("Invalid type: %v", err)
	}
	a.model, a.stream, a.effort = r.Model, r.Stream, r.Effort
	a.usage = !r.Stream || r.StreamOptions != nil && r.StreamOptions.Usage
	switch {
	case r.Model == "":
		return nil, invalid("you must provide a model parameter")
	case len(r.Messages) == 0:
		return nil, param(invalid("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."), "messages", "empty_array")
	case r.StreamOptions != nil && !r.Stream:
		return nil, param(invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled."), "stream_options", "")
	}
	for i, t := range r.Tools {
		at := "tools[" + itoa(i) + "]"
		if t.Type != "function" {
			return nil, param(invalid("Invalid value: '%s'. Supported values are: 'function'.", t.Type), at+".type", "invalid_value")
		}
		if bad := functionOf(a, at+".function", t.Function.Name, t.Function.Parameters); bad != nil {
			return nil, bad
		}
		if t.Function.Strict != nil && *t.Function.Strict {
			if why := strictSchema(t.Function.Parameters); why != "" {
				return nil, param(invalid("Invalid schema for function '%s': %s", t.Function.Name, why), at+".function.parameters", "invalid_function_parameters")
			}
		}
	}
	if t := a.raw["tools"]; t != nil {
		a.prefix = append(a.prefix, string(t))
	}
	return a, c.messages(a, r.Messages)
}

func (c chat) messages(a *ask, list []chatMessage) *refusal {
	var raw []json.RawMessage
	if err := json.Unmarshal(a.raw["messages"], &raw); err != nil {
		return invalid("Invalid type for 'messages'.")
	}
	p := chatParser{ask: a, seen: map[string]bool{}}
	before := ""
	for i, m := range list {
		if len(p.open) > 0 && m.Role != "tool" {
			return p.unanswered(i)
		}
		if c.quirks.Alternate && m.Role == before && m.Role != "tool" && m.Role != "system" {
			return invalid("Conversation roles must alternate user/assistant/user/assistant/...")
		}
		if before != "" && m.Role == "system" && c.quirks.Alternate {
			return invalid("System message must be at the beginning.")
		}
		if bad := p.one(i, m); bad != nil {
			return bad
		}
		a.prefix = append(a.prefix, string(raw[i]))
		before = m.Role
	}
	if len(p.open) > 0 {
		return p.unanswered(len(list))
	}
	return nil
}

type chatParser struct {
	ask  *ask
	open []string
	seen map[string]bool
}

func (p *chatParser) unanswered(i int) *refusal {
	return param(invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s",
		strings.Join(p.open, ", ")), "messages.["+itoa(i)+"].role", "")
}

func (p *chatParser) one(i int, m chatMessage) *refusal {
	at := "messages[" + itoa(i) + "]"
	text, bad := chatText(at, m)
	if bad != nil {
		return bad
	}
	switch m.Role {
	case "system", "developer":
	case "user":
		p.ask.entries = append(p.ask.entries, entry{from: person, text: text})
	case "assistant":
		return p.assistant(at, m, text)
	case "tool":
		return p.result(i, m)
	default:
		return param(invalid("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role), at+".role", "invalid_value")
	}
	return nil
}

// chatText is the text of a message: a string or a list of parts.
func chatText(at string, m chatMessage) (string, *refusal) {
	var text string
	if len(m.Content) == 0 || string(m.Content) == "null" {
		if m.Role != "assistant" || len(m.ToolCalls) == 0 && m.Refusal == "" {
			return "", param(invalid("Invalid value for 'content': expected a string, got null."), at+".content", "")
		}
		return "", nil
	}
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil || len(parts) == 0 {
		return "", param(invalid("Invalid type for '%s.content': expected one of a string or array of objects.", at), at+".content", "invalid_type")
	}
	var texts []string
	for k, c := range parts {
		switch {
		case c.Type == "text":
			texts = append(texts, c.Text)
		case c.Type == "image_url" && m.Role == "user":
			media, data, _ := strings.Cut(strings.TrimPrefix(c.Image.URL, "data:"), ";base64,")
			if why := picture(media, data); why != "" && !strings.HasPrefix(c.Image.URL, "http") {
				return "", param(invalid("Invalid '%s.content[%d].image_url': %s", at, k, why), at, "invalid_image_url")
			}
		default:
			return "", param(invalid("Invalid content type '%s' in a message of role '%s'.", c.Type, m.Role), at+".content["+itoa(k)+"].type", "invalid_value")
		}
	}
	return strings.Join(texts, "\n"), nil
}

func (p *chatParser) assistant(at string, m chatMessage, text string) *refusal {
	e := entry{from: assistant, text: text + m.Refusal}
	if m.Reasoning != "" {
		e.think = []string{m.Reasoning}
	}
	for k, c := range m.ToolCalls {
		where := at + ".tool_calls[" + itoa(k) + "]"
		switch {
		case c.ID == "":
			return param(invalid("Invalid '%s.id': empty string.", where), where+".id", "empty_string")
		case len(c.ID) > 64:
			return param(invalid("Invalid '%s.id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", where, len(c.ID)), where+".id", "string_above_max_length")
		case p.seen[c.ID]:
			return param(invalid("Duplicate value for 'tool_call_id' of '%s' in message.", c.ID), where+".id", "")
		case c.Type != "function":
			return param(invalid("Missing required parameter: '%s.type'.", where), where+".type", "missing_required_parameter")
		case !plainName(c.Function.Name, 64):
			return param(invalid("Invalid '%s.function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.", where), where+".function.name", "invalid_value")
		case c.Function.Arguments == nil:
			return param(invalid("Missing required parameter: '%s.function.arguments'.", where), where+".function.arguments", "missing_required_parameter")
		}
		p.seen[c.ID] = true
		p.open = append(p.open, c.ID)
		e.calls = append(e.calls, said{c.ID, c.Function.Name, *c.Function.Arguments})
	}
	p.ask.entries = append(p.ask.entries, e)
	return nil
}

func (p *chatParser) result(i int, m chatMessage) *refusal {
	for k, id := range p.open {
		if id != m.ToolCallID {
			continue
		}
		p.open = append(append([]string(nil), p.open[:k]...), p.open[k+1:]...)
		if n := len(p.ask.entries); p.ask.entries[n-1].from != results {
			p.ask.entries = append(p.ask.entries, entry{from: results})
		}
		return nil
	}
	if len(p.open) == 0 {
		return param(invalid("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."), "messages.["+itoa(i)+"].role", "")
	}
	return param(invalid("Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", m.ToolCallID), "messages.["+itoa(i)+"].tool_call_id", "")
}
