package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/recovery/journal"
)

// Bounds of what a server may offer.
const (
	maxTools       = 1000
	maxDescription = 4 << 10  // bytes of a description that are passed on
	maxSchema      = 64 << 10 // bytes of a schema; a tool with a larger one is left out
)

// Prefix begins the name of every tool of an MCP server.
const Prefix = "mcp__"

// maxName is what every provider takes.
const maxName = 64

// Name is the name of a server's tool: mcp__<server>__<tool>, with _ for what no provider takes,
// and with a hash for the end of a long one.
func Name(server, tool string) string {
	name := Prefix + plain(server) + "__" + plain(tool)
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	const digits = 8
	return name[:maxName-digits-1] + "_" + hex.EncodeToString(sum[:])[:digits]
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
}

// pinned is a tool as it was when the list of tools was made.
type pinned struct {
	remote      string // the server's own name of it
	name        string
	description string
	schema      json.RawMessage
	effect      journal.Effect
	retrySafe   bool
	outward     bool
	unchecked   bool            // the schema cannot be resolved here
	pin         journal.ToolPin // as the server gave it
}

// pinTool takes over what a server says of a tool.
func pinTool(s Server, t *sdk.Tool) (pinned, error) {
	pin, err := pinOf(t)
	if err != nil {
		return pinned{}, err
	}
	schema, err := schemaOf(t.InputSchema)
	if err != nil {
		return pinned{}, err
	}
	p := pinned{remote: t.Name, name: Name(s.Name, t.Name), schema: schema, pin: pin}
	p.description = cut(clean(t.Description), maxDescription)
	if p.description == "" {
		p.description = brief(t.Title, 200)
	}
	p.effect, p.retrySafe, p.outward = effectOf(s, t.Annotations)
	return p, nil
}

// effectOf believes the annotations of a trusted server. What is not said is the most dangerous.
func effectOf(s Server, a *sdk.ToolAnnotations) (e journal.Effect, retrySafe, outward bool) {
	if !s.Trusted || a == nil {
		return journal.EffectWriteExternal, false, true
	}
	closed := a.OpenWorldHint != nil && !*a.OpenWorldHint
	switch {
	case a.ReadOnlyHint:
		e = journal.EffectRead
	case closed:
		e = journal.EffectWriteLocal
	default:
		e = journal.EffectWriteExternal
	}
	return e, a.IdempotentHint, !closed || s.URL != "" && !local(s.URL)
}

// schemaOf is a tool's schema as a model gets it: an object, with its texts cleaned.
func schemaOf(v any) (json.RawMessage, error) {
	schema, ok := v.(map[string]any)
	if !ok {
		schema = map[string]any{}
	}
	cleanTexts(schema)
	if _, said := schema["type"]; !said {
		schema["type"] = "object"
	}
	text, err := json.Marshal(schema)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read its schema: %v", err)
	case len(text) > maxSchema:
		return nil, fmt.Errorf("its schema is larger than %d KiB", maxSchema>>10)
	case schema["type"] != "object":
		return nil, fmt.Errorf("its schema is not that of an object")
	}
	return text, nil
}

// cleanTexts cleans the texts of a schema that are for reading.
func cleanTexts(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if s, ok := inner.(string); ok && (k == "description" || k == "title" || k == "$comment") {
				v[k] = clean(s)
				continue
			}
			cleanTexts(inner)
		}
	case []any:
		for _, inner := range v {
			cleanTexts(inner)
		}
	}
}

// pinAll takes over a server's tools, in the order of their names, and says what is left out.
func pinAll(s Server, list []*sdk.Tool) (tools []pinned, notes []string) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range s.Only {
		if !slices.ContainsFunc(list, func(t *sdk.Tool) bool { return t.Name == name }) {
			notes = append(notes, fmt.Sprintf("it has no tool %q, which its definition names", brief(name, 64)))
		}
	}
	for i, t := range list {
		if s.Only != nil && !slices.Contains(s.Only, t.Name) {
			continue
		}
		if i > 0 && list[i-1].Name == t.Name || i+1 < len(list) && list[i+1].Name == t.Name { // which of them a call would mean is the server's guess
			if i == 0 || list[i-1].Name != t.Name {
				notes = append(notes, fmt.Sprintf("tool %q is refused: the server lists more than one of that name", brief(t.Name, 64)))
			}
			continue
		}
		p, err := pinTool(s, t)
		if err != nil {
			notes = append(notes, fmt.Sprintf("tool %q is left out: %v", brief(t.Name, 64), err))
			continue
		}
		if slices.ContainsFunc(tools, func(o pinned) bool { return o.name == p.name }) {
			notes = append(notes, fmt.Sprintf("tool %q is left out: the name %s is taken", brief(t.Name, 64), p.name))
			continue
		}
		if err := resolve(p.schema); err != nil {
			p.unchecked = true
			notes = append(notes, fmt.Sprintf("the arguments of tool %q are not checked: its schema cannot be read here: %s",
				brief(t.Name, 64), brief(err.Error(), 200)))
		}
		tools = append(tools, p)
	}
	return tools, notes
}

// resolve says why a schema cannot be resolved here: it may be of another draft, or refer to what
// is elsewhere.
func resolve(text json.RawMessage) error {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	_, err := s.Resolve(nil)
	return err
}
