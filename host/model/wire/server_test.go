package wire_test

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

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"agent/host/model/wire"
)

// limit is how long a test waits for anything.
const limit = 30 * time.Second

// client sends one request through an SDK and reads the answer to its end. It returns the text of the answer.
type client func(ctx context.Context, http *http.Client, url, key string) (string, error)

// clients are the SDKs in front of this package, and none.
func clients() map[string]client {
	return map[string]client{"bare": bare, "anthropic": throughAnthropic, "responses": throughResponses, "chat": throughChat}
}

func bare(ctx context.Context, c *http.Client, url, key string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/messages", strings.NewReader(`{"stream":true}`))
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

func throughAnthropic(ctx context.Context, c *http.Client, url, key string) (string, error) {
	sdk := anthropic.NewClient(anthropicoption.WithHTTPClient(c), anthropicoption.WithBaseURL(url),
		anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(0))
	stream := sdk.Messages.NewStreaming(ctx, anthropic.MessageNewParams{
		Model: "claude-test", MaxTokens: 100,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello " + key))},
	})
	defer stream.Close()
	var text strings.Builder
	for stream.Next() {
		text.WriteString(stream.Current().Delta.Text)
	}
	return text.String(), stream.Err()
}

func throughResponses(ctx context.Context, c *http.Client, url, key string) (string, error) {
	sdk := openai.NewClient(openaioption.WithHTTPClient(c), openaioption.WithBaseURL(url+"/v1"),
		openaioption.WithAPIKey(key), openaioption.WithMaxRetries(0))
	stream := sdk.Responses.NewStreaming(ctx, responses.ResponseNewParams{
		Model: "gpt-test",
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hello " + key)},
	})
	defer stream.Close()
	var text strings.Builder
	for stream.Next() {
		text.WriteString(stream.Current().Delta)
	}
	return text.String(), stream.Err()
}

func throughChat(ctx context.Context, c *http.Client, url, key string) (string, error) {
	sdk := openai.NewClient(openaioption.WithHTTPClient(c), openaioption.WithBaseURL(url+"/v1"),
		openaioption.WithAPIKey(key), openaioption.WithMaxRetries(0))
	stream := sdk.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:    "gpt-test",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello " + key)},
	})
	defer stream.Close()
	var text strings.Builder
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	return text.String(), stream.Err()
}

// speak gives the events of a short answer, in the protocol of the path that is asked.
func speak(path string, parts ...string) []string {
	var events []string
	switch {
	case strings.HasSuffix(path, "/messages"):
		events = append(events, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n")
		for _, p := range parts {
			events = append(events, fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n", p))
		}
		return append(events, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	case strings.HasSuffix(path, "/responses"):
		events = append(events, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\"}}\n\n")
		for _, p := range parts {
			events = append(events, fmt.Sprintf("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":%q}\n\n", p))
		}
		return append(events, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\"}}\n\n")
	}
	for _, p := range parts {
		events = append(events, fmt.Sprintf("data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", p))
	}
	return append(events, "data: [DONE]\n\n")
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
func drive(t *testing.T, c client, o wire.Options, url string, turn int) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(wire.WithTurn(t.Context(), turn), limit)
	defer cancel()
	text, err := c(ctx, wire.Client(o), url, testKey)
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
