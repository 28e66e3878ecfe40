package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/recovery/journal"
)

// pinnedText is how much of a description a pin keeps, bytes: enough to show how it differs.
const pinnedText = 200

// pinOf identifies what a server says a tool is: its name, description, schema, and what it says of
// its effects. Of the schema each argument is kept by a digest, so that a difference can be named.
func pinOf(t *sdk.Tool) (journal.ToolPin, error) {
	hints := []any{}
	if a := t.Annotations; a != nil {
		hints = []any{a.ReadOnlyHint, a.DestructiveHint, a.IdempotentHint, a.OpenWorldHint}
	}
	p := journal.ToolPin{Name: t.Name, Description: cut(t.Description, pinnedText)}
	said, err := json.Marshal([]any{t.Name, t.Description, t.InputSchema, hints})
	if err != nil {
		return p, fmt.Errorf("read the schema of tool %q: %v", brief(t.Name, 64), err)
	}
	p.Pin = digestOf(said)
	schema, _ := t.InputSchema.(map[string]any) // another form has no arguments to name
	for name, arg := range schema {
		if properties, ok := arg.(map[string]any); ok && name == "properties" {
			for _, property := range sortedKeys(properties) {
				p.Schema = append(p.Schema, part(property, properties[property]))
			}
		} else {
			p.Schema = append(p.Schema, part("("+name+")", arg))
		}
	}
	slices.Sort(p.Schema)
	p.Schema = append(p.Schema, part("(effects)", hints), part("(description)", t.Description))
	return p, nil
}

// part is a digest and a name, in this order: a name before a value may look like that of a secret.
func part(name string, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "- " + name // the whole was encoded before
	}
	return digestOf(text)[:8] + " " + brief(name, 64)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// difference says in a few words how a tool differs from its pin; "" if it does not.
func difference(was, now journal.ToolPin) string {
	if was.Pin == now.Pin {
		return ""
	}
	old, fresh := partsOf(was), partsOf(now)
	var out []string
	for _, name := range sortedKeys(fresh) {
		before, there := old[name]
		switch {
		case name == "(description)" && before != fresh[name]:
			out = append(out, describe(was.Description, now.Description))
		case name == "(effects)" && before != fresh[name]:
			out = append(out, "what it says of its effects")
		case !there:
			out = append(out, "schema: "+name+" is new")
		case before != fresh[name]:
			out = append(out, "schema: "+name+" was changed")
		}
	}
	for _, name := range sortedKeys(old) {
		if _, there := fresh[name]; !there {
			out = append(out, "schema: "+name+" is gone")
		}
	}
	const most = 4
	if left := len(out) - most; left > 0 {
		out = append(out[:most], fmt.Sprintf("%d more", left))
	}
	return strings.Join(out, "; ")
}

func partsOf(p journal.ToolPin) map[string]string {
	out := map[string]string{}
	for _, s := range p.Schema {
		digest, name, _ := strings.Cut(s, " ")
		out[name] = digest
	}
	return out
}

// describe shows two descriptions from a little before where they part.
func describe(was, now string) string {
	at := 0
	for at < min(len(was), len(now)) && was[at] == now[at] {
		at++
	}
	if at == len(was) && at == len(now) {
		return fmt.Sprintf("description: changed behind its first %d bytes", pinnedText)
	}
	at = max(0, at-20)
	return fmt.Sprintf("description: was %q, is %q", brief(was[at:], 80), brief(now[at:], 80))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Pins is what the servers said of their tools when this set was started, for the journal of the
// run that begins with it.
func (s *Set) Pins() []journal.ServerPin {
	var out []journal.ServerPin
	for _, one := range s.leases {
		if one.err != nil {
			continue
		}
		p := journal.ServerPin{Name: one.Name}
		for _, t := range one.tools {
			p.Tools = append(p.Tools, t.pin)
		}
		out = append(out, p)
	}
	return out
}
