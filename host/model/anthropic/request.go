package anthropic

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"
	"sync"

	"agent/host/model"
	"agent/recovery/journal"
)

// marker is a cache breakpoint, as a member that is not the first.
const marker = `,"cache_control":{"type":"ephemeral"}`

// wide is how many blocks may stand behind the end of the request before, so that the provider,
// which looks at 20 blocks from the last one back, still finds what it cached there.
const wide = 16

// encoded is a request as it goes out.
type encoded struct {
	body   []byte
	prefix string // digest of system prompt, tools and messages, which a thinking block of the answer is bound to
}

// encoder writes the requests of a conversation, each of which mostly repeats the one before: what
// is the same is kept as it was written. The zero value has written nothing.
type encoder struct {
	name string // of the model

	mu       sync.Mutex
	b        []byte            // the tools, the system prompt and what was kept of the messages
	opening  int               // bytes of b before the messages
	messages []journal.Message // up to the one that began the last assistant's side
	at       place             // before that side
}

// place is a place behind a user's side.
type place struct {
	size   int // bytes before it
	digest hash.Hash
	sides  int
	end    int // where the last side's last block can take a marker
	loop   loop
}

// encode writes the body of a request. The same name and request give the same bytes.
func (e *encoder) encode(req model.Request) (encoded, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := traitsOf(e.name)
	maxTokens := req.MaxOutput
	if maxTokens <= 0 {
		maxTokens = t.output
	}
	w := &writer{traits: t, digest: sha256.New()}
	if err := w.open(req); err != nil {
		return encoded{}, err
	}
	at := e.resume(w, req)
	before := max(0, len(e.messages)-1)
	sides := plan(req.Messages[before:], at.sides > 0)
	var marked int // where a marker goes, if the last sides are wide
	for i, s := range sides {
		prefix := ""
		if s.assistant {
			prefix = w.prefix()
		}
		if n := len(sides); i == n-2 { // the last side is a user's, and the first of the conversation is
			marked = at.end
			e.messages = req.Messages[:before+s.first+1]
			e.at = at
			e.at.size, e.at.digest = len(w.b), cloned(w.digest)
		}
		if at.sides > 0 {
			w.b = append(w.b, ',')
		}
		at.end = w.side(s, prefix)
		at.sides++
		at.loop.add(s)
	}
	out := encoded{prefix: w.prefix()}
	e.b = w.b
	out.body = make([]byte, 0, 512+len(w.b))
	out.body = appendString(append(out.body, `{"model":`...), e.name)
	out.body = appendInt(append(out.body, `,"max_tokens":`...), maxTokens)
	out.body = append(out.body, `,"stream":true`+marker...)
	out.body = t.effort(out.body, req.Effort, maxTokens, at.loop.looped())
	if n := len(sides); at.sides > 2 && len(sides[n-1].blocks)+len(sides[n-2].blocks) >= wide {
		out.body = append(append(out.body, w.b[:marked]...), marker...)
		w.b = w.b[marked:]
	}
	out.body = append(append(out.body, w.b...), `]}`...)
	return out, nil
}

// resume has w go on behind what was kept of the request before, where this one repeats it, and
// forgets that where it does not.
func (e *encoder) resume(w *writer, req model.Request) place {
	if e.at.sides > 0 && bytes.Equal(e.b[:e.opening], w.b) && model.Repeats(e.messages, req.Messages) == len(e.messages) {
		w.b, w.digest, w.hashed = e.b[:e.at.size], cloned(e.at.digest), e.at.size
		return e.at
	}
	e.messages, e.at, e.opening = nil, place{}, len(w.b)
	return e.at
}

func cloned(h hash.Hash) hash.Hash {
	c, err := h.(hash.Cloner).Clone()
	if err != nil {
		panic(err) // SHA-256 can always be cloned
	}
	return c
}

// writer writes tools, system prompt and messages, and knows the digest of what it has written of
// them.
type writer struct {
	traits traits
	b      []byte
	digest hash.Hash
	hashed int // bytes of b that are in digest, or before what it is about
}

// prefix is the digest of everything written so far.
func (w *writer) prefix() string {
	w.digest.Write(w.b[w.hashed:])
	w.hashed = len(w.b)
	return hex.EncodeToString(w.digest.Sum(nil)[:16])
}

