package transport_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/host/model"
	"agent/host/model/anthropic"
	"agent/host/model/openai"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// limit is how long a test waits for anything.
const limit = 30 * time.Second

// client sends one request and reads the answer to its end. It returns the text of the answer.
type client func(ctx context.Context, turn int, http *http.Client, url, key string) (string, error)

// clients are the providers' protocols in front of this package, and none.
func clients() map[string]client {
	return map[string]client{"bare": bare, "anthropic": throughAnthropic, "responses": throughResponses, "chat": throughChat}
}

func bare(ctx context.Context, turn int, c *http.Client, url, key string) (string, error) {
	req, err := http.NewRequestWithContext(transport.WithTurn(ctx, turn), http.MethodPost, url+"/v1/messages", strings.NewReader(`{"stream":true}`))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	return fmt.Sprint(n), err
}

func throughAnthropic(ctx context.Context, turn int, c *http.Client, url, key string) (string, error) {
	return hear(ctx, turn, anthropic.New(anthropic.Options{Model: "claude-test", BaseURL: url, HTTP: c, Key: keyed(key)}), key)
}

func throughResponses(ctx context.Context, turn int, c *http.Client, url, key string) (string, error) {
	return hear(ctx, turn, openai.New(openai.Options{Model: "gpt-test", Protocol: openai.Responses, BaseURL: url + "/v1", HTTP: c, Key: keyed(key)}), key)
}

func throughChat(ctx context.Context, turn int, c *http.Client, url, key string) (string, error) {
	return hear(ctx, turn, openai.New(openai.Options{Model: "gpt-test", Protocol: openai.Chat, BaseURL: url + "/v1", HTTP: c, Key: keyed(key)}), key)
}

func keyed(key string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return key, nil }
}

// hear asks with a text that has the key in it.
func hear(ctx context.Context, turn int, m model.Model, key string) (string, error) {
	var text strings.Builder
	for d, err := range m.Stream(ctx, model.Request{Turn: turn, Messages: []journal.Message{
		{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: "hello " + key}}},
	}}) {
		if err != nil {
			return text.String(), err
		}
		text.WriteString(d.Text)
	}
	return text.String(), nil
}

// speak gives the events of a short answer, in the protocol of the path that is asked.
func speak(path string, parts ...string) []string {
	var events []string
	event := func(kind, format string, args ...any) {
		events = append(events, fmt.Sprintf("event: %s\ndata: {\"type\":%q"+format+"}\n\n", append([]any{kind, kind}, args...)...))
	}
	switch {
	case strings.HasSuffix(path, "/messages"):
		event("message_start", `,"message":{"id":"m1","type":"message","role":"assistant","content":[]}`)
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
		for _, p := range parts {
			event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":%q}`, p)
		}
		event("content_block_stop", `,"index":0`)
		event("message_delta", `,"delta":{"stop_reason":"end_turn"}`)
		event("message_stop", "")
		return events
	case strings.HasSuffix(path, "/responses"):
		event("response.created", `,"response":{"id":"r1"}`)
		for _, p := range parts {
			event("response.output_text.delta", `,"output_index":0,"content_index":0,"delta":%q`, p)
		}
		event("response.completed", `,"response":{"id":"r1","status":"completed"}`)
		return events
	}
	for _, p := range parts {
		events = append(events, fmt.Sprintf("data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", p))
	}
	return append(events, "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", "data: [DONE]\n\n")
}

// answers starts the stream of an answer and sends its first event.
func answers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, speak(r.URL.Path, "hi")[0])
	w.(http.Flusher).Flush()
}

// hijack takes the connection, and drops it when the function is done: with a reset when asked.
func hijack(w http.ResponseWriter, reset bool, write string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	io.WriteString(conn, write)
	if reset {
		conn.(*net.TCPConn).SetLinger(0)
	}
}

// serve runs a server whose handlers may wait for the end of the test.
func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, ended <-chan struct{})) *httptest.Server {
	t.Helper()
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		handle(w, r, ended)
	}))
	t.Cleanup(func() {
		close(ended)
		s.Close()
	})
	return s
}

// drive asks once. ctx ends with the test's limit.
func drive(t *testing.T, c client, o transport.Options, url string, turn int) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	text, err := c(ctx, turn, transport.Client(o), url, testKey)
	if ctx.Err() != nil {
		t.Fatalf("the exchange did not end within %s", limit)
	}
	return text, err
}

// testKey has characters that JSON and URLs spell in more than one way.
const testKey = `sk-te"st/<k&y>+0123456789`

// serveBody runs a server that knows what it is asked, and returns its address.
func serveBody(t *testing.T, say func(w http.ResponseWriter, body string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		say(w, string(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Every request carries what the protocols and HTTP ask for, and the name of who asks.
func TestHeaders(t *testing.T) {
	var got http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		got = r.Header
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.Join(speak(r.URL.Path, "hi"), ""))
	})
	want := map[string]http.Header{
		"anthropic": {"X-Api-Key": {testKey}, "Anthropic-Version": {"2023-06-01"}}, "responses": {"Authorization": {"Bearer " + testKey}},
		"chat": {"Authorization": {"Bearer " + testKey}},
	}
	for name, header := range want {
		header["Content-Type"], header["Accept"], header["Accept-Encoding"] = []string{"application/json"}, []string{"text/event-stream"}, []string{"identity"}
		for agent, sent := range map[string]string{"": "agent", "agent/1.2.3": "agent/1.2.3"} {
			header["User-Agent"] = []string{sent}
			if _, err := drive(t, clients()[name], transport.Options{Agent: agent}, s.URL, 1); err != nil {
				t.Fatal(err)
			}
			got.Del("Content-Length")
			if d := cmp.Diff(header, got); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}
