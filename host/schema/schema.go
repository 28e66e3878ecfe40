// Package schema compares JSON with a JSON Schema (draft 2020-12 or draft-07,
// https://json-schema.org). A schema that refers to other documents is refused.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Limit is the most of a schema that is read, in bytes.
const Limit = 1 << 20

// Check says why text is no schema that values can be compared with; nil where it is one.
func Check(text []byte) error {
	_, err := read(text)
	return err
}

func read(text []byte) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// Fit says why content is not one value of JSON that the schema describes; nil where it is.
func Fit(schema, content []byte) error {
	r, err := read(schema)
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(content))
	var value any
	if err := d.Decode(&value); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("it is not one value of JSON")
	}
	return r.Validate(value)
}

// Answer is a model's answer as the value that it is: without the code fence that many models put
// around one, and without white space at its ends.
func Answer(text string) string {
	text = strings.TrimSpace(text)
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return text
	}
	name, inner, lines := strings.Cut(inner, "\n")
	inner, closed := strings.CutSuffix(inner, "\n```")
	if name = strings.TrimSpace(name); !lines || !closed || name != "" && name != "json" {
		return text
	}
	return strings.TrimSpace(inner)
}