// open writes what stands before the messages.
func (w *writer) open(req model.Request) error {
	if err := w.tools(req.Tools, blank(req.System)); err != nil {
		return err
	}
	if !blank(req.System) {
		w.b = appendString(append(w.b, `,"system":[{"type":"text","text":`...), req.System)
		w.b = append(w.b, marker+`}]`...)
	}
	w.b = append(w.b, `,"messages":[`...)
	return nil
}

// tools writes the tools; the last one is marked when no system prompt follows that would be.
func (w *writer) tools(tools []model.ToolSpec, mark bool) error {
	if len(tools) == 0 {
		return nil
	}
	w.b = append(w.b, `,"tools":[`...)
	for i, t := range tools {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = appendString(append(w.b, `{"name":`...), toolName(t.Name))
		w.b = appendString(append(w.b, `,"description":`...), t.Description)
		w.b = append(w.b, `,"input_schema":`...)
		switch {
		case len(t.Schema) == 0:
			w.b = append(w.b, `{"type":"object"}`...)
		case !json.Valid(t.Schema):
			return fmt.Errorf("the schema of tool %s is not JSON", t.Name)
		default:
			w.b = append(w.b, t.Schema...)
		}
		if mark && i == len(tools)-1 {
			w.b = append(w.b, marker...)
		}
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
	return nil
}

// side writes a message and returns where its last block can take a marker. prefix is what stands
// before it.
func (w *writer) side(s side, prefix string) (end int) {
	role := `{"role":"user","content":[`
	if s.assistant {
		role = `{"role":"assistant","content":[`
	}
	w.b = append(w.b, role...)
	first := true
	for _, b := range s.blocks {
		before := len(w.b)
		if !first {
			w.b = append(w.b, ',')
		}
		if !w.block(b, prefix) {
			w.b = w.b[:before]
			continue
		}
		first = false
	}
	end = len(w.b) - 1
	w.b = append(w.b, `]}`...)
	return end
}

// block writes a block, or reports that it must be left out.
func (w *writer) block(b journal.Block, prefix string) bool {
	switch b.Kind {
	case journal.BlockText:
		w.b = append(appendString(append(w.b, `{"type":"text","text":`...), b.Text), '}')
	case journal.BlockReasoning:
		return w.reasoning(b, prefix)
	case journal.BlockCall:
		w.b = appendString(append(w.b, `{"type":"tool_use","id":`...), b.Call.ID)
		w.b = appendString(append(w.b, `,"name":`...), toolName(b.Call.Tool))
		w.b = append(appendObject(append(w.b, `,"input":`...), b.Call.Args), '}')
	case journal.BlockResult:
		w.result(b.Result)
	case journal.BlockImage:
		w.b = appendString(append(w.b, `{"type":"image","source":{"type":"base64","media_type":`...), b.Image.Media)
		w.b = append(w.b, `,"data":"`...)
		w.b = append(base64.StdEncoding.AppendEncode(w.b, b.Image.Data), `"}}`...)
	}
	return true
}

func (w *writer) reasoning(b journal.Block, prefix string) bool {
	o, _ := opaqueOf(b)
	if w.traits.thinks == never || w.traits.binds && o.Prefix != prefix {
		return false
	}
	switch {
	case o.Unsigned && !w.traits.unsigned:
		return false
	case o.Signature != "" || o.Unsigned:
		w.b = appendString(append(w.b, `{"type":"thinking","thinking":`...), b.Text)
		w.b = append(appendString(append(w.b, `,"signature":`...), o.Signature), '}')
	case o.Redacted != "":
		w.b = append(appendString(append(w.b, `{"type":"redacted_thinking","data":`...), o.Redacted), '}')
	default:
		raw, ok := canonical(o.Raw)
		if !ok {
			return false
		}
		w.b = append(w.b, raw...)
	}
	return true
}

// result writes a call's result. The API takes no blank content, and none at all only where nothing
// failed.
func (w *writer) result(r *journal.ResultBlock) {
	w.b = appendString(append(w.b, `{"type":"tool_result","tool_use_id":`...), r.ID)
	text := r.Text
	if r.Outcome != journal.OutcomeOK {
		w.b = append(w.b, `,"is_error":true`...)
		if blank(text) {
			text = string(r.Outcome)
		}
	}
	if !blank(text) {
		w.b = appendString(append(w.b, `,"content":`...), text)
	}
	w.b = append(w.b, '}')
}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }
