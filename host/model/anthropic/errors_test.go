package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"agent/host/model"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// status answers with an error status, as the provider does.
func status(code int, kind, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", "req_header")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
		// A client that leaves early sees it on its own side.
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_body"}`, kind, message)
	}
}

// Issue 3: each failure of the provider is the fault that it is, in the provider's words, asked
// once.
func TestErrorStatus(t *testing.T) {
	for _, c := range []struct {
		code          int
		kind, message string
		want          journal.Fault
	}{
		{400, "invalid_request_error", "tools.0.name: too long", journal.FaultRequest},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", journal.FaultContext},
		{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", journal.FaultCredit},
		{401, "authentication_error", "invalid x-api-key", journal.FaultKey},
		{402, "billing_error", "pay", journal.FaultCredit},
		{403, "permission_error", "Your API key does not have permission to use the specified resource.", journal.FaultKey},
		{404, "not_found_error", "model: claude-nope-1", journal.FaultNoModel},
		{413, "request_too_large", "Request exceeds the maximum size", journal.FaultContext},
		{429, "rate_limit_error", "This request would exceed your rate limit", journal.FaultRateLimit},
		{500, "api_error", "Internal server error", journal.FaultServer},
		{504, "timeout_error", "The request timed out", journal.FaultServer},
		{529, "overloaded_error", "Overloaded", journal.FaultOverloaded},
	} {
		t.Run(fmt.Sprintf("%d %s", c.code, c.want), func(t *testing.T) {
			s := serve(t, status(c.code, c.kind, c.message))
			e := s.fails(t)
			if e.Fault != c.want || e.Status != c.code || !strings.Contains(e.Message, c.message) || e.Began {
				t.Errorf("%+v, want fault %s", e, c.want)
			}
			if e.Origin != "req_header" {
				t.Errorf("origin %q", e.Origin)
			}
			if e.Fault == journal.FaultRateLimit && e.After != 7*time.Second {
				t.Errorf("after %s, want the seven seconds of Retry-After", e.After)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests: attempts are the host's to record", n)
			}
		})
	}
}

// An error inside a stream that began with 200.
func TestErrorEvent(t *testing.T) {
	for kind, want := range map[string]journal.Fault{
		"overloaded_error": journal.FaultOverloaded, "api_error": journal.FaultServer, "rate_limit_error": journal.FaultRateLimit,
		"invalid_request_error": journal.FaultRequest, "authentication_error": journal.FaultKey, "billing_error": journal.FaultCredit,
		"permission_error": journal.FaultKey, "timeout_error": journal.FaultServer, "brand_new_error": journal.FaultServer,
	} {
		for place, before := range map[string]string{"first": "", "in the middle": messageStart() + textBlock(0, "Hi")} {
			t.Run(kind+" "+place, func(t *testing.T) {
				s := serve(t, stream(before+ev("error", obj{"type": "error", "error": obj{"type": kind, "message": "It\nbroke."}})))
				if e := s.fails(t); e.Fault != want || e.Message != "It broke." || !e.Began || e.Status != 0 || e.Origin != "req_header" {
					t.Errorf("%+v, want fault %s", e, want)
				}
			})
		}
	}
}

// Issue 3, behaviour 6: what is not the protocol is said, in one line.
func TestGarbage(t *testing.T) {
	delta := blockDelta(0, obj{"type": "text_delta", "text": "x"})
	for name, events := range map[string]string{
		"no JSON":               messageStart() + "event: content_block_start\ndata: {oops\n\n",
		"an array":              "event: message_start\ndata: []\n\n",
		"no message":            ev("message_start", obj{"type": "message_start"}),
		"content first":         textBlock(0, "x"),
		"end first":             ev("message_stop", obj{"type": "message_stop"}),
		"two starts":            messageStart() + messageStart(),
		"delta of no block":     messageStart() + delta,
		"delta of an old block": messageStart() + textBlock(0, "y") + delta,
		"stop of no block":      messageStart() + blockStop(3),
		"block started twice":   messageStart() + strings.Repeat(blockStart(0, obj{"type": "text", "text": ""}), 2),
		"block without a type":  messageStart() + blockStart(0, obj{}),
		"wrong delta":           messageStart() + blockStart(0, obj{"type": "tool_use", "id": "x", "name": "f", "input": obj{}}) + delta,
		"an error of no words":  messageStart() + ev("error", obj{"type": "error"}),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, stream(events))
			if e := s.fails(t); e.Fault != journal.FaultGarbage || e.Message == "" || !e.Began {
				t.Errorf("%+v", e)
			}
		})
	}
	for name, kind := range map[string]string{"text": "text/plain", "page": "text/html", "whole": "application/json"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				// A client that leaves early sees it on its own side.
				_, _ = io.WriteString(w, `{"type":"message","content":[]}`)
			})
			if e := s.fails(t); e.Fault != journal.FaultGarbage {
				t.Errorf("%+v", e)
			}
		})
	}
	t.Run("a block that never ends", func(t *testing.T) {
		s := serve(t, stream(messageStart()+blockStart(0, obj{"type": "tool_use", "id": "x", "name": "f", "input": obj{}})+messageEnd("tool_use")))
		if e := s.fails(t); e.Fault != journal.FaultCut {
			t.Errorf("%+v", e)
		}
	})
}

