package anthropic

import (
	"agent/recovery/jsonstring"
	"bytes"
)

// Nearly all events of a long answer are one of three deltas, and reading JSON of any shape is most
// of the time that an answer costs here. So they are first read in the one spelling in which the
// provider writes them, white space at the ends of objects included, which it adds to hide the
// length of a word. Whatever is spelled otherwise is read as any JSON; both readings give the same.

// quickly reads a content_block_delta in that spelling, and says whether it is in it.
func quickly(data []byte) (e event, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"content_block_delta","index":`))
	if !ok {
		return e, false
	}
	digits := 0
	for ; digits < len(rest) && digits < 6 && rest[digits] >= '0' && rest[digits] <= '9'; digits++ {
		e.Index = e.Index*10 + int(rest[digits]-'0')
	}
	if digits == 0 || digits > 1 && rest[0] == '0' {
		return e, false
	}
	rest, ok = bytes.CutPrefix(rest[digits:], []byte(`,"delta":{"type":"`))
	if !ok {
		return e, false
	}
	var to *string
	for _, k := range []struct {
		kind, field string
		to          *string
	}{
		{"text_delta", `","text":`, &e.Delta.Text},
		{"input_json_delta", `","partial_json":`, &e.Delta.PartialJSON},
		{"thinking_delta", `","thinking":`, &e.Delta.Thinking},
	} {
		if after, ok := bytes.CutPrefix(rest, []byte(k.kind)); ok {
			e.Delta.Type, to = k.kind, k.to
			if rest, ok = bytes.CutPrefix(after, []byte(k.field)); !ok {
				return e, false
			}
			break
		}
	}
	if to == nil {
		return e, false
	}
	if *to, rest, ok = jsonstring.Read(rest); !ok {
		return e, false
	}
	for range 2 {
		if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " "), []byte("}")); !ok {
			return e, false
		}
	}
	e.Type = "content_block_delta"
	return e, len(bytes.TrimSpace(rest)) == 0
}
