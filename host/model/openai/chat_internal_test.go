package openai

import (
	"bytes"
	"testing"

	"agent/recovery/journal"
)

// What a person said twice in a row is one message: the templates of many models refuse two.
func TestTwoMessagesOfAPersonBecomeOne(t *testing.T) {
	user := func(blocks ...journal.Block) journal.Message {
		return journal.Message{Role: journal.RoleUser, Blocks: blocks}
	}
	text := func(s string) journal.Block { return journal.Block{Kind: journal.BlockText, Text: s} }
	picture := journal.Block{Kind: journal.BlockImage, Image: &journal.Image{Media: "image/png", Data: []byte("p")}}
	answer := journal.Message{Role: journal.RoleAssistant, Blocks: []journal.Block{text("yes")}}
	nothing := journal.Message{Role: journal.RoleAssistant}
	one := `{"role":"user","content":"a\n\nb"}`
	for _, tt := range []struct {
		name string
		in   []journal.Message
		want string
	}{
		{"two", []journal.Message{user(text("a")), user(text("b"))}, one},
		{"with an answer that held nothing between", []journal.Message{user(text("a")), nothing, user(text("b"))}, one},
		{"with an answer between", []journal.Message{user(text("a")), answer, user(text("b"))},
			`{"role":"user","content":"a"} {"role":"assistant","content":"yes"} {"role":"user","content":"b"}`},
		{"with a picture", []journal.Message{user(text("a")), user(text("b"), picture)},
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
