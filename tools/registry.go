package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Registry is a fixed set of tools with unique names. It is safe for concurrent use.
type Registry struct {
	tools  map[string]entry
	names  []string // sorted
	digest string
}

type entry struct {
	tool   Tool
	spec   Spec
	schema func() (*jsonschema.Resolved, error) // parses it once; gives nil where arguments are not checked against it
}

// NewRegistry checks the tools: names are unique and well formed, schemas parse, and each tool
// either acts or asks.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r, err := LazyRegistry(tools)
	if err != nil {
		return nil, err
	}
	for _, name := range r.names {
		if _, err := r.tools[name].schema(); err != nil {
			return nil, fmt.Errorf("register tool %q: %v", name, err)
		}
	}
	return r, nil
}

func LazyRegistry(tools []Tool) (*Registry, error) {
	r := &Registry{tools: make(map[string]entry, len(tools))}
	for _, t := range tools {
		spec := t.Spec()
		if err := checkName(spec.Name); err != nil {
			return nil, fmt.Errorf("register tool %q: %v", spec.Name, err)
		}
		if _, twice := r.tools[spec.Name]; twice {
			return nil, fmt.Errorf("register tool %q: the name is taken", spec.Name)
		}
		if _, acts := t.(Caller); acts == spec.Asks {
			return nil, fmt.Errorf("register tool %q: it must do exactly one of acting (Caller) and asking (Spec.Asks)", spec.Name)
		}
		schema := sync.OnceValues(func() (*jsonschema.Resolved, error) { return parseSchema(spec.Schema) })
		if f, ok := t.(Foreign); ok && f.Unchecked() {
			schema = func() (*jsonschema.Resolved, error) { return nil, nil }
		}
		r.tools[spec.Name] = entry{tool: t, spec: spec, schema: schema}
		r.names = append(r.names, spec.Name)
	}
	slices.Sort(r.names)
	digest, err := digestOf(r.Specs())
	if err != nil {
		return nil, err
	}
	r.digest = digest
	return r, nil
}

// checkName admits what every provider's protocol admits.
func checkName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if name == "" || len(name) > 64 || strings.Trim(name, letters) != "" {
		return fmt.Errorf("a name has 1 to 64 letters, digits, _ and -")
	}
	return nil
}

func parseSchema(text json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read its schema: %v", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve its schema: %v", err)
	}
	return resolved, nil
}

// digestOf is stable over order and over the white space of schemas.
func digestOf(specs []Spec) (string, error) {
	h := sha256.New()
	for _, s := range specs {
		var schema bytes.Buffer
		if err := json.Compact(&schema, s.Schema); err != nil {
			return "", fmt.Errorf("digest schema of tool %q: %v", s.Name, err)
		}
		// Lengths keep neighbouring fields from running into each other. A hash takes every write.
		fmt.Fprintf(h, "%d %d %d\n%s%s%s", len(s.Name), len(s.Description), schema.Len(), s.Name, s.Description, schema.Bytes())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Get returns the tool of that name, or an error worded for whoever asked for it.
func (r *Registry) Get(name string) (Tool, error) {
	e, ok := r.tools[name]
	if !ok {
		return nil, fmt.Errorf("there is no tool %q; there are %s", name, strings.Join(r.names, ", "))
	}
	return e.tool, nil
}

// Spec is the description of the tool of that name; false when there is none.
func (r *Registry) Spec(name string) (Spec, bool) {
	e, ok := r.tools[name]
	return e.spec, ok
}

// Names lists the tools in alphabetical order.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Specs lists the tools' descriptions in the order of Names.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, 0, len(r.names))
	for _, name := range r.names {
		specs = append(specs, r.tools[name].spec)
	}
	return specs
}

// Digest identifies the set: SHA-256 in hex over names, descriptions and schemas.
func (r *Registry) Digest() string { return r.digest }

// Read checks a call's arguments. The error is worded for the model that made them.
func (r *Registry) Read(name string, args json.RawMessage) error {
	if _, err := r.Get(name); err != nil {
		return err
	}
	e := r.tools[name]
	var object map[string]any
	if err := json.Unmarshal(args, &object); err != nil {
		return fmt.Errorf("the arguments of %s are not a JSON object: %v", name, err)
	}
	if object == nil {
		return fmt.Errorf("the arguments of %s are not a JSON object: null", name)
	}
	schema, err := e.schema()
	if err != nil {
		return fmt.Errorf("the arguments of %s cannot be checked: %v", name, err)
	}
	if schema != nil {
		if err := schema.Validate(object); err != nil {
			return fmt.Errorf("the arguments of %s do not fit its schema: %s", name, plainer(err))
		}
	}
	if c, ok := e.tool.(Checker); ok {
		if err := c.Check(args); err != nil {
			return fmt.Errorf("the arguments of %s cannot be used: %w", name, err)
		}
	}
	return nil
}

// plainer shortens the validator's nested sentences to the innermost place and what is wrong there.
func plainer(err error) string {
	text := err.Error()
	text = strings.TrimPrefix(text, "validating root: ")
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			return text
		}
		at, what, ok := strings.Cut(rest, ": ")
		if !ok {
			return text
		}
		if !strings.HasPrefix(what, "validating ") {
			return at + ": " + what
		}
		text = what
	}
}
