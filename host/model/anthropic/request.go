package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strconv"

	"agent/host/model"
	"agent/recovery/journal"
)

// marker is a cache breakpoint, as a member that is not the first.
const marker = `,"cache_control":{"type":"ephemeral"}`

// wide is how many blocks may stand behind the end of the request before, so that the provider, which looks at 20 blocks
// from the last one back, still finds what it cached there.
const wide = 16

// encoded is a request as it goes out.
type encoded struct {
	body   []byte
	prefix string // digest of system prompt, tools and messages, which a thinking block of the answer is bound to
}

// encode writes the body of a request. The same name and request give the same bytes.
func encode(name string, req model.Request) (encoded, error) {
	t := traitsOf(name)
	sides := plan(req.Messages)
	maxTokens := req.MaxOutput
	if maxTokens <= 0 {
		maxTokens = t.output
	}
	w := &writer{traits: t, digest: sha256.New(), b: make([]byte, 0, sizeOf(req))}
	w.b = appendString(append(w.b, `{"model":`...), name)
	w.b = appendInt(append(w.b, `,"max_tokens":`...), maxTokens)
	w.b = append(w.b, `,"stream":true`+marker...)
	w.b = t.effort(w.b, req.Effort, maxTokens, looped(sides))
	w.hashed = len(w.b)
	if err := w.tools(req.Tools, blank(req.System)); err != nil {
		return encoded{}, err
	}
	if !blank(req.System) {
		w.b = appendString(append(w.b, `,"system":[{"type":"text","text":`...), req.System)
		w.b = append(w.b, marker+`}]`...)
	}
	w.b = append(w.b, `,"messages":[`...)
	ends := make([]int, len(sides)) // where each side's last block can take a marker
	for i, s := range sides {
		prefix := ""
		if s.assistant {
			prefix = w.prefix()
		}
		if i > 0 {
			w.b = append(w.b, ',')
		}
		ends[i] = w.side(s, prefix)
	}
	prefix := w.prefix()
	w.b = append(w.b, `]}`...)
	if n := len(sides); n > 2 && len(sides[n-1].blocks)+len(sides[n-2].blocks) >= wide {
		w.b = slices.Insert(w.b, ends[n-3], []byte(marker)...)
	}
	return encoded{w.b, prefix}, nil
}

// sizeOf is about how many bytes a request has.
func sizeOf(req model.Request) int {
	n := 4096 + len(req.System)
	for _, t := range req.Tools {
		n += len(t.Description) + len(t.Schema) + 128
	}
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			n += len(b.Text) + len(b.Opaque) + 128
			switch {
			case b.Call != nil:
				n += len(b.Call.Args)
			case b.Result != nil:
				n += len(b.Result.Text)
			case b.Image != nil:
				n += base64.StdEncoding.EncodedLen(len(b.Image.Data))
			}
		}
	}
	return n + n/8 // for escapes
}

// writer writes tools, system prompt and messages, and knows the digest of what it has written of them.
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

// side writes a message and returns where its last block can take a marker. prefix is what stands before it.
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

// result writes a call's result. The API takes no blank content, and none at all only where nothing failed.
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
