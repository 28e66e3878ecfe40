package modeltest

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// obj keeps a literal event short.
type obj = map[string]any

// stream is the body of an answer.
type stream struct {
	body  bytes.Buffer
	ends  []int // where each event ends
	named bool  // events have names
	crlf  bool
	seq   int
	rank  map[string]int // from ranks, once there is an event

	textAt, textIndex int // behind the first piece of text, and the number of its block
}

func (s *stream) noteText(index int) {
	if s.textAt == 0 {
		s.textAt, s.textIndex = s.body.Len(), index
	}
}

func (s *stream) event(name string, data any) {
	if s.rank == nil {
		s.rank = ranks()
	}
	text := marshalIn(data, s.rank)
	nl := "\n"
	if s.crlf {
		nl = "\r\n"
		s.body.WriteString(": keep-alive" + nl + nl)
	}
	if s.named {
		s.body.WriteString("event: " + name + nl)
	}
	s.body.WriteString("data: " + text + nl + nl)
	s.ends = append(s.ends, s.body.Len())
}

// order is how the providers order the fields of what they send, as far as a reader may lean on it;
// the others follow by name.
const order = `type sequence_number response item_id output_index content_index summary_index index id object created created_at status model
	role delta content_block message item part text thinking partial_json content name input function arguments logprobs obfuscation stop_reason
	stop_sequence choices finish_reason usage`

// marshal is JSON without escapes that only HTML needs, its fields in the providers' order. A text
// is JSON already.
func marshal(v any) string {
	return marshalIn(v, ranks())
}

func marshalIn(v any, rank map[string]int) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	write(&b, v, rank)
	return b.String()
}

// ranks is the place of every field in the order, from 1.
func ranks() map[string]int {
	rank := map[string]int{}
	for i, k := range strings.Fields(order) {
		rank[k] = i + 1
	}
	return rank
}

func write(b *bytes.Buffer, v any, rank map[string]int) {
	switch v := v.(type) {
	case obj:
		keys := slices.SortedFunc(maps.Keys(v), func(x, y string) int {
			if rank[x] == 0 || rank[y] == 0 {
				return cmp.Or(cmp.Compare(rank[y], rank[x]), cmp.Compare(x, y))
			}
			return cmp.Compare(rank[x], rank[y])
		})
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, []byte(strconv.Quote(k)), rank)
			b.WriteByte(':')
			write(b, v[k], rank)
		}
		b.WriteByte('}')
	case []obj:
		each(b, len(v), func(i int) { write(b, v[i], rank) })
	case []any:
		each(b, len(v), func(i int) { write(b, v[i], rank) })
	case []byte:
		b.Write(v)
	default:
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			b.WriteString(strconv.Quote(err.Error()))
			return
		}
		b.Truncate(b.Len() - 1) // Encode ends with a line feed
	}
}

func each(b *bytes.Buffer, n int, one func(int)) {
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		one(i)
	}
	b.WriteByte(']')
}

// pieces cuts a text into deltas of n characters.
func pieces(text string, n int) []string {
	var out []string
	for text != "" {
		size := 0
		for i := 0; i < n && size < len(text); i++ {
			_, w := utf8.DecodeRuneInString(text[size:])
			size += w
		}
		out = append(out, text[:size])
		text = text[size:]
	}
	return out
}

// tokens is about how many tokens a text of so many bytes has.
func tokens(size int) int { return (size + 3) / 4 }

// seal signs text so that a server which keeps nothing can tell later whether it comes back as it
// went.
func seal(nonce, text string) string {
	return base64.StdEncoding.EncodeToString(append([]byte(nonce+"."), mac(nonce, text)...))
}

func unsealed(signature, text string) bool {
	b, err := base64.StdEncoding.DecodeString(signature)
	nonce, sum, ok := bytes.Cut(b, []byte("."))
	return err == nil && ok && hmac.Equal(sum, mac(string(nonce), text))
}

func mac(nonce, text string) []byte {
	h := hmac.New(sha256.New, []byte("modeltest"))
	h.Write([]byte(nonce + "\x00" + text))
	return h.Sum(nil)
}

// identity is what ids of one exchange are made from. Like a provider's, they are new in every
// exchange.
func identity(kind string, exchange, index, length int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", kind, exchange, index))
	return hex.EncodeToString(sum[:])[:length]
}

// refusal is a request that gets an error instead of an answer.
type refusal struct {
	status  int
	kind    string // the provider's word for it
	code    string // OpenAI's
	param   string // OpenAI's
	message string
}

func (r *refusal) Error() string { return r.message }

func invalid(format string, args ...any) *refusal {
	return &refusal{status: 400, kind: "invalid_request_error", message: fmt.Sprintf(format, args...)}
}

// unknownFields names the first field that the provider does not have.
func unknownFields(raw map[string]json.RawMessage, known string) string {
	have := map[string]bool{}
	for _, k := range strings.Fields(known) {
		have[k] = true
	}
	for k := range raw {
		if !have[k] {
			return k
		}
	}
	return ""
}

// plainName says whether a tool may be called so: letters, digits, - and _, up to the length.
func plainName(name string, most int) bool {
	if name == "" || len(name) > most {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// objectSchema says what is wrong with the schema of a tool's arguments.
func objectSchema(raw json.RawMessage) string {
	var s struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return "JSON schema is invalid: " + err.Error()
	}
	if s.Type != "object" {
		return fmt.Sprintf(`schema must be a JSON Schema of 'type: "object"', got 'type: "%v"'.`, s.Type)
	}
	for _, r := range s.Required {
		if _, ok := s.Properties[r]; !ok {
			return fmt.Sprintf("required property %q is missing from properties", r)
		}
	}
	return ""
}

// picture says what is wrong with an image.
func picture(media, data string) string {
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return fmt.Sprintf("media type %q is not one of image/jpeg, image/png, image/gif, image/webp", media)
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" {
		return "image data is not base64"
	}
	return ""
}
