package judges

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"agent/host/model/openai"
	"agent/recovery/journal"
)

// The official library must know every field of a request, and read and write it again unchanged.
func TestOfficialLibraryKnowsEveryFieldOfARequest(t *testing.T) {
	for p, c := range map[openai.Protocol]struct {
		stream string
		into   json.Unmarshaler
	}{
		openai.Responses: {kept(t, "openai/testdata/responses.sse"), &responses.ResponseNewParams{}},
		openai.Chat:      {kept(t, "openai/testdata/chat.sse"), &sdk.ChatCompletionNewParams{}},
	} {
		s := serve(t, c.stream)
		m, req := s.openai(p), question()
		ask(t, m, follow(req, ask(t, m, req)))
		body := s.bodies[1]
		if err := c.into.UnmarshalJSON(body); err != nil {
			t.Fatalf("%s: the library cannot read the request: %v", p, err)
		}
		want, got := object(t, body), object(t, c.into)
		delete(want, "stream") // its methods add it
		judgeMessages(t, want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: sent, and as the library has it: %s", p, d)
		}
	}
}

// judgeMessages judges an answer's message by itself: the library reads one in a list as an input
// message, which has no id.
func judgeMessages(t *testing.T, body map[string]any) {
	t.Helper()
	items, _ := body["input"].([]any)
	for _, i := range items {
		item := i.(map[string]any)
		if item["type"] != "message" || item["id"] == nil {
			continue
		}
		raw, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		var m responses.ResponseOutputMessageParam
		if err := m.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(item, object(t, m)); d != "" {
			t.Errorf("a message: %s", d)
		}
		delete(item, "id")
		delete(item, "status")
	}
}

// What the library reads of a stream is what we read of it.
func TestOfficialLibraryReadsTheSameResponse(t *testing.T) {
	s := serve(t, kept(t, "openai/testdata/responses.sse"))
	service := responses.NewResponseService(option.WithBaseURL(s.URL), option.WithAPIKey("x"))
	stream := service.NewStreaming(within(t), responses.ResponseNewParams{Model: "x"})
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
	a := ask(t, s.openai(openai.Responses), question())
	if d := cmp.Diff(want, calls(a)); d != "" || len(want) != 2 {
		t.Error(want, d)
	}
	if got := texts(a, journal.BlockText); got == "" || got != whole.OutputText() {
		t.Errorf("we read %q, the library %q", got, whole.OutputText())
	}
	u := whole.Usage
	if d := cmp.Diff(&journal.Usage{Input: u.InputTokens, Cached: u.InputTokensDetails.CachedTokens, Written: u.InputTokensDetails.CacheWriteTokens,
		Output: u.OutputTokens, Reasoning: u.OutputTokensDetails.ReasoningTokens}, a.Usage); d != "" {
		t.Error(d)
	}
}

// The same over Chat Completions.
func TestOfficialLibraryReadsTheSameChat(t *testing.T) {
	s := serve(t, kept(t, "openai/testdata/chat.sse"))
	service := sdk.NewChatCompletionService(option.WithBaseURL(s.URL), option.WithAPIKey("x"))
	stream := service.NewStreaming(within(t), sdk.ChatCompletionNewParams{Model: "x"})
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
	a := ask(t, s.openai(openai.Chat), question())
	if d := cmp.Diff(want, calls(a)); d != "" || len(want) != 2 {
		t.Error(want, d)
	}
	if got := texts(a, journal.BlockText); got == "" || got != message.Content {
		t.Errorf("we read %q, the library %q", got, message.Content)
	}
	u := whole.Usage
	if d := cmp.Diff(&journal.Usage{Input: u.PromptTokens, Cached: u.PromptTokensDetails.CachedTokens, Output: u.CompletionTokens,
		Reasoning: u.CompletionTokensDetails.ReasoningTokens}, a.Usage); d != "" {
		t.Error(d)
	}
}
