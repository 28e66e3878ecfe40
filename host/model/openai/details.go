package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// details are OpenRouter's reasoning_details: pieces of the same kind and number are one piece,
// whose text grows; the order is kept, since the provider behind the router checks it.
type details struct{ list []*detail }

type detail struct {
	fields        map[string]json.RawMessage
	text, summary strings.Builder
}

// take adds pieces and gives the text in them that a person may read.
func (d *details) take(pieces []json.RawMessage) string {
	var shown strings.Builder
	for _, raw := range pieces {
		var piece map[string]json.RawMessage
		if decode(raw, &piece) != nil || piece == nil {
			continue // the list is OpenRouter's own; what is no object there means nothing to it
		}
		if n := len(d.list); n == 0 || !d.list[n-1].goesOn(piece) {
			d.list = append(d.list, &detail{fields: map[string]json.RawMessage{}})
		}
		shown.WriteString(d.list[len(d.list)-1].grow(piece))
	}
	return shown.String()
}

// goesOn says whether the piece is more of this one.
func (d *detail) goesOn(piece map[string]json.RawMessage) bool {
	kind := unquoted(piece["type"])
	return (kind == "reasoning.text" || kind == "reasoning.summary") && unquoted(d.fields["type"]) == kind &&
		bytes.Equal(d.fields["index"], piece["index"])
}

// grow takes the piece over: texts are added up, of anything else the last word counts.
func (d *detail) grow(piece map[string]json.RawMessage) string {
	text, summary := unquoted(piece["text"]), unquoted(piece["summary"])
	d.text.WriteString(text)
	d.summary.WriteString(summary)
	for name, value := range piece {
		if _, ok := d.fields[name]; !ok || !bytes.Equal(value, []byte("null")) {
			d.fields[name] = value
		}
	}
	return text + summary
}

func unquoted(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func quoted(s string) json.RawMessage {
	raw, err := quote(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return raw
}

// json is the whole list; "" when there is none.
func (d *details) json() (string, error) {
	if len(d.list) == 0 {
		return "", nil
	}
	var all []map[string]json.RawMessage
	for _, one := range d.list {
		if one.text.Len() > 0 {
			one.fields["text"] = quoted(one.text.String())
		}
		if one.summary.Len() > 0 {
			one.fields["summary"] = quoted(one.summary.String())
		}
		all = append(all, one.fields)
	}
	raw, err := quote(all)
	return string(raw), err
}
