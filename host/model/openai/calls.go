package openai

import (
	"bytes"
	"encoding/json"
	"slices"

	"agent/recovery/journal"
)

// callBlock is a call as the model asked for it. No arguments are the empty object. The arguments
// of a call that the answer's length cut off never read as JSON, though what is there may happen to
// be some: such a call must not run.
func callBlock(id, tool, args string, cut bool) journal.Block {
	raw := bytes.TrimSpace([]byte(args))
	switch {
	case cut && (len(raw) == 0 || json.Valid(raw)):
		raw = append(raw, "…"...)
	case len(raw) == 0:
		raw = []byte("{}")
	}
	return journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{Provider: id, Tool: tool, Args: raw}}
}

// withoutCalls is an answer that was refused: nothing of it runs.
func withoutCalls(blocks []journal.Block) []journal.Block {
	return slices.DeleteFunc(blocks, func(b journal.Block) bool { return b.Kind == journal.BlockCall })
}

// toolDelta is a piece of a call. Index is absent, always 0 or truly the call's number; ID and Name
// come once, with every piece, or not at all; Arguments are a piece of text, or, with some servers,
// an object.
type toolDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// piece is the text of arguments: in a string, as the protocol wants it, or an object that says
// itself.
func piece(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// building is a call whose arguments are still coming.
type building struct {
	id, name string
	index    int // as the server numbers it; -1 when it does not
	args     []byte
}

// complete says whether nothing can follow: arguments are one object.
func (b *building) complete() bool {
	end := bytes.TrimRight(b.args, " \t\r\n")
	return bytes.HasSuffix(end, []byte("}")) && json.Valid(end)
}

// assembly puts calls together from their pieces.
type assembly struct {
	calls  []*building
	latest map[int]*building // by the server's number
	last   *building         // that the last piece went to
}

func (a *assembly) take(d *toolDelta) {
	index := -1
	if d.Index != nil {
		index = *d.Index
	}
	more := piece(d.Function.Arguments)
	b := a.target(d, index, more)
	if b.id == "" {
		b.id = d.ID
	}
	if b.name == "" {
		b.name = d.Function.Name
	}
	b.args = append(b.args, more...)
	a.last = b
}

// target is the call that the piece belongs to, a new one where it cannot belong to any.
func (a *assembly) target(d *toolDelta, index int, more string) *building {
	b := a.latest[index]
	if b == nil && index < 0 {
		b = a.last
	}
	if b != nil && !b.another(d, more) {
		return b
	}
	b = &building{index: index}
	a.calls = append(a.calls, b)
	if a.latest == nil {
		a.latest = map[int]*building{}
	}
	a.latest[index] = b
	return b
}

// another says whether a piece for this place opens another call: servers give all calls of an
// answer the same number, or none. A piece without a name goes on with what is there. One with a
// name is another call when id or name differ, or when the call has all that it can have; a name
// that is repeated beside each piece is not.
func (b *building) another(d *toolDelta, more string) bool {
	name := d.Function.Name
	switch {
	case name == "":
		return false
	case d.ID != "" && b.id != "" && d.ID != b.id, b.name != "" && name != b.name:
		return true
	}
	return len(bytes.TrimSpace([]byte(more))) > 0 && b.complete()
}

// blocks are the calls in the order in which they began. Of an answer that was cut, the call that
// was being written is cut.
func (a *assembly) blocks(cut bool) []journal.Block {
	var out []journal.Block
	for _, b := range a.calls {
		out = append(out, callBlock(b.id, b.name, string(b.args), cut && b == a.last))
	}
	return out
}
