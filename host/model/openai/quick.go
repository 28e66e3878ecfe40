package openai

import (
	"agent/recovery/jsonstring"
	"bytes"
	"unicode/utf8"
)

// Nearly all events of a long answer differ from the one before them only in a piece of text, a
// number that counts and a word that hides the length of the piece, and reading JSON of any shape
// is most of the time that an answer costs here. So what was around the text in the last event that
// was read as JSON is kept, and an event with the same around its text needs no other reading: the
// servers are many, but each spells its events in one way.

// frame is what an event is around its text; the zero value fits none.
type frame struct {
	head, mid, tail []byte
	counted         bool // a number stands between head and mid
}

// learn keeps the frame of an event whose field has this text, and nothing else of use.
func (f *frame) learn(data []byte, field, text string) {
	*f = frame{}
	key := []byte(`"` + field + `":`)
	at := bytes.Index(data, key)
	if at < 0 || bytes.Count(data, key) != 1 {
		return
	}
	at += len(key)
	got, rest, ok := jsonstring.Read(data[at:])
	if !ok || got != text {
		return
	}
	head := bytes.Clone(data[:at])
	tail := unpadded(rest)
	if len(tail) == 0 {
		return
	}
	learned := frame{head: head, tail: bytes.Clone(tail)}
	number := []byte(`"sequence_number":`)
	if i := bytes.Index(head, number); i >= 0 && bytes.Count(data, number) == 1 {
		i += len(number)
		n := digits(head[i:])
		if n == 0 {
			return
		}
		learned.head, learned.mid, learned.counted = head[:i], head[i+n:], true
	}
	*f = learned
}

// text reads an event that fits.
func (f *frame) text(data []byte) (text string, ok bool) {
	if len(f.head) == 0 {
		return "", false
	}
	rest, ok := bytes.CutPrefix(data, f.head)
	if !ok {
		return "", false
	}
	if f.counted {
		n := digits(rest)
		if n == 0 || n > 1 && rest[0] == '0' {
			return "", false
		}
		if rest, ok = bytes.CutPrefix(rest[n:], f.mid); !ok {
			return "", false
		}
	}
	text, rest, ok = jsonstring.Read(rest)
	return text, ok && bytes.Equal(unpadded(rest), f.tail)
}

func digits(data []byte) int {
	n := 0
	for n < len(data) && data[n] >= '0' && data[n] <= '9' {
		n++
	}
	return n
}

// unpadded is the rest of an event without its end and the word before it that hides the length of
// its text (stream_options.include_obfuscation,
// https://platform.openai.com/docs/api-reference/responses/create); nil when it does not end as an
// event does.
func unpadded(rest []byte) []byte {
	rest, ok := bytes.CutSuffix(rest, []byte("}"))
	if !ok {
		return nil
	}
	i := bytes.LastIndex(rest, []byte(`,"obfuscation":"`))
	if i < 0 {
		return rest
	}
	word, ok := bytes.CutSuffix(rest[i+len(`,"obfuscation":"`):], []byte(`"`))
	for _, c := range word {
		ok = ok && c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\'
	}
	if !ok {
		return rest
	}
	return rest[:i]
}
