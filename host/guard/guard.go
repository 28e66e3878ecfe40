package guard

import (
	"bytes"
	"encoding/json"
	"math/big"
	"path"
	"strings"

	"agent/recovery"
)

// Call is a call with what its tool says about its arguments.
type Call struct {
	Tool   string
	Args   json.RawMessage
	Folder string                   // the run's workspace, absolute
	Schema json.RawMessage          // JSON Schema of the arguments
	Bounds []string                 // arguments that only bound the call
	Files  bool                     // the argument path names a file of the workspace
	Follow func(path string) string // where an absolute path leads through symbolic links; nil follows none
}

// place is a path as it is written from the workspace, with the links on its way followed.
func place(folder, p string, follow func(string) string) string {
	p = fromFolder(folder, p)
	if follow == nil || folder == "" {
		return p
	}
	to := p
	if !path.IsAbs(to) {
		to = path.Join(folder, to)
	}
	return fromFolder(follow(folder), follow(to))
}

// Acts is what of the call acts.
func Acts(c Call) recovery.Acts {
	var args any
	if err := decode(c.Args, &args); err != nil {
		return recovery.Acts{Text: string(c.Args)}
	}
	object, ok := args.(map[string]any)
	if !ok {
		return recovery.Acts{Text: encode(args)}
	}
	if command, ok := object["command"].(string); ok && c.Tool == "shell" {
		shell, _ := object["shell"].(string) // sh when it is anything else
		return script(command, shell, c.Folder, c.Follow)
	}
	var schema map[string]any
	if decode(c.Schema, &schema) == nil { // without a schema there are no defaults
		fill(object, schema, 0)
	}
	for _, name := range c.Bounds {
		delete(object, name)
	}
	if p, ok := object["path"].(string); ok && c.Files {
		object["path"] = place(c.Folder, p, c.Follow)
	}
	return recovery.Acts{Text: encode(object)}
}

// decode reads JSON with its numbers as they are written.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

// encode writes a value in one spelling: keys in order, no white space, each number as the one that
// it is, and nothing that is empty but texts.
func encode(v any) string {
	text, err := json.Marshal(oneSpelling(v))
	if err != nil {
		panic(err) // it came from JSON
	}
	return string(text)
}

// maxNumber bounds how long a number may be that is worked out: 1e999999999 is short and huge.
const maxNumber = 40

func oneSpelling(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if v[k] = oneSpelling(e); empty(v[k]) {
				delete(v, k)
			}
		}
	case []any:
		for i, e := range v {
			v[i] = oneSpelling(e)
		}
	case json.Number:
		text := v.String()
		if _, exponent, _ := strings.Cut(strings.ToLower(text), "e"); len(text) > maxNumber || len(exponent) > 3 {
			return v
		}
		if r, ok := new(big.Rat).SetString(text); ok {
			return r.RatString()
		}
	}
	return v
}

// empty says that a value says no more than none at all.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// maxDepth bounds how deep a schema is followed.
const maxDepth = 32

// fill puts the defaults of a schema's properties where an object has none.
func fill(object, schema map[string]any, depth int) {
	properties, _ := schema["properties"].(map[string]any) // none in a schema of another form
	if depth >= maxDepth {
		return
	}
	for name, p := range properties {
		property, ok := p.(map[string]any)
		if !ok {
			continue
		}
		value, given := object[name]
		if standard, has := property["default"]; !given && has {
			value = standard
			object[name] = value
		}
		if inner, ok := value.(map[string]any); ok {
			fill(inner, property, depth+1)
		}
	}
}

// fromFolder is a path as it is written from the workspace, if it lies there, and clean in any
// case.
func fromFolder(folder, p string) string {
	if p == "" {
		return "."
	}
	p = path.Clean(p)
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(folder, "/")+"/"); ok && folder != "" {
		return rest
	}
	if p == folder {
		return "."
	}
	return p
}