// No key leaves in an error, wherever the server puts it.
func TestSecretsStayOut(t *testing.T) {
	const key = "sk-ant-very-secret"
	for name, answer := range map[string]http.HandlerFunc{
		"status":  status(401, "authentication_error", "bad key "+key),
		"event":   stream(messageStart() + ev("error", obj{"type": "error", "error": obj{"type": "api_error", "message": "bad key " + key}})),
		"garbage": stream(messageStart() + "event: x\ndata: {" + key + "\n\n"),
		"stop":    stream(messageStart() + messageEnd(key)),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, answer)
			o := s.options()
			o.Key = func(context.Context) (string, error) { return key, nil }
			o.Secrets = func() []string { return []string{key} }
			o.HTTP = transport.Client(transport.Options{Secrets: o.Secrets})
			g := collect(t.Context(), New(o), prompt("Hello"))
			if g.err == nil || strings.Contains(g.err.Error(), key) {
				t.Errorf("%v", g.err)
			}
		})
	}
}

// Every error carries what a person can do about it, unless it says so itself.
func TestRemedy(t *testing.T) {
	s := serve(t, status(401, "authentication_error", "invalid x-api-key"))
	o := s.options()
	o.Remedy = func(f journal.Fault) string { return "mend " + string(f) }
	var e *model.Error
	if g := collect(t.Context(), New(o), prompt("Hello")); !errors.As(g.err, &e) || e.Remedy != "mend key" {
		t.Errorf("%+v", e)
	}
	o.Key = func(context.Context) (string, error) { return "", errors.New("set ANTHROPIC_API_KEY") }
	if g := collect(t.Context(), New(o), prompt("Hello")); !errors.As(g.err, &e) || e.Fault != journal.FaultKey || e.Error() != "set ANTHROPIC_API_KEY" || e.Remedy != "mend key" {
		t.Errorf("%+v", e)
	}
	given := &model.Error{Fault: journal.FaultKey, Message: "the command failed", Remedy: "mend it"}
	o.Key = func(context.Context) (string, error) { return "", given }
	if g := collect(t.Context(), New(o), prompt("Hello")); g.err != given {
		t.Errorf("%v", g.err)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, though there was no key for two of the three", n)
	}
	o = s.options()
	req := prompt("Hello")
	req.Tools = []model.ToolSpec{{Name: "f", Schema: []byte("{")}}
	if g := collect(t.Context(), New(o), req); !errors.As(g.err, &e) || e.Fault != journal.FaultRequest {
		t.Errorf("%v", g.err)
	}
}

// The provider's id of the exchange is the request's, else the message's.
func TestOriginOfWhatBrokeOff(t *testing.T) {
	for header, want := range map[string]string{"req_1": "req_1", "": "msg_01"} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if header != "" {
				w.Header().Set("Request-Id", header)
			}
			// A client that leaves early sees it on its own side.
			_, _ = io.WriteString(w, messageStart())
		})
		if e := s.fails(t); e.Origin != want {
			t.Errorf("origin %q, want %q", e.Origin, want)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	s := serve(t, stream(""))
	s.Close()
	if e := s.fails(t); e.Fault != journal.FaultNetwork || e.Began {
		t.Errorf("%+v", e)
	}
}

// Everything comes through Options: no variable of the environment adds a key, a header, an address
// or a profile.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: environment")
	t.Setenv("ANTHROPIC_PROFILE", "environment")
	s := serve(t, stream(everything()))
	s.answers(t)
	o := s.options()
	o.BaseURL = s.URL + "/v1/"
	o.Key = func(context.Context) (string, error) { return "", nil }
	if g := collect(t.Context(), New(o), prompt("Hello")); g.err != nil {
		t.Error(g.err)
	}
	for i, r := range s.requests() {
		if r.path != "/v1/messages" || r.header.Get("Anthropic-Version") != "2023-06-01" || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("request to %s with %v", r.path, r.header)
		}
		if want := []string{"sk-test", ""}[i]; r.header.Get("X-Api-Key") != want {
			t.Errorf("key %q, want %q", r.header.Get("X-Api-Key"), want)
		}
		for name, values := range r.header {
			if strings.Contains(strings.Join(values, " "), "environment") {
				t.Errorf("header %s comes from the environment", name)
			}
		}
	}
	if want := mustEncode(t, "claude-sonnet-4-5", prompt("Hello")).body; string(s.requests()[0].body) != string(want) {
		t.Errorf("sent %s\nwant %s", s.requests()[0].body, want)
	}
}
