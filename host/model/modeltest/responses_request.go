package modeltest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Fields of a request to Responses, from the reference of its create endpoint.
const responsesFields = `model input instructions tools tool_choice parallel_tool_calls stream stream_options store include reasoning text
	max_output_tokens max_tool_calls temperature top_p top_logprobs truncation metadata user safety_identifier prompt_cache_key
	prompt_cache_retention previous_response_id service_tier background prompt conversation context_management`

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Sealed    string          `json:"encrypted_content"`
	Summary   []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"summary"`
}

type responsesRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
	Stream       bool            `json:"stream"`
	Store        *bool           `json:"store"`
	Include      []string        `json:"include"`
	Previous     string          `json:"previous_response_id"`
	MaxOutput    *int            `json:"max_output_tokens"`
	Reasoning    struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Tools []struct {
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
		Strict     *bool           `json:"strict"`
	} `json:"tools"`
}

// responses is the Responses API of OpenAI, for an organization for which nothing is stored.
type responses struct{}

func param(r *refusal, name, code string) *refusal {
	r.param, r.code = name, code
	return r
}

func (responses) parse(_ http.Header, body []byte) (*ask, *refusal) {
	var r responsesRequest
	a := &ask{usage: true}
	if err := json.Unmarshal(body, &a.raw); err != nil {
		return nil, invalid("We could not parse the JSON body of your request. (%v)", err)
	}
	if f := unknownFields(a.raw, responsesFields); f != "" {
		return nil, param(invalid("Unknown parameter: '%s'.", f), f, "unknown_parameter")
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, invalid("Invalid type: %v", err)
	}
	switch {
	case r.Model == "":
		return nil, param(invalid("Missing required parameter: 'model'."), "model", "missing_required_parameter")
	case len(r.Input) == 0:
		return nil, param(invalid("Missing required parameter: 'input'."), "input", "missing_required_parameter")
	case r.Previous != "":
		return nil, param(invalid("Previous response cannot be used for this organization due to Zero Data Retention."), "previous_response_id", "unsupported_parameter")
	case r.MaxOutput != nil && *r.MaxOutput < 16:
		return nil, param(invalid("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *r.MaxOutput), "max_output_tokens", "integer_below_min_value")
	}
	a.model, a.stream, a.effort = r.Model, r.Stream, r.Reasoning.Effort
	a.thinking = r.Reasoning.Summary != ""
	a.sealed = slices.Contains(r.Include, "reasoning.encrypted_content")
	if bad := responsesTools(a, &r); bad != nil {
		return nil, bad
	}
	a.prefix = append(a.prefix, marshal(r.Instructions))
	return a, responsesInput(a, &r)
}

func responsesTools(a *ask, r *responsesRequest) *refusal {
	for i, t := range r.Tools {
		at := "tools[" + itoa(i) + "]"
		if t.Type != "function" {
			return param(invalid("Invalid value: '%s'. Supported values are: 'function'.", t.Type), at+".type", "invalid_value")
		}
		if bad := functionOf(a, at, t.Name, t.Parameters); bad != nil {
			return bad
		}
		if t.Strict == nil || *t.Strict {
			if why := strictSchema(t.Parameters); why != "" {
				return param(invalid("Invalid schema for function '%s': %s", t.Name, why), at+".parameters", "invalid_function_parameters")
			}
		}
	}
	if t := a.raw["tools"]; t != nil {
		a.prefix = append(a.prefix, string(t))
	}
	return nil
}

// functionOf checks what both protocols of OpenAI say of a function.
func functionOf(a *ask, at, name string, schema json.RawMessage) *refusal {
	if !plainName(name, 64) {
		return param(invalid("Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at), at+".name", "invalid_value")
	}
	if slices.Contains(a.tools, name) {
		return param(invalid("Function names must be unique: '%s' is given twice.", name), at+".name", "invalid_value")
	}
	a.tools = append(a.tools, name)
	if why := objectSchema(schema); len(schema) > 0 && why != "" {
		return param(invalid("Invalid schema for function '%s': %s", name, why), at+".parameters", "invalid_function_parameters")
	}
	return nil
}

// strictSchema says what a strict function's schema lacks: every property required, nothing
// additional.
func strictSchema(raw json.RawMessage) string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional any                        `json:"additionalProperties"`
	}
	if json.Unmarshal(raw, &s) != nil || s.Additional != false {
		return "In context=(), 'additionalProperties' is required to be supplied and to be false."
	}
	for p := range s.Properties {
		if !slices.Contains(s.Required, p) {
			return "In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing '" + p + "'."
		}
	}
	return ""
}

// responsesInput checks the items and puts them together to messages.
func responsesInput(a *ask, r *responsesRequest) *refusal {
	var text string
	if json.Unmarshal(r.Input, &text) == nil {
		a.entries = []entry{{from: person, text: text}}
		return nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(r.Input, &raw); err != nil {
		return param(invalid("Invalid type for 'input': expected one of an array of input items or a string."), "input", "invalid_type")
	}
	in := responsesParser{ask: a, open: map[string]bool{}, seen: map[string]bool{}, ids: map[string]bool{}}
	for i := range raw {
		var it responsesItem
		if err := json.Unmarshal(raw[i], &it); err != nil {
			return param(invalid("Invalid type for 'input[%d]': %v", i, err), "input", "invalid_type")
		}
		if bad := in.item(i, it, i == len(raw)-1); bad != nil {
			return bad
		}
		a.prefix = append(a.prefix, string(raw[i]))
	}
	for id := range in.open {
		return param(invalid("No tool output found for function call %s.", id), "input", "")
	}
	return nil
}

type responsesParser struct {
	ask     *ask
	open    map[string]bool // calls without output
	seen    map[string]bool // ids of calls
	ids     map[string]bool // ids of items
	thought string          // the reasoning item just before
	shown   []string        // the exchanges whose reasoning is there
}

func (p *responsesParser) item(i int, it responsesItem, last bool) *refusal {
	if it.ID != "" {
		if p.ids[it.ID] {
			return param(invalid("Duplicate item found with id %s. Remove duplicate items from your input and try again.", it.ID), "input", "")
		}
		p.ids[it.ID] = true
	}
	thought := p.thought
	p.thought = ""
	if thought != "" && it.Type != "function_call" && it.Role != "assistant" && it.Type != "reasoning" || it.Type == "reasoning" && last {
		if thought == "" {
			thought = it.ID
		}
		return param(invalid("Item '%s' of type 'reasoning' was provided without its required following item.", thought), "input", "")
	}
	if kind := it.Type; (kind == "function_call" || it.Role == "assistant") && strings.Contains(it.ID, "_") && needsReasoning(it.ID) && !slices.Contains(p.shown, exchangeOf(it.ID)) {
		return param(invalid("Item '%s' of type '%s' was provided without its required 'reasoning' item: 'rs_%s'.", it.ID, kind, exchangeOf(it.ID)), "input", "")
	}
	switch {
	case it.Type == "reasoning":
		return p.reasoning(it)
	case it.Type == "function_call":
		return p.call(i, it)
	case it.Type == "function_call_output":
		return p.output(i, it)
	case it.Type == "" || it.Type == "message":
		return p.message(i, it)
	}
	return param(invalid("Invalid value: '%s'. Supported values are: 'function_call', 'function_call_output', 'message', 'reasoning'.", it.Type), "input["+itoa(i)+"].type", "invalid_value")
}

func (p *responsesParser) reasoning(it responsesItem) *refusal {
	if it.Sealed == "" {
		return param(invalid("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", it.ID), "input", "")
	}
	var text strings.Builder
	for _, s := range it.Summary {
		text.WriteString(s.Text)
	}
	if !unsealed(it.Sealed, it.ID+text.String()) {
		return param(invalid("The encrypted content %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", clip(it.Sealed)), "", "invalid_encrypted_content")
	}
	if it.Summary == nil {
		return param(invalid("Missing required parameter: 'input.summary'."), "input", "missing_required_parameter")
	}
	p.thought = it.ID
	p.shown = append(p.shown, exchangeOf(it.ID))
	e := p.model()
	e.think = append(e.think, text.String())
	return nil
}

// model is the entry that the model's items go to.
func (p *responsesParser) model() *entry {
	if n := len(p.ask.entries); n == 0 || p.ask.entries[n-1].from != assistant {
		p.ask.entries = append(p.ask.entries, entry{from: assistant})
	}
	return &p.ask.entries[len(p.ask.entries)-1]
}

func (p *responsesParser) call(i int, it responsesItem) *refusal {
	at := "input[" + itoa(i) + "]"
	switch {
	case it.CallID == "":
		return param(invalid("Missing required parameter: '%s.call_id'.", at), at+".call_id", "missing_required_parameter")
	case len(it.CallID) > 64:
		return param(invalid("Invalid '%s.call_id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", at, len(it.CallID)), at+".call_id", "string_above_max_length")
	case it.ID != "" && !strings.HasPrefix(it.ID, "fc"):
		return param(invalid("Invalid '%s.id': '%s'. Expected an ID that begins with 'fc'.", at, it.ID), at+".id", "invalid_value")
	case !plainName(it.Name, 128):
		return param(invalid("Invalid '%s.name': string does not match pattern.", at), at+".name", "invalid_value")
	case it.Arguments == nil:
		return param(invalid("Missing required parameter: '%s.arguments'.", at), at+".arguments", "missing_required_parameter")
	case p.seen[it.CallID]:
		return param(invalid("Duplicate function call with call_id %s.", it.CallID), "input", "")
	}
	p.seen[it.CallID], p.open[it.CallID] = true, true
	e := p.model()
	e.calls = append(e.calls, said{it.CallID, it.Name, *it.Arguments})
	return nil
}

func (p *responsesParser) output(i int, it responsesItem) *refusal {
	if !p.open[it.CallID] {
		return param(invalid("No tool call found for function call output with call_id %s.", it.CallID), "input", "")
	}
	delete(p.open, it.CallID)
	if len(it.Output) == 0 {
		return param(invalid("Missing required parameter: 'input[%d].output'.", i), "input", "missing_required_parameter")
	}
	if n := len(p.ask.entries); n == 0 || p.ask.entries[n-1].from != results {
		p.ask.entries = append(p.ask.entries, entry{from: results})
	}
	return nil
}
