package judges

import (
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"agent/recovery/journal"
)

// Anthropic's library must know every field of a request, and read and write it again unchanged.
func TestAnthropicsLibraryKnowsEveryFieldOfARequest(t *testing.T) {
	s := serve(t, kept(t, "anthropic/testdata/messages.sse"))
	m, req := s.anthropic(), question()
	ask(t, m, follow(req, ask(t, m, req)))
	for i, body := range s.bodies {
		var params sdk.MessageNewParams
		if err := params.UnmarshalJSON(body); err != nil {
			t.Fatalf("request %d: the library cannot read it: %v", i+1, err)
		}
		want := object(t, body)
		delete(want, "stream") // its methods add it
		listResults(want)
		if d := cmp.Diff(want, object(t, params)); d != "" {
			t.Errorf("request %d: sent, and as the library has it: %s", i+1, d)
		}
	}
}

// listResults spells the text of a result as the library does: as a list of one block, which means
// the same to the API.
func listResults(body map[string]any) {
	for _, m := range body["messages"].([]any) {
		for _, b := range m.(map[string]any)["content"].([]any) {
			block := b.(map[string]any)
			if content, ok := block["content"].(string); ok && block["type"] == "tool_result" {
				block["content"] = []any{map[string]any{"type": "text", "text": content}}
			}
		}
	}
}

// What the library reads of a stream is what we read of it.
func TestAnthropicsLibraryReadsTheSameMessage(t *testing.T) {
	s := serve(t, kept(t, "anthropic/testdata/messages.sse"))
	client := sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("x"))
	stream := client.Messages.NewStreaming(within(t), sdk.MessageNewParams{Model: "x", MaxTokens: 1})
	var whole sdk.Message
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	var words, thoughts string
	var want []string
	for _, b := range whole.Content {
		words, thoughts = words+b.Text, thoughts+b.Thinking
		if b.Type == "tool_use" {
			want = append(want, b.Name+" "+string(b.Input))
		}
	}
	a := ask(t, s.anthropic(), question())
	if d := cmp.Diff(want, calls(a)); d != "" || len(want) != 2 {
		t.Error(want, d)
	}
	if got := texts(a, journal.BlockText); got == "" || got != words {
		t.Errorf("we read %q, the library %q", got, words)
	}
	if got := texts(a, journal.BlockReasoning); got == "" || got != thoughts {
		t.Errorf("we read the thinking %q, the library %q", got, thoughts)
	}
	u := whole.Usage
	if d := cmp.Diff(&journal.Usage{Input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Cached: u.CacheReadInputTokens,
		Written: u.CacheCreationInputTokens, Output: u.OutputTokens}, a.Usage); d != "" || a.Stop != journal.AnswerCalls || whole.StopReason != "tool_use" {
		t.Error(a.Stop, whole.StopReason, d)
	}
}
