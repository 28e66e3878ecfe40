package serve

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agent/host/view"
	"agent/host/watch"
)

// objects are the schemas that describe a type of Go, with a value of it.
func objects() map[string]any {
	return map[string]any{
		"Problem": problem{}, "Run": view.Run{}, "Snapshot": run{}, "Request": request{}, "Question": view.Request{}, "Call": oneCall{}, "Server": state{},
		"State": watch.State{}, "Plan": view.Plan{}, "Models": view.Models{}, "Start": asked{},
		"Rewind": view.Rewind{}, "StartRewind": rewound{}, "Diff": view.Diff{}, "Told": view.Told{},
	}
}

// comparer compares schemas with the types that they describe.
type comparer struct {
	t       *testing.T
	schemas map[string]json.RawMessage
	seen    map[string]bool // pairs of a place and a type
}

// node is what the comparison reads of a schema.
type node struct {
	Ref         string          `json:"$ref"`
	Description string          `json:"description"`
	Properties  map[string]node `json:"properties"`
	Items       *node           `json:"items"`
	Additional  json.RawMessage `json:"additionalProperties"`
}

// Every field of every answer is described, and what is described is a field, also of what an
// answer has seldom: a table of phases, what is asked below a run.
func TestDescriptionHasEveryField(t *testing.T) {
	c := comparer{t, described(t).Components.Schemas, map[string]bool{}}
	for name, v := range objects() {
		c.compare(name, node{Ref: "#/components/schemas/" + name}, reflect.TypeOf(v))
	}
	for _, place := range []string{"#/components/schemas/Phase", "#/components/schemas/Artifact", "#/components/schemas/Below", "#/components/schemas/Call"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(c.seen)), func(k string) bool { return strings.HasPrefix(k, place+" ") }) {
			t.Errorf("nothing was compared with %s", place)
		}
	}
}

func (c comparer) compare(place string, n node, of reflect.Type) {
	c.t.Helper()
	if n.Ref != "" {
		place, n = n.Ref, c.read(n.Ref)
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	key := place + " " + of.String()
	if c.seen[key] || opaque(of) {
		return
	}
	c.seen[key] = true
	switch of.Kind() {
	case reflect.Slice:
		if n.Items == nil {
			c.t.Errorf("%s has no items, which are of type %s", place, of.Elem())
			return
		}
		c.compare(place+"[]", *n.Items, of.Elem())
	case reflect.Struct:
		fields := fieldsOf(of)
		for name, field := range fields {
			p, ok := n.Properties[name]
			if !ok {
				c.t.Errorf("%s lacks %s, which %s has", place, name, of)
				continue
			}
			c.compare(place+"."+name, p, field)
		}
		for name := range n.Properties {
			if fields[name] == nil {
				c.t.Errorf("%s has %s, which %s lacks", place, name, of)
			}
		}
	}
}

func (c comparer) read(ref string) (n node) {
	c.t.Helper()
	text, ok := c.schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	if !ok {
		c.t.Fatalf("%s is not described", ref)
	}
	if err := json.Unmarshal(text, &n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// opaque says whether a value of a type is written as something else than its fields or elements.
func opaque(of reflect.Type) bool {
	for _, how := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if of.Implements(how) || reflect.PointerTo(of).Implements(how) {
			return true
		}
	}
	return of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8 || of.Kind() != reflect.Slice && of.Kind() != reflect.Struct
}

// fieldsOf are the fields of a struct as JSON has them, with those of what is embedded.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name == "" && f.Anonymous:
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			maps.Copy(fields, fieldsOf(inner))
		case name == "":
			fields[f.Name] = f.Type
		default:
			fields[name] = f.Type
		}
	}
	return fields
}
