package judges

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"agent/host/model/modeltest"
)

// told is what a client of the provider's own made of one answer.
type told struct {
	text, thinking string
	calls          []string
	input, output  int64
	stop           string
}

// talker asks for the next answer, the results of the last one's calls included.
type talker func(results []string) (told, error)

// The providers' own clients carry a whole story through: thinking, parallel calls, results, and
// the end.
func TestTheProvidersOwnClientsUnderstandTheServer(t *testing.T) {
	story := modeltest.Script{
		Turns: []modeltest.Turn{
			{Thinking: "First the file, ünïcode 🙂 too.", Text: "I look <here> & there.", Calls: []modeltest.Call{
				{Tool: "read_file", Args: json.RawMessage(`{"path": "a<b>.txt"}`)}, {Tool: "shell", Args: json.RawMessage(`{"command":"echo \"x\""}`)},
			}},
			{Thinking: "Now the other.", Calls: []modeltest.Call{{Tool: "shell"}}},
			{Text: "All is done."},
		},
		Quirks: modeltest.Quirks{Reasoning: "reasoning_content"},
	}
	stops := map[modeltest.Protocol][2]string{
		modeltest.Anthropic: {"tool_use", "end_turn"}, modeltest.Responses: {"completed", "completed"}, modeltest.Chat: {"tool_calls", "stop"},
	}
	for p, talk := range map[modeltest.Protocol]func(*testing.T, *modeltest.Server) talker{
		modeltest.Anthropic: talkAnthropic, modeltest.Responses: talkResponses, modeltest.Chat: talkChat,
	} {
		t.Run(string(p), func(t *testing.T) {
			s := start(t, story)
			next := talk(t, s)
			var results []string
			for i, turn := range story.Turns {
				got, err := next(results)
				if err != nil {
					t.Fatal(err)
				}
				want := told{text: turn.Text, thinking: turn.Thinking, stop: stops[p][0]}
				for _, c := range turn.Calls {
					args := "{}"
					if c.Args != nil {
						args = string(c.Args)
					}
					want.calls = append(want.calls, c.Tool+compact(t, args))
				}
				if len(turn.Calls) == 0 {
					want.stop = stops[p][1]
				}
				if got.input == 0 || got.output == 0 {
					t.Errorf("turn %d: tokens %d and %d", i+1, got.input, got.output)
				}
				got.input, got.output = 0, 0
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("turn %d:\n%+v\nwant\n%+v", i+1, got, want)
				}
				results = got.calls
			}
			for _, e := range s.Exchanges() {
				if e.Differs != "" || e.Refusal != "" || e.Turn != e.Number {
					t.Errorf("exchange %d is turn %d, refused for %q, differs: %s", e.Number, e.Turn, e.Refusal, e.Differs)
				}
			}
		})
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func talkAnthropic(t *testing.T, s *modeltest.Server) talker {
	c := anthropic.NewClient(anthropicoption.WithBaseURL(s.URL()), anthropicoption.WithAPIKey(modeltest.DefaultKey), anthropicoption.WithMaxRetries(0))
	p := anthropic.MessageNewParams{
		Model: "claude-test", MaxTokens: 4096, Thinking: anthropic.ThinkingConfigParamOfEnabled(2048),
		System:   []anthropic.TextBlockParam{{Text: "You are a test.", CacheControl: anthropic.NewCacheControlEphemeralParam()}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"))},
		Tools:    []anthropic.ToolUnionParam{anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{}}, "shell")},
	}
	var ids []string
	return func(results []string) (told, error) {
		var blocks []anthropic.ContentBlockParamUnion
		for _, id := range ids {
			blocks = append(blocks, anthropic.NewToolResultBlock(id, "ok", false))
		}
		if blocks != nil {
			p.Messages = append(p.Messages, anthropic.NewUserMessage(blocks...))
		}
		var m anthropic.Message
		events := c.Messages.NewStreaming(within(t), p)
		for events.Next() {
			if err := m.Accumulate(events.Current()); err != nil {
				return told{}, err
			}
		}
		if err := events.Err(); err != nil {
			return told{}, err
		}
		p.Messages = append(p.Messages, m.ToParam())
		out := told{stop: string(m.StopReason), input: m.Usage.InputTokens + m.Usage.CacheCreationInputTokens + m.Usage.CacheReadInputTokens, output: m.Usage.OutputTokens}
		ids = nil
		for _, b := range m.Content {
			out.text += b.Text
			out.thinking += b.Thinking
			if b.Type == "tool_use" {
				out.calls = append(out.calls, b.Name+compact(t, string(b.Input)))
				ids = append(ids, b.ID)
			}
		}
		return out, nil
	}
}

