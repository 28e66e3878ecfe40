package openai

import (
	"bytes"
	"testing"

	"agent/recovery"
)

// What a person said twice in a row is one message: the templates of many models refuse two.
func TestTwoMessagesOfAPersonBecomeOne(t *testing.T) {
	user := func(blocks ...recovery.Block) recovery.Message {
		return recovery.Message{Role: recovery.RoleUser, Blocks: blocks}
	}
	text := func(s string) recovery.Block { return recovery.Block{Kind: recovery.BlockText, Text: s} }
	picture := recovery.Block{Kind: recovery.BlockImage, Image: &recovery.Image{Media: "image/png", Data: []byte("p")}}
	answer := recovery.Message{Role: recovery.RoleAssistant, Blocks: []recovery.Block{text("yes")}}
	nothing := recovery.Message{Role: recovery.RoleAssistant}
	one := `{"role":"user","content":"a\n\nb"}`
	for _, tt := range []struct {
		name string
		in   []recovery.Message
		want string
	}{
		{"two", []recovery.Message{user(text("a")), user(text("b"))}, one},
		{"with an answer that held nothing between", []recovery.Message{user(text("a")), nothing, user(text("b"))}, one},
		{"with an answer between", []recovery.Message{user(text("a")), answer, user(text("b"))},
			`{"role":"user","content":"a"} {"role":"assistant","content":"yes"} {"role":"user","content":"b"}`},
		{"with a picture", []recovery.Message{user(text("a")), user(text("b"), picture)},
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cA=="}}]}`},
	} {
		var k talk
		for _, m := range tt.in {
			if err := k.message(m); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(bytes.Join(k.messages, []byte(" "))); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
