package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"agent/host/model/openai"
	"agent/recovery"
)

// OpenAI's own library is the judge of what is sent: it must know every field, and read and write it again unchanged.
func TestOfficialLibraryKnowsEveryFieldOfARequest(t *testing.T) {
	for p, c := range map[openai.Protocol]struct {
		stream string
		into   json.Unmarshaler
	}{
		openai.Responses: {story(), &responses.ResponseNewParams{}},
		openai.Chat:      {talk(), &sdk.ChatCompletionNewParams{}},
	} {
		s := serve(t, events(c.stream))
		m := s.model(p, "gpt-5.2")
		req := question()
		req.MaxOutput, req.Effort = 1000, recovery.EffortHigh
		req.Messages[0].Blocks = append(req.Messages[0].Blocks, recovery.Block{Kind: recovery.BlockImage, Image: &recovery.Image{Media: "image/png", Data: []byte("PNG")}})
		h, err := ask(t, m, req)
		if err != nil {
			t.Fatal(err)
		}
		next := follow(req, h.answer, 1)
		next.Messages = append(next.Messages, said(recovery.RoleAssistant, text("Done.")), said(recovery.RoleUser, text("And now?")))
		if _, err := ask(t, m, next); err != nil {
			t.Fatal(err)
		}
		body := s.bodies[1]
		if err := c.into.UnmarshalJSON(body); err != nil {
			t.Fatalf("%s: the library cannot read the request: %v", p, err)
		}
		again, err := json.Marshal(c.into)
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]any
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &got); err != nil {
			t.Fatal(err)
		}
		delete(want, "stream") // its methods add it
		judgeMessage(t, want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: sent, and as the library has it: %s", p, d)
		}
	}
}

// judgeMessage judges an answer's message by itself: the library reads one in a list as an input message, which has no id.
func judgeMessage(t *testing.T, body map[string]any) {
	t.Helper()
	items, _ := body["input"].([]any)
	for _, i := range items {
		item := i.(map[string]any)
		if item["type"] != "message" || item["id"] == nil {
			continue
		}
		var m responses.ResponseOutputMessageParam
		if err := m.UnmarshalJSON([]byte(js(item))); err != nil {
			t.Fatal(err)
		}
		var again map[string]any
		if err := json.Unmarshal([]byte(js(m)), &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(item, again); d != "" {
			t.Errorf("a message: %s", d)
		}
		delete(item, "id")
		delete(item, "status")
	}
}

// It reads the same streams: what they say must be what we hear.
func TestOfficialLibraryHearsTheSame(t *testing.T) {
	t.Run("responses", func(t *testing.T) {
		s := serve(t, events(story()))
		service := responses.NewResponseService(option.WithBaseURL(s.URL), option.WithAPIKey("x"))
		stream := service.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "x"})
		var whole responses.Response
		for stream.Next() {
			if e := stream.Current(); e.Type == "response.completed" {
				whole = e.Response
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, i := range whole.Output {
			if i.Type == "function_call" {
				want = append(want, i.Name+" "+i.AsFunctionCall().Arguments)
			}
		}
		a := must(t, openai.Responses, story()).answer
		if d := cmp.Diff(want, calls(a)); d != "" {
			t.Error(d)
		}
		if a.Blocks[1].Text != whole.OutputText() || a.Usage.Input != whole.Usage.InputTokens || a.Usage.Cached != whole.Usage.InputTokensDetails.CachedTokens ||
			a.Usage.Written != whole.Usage.InputTokensDetails.CacheWriteTokens || a.Usage.Output != whole.Usage.OutputTokens || a.Usage.Reasoning != whole.Usage.OutputTokensDetails.ReasoningTokens {
			t.Errorf("we hear %q, %+v; the library %q, %+v", a.Blocks[1].Text, a.Usage, whole.OutputText(), whole.Usage)
		}
	})
	t.Run("chat", func(t *testing.T) {
		s := serve(t, events(talk()))
		service := sdk.NewChatCompletionService(option.WithBaseURL(s.URL), option.WithAPIKey("x"))
		stream := service.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{Model: "x"})
		var whole sdk.ChatCompletionAccumulator
		for stream.Next() {
			whole.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		message := whole.Choices[0].Message
		var want []string
		for _, c := range message.ToolCalls {
			want = append(want, c.Function.Name+" "+c.Function.Arguments)
		}
		h := must(t, openai.Chat, talk())
		if d := cmp.Diff(want, calls(h.answer)); d != "" {
			t.Error(d)
		}
		u := h.answer.Usage
		if strings.TrimSpace(h.text) != message.Content || u.Input != whole.Usage.PromptTokens || u.Output != whole.Usage.CompletionTokens ||
			u.Cached != whole.Usage.PromptTokensDetails.CachedTokens || u.Reasoning != whole.Usage.CompletionTokensDetails.ReasoningTokens {
			t.Errorf("we hear %q, %+v; the library %q, %+v", h.text, u, message.Content, whole.Usage)
		}
	})
}