func talkResponses(t *testing.T, s *modeltest.Server) talker {
	c := openai.NewClient(option.WithBaseURL(s.V1()), option.WithAPIKey(modeltest.DefaultKey), option.WithMaxRetries(0))
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("go", responses.EasyInputMessageRoleUser)}
	var ids []string
	return func([]string) (told, error) {
		for _, id := range ids {
			item := responses.ResponseInputItemParamOfFunctionCallOutput("ok")
			item.OfFunctionCallOutput.CallID = param.NewOpt(id)
			input = append(input, item)
		}
		ids = nil
		events := c.Responses.NewStreaming(within(t), responses.ResponseNewParams{
			Model: "gpt-test", Store: param.NewOpt(false), Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input},
			Include:   []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
			Reasoning: shared.ReasoningParam{Summary: shared.ReasoningSummaryAuto},
		})
		var out told
		for events.Next() {
			e := events.Current()
			switch e.Type {
			case "response.reasoning_summary_text.delta":
				out.thinking += e.Delta
			case "response.output_text.delta":
				out.text += e.Delta
			case "response.completed":
				out.stop = string(e.Response.Status)
				out.input, out.output = e.Response.Usage.InputTokens, e.Response.Usage.OutputTokens
				for _, it := range e.Response.Output {
					input = append(input, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(it.RawJSON())))
					if it.Type == "function_call" {
						out.calls = append(out.calls, it.Name+compact(t, it.AsFunctionCall().Arguments))
						ids = append(ids, it.CallID)
					}
				}
			}
		}
		return out, events.Err()
	}
}

func talkChat(t *testing.T, s *modeltest.Server) talker {
	c := openai.NewClient(option.WithBaseURL(s.V1()), option.WithAPIKey(modeltest.DefaultKey), option.WithMaxRetries(0))
	p := openai.ChatCompletionNewParams{
		Model: "gpt-test", Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("You are a test."), openai.UserMessage("go")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	var ids []string
	return func([]string) (told, error) {
		for _, id := range ids {
			p.Messages = append(p.Messages, openai.ToolMessage("ok", id))
		}
		ids = nil
		var out told
		var all openai.ChatCompletionAccumulator
		events := c.Chat.Completions.NewStreaming(within(t), p)
		for events.Next() {
			chunk := events.Current()
			if !all.AddChunk(chunk) {
				return out, fmt.Errorf("the chunk does not fit: %s", chunk.RawJSON())
			}
			if len(chunk.Choices) > 0 {
				if f, ok := chunk.Choices[0].Delta.JSON.ExtraFields["reasoning_content"]; ok {
					var text string
					if err := json.Unmarshal([]byte(f.Raw()), &text); err != nil {
						return out, err
					}
					out.thinking += text
				}
			}
		}
		if err := events.Err(); err != nil {
			return out, err
		}
		m := all.Choices[0].Message
		p.Messages = append(p.Messages, m.ToParam())
		out.text, out.stop = m.Content, all.Choices[0].FinishReason
		out.input, out.output = all.Usage.PromptTokens, all.Usage.CompletionTokens
		for _, k := range m.ToolCalls {
			out.calls = append(out.calls, k.Function.Name+compact(t, k.Function.Arguments))
			ids = append(ids, k.ID)
		}
		return out, nil
	}
}

// What is not streamed is understood as well, and so are the lists of models and the errors.
func TestTheProvidersOwnClientsReadAnswersModelsAndErrors(t *testing.T) {
	script := modeltest.Script{Turns: []modeltest.Turn{{Text: "Hi.", Calls: []modeltest.Call{{Tool: "shell", Args: json.RawMessage(`{"a":1}`)}}}}, Models: []string{"m1", "m2"}}
	s := start(t, script)
	a := anthropic.NewClient(anthropicoption.WithBaseURL(s.URL()), anthropicoption.WithAPIKey(modeltest.DefaultKey), anthropicoption.WithMaxRetries(0))
	o := openai.NewClient(option.WithBaseURL(s.V1()), option.WithAPIKey(modeltest.DefaultKey), option.WithMaxRetries(0))
	ctx := within(t)
	m, err := a.Messages.New(ctx, anthropic.MessageNewParams{Model: "m1", MaxTokens: 99, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"))}})
	if err != nil || m.Content[0].Text != "Hi." || string(m.Content[1].Input) != `{"a":1}` {
		t.Errorf("anthropic: %v, %+v", err, m)
	}
	r, err := o.Responses.New(ctx, responses.ResponseNewParams{Model: "m1", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("go")}})
	if err != nil || r.OutputText() != "Hi." {
		t.Errorf("responses: %v, %+v", err, r)
	}
	c, err := o.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: "m2", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")}})
	if err != nil || c.Choices[0].Message.Content != "Hi." || c.Choices[0].Message.ToolCalls[0].Function.Arguments != `{"a":1}` {
		t.Errorf("chat: %v, %+v", err, c)
	}
	if list, err := a.Models.List(ctx, anthropic.ModelListParams{}); err != nil || len(list.Data) != 2 || list.Data[1].ID != "m2" {
		t.Errorf("models of anthropic: %v, %+v", err, list)
	}
	if list, err := o.Models.List(ctx); err != nil || len(list.Data) != 2 || list.Data[0].ID != "m1" {
		t.Errorf("models of openai: %v, %+v", err, list)
	}
	_, err = a.Messages.New(ctx, anthropic.MessageNewParams{Model: "m9", MaxTokens: 99, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("go"))}})
	if e, ok := err.(*anthropic.Error); !ok || e.StatusCode != 404 || e.RequestID == "" || !strings.Contains(e.Error(), "not_found_error") {
		t.Errorf("an unknown model of anthropic: %v", err)
	}
	_, err = o.Responses.New(ctx, responses.ResponseNewParams{Model: "m9", Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("go")}})
	if e, ok := err.(*openai.Error); !ok || e.StatusCode != 404 || e.Code != "model_not_found" {
		t.Errorf("an unknown model of openai: %v", err)
	}
}
