// Package body reads the JSON of a request strictly. What cannot be taken exactly as it was written
// is refused, in words that name the field: nothing is changed on the way, or left out in silence.
package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// MostDepth is how deep JSON may be nested.
const MostDepth = 64

// Read reads an object into the struct that v points to. A field of it is a text, a json.Number, a
// bool, json.RawMessage for any value, []string for a list of texts, or [][]byte for a list of
// files in base64; null leaves it as it is. No body is an empty object.
func Read(text []byte, v any) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if err := check(text); err != nil {
		return err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil || given == nil {
		return syntax(err, text)
	}
	if err := (&walk{text: text}).value(""); err != nil {
		return err
	}
	to := reflect.ValueOf(v).Elem()
	names := fields(to.Type())
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := slices.Index(names, name)
		if at < 0 {
			return unknown(name, names)
		}
		if err := set(to.Field(at), given[name]); err != nil {
			return fmt.Errorf("the field %q %w", name, err)
		}
	}
	return nil
}

// check refuses what the parser would make something else of, and what it would be busy with.
func check(text []byte) error {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("it is not valid UTF-8, at byte %d", at+1)
		}
		at += size
	}
	if depth(text) > MostDepth {
		return fmt.Errorf("it is nested deeper than %d", MostDepth)
	}
	return nil
}

func syntax(err error, text []byte) error {
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) {
		return fmt.Errorf("it is no JSON: at byte %d: %w", wrong.Offset, wrong)
	}
	return fmt.Errorf(`it is %s, and is to be an object, such as {"field": "value"}`, kind(bytes.TrimSpace(text)))
}

func fields(of reflect.Type) []string {
	names := make([]string, of.NumField())
	for i := range names {
		names[i] = of.Field(i).Tag.Get("json")
	}
	return names
}

func unknown(name string, names []string) error {
	const long = 60 // letters of a name that somebody recognises
	if short := []rune(name); len(short) > long {
		name = string(short[:long]) + "..."
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no field %q here, and no other", name)
	}
	return fmt.Errorf("there is no field %q here: there are %s", name, strings.Join(names, ", "))
}

// set takes a value for a field that wants one of its kind.
func set(to reflect.Value, value json.RawMessage) error {
	if raw, ok := to.Addr().Interface().(*json.RawMessage); ok {
		*raw = value
		return nil
	}
	is, wants, of := kind(value), "", "files, each a text in base64"
	switch to.Addr().Interface().(type) {
	case *json.Number:
		wants = aNumber
	case *bool:
		wants = aBool
	case *[]string:
		wants, of = aList, "texts"
	case *[][]byte:
		wants = aList
	default:
		wants = aText
	}
	switch {
	case is == null:
		return nil
	case is != wants:
		return fmt.Errorf("wants %s, and is %s", wants, is)
	}
	if err := json.Unmarshal(value, to.Addr().Interface()); err != nil {
		return fmt.Errorf("wants a list of %s", of)
	}
	return nil
}

// What a value is.
const (
	aText   = "a text"
	aNumber = "a number"
	aBool   = "true or false"
	aList   = "a list"
	anObj   = "an object"
	null    = "null"
)

func kind(value []byte) string {
	switch value[0] {
	case '"':
		return aText
	case '[':
		return aList
	case '{':
		return anObj
	case 't', 'f':
		return aBool
	case 'n':
		return null
	}
	return aNumber
}

// depth is how deep brackets are nested, at most one more than MostDepth.
func depth(text []byte) int {
	now, most, quoted := 0, 0, false
	for i := 0; i < len(text) && most <= MostDepth; i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}
