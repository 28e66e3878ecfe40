package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What is named to the person is what the decoder knows.
func TestKeysAreThoseOfTheDecoder(t *testing.T) {
	var decoded []string
	var walk func(typ reflect.Type, path []string)
	walk = func(typ reflect.Type, path []string) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			inner := f.Type
			at := path
			if !f.Anonymous {
				at = append(slices.Clone(path), f.Tag.Get("toml"))
			}
			switch {
			case inner.Kind() == reflect.Map:
				at, inner = append(at, "*"), inner.Elem()
			case inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer:
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				walk(inner, at)
				continue
			}
			decoded = append(decoded, strings.Join(at, "."))
		}
	}
	walk(reflect.TypeFor[userKeys](), nil)
	named := Keys()
	slices.Sort(decoded)
	slices.Sort(named)
	if !slices.Equal(decoded, named) {
		t.Errorf("the decoder knows %v\nnamed are %v", decoded, named)
	}
}
