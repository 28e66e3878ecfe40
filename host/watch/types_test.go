package watch

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agent/recovery/journal"
)

// Every kind of fact has its place in the list of types, and what is said of it names fields that
// its body has.
func TestTypesOfLines(t *testing.T) {
	var names []string
	for _, l := range LineTypes() {
		if slices.Contains(names, l.Name) || l.Data == "" {
			t.Errorf("the type %+v", l)
		}
		names = append(names, l.Name)
		if !slices.Contains(journal.Kinds(), journal.Kind(l.Name)) {
			if l.Fact != (l.Name == TypeUnknown) {
				t.Errorf("%s is a fact: %t", l.Name, l.Fact)
			}
			continue
		}
		body, err := journal.Decode(journal.Kind(l.Name), journal.Version, []byte(`{}`))
		if err != nil || !l.Fact {
			t.Fatalf("%s: %v", l.Name, err)
		}
		have := jsonNames(reflect.TypeOf(body))
		for _, field := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(l.Data, -1) {
			if !slices.Contains(have, field[1]) {
				t.Errorf("%s has no %s; it has %v", l.Name, field[1], have)
			}
		}
	}
	for _, k := range journal.Kinds() {
		if !slices.Contains(names, string(k)) {
			t.Errorf("%s is not listed", k)
		}
	}
}

func jsonNames(of reflect.Type) []string {
	var all []string
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			all = append(all, jsonNames(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, name)
	}
	return all
}
