package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"agent/recovery/journal"
)

type fake struct{ name, about, schema string }

func (f fake) Spec() Spec {
	return Spec{Name: f.name, Description: f.about, Schema: json.RawMessage(f.schema)}
}
func (fake) Describe(string, json.RawMessage) Traits { return Traits{Effect: journal.EffectRead} }

type fakeCaller struct{ fake }

func (fakeCaller) Call(context.Context, Call) (journal.Result, error) {
	return journal.Result{}, nil
}

type fakeBoth struct{ fakeCaller }

func (f fakeBoth) Spec() Spec {
	spec := f.fakeCaller.Spec()
	spec.Asks = true
	return spec
}

func TestNewRegistryRefuses(t *testing.T) {
	good := fake{"a", "", `{"type":"object"}`}
	for name, tt := range map[string]struct {
		tools []Tool
		want  string
	}{
		"a name twice":              {[]Tool{fakeCaller{good}, fakeCaller{good}}, "taken"},
		"no name":                   {[]Tool{fakeCaller{fake{"", "", "{}"}}}, "1 to 64"},
		"a name with a space":       {[]Tool{fakeCaller{fake{"a b", "", "{}"}}}, "1 to 64"},
		"neither acting nor asking": {[]Tool{good}, "exactly one"},
		"both":                      {[]Tool{fakeBoth{fakeCaller{good}}}, "exactly one"},
		"a broken schema":           {[]Tool{fakeCaller{fake{"a", "", `{"type":`}}}, "schema"},
		"a schema that is none":     {[]Tool{fakeCaller{fake{"a", "", `{"$ref":"#/$defs/x"}`}}}, "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewRegistry(tt.tools...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestRegistryDigest(t *testing.T) {
	digest := func(tools ...Tool) string {
		r, err := NewRegistry(tools...)
		if err != nil {
			t.Fatal(err)
		}
		return r.Digest()
	}
	a, b := fakeCaller{fake{"a", "x", `{"type":"object"}`}}, fakeCaller{fake{"b", "y", `{"type": "object"}`}}
	base := digest(a, b)
	if digest(b, a) != base {
		t.Error("the order of tools changes the digest")
	}
	if digest(fakeCaller{fake{"a", "x", "{ \"type\" :\n\"object\"}"}}, b) != base {
		t.Error("white space in a schema changes the digest")
	}
	for name, other := range map[string]Tool{
		"name": fakeCaller{fake{"c", "x", `{"type":"object"}`}}, "description": fakeCaller{fake{"a", "z", `{"type":"object"}`}},
		"schema": fakeCaller{fake{"a", "x", `{"type":"string"}`}},
	} {
		if digest(other, b) == base {
			t.Errorf("another %s has the same digest", name)
		}
	}
}
