package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// wire checks lines against the protocol's own schema, where scripts/check-acp names it.
type wire struct {
	file    map[string]any
	schemas map[string]*jsonschema.Resolved
	asked   map[string]string // method by id
}

// results are what the answers to requests must be.
func results() map[string]string {
	return map[string]string{
		"initialize": "InitializeResponse", "session/new": "NewSessionResponse", "session/load": "LoadSessionResponse", "session/resume": "ResumeSessionResponse",
		"session/list": "ListSessionsResponse", "session/prompt": "PromptResponse", "session/set_mode": "SetSessionModeResponse",
		"session/set_config_option": "SetSessionConfigOptionResponse",
	}
}

// newWire returns nil where there is no schema.
func newWire(t *testing.T) *wire {
	t.Helper()
	name := os.Getenv("ACP_SCHEMA")
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	w := &wire{schemas: map[string]*jsonschema.Resolved{}, asked: map[string]string{}}
	if err == nil {
		err = json.Unmarshal(text, &w.file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// fits checks a value against one definition.
func (w *wire) fits(definition string, value any) error {
	r := w.schemas[definition]
	if r == nil {
		file := map[string]any{"$defs": w.file["$defs"], "$ref": "#/$defs/" + definition}
		if definition == "" {
			file = w.file
		}
		text, err := json.Marshal(file)
		if err != nil {
			return err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		if r, err = s.Resolve(nil); err != nil {
			return err
		}
		w.schemas[definition] = r
	}
	return r.Validate(value)
}

// asks notes a request, so that its answer can be checked.
func (w *wire) asks(id int, method string) {
	if w != nil {
		w.asked[strconv.Itoa(id)] = method
	}
}

// check is line, where there is a schema.
func (w *wire) check(text []byte) error {
	if w == nil {
		return nil
	}
	return w.line(text)
}

// line checks what agent acp wrote. A result is checked by its request where that is known.
func (w *wire) line(text []byte) error {
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	if err := w.fits("", any(v)); err != nil {
		return err
	}
	id, err := json.Marshal(v["id"])
	if err != nil {
		return err
	}
	switch method, _ := v["method"].(string); {
	case method == "session/update":
		return w.fits("SessionNotification", v["params"])
	case method == "session/request_permission":
		return w.fits("RequestPermissionRequest", v["params"])
	case method == "$/cancel_request":
		return nil // the library has no definition of it
	case method != "":
		return fmt.Errorf("method %q is none that is sent to an editor", method)
	case v["error"] != nil:
		return w.fits("Error", v["error"])
	case w.asked[string(id)] != "":
		return w.fits(results()[w.asked[string(id)]], v["result"])
	}
	return nil
}

// Every line that agent acp wrote to other editors fits the schema of the protocol, and the check
// sees what does not. // windows, promise 19
func TestLinesOfOtherEditors(t *testing.T) {
	w := newWire(t)
	if w == nil {
		t.Skip("scripts/check-acp names the schema, and the lines")
	}
	text, err := os.ReadFile(os.Getenv("ACP_LINES"))
	if err != nil || len(text) == 0 {
		t.Fatal(len(text), err)
	}
	update := ""
	for line := range bytes.Lines(text) {
		if err := w.line(line); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
		if strings.Contains(string(line), `"tool_call_update"`) {
			update = string(line)
		}
	}
	for old, bad := range map[string]string{`"toolCallId":`: `"toolCall":`, `"tool_call_update"`: `"tool_call_upset"`, `"session/update"`: `"session/updated"`, `"2.0"`: `"1.0"`} {
		if w.line([]byte(strings.Replace(update, old, bad, 1))) == nil {
			t.Errorf("%s instead of %s goes unnoticed", bad, old)
		}
	}
}
