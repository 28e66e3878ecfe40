package objects

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"agent/host/view"
	"agent/host/watch"
	"agent/recovery/journal"
)

// Line is the name of the schema of one line of --output-format stream-json.
const Line = "line"

// Document is the schema as a whole: each object and the line stand in $defs by their names, each
// fact of the journal by its kind. What is printed fits one of them, so the document alone accepts
// it too. Fields that a schema does not name are allowed: they may be added at any time.
func Document() (*jsonschema.Schema, error) {
	d := &jsonschema.Schema{
		Schema:      "https://json-schema.org/draft/2020-12/schema",
		Title:       "what programs read of agent",
		Description: "An object of --json, or a line of --output-format stream-json. Fields are only ever added.",
		Defs:        map[string]*jsonschema.Schema{},
	}
	for _, o := range All() {
		s, err := schemaOf(o.as)
		if err != nil {
			return nil, fmt.Errorf("describe what %s prints: %v", o.Of, err)
		}
		s.Description = o.Of
		d.Defs[o.Name] = s
		d.AnyOf = append(d.AnyOf, ref(o.Name))
	}
	for _, p := range parts() {
		s, err := schemaOf(p.as)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %v", p.name, err)
		}
		d.Defs[p.name] = s
	}
	line, err := lineSchema(d.Defs)
	if err != nil {
		return nil, err
	}
	d.Defs[Line] = line
	d.AnyOf = append(d.AnyOf, ref(Line))
	return d, nil
}

// lineSchema describes a line: what its data is follows from its type. The facts are put into defs.
func lineSchema(defs map[string]*jsonschema.Schema) (*jsonschema.Schema, error) {
	line, err := schemaOf(reflect.TypeFor[watch.Envelope]())
	if err != nil {
		return nil, fmt.Errorf("describe a line: %v", err)
	}
	line.Description = "a line of --output-format stream-json"
	data := map[string]*jsonschema.Schema{
		watch.TypeOutcome: ref("run"), watch.TypeAnswer: ref("answered"), watch.TypeError: ref(Refused),
	}
	if data[watch.TypeSnapshot], err = schemaOf(reflect.TypeFor[view.Snapshot]()); err != nil {
		return nil, fmt.Errorf("describe a line of type %s: %v", watch.TypeSnapshot, err)
	}
	for name, form := range watch.Forms() {
		if data[name], err = schemaOf(form); err != nil {
			return nil, fmt.Errorf("describe a line of type %s: %v", name, err)
		}
	}
	for _, kind := range journal.Kinds() {
		body, err := journal.Decode(kind, journal.Version, []byte("{}"))
		if err != nil {
			return nil, err
		}
		fact, err := schemaOf(reflect.TypeOf(body))
		if err != nil {
			return nil, fmt.Errorf("describe the fact %s: %v", kind, err)
		}
		lighten(fact)
		fact.Description = "the fact " + string(kind) + ", as a line has it"
		defs[string(kind)], data[string(kind)] = fact, ref(string(kind))
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		line.AllOf = append(line.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"type": {Const: jsonschema.Ptr[any](name)}}},
			Then: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"data": data[name]}},
		})
	}
	return line, nil
}

// lighten leaves open what a line has in another form than the journal: see package watch. Its
// longest texts are cut, and a fact of an older binary has fewer fields.
func lighten(fact *jsonschema.Schema) {
	for _, name := range []string{"setup", "flow", "blocks"} {
		if fact.Properties[name] != nil {
			fact.Properties[name] = &jsonschema.Schema{}
		}
	}
	walk(fact, func(s *jsonschema.Schema) { s.Required = nil })
}

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// schemaOf describes a Go type as encoding/json writes it here: fields may be added, a list is
// never null, and neither is what is left out where it is empty.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	anything := &jsonschema.Schema{}
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): anything,
		reflect.TypeFor[json.Number]():     {Type: "number"},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}
	for _, p := range parts() {
		known[p.of] = ref(p.name)
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	walk(s, tidy)
	optional(t, s)
	return s, nil
}

// optional has what a struct takes over through a pointer be missing: the pointer may be nil.
func optional(t reflect.Type, s *jsonschema.Schema) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous && f.Type.Kind() == reflect.Pointer {
			for _, inner := range reflect.VisibleFields(f.Type.Elem()) {
				name, _, _ := strings.Cut(inner.Tag.Get("json"), ",")
				s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
			}
		}
	}
}

// tidy makes one schema say what holds here and is not in its Go type.
func tidy(s *jsonschema.Schema) {
	if a := s.AdditionalProperties; a != nil && a.Not != nil { // nothing but what the type has
		s.AdditionalProperties = nil
	}
	if slices.Contains(s.Types, "array") {
		s.Type, s.Types = "array", nil
	}
	if s.Ref != "" && len(s.Types) > 0 { // a pointer to a part
		s.AnyOf = []*jsonschema.Schema{{Ref: s.Ref}, {Type: "null"}}
		s.Ref, s.Types = "", nil
	}
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) && len(p.Types) == 2 && p.Types[0] == "null" {
			p.Type, p.Types = p.Types[1], nil
		}
	}
}

// walk visits a schema and all below it that describe values.
func walk(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	visit(s)
	for _, p := range s.Properties {
		walk(p, visit)
	}
	for _, below := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if below != nil {
			walk(below, visit)
		}
	}
}
