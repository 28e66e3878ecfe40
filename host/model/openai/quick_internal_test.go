package openai

import (
	"fmt"
	"testing"
)

// What the frame of one event reads of another is what reading it as JSON gives, or nothing.
func TestUsualEventsAreReadAsAnyOther(t *testing.T) {
	chat := func(text, more string) string {
		return `{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":` + text + `},"finish_reason":null}]` + more + `}`
	}
	event := func(n int, text, more string) string {
		return fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"m","output_index":0,"content_index":0,"delta":%s,"logprobs":[]%s}`, n, text, more)
	}
	texts := []string{`"a"`, `""`, `"\u00fc\n\"\\"`, `"ü🙂"`, `"\ud83d\ude42"`, "\"\xff\"", `"\"}"`, `null`, `7`, `"a`, "\"\x01\""}
	pads := []string{"", `,"obfuscation":"aB3"`, `,"obfuscation":"\""`, `,"usage":{"prompt_tokens":1}`, `,"error":{"message":"x"}`}
	quick := 0
	for _, text := range texts {
		for _, pad := range pads {
			for _, number := range []int{1, 12, 123456789} {
				if sameAsSlow(t, func() parser { return &chatParser{} }, chat(`"first"`, `,"obfuscation":"x"`), chat(text, pad)) {
					quick++
				}
				if sameAsSlow(t, func() parser { return &responsesParser{} }, event(3, `"first"`, `,"obfuscation":"x"`), event(number, text, pad)) {
					quick++
				}
			}
		}
	}
	if quick != 84 {
		t.Errorf("%d events fitted the frame", quick)
	}
	for _, odd := range []string{
		`{"type":"response.output_text.delta","sequence_number":01,"item_id":"m","output_index":0,"content_index":0,"delta":"a","logprobs":[]}`,
		`{"type":"response.output_text.delta","sequence_number":,"item_id":"m","output_index":0,"content_index":0,"delta":"a","logprobs":[]}`,
		`{"type":"response.output_text.delta","sequence_number":4,"item_id":"m","output_index":0,"content_index":0,"delta":"a","logprobs":[]}}`,
		`{"type":"response.reasoning_text.delta","sequence_number":4,"item_id":"m","output_index":0,"content_index":0,"delta":"a","logprobs":[]}`,
	} {
		if sameAsSlow(t, func() parser { return &responsesParser{} }, event(3, `"first"`, ""), odd) {
			t.Errorf("%s fitted", odd)
		}
	}
}

// sameAsSlow reads an event behind another, and once with the frame forgotten, and says whether it
// fitted the frame.
func sameAsSlow(t *testing.T, fresh func() parser, first, event string) (fits bool) {
	t.Helper()
	read := func(forget bool) (said string) {
		p := fresh()
		if _, err := p.take([]byte(first), ""); err != nil {
			t.Fatal(err)
		}
		var usual *frame
		var all func() string
		switch p := p.(type) {
		case *chatParser:
			usual, all = &p.usual, func() string {
				return fmt.Sprint(p.text.String(), p.thought.String(), p.finish, string(p.usage), p.id, p.served)
			}
		case *responsesParser:
			usual, all = &p.usual, func() string { return fmt.Sprint(p.text.String(), p.spoken, p.thought, len(p.items)) }
		}
		if forget {
			*usual = frame{}
		} else {
			_, fits = usual.text([]byte(event))
		}
		d, err := p.take([]byte(event), "")
		return fmt.Sprint(d.Text, "|", d.Reasoning, "|", err, "|", all())
	}
	if quick, slow := read(false), read(true); quick != slow {
		t.Errorf("%s is read as\n%s, as JSON\n%s", event, quick, slow)
	}
	return fits
}
