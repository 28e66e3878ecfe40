package schema_test

import (
	"testing"

	"agent/host/schema"
)

const person = `{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}`

// A value is compared as a whole, and what is wrong is named with its place. // issue 17, part 5
func TestFit(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "Ada"}`:              "",
		` {"name": "Ada", "age": 36} `: "",
		`{"age": 36}`:                  `validating root: required: missing properties: ["name"]`,
		`{"name": "Ada"} {}`:           "it is not one value of JSON",
		`Ada`:                          "it is not JSON: invalid character 'A' looking for beginning of value",
		``:                             "it is not JSON: EOF",
	} {
		got := ""
		if err := schema.Fit([]byte(person), []byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %q", text, got, want)
		}
	}
}

// What is no schema, or refers to another document, is refused before anything is asked. // issue
// 17, part 5
func TestCheck(t *testing.T) {
	for text, good := range map[string]bool{
		person:                               true,
		`{}`:                                 true,
		`true`:                               true,
		`{"type": 5}`:                        false,
		`{"$ref": "https://example.org/x"}`:  false,
		`{"type": "string", "pattern": "("}`: false,
		`[]`:                                 false,
		``:                                   false,
	} {
		if err := schema.Check([]byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A code fence around an answer is no part of it.
func TestAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                      "{}",
		" {}\n":                   "{}",
		"```json\n{}\n```":        "{}",
		"```\n{\n}\n```\n":        "{\n}",
		"```yaml\na: 1\n```":      "```yaml\na: 1\n```",
		"Here:\n```json\n{}\n```": "Here:\n```json\n{}\n```",
		"```json\n{}":             "```json\n{}",
		"```":                     "```",
	} {
		if got := schema.Answer(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
