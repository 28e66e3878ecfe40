package openai_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// ev is one event of the Responses API as it is on the wire.
func ev(name, fields string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", name, name, prefixed(fields))
}

func prefixed(fields string) string {
	if fields == "" {
		return ""
	}
	return "," + fields
}

func js(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// The items of the long story, as they are when they are done. The reasoning has white space and
// characters that a Go encoder would write in another way: it must come back as it is.
const (
	storyReasoning = `{"id":"rs_1","type":"reasoning", "encrypted_content":"gAAAA<b>&\u003c/b>` + "\u2028" + `==","summary":[{"type":"summary_text","text":"**Looking**"},{"type":"summary_text","text":"at a & b"}]}`
	storyMessage   = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"I read both."}]}`
	storyCallA     = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"path\":\"a.txt\"}","call_id":"call_A","name":"read_file"}`
	storyReason2   = `{"id":"rs_2","type":"reasoning","encrypted_content":"gBBBB==","summary":[]}`
	storyUsage     = `{"input_tokens":120,"input_tokens_details":{"cached_tokens":100,"cache_write_tokens":7},"output_tokens":60,"output_tokens_details":{"reasoning_tokens":40},"total_tokens":180}`
)

// story is an answer that reasons, speaks, calls, reasons again and calls again.
func story() string { return kept("testdata/responses.sse") }

// kept is a stream that scripts/judges reads too.
func kept(file string) string {
	stream, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return string(stream)
}

func functionCall(index int, item string, pieces ...string) string {
	s := ev("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"id":"fc_9","type":"function_call","status":"in_progress","arguments":"","call_id":"call_A","name":"read_file"}`, index))
	for _, p := range pieces {
		s += ev("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":"fc_9","output_index":%d,"delta":"%s"`, index, p))
	}
	s += ev("response.function_call_arguments.done", fmt.Sprintf(`"item_id":"fc_9","output_index":%d,"arguments":"%s"`, index, strings.Join(pieces, "")))
	return s + ev("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, index, item))
}

// completed is the last event; its name is that of the status.
func completed(status, details string, items ...string) string {
	if details == "" {
		details = "null"
	}
	return ev("response."+status, fmt.Sprintf(`"response":{"id":"resp_1","object":"response","created_at":1,"status":%q,"error":null,"incomplete_details":%s,"model":"test-model-2026","output":[%s],"usage":%s}`,
		status, details, strings.Join(items, ","), storyUsage))
}

// chunks is a stream of Chat Completions: each argument is the choices' first element.
func chunks(choices ...string) string {
	var b strings.Builder
	for _, c := range choices {
		b.WriteString(chunk(`"choices":[` + c + `],"usage":null`))
	}
	return b.String()
}

func chunk(fields string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1694268190,"model":"test-model-2026","system_fingerprint":"fp_1",` + fields + "}\n\n"
}

func delta(fields string) string {
	return `{"index":0,"delta":{` + fields + `},"logprobs":null,"finish_reason":null}`
}

func finish(reason string) string {
	return `{"index":0,"delta":{},"logprobs":null,"finish_reason":"` + reason + `"}`
}

const (
	chatUsage = `"choices":[],"usage":{"prompt_tokens":120,"completion_tokens":60,"total_tokens":180,"prompt_tokens_details":{"cached_tokens":100},"completion_tokens_details":{"reasoning_tokens":40}}`
	chatDone  = "data: [DONE]\n\n"
)

// talk is an answer of Chat Completions that reasons, speaks and calls twice, as OpenAI streams it.
func talk() string { return kept("testdata/chat.sse") }
