package transport_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agent/host/model/transport"
	"agent/recovery/journal"
)

// The bodies are those of the providers' documentation and servers.
func TestStatus(t *testing.T) {
	cases := []struct {
		name    string
		status  int
		body    string
		fault   journal.Fault
		message string
	}{
		{"anthropic: key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}`, journal.FaultKey, "invalid x-api-key"},
		{"anthropic: permission", 403, `{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}`, journal.FaultKey, ""},
		{"anthropic: credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, journal.FaultCredit, ""},
		{"anthropic: billing", 402, `{"type":"error","error":{"type":"billing_error","message":"Check your payment details."}}`, journal.FaultCredit, ""},
		{"anthropic: no model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"}}`, journal.FaultNoModel, "model: claude-nope"},
		{"anthropic: too long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, journal.FaultContext, ""},
		{"anthropic: with the answer too long", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000\"}}", journal.FaultContext, ""},
		{"anthropic: too large", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, journal.FaultContext, ""},
		{"anthropic: rate", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}`, journal.FaultRateLimit, ""},
		{"anthropic: failed", 500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, journal.FaultServer, ""},
		{"anthropic: timeout", 504, `{"type":"error","error":{"type":"timeout_error","message":"Request timed out"}}`, journal.FaultServer, ""},
		{"anthropic: overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, journal.FaultOverloaded, "Overloaded"},
		{"anthropic: filtered", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy","code":"content_filter"}}`, journal.FaultFiltered, ""},
		{"anthropic: blocked", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, journal.FaultFiltered, ""},
		{"anthropic: request", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}}`, journal.FaultRequest, ""},
		{"anthropic: in a stream", 200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, journal.FaultOverloaded, "Overloaded"},
		{"anthropic: rate in a stream", 200, `{"type":"error","error":{"type":"rate_limit_error","message":"slower"}}`, journal.FaultRateLimit, "slower"},
		{"anthropic: failed in a stream", 200, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, journal.FaultServer, ""},
		{"anthropic: request in a stream", 200, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, journal.FaultRequest, ""},
		{"openai: key", 401, `{"error":{"message":"Incorrect API key provided: sk-proj-****abcd.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, journal.FaultKey, ""},
		{"openai: quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, journal.FaultCredit, ""},
		{"openai: rate", 429, `{"error":{"message":"Rate limit reached for gpt-x in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 3000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, journal.FaultRateLimit, ""},
		{"openai: more than a minute's tokens", 429, `{"error":{"message":"Request too large for gpt-x in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, journal.FaultContext, ""},
		{"openai: no model", 404, "{\"error\":{\"message\":\"The model `gpt-nope` does not exist or you do not have access to it.\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"model_not_found\"}}", journal.FaultNoModel, ""},
		{"openai: no model, as a bad request", 400, "{\"error\":{\"message\":\"The requested model 'gpt-nope' does not exist.\",\"type\":\"invalid_request_error\",\"param\":\"model\",\"code\":\"model_not_found\"}}", journal.FaultNoModel, ""},
		{"openai: too long", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, journal.FaultContext, ""},
		{"openai: filtered", 400, `{"error":{"message":"Your request was rejected.","type":"invalid_request_error","param":null,"code":"content_policy_violation"}}`, journal.FaultFiltered, ""},
		{"openai: overloaded", 503, `{"error":{"message":"The engine is currently overloaded","type":"server_error","param":null,"code":null}}`, journal.FaultOverloaded, ""},
		{"openai: failed response", 200, `{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slower"}}}`, journal.FaultRateLimit, "slower"},
		{"openai: error event", 200, `{"type":"error","code":"server_error","message":"boom","param":null,"sequence_number":3}`, journal.FaultServer, "boom"},
		{"anthropic: filtered", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, journal.FaultFiltered, ""},
		{"azure: filtered", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400}}`, journal.FaultFiltered, ""},
		{"openrouter: credit", 402, `{"error":{"code":402,"message":"Insufficient credits"}}`, journal.FaultCredit, "Insufficient credits"},
		{"openrouter: in a stream", 200, `{"error":{"code":502,"message":"Provider disconnected"}}`, journal.FaultServer, "Provider disconnected"},
		{"openrouter: no model", 400, `{"error":{"message":"nope/nope is not a valid model ID","code":400}}`, journal.FaultNoModel, ""},
		{"openrouter: flagged", 403, `{"error":{"code":403,"message":"openai/x requires moderation on OpenAI. Your input was flagged"}}`, journal.FaultFiltered, ""},
		{"ollama: no model", 404, `{"error":{"message":"model \"nope\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, journal.FaultNoModel, ""},
		{"ollama: text", 500, `{"error":"llama runner process has terminated"}`, journal.FaultServer, "llama runner process has terminated"},
		{"llama.cpp: loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, journal.FaultOverloaded, "Loading model"},
		{"llama.cpp: too long", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, journal.FaultContext, ""},
		{"vllm: no model", 404, "{\"object\":\"error\",\"message\":\"The model `nope` does not exist.\",\"type\":\"NotFoundError\",\"param\":null,\"code\":404}", journal.FaultNoModel, "The model `nope` does not exist."},
		{"fastapi", 422, `{"detail":[{"loc":["body","model"],"msg":"field required"}]}`, journal.FaultRequest, `[{"loc":["body","model"],"msg":"field required"}]`},
		{"another path", 404, `{"detail":"Not Found"}`, journal.FaultRequest, "Not Found"},
		{"text", 404, "404 page not found\n", journal.FaultRequest, "404 page not found"},
		{"a page", 504, "<!doctype html><TITLE>gateway\n timeout</TITLE>", journal.FaultServer, "the provider answered 504 Gateway Timeout: gateway timeout"},
		{"nothing", 408, "", journal.FaultServer, "the provider answered 408 Request Timeout"},
		{"nothing, of no known status", 529, "", journal.FaultOverloaded, "the provider answered 529"},
		{"half of a body", 429, `{"error":{"message":"slow d`, journal.FaultRateLimit, `{"error":{"message":"slow d`},
		{"a stream's error without a reason", 200, `{}`, journal.FaultServer, "the provider reported an error and no reason"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := transport.Status(c.status, nil, []byte(c.body), nil)
			if e.Fault != c.fault {
				t.Errorf("got %s, want %s", e.Fault, c.fault)
			}
			if e.Message == "" || c.message != "" && e.Message != c.message {
				t.Errorf("got %q, want %q", e.Message, c.message)
			}
		})
	}
}

// When to ask again comes from the first header that says so; a clock that differs from ours does
// not matter.
func TestAfter(t *testing.T) {
	date := "Sat, 21 Nov 2026 10:00:00 GMT"
	cases := []struct {
		name   string
		status int
		header map[string]string
		want   time.Duration
	}{
		{"seconds", 429, map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{"parts of a second", 503, map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond},
		{"milliseconds first", 429, map[string]string{"Retry-After": "7", "Retry-After-Ms": "250"}, 250 * time.Millisecond},
		{"a date", 529, map[string]string{"Date": date, "Retry-After": "Sat, 21 Nov 2026 10:01:30 GMT"}, 90 * time.Second},
		{"a date that is over", 429, map[string]string{"Date": date, "Retry-After": "Sat, 21 Nov 2026 09:00:00 GMT"}, 0},
		{"nonsense", 429, map[string]string{"Retry-After": "soon"}, 0},
		{"less than nothing", 429, map[string]string{"Retry-After": "-5"}, 0},
		{"no number", 429, map[string]string{"Retry-After": "NaN"}, 0},
		{"a limit used up", 429, map[string]string{"X-Ratelimit-Reset-Requests": "1s", "X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Tokens": "6m0s", "X-Ratelimit-Remaining-Tokens": "1200"}, time.Second},
		{"two limits used up", 429, map[string]string{"X-Ratelimit-Reset-Requests": "1s", "X-Ratelimit-Reset-Tokens": "6m0s"}, 6 * time.Minute},
		{"a time", 429, map[string]string{"Date": date, "Anthropic-Ratelimit-Input-Tokens-Reset": "2026-11-21T10:00:42Z", "Anthropic-Ratelimit-Input-Tokens-Remaining": "0"}, 42 * time.Second},
		{"milliseconds since 1970", 429, map[string]string{"Date": date, "X-Ratelimit-Reset": "1795255205000"}, 5 * time.Second},
		{"seconds since 1970", 429, map[string]string{"Date": date, "X-Ratelimit-Reset": "1795255205"}, 5 * time.Second},
		{"a limit that was not exceeded", 500, map[string]string{"X-Ratelimit-Reset-Requests": "1s"}, 0},
		{"a bad key", 401, map[string]string{"Retry-After": "7"}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			for name, value := range c.header {
				h.Set(name, value)
			}
			if got := transport.Status(c.status, h, []byte(`{"error":{"message":"no"}}`), nil).After; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A message is one line for a person, without what is secret or moves the cursor, and it names the
// exchange.
func TestMessage(t *testing.T) {
	secret := `p\w"/very secret`
	body := `{"error":{"message":"\u001b[2Jbad\u202e key: p\\w\"/very secret or p%5cw%22%2Fvery+secret\nin line 2 ` + strings.Repeat("é", 400) + `"}}`
	e := transport.Status(400, http.Header{"X-Request-Id": {"req-1\x1b"}}, []byte(body), []string{secret})
	if want := "[2Jbad key: [secret] or [secret] in line 2 éé"; !strings.HasPrefix(e.Message, want) {
		t.Errorf("got %q", e.Message)
	}
	if n := len([]rune(e.Message)); n != 300 {
		t.Errorf("the message has %d characters", n)
	}
	if e.Origin != "req-1" || e.Status != 400 || e.Error() != e.Message+" (HTTP 400)" {
		t.Errorf("got %+v", e)
	}
	e = transport.Status(401, nil, []byte(`{"error":{"message":"no such key: 'sk-ant-api03-abcdefghijklmnop'"},"request_id":"req-2"}`), nil)
	if e.Message != "no such key: '[secret]" || e.Origin != "req-2" {
		t.Errorf("got %+v", e)
	}
}
