package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/recovery/journal"
)

// What a person may say to a server's question instead of giving what it asks for.
const (
	Accept  = "accept"  // of an address, or of a question that wants nothing but a yes
	Decline = "decline" // no
	Cancel  = "cancel"  // neither yes nor no
)

// flightKey finds the call in whose course a question comes, where the protocol says it.
type flightKey struct{}

// elicit puts a server's question to a person, as a pending request of the call that is under way.
func (s *server) elicit(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	f := s.flightOf(ctx)
	if f == nil || f.call.Ask == nil {
		return &sdk.ElicitResult{Action: Cancel}, nil // nobody can be asked: no call is under way, or it is not known which
	}
	q, note, err := question(s.Name, req.Params)
	if err != nil {
		return nil, err
	}
	if note != "" {
		f.call.Show([]byte(note + "\n"))
		return &sdk.ElicitResult{Action: Decline}, nil
	}
	select {
	case f.ask <- struct{}{}:
	default:
		f.call.Show([]byte(fmt.Sprintf("put off a question of MCP server %s: another one of this call is open: %s\n", s.Name, brief(req.Params.Message, 200))))
		return &sdk.ElicitResult{Action: Cancel}, nil
	}
	defer func() { <-f.ask }()
	f.limit.pause()
	defer f.limit.goOn()
	askCtx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	answer, err := f.call.Ask(askCtx, q)
	if err != nil {
		return &sdk.ElicitResult{Action: Cancel}, nil // the question was closed without an answer
	}
	return answered(answer)
}

// flightOf is the call in whose course a question comes; nil where that is not known.
func (s *server) flightOf(ctx context.Context) *flight {
	if f, ok := ctx.Value(flightKey{}).(*flight); ok {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.flying) != 1 {
		return nil
	}
	for _, f := range s.flying {
		return f
	}
	return nil
}

// answered turns a person's answer into the protocol's.
func answered(answer json.RawMessage) (*sdk.ElicitResult, error) {
	var word string
	if json.Unmarshal(answer, &word) == nil {
		if !slices.Contains([]string{Accept, Decline, Cancel}, word) {
			return nil, fmt.Errorf("the answer %q is none", brief(word, 60))
		}
		return &sdk.ElicitResult{Action: word}, nil
	}
	content := map[string]any{}
	if err := json.Unmarshal(answer, &content); err != nil {
		return nil, errors.New("the answer is no object")
	}
	return &sdk.ElicitResult{Action: Accept, Content: content}, nil
}

// question words a server's question for a person. A note instead of a question says why it is
// declined.
func question(server string, p *sdk.ElicitParams) (q journal.Question, note string, err error) {
	const most = 4000
	from := fmt.Sprintf("The MCP server %s asks (these are its words, not agent's):\n%s", server, cut(clean(p.Message), most))
	if p.Mode == "url" || p.URL != "" {
		return asked(from+fmt.Sprintf("\nIt wants you to open this address, which agent does not:\n%s", visible(p.URL)),
			nil, Accept, Decline, Cancel), "", nil
	}
	form, fields, err := readForm(p.RequestedSchema)
	if err != nil {
		return q, "", err
	}
	for _, f := range fields {
		if secretive(f) {
			return q, fmt.Sprintf("declined a question of MCP server %s: it asks for %q, and a server must not ask for secrets this way: %s",
				server, brief(f.name, 60), brief(p.Message, 200)), nil
		}
	}
	if len(fields) == 0 {
		return asked(from, nil, Accept, Decline, Cancel), "", nil
	}
	text := from + "\nIt wants:"
	for _, f := range fields {
		text += "\n  " + f.words()
	}
	return asked(text, form, Decline, Cancel), "", nil
}

// asked is a question to which the form, or one of the words, is an answer.
func asked(message string, form json.RawMessage, words ...string) journal.Question {
	q := journal.Question{Kind: journal.RequestElicit, Message: message}
	enum, err := json.Marshal(map[string]any{"enum": words})
	if err != nil {
		panic(err) // texts always encode
	}
	if q.Schema = enum; form == nil {
		q.Choices = words
		return q
	}
	q.Schema = slices.Concat([]byte(`{"anyOf":[`), form, []byte(","), enum, []byte("]}"))
	return q
}

// field is one value that a form asks for.
type field struct {
	name, title, kind, about, format string
	choices                          []string
	required                         bool
}

func (f field) words() string {
	s := brief(f.name, 60) + " (" + f.kind
	if f.format != "" {
		s += ", " + brief(f.format, 30)
	}
	if !f.required {
		s += ", may be left out"
	}
	s += ")"
	if t := brief(f.title, 100); t != "" && t != f.name {
		s += " " + t
	}
	if t := brief(f.about, 300); t != "" {
		s += ": " + t
	}
	if len(f.choices) > 0 {
		s += "; one of " + brief(strings.Join(f.choices, ", "), 500)
	}
	return s
}

// readForm reads a form: a flat object of values (the SDK has refused any other).
func readForm(v any) (json.RawMessage, []field, error) {
	schema, _ := v.(map[string]any)
	text, err := json.Marshal(schema)
	if err != nil || len(text) > maxSchema {
		return nil, nil, errors.New("the form is too large")
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var fields []field
	for name, p := range properties {
		m, _ := p.(map[string]any)
		f := field{name: name, required: slices.Contains(required, any(name))}
		f.kind, _ = m["type"].(string)
		f.title, _ = m["title"].(string)
		f.about, _ = m["description"].(string)
		f.format, _ = m["format"].(string)
		f.choices = choicesOf(m)
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return text, fields, nil
}

// choicesOf are the values of an enumeration, in any of the protocol's three ways to write one.
func choicesOf(m map[string]any) []string {
	var out []string
	list, _ := m["enum"].([]any)
	if items, ok := m["items"].(map[string]any); ok {
		return choicesOf(items)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		titled, _ := m[key].([]any)
		for _, e := range titled {
			if one, ok := e.(map[string]any); ok {
				list = append(list, one["const"])
			}
		}
	}
	for _, c := range list {
		out = append(out, fmt.Sprint(c))
	}
	return out
}

// secretive says whether a field asks for what a server must not ask for in a form.
func secretive(f field) bool {
	words := regexp.MustCompile(`(?i)passw|passphrase|passcode|secret|token|api[-_ ]?key|private[-_ ]?key|access[-_ ]?key|credential|` +
		`credit[-_ ]?card|card[-_ ]?number|\bcvv\b|\bcvc\b|\bpin\b|\botp\b|\bssn\b|\biban\b`)
	spaced := regexp.MustCompile(`([a-z])([A-Z])|_`).ReplaceAllString(f.name, "$1 $2")
	return f.format == "password" || words.MatchString(f.name) || words.MatchString(spaced) || words.MatchString(f.title)
}

// visible shows an address as it is, with what cannot be seen by its number.
func visible(s string) string { return strings.Trim(fmt.Sprintf("%+q", cut(s, 2000)), `"`) }
