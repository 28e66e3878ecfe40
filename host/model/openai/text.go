package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"agent/host/model"
	"agent/recovery/journal"
)

// valid is the text as the journal would give it back: every byte that is not UTF-8 is U+FFFD.
// Without it a request would have other bytes after a crash than before.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// arguments is what a call's arguments are sent as: one JSON object without white space. What is no
// object was never carried out; it goes back wrapped, since servers that parse the arguments would
// refuse the whole conversation for ever.
func arguments(raw json.RawMessage) (string, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err == nil && b.Bytes()[0] == '{' {
		return valid(unescape(b.Bytes())), nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	quoted, err := quote(valid(text))
	if err != nil {
		return "", fmt.Errorf("encode the arguments of a call: %w", err)
	}
	return `{"malformed":` + string(quoted) + "}", nil
}

// unescape undoes encoding/json's escapes of < > & U+2028 and U+2029, so that arguments that have
// been through the journal are those that have not.
func unescape(b []byte) string {
	if !bytes.Contains(b, []byte(`\u`)) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			out.WriteByte(b[i])
			continue
		}
		if b[i+1] == 'u' && i+6 <= len(b) {
			if r, ok := escapedByGo(b[i+2 : i+6]); ok {
				out.WriteRune(r)
				i += 5
				continue
			}
		}
		out.Write(b[i : i+2])
		i++
	}
	return out.String()
}

func escapedByGo(hex []byte) (rune, bool) {
	switch strings.ToLower(string(hex)) {
	case "003c":
		return '<', true
	case "003e":
		return '>', true
	case "0026":
		return '&', true
	case "2028":
		return '\u2028', true
	case "2029":
		return '\u2029', true
	}
	return 0, false
}

// quote is a JSON value without the escapes that only HTML needs.
func quote(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// dataURL is a picture inside the request.
func dataURL(i *journal.Image) string {
	return "data:" + i.Media + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// schema is the tool's own, in its own order; a tool without arguments gets the schema of none.
func schema(t model.ToolSpec) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// toolName is a name that a call may be sent back with: a model that makes up a tool may give it
// one that the API refuses.
func toolName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "unknown"
	}
	return s[:min(len(s), 64)]
}

// closing puts the growing list at the end of a request's head, so that the whole request of a
// turn, but for its last two bytes, is the beginning of the next turn's.
func closing(head any, name string, items [][]byte) ([]byte, error) {
	first, err := quote(head)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	size := len(first) + len(name) + 32
	for _, i := range items {
		size += len(i) + 1
	}
	b := append(make([]byte, 0, size), first[:len(first)-1]...)
	b = append(b, `,"`+name+`":[`...)
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return append(b, "]}"...), nil
}
