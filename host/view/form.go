package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"agent/recovery/journal"
)

// formOf is the form of a question that a tool asks: an object of plain values. A word may be an
// answer beside it.
func formOf(q journal.Question) (form, words *jsonschema.Schema) {
	s, err := answerSchema(q)
	if err != nil || q.Kind != journal.RequestElicit || len(s.AnyOf) != 2 {
		return nil, nil
	}
	return s.AnyOf[0], s.AnyOf[1]
}

// fillForm reads what was typed: one of the words, an object in JSON, name=value for each field,
// or, where there is one field alone, its value.
func fillForm(form, words *jsonschema.Schema, typed string) (json.RawMessage, error) {
	text := strings.TrimSpace(typed)
	for _, w := range words.Enum {
		if word, ok := w.(string); ok && strings.EqualFold(word, text) {
			return json.Marshal(word)
		}
	}
	if strings.HasPrefix(text, "{") {
		return json.RawMessage(text), nil
	}
	names := slices.Sorted(maps.Keys(form.Properties))
	filled := map[string]any{}
	if len(names) == 1 && !strings.HasPrefix(text, names[0]+"=") {
		v, err := fieldValue(names[0], form.Properties[names[0]], text)
		if err != nil {
			return nil, err
		}
		filled[names[0]] = v
		return json.Marshal(filled)
	}
	for _, part := range strings.Fields(text) {
		name, value, ok := strings.Cut(part, "=")
		if !ok || form.Properties[name] == nil {
			return nil, fmt.Errorf("%s is no answer to this: write %s, or the whole as JSON", Quoted(part), fields(names))
		}
		v, err := fieldValue(name, form.Properties[name], value)
		if err != nil {
			return nil, err
		}
		filled[name] = v
	}
	return json.Marshal(filled)
}

// fieldValue reads one value as the form wants it.
func fieldValue(name string, s *jsonschema.Schema, text string) (any, error) {
	switch s.Type {
	case "boolean":
		return pickYesNo(text)
	case "integer", "number":
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("%s is no answer to this: %s wants a number", Quoted(text), name)
		}
		return json.RawMessage(text), nil
	case "array":
		return strings.Split(text, ","), nil
	}
	return text, nil
}

// fields is how a form is filled in on one line.
func fields(names []string) string {
	return strings.Join(names, "=VALUE ") + "=VALUE"
}
