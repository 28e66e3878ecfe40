package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host/model"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// limit is how long a test waits for what must come.
const limit = 20 * time.Second

// server speaks the provider's side of the protocol: it keeps what it was asked and answers as its
// script says.
type server struct {
	*httptest.Server
	client *http.Client
	mu     sync.Mutex
	asked  []asked
}

type asked struct {
	from   string // the connection
	path   string
	header http.Header
	body   []byte
}

func (s *server) requests() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]asked(nil), s.asked...)
}

func serve(t testing.TB, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{client: transport.Client(transport.Options{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		s.mu.Lock()
		s.asked = append(s.asked, asked{r.RemoteAddr, r.URL.Path, r.Header.Clone(), body})
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// stream answers with a stream of events.
func stream(events string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("Request-Id", "req_header")
		// A test whose client leaves early sees it on its own side.
		_, _ = io.WriteString(w, events)
	}
}

func (s *server) options() Options {
	return Options{
		Model: "claude-sonnet-4-5", BaseURL: s.URL, HTTP: s.client,
		Key: func(context.Context) (string, error) { return "sk-test\n", nil },
	}
}

// got is all that a stream gave.
type got struct {
	text, reasoning string
	deltas          int
	answer          *model.Answer
	err             error
}

func collect(ctx context.Context, m model.Model, req model.Request) (g got) {
	var text, reasoning strings.Builder
	defer func() { g.text, g.reasoning = text.String(), reasoning.String() }()
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			g.err = err
			continue
		}
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		g.deltas++
		if d.Answer != nil {
			g.answer = d.Answer
		}
	}
	return g
}

// answers asks once and wants an answer.
func (s *server) answers(t testing.TB) got {
	t.Helper()
	g := s.asks(t, prompt("Hello"))
	if g.err != nil {
		t.Fatalf("no answer: %v", g.err)
	}
	return g
}

func (s *server) asks(t testing.TB, req model.Request) got {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return collect(ctx, New(s.options()), req)
}

// fails asks once and wants an error of the contract.
func (s *server) fails(t testing.TB) *model.Error {
	t.Helper()
	g := s.asks(t, prompt("Hello"))
	if g.answer != nil {
		t.Fatalf("an answer came: %+v", g.answer)
	}
	e, ok := g.err.(*model.Error)
	if !ok {
		t.Fatalf("error is %T (%v), want a *model.Error", g.err, g.err)
	}
	if strings.ContainsAny(e.Message, "\r\n") {
		t.Errorf("message is not one line: %q", e.Message)
	}
	return e
}

func prompt(text string) model.Request {
	return model.Request{Messages: []journal.Message{user(text)}, Turn: 1}
}

func user(text string) journal.Message {
	return journal.Message{Role: journal.RoleUser, Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}}}
}

// ev is one event as the provider writes it.
func ev(name string, data any) string {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return "event: " + name + "\ndata: " + string(b) + "\n\n"
}

type obj = map[string]any

func messageStart() string {
	return ev("message_start", obj{"type": "message_start", "message": obj{
		"id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": obj{"input_tokens": 25, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 1000, "output_tokens": 1},
	}})
}

func blockStart(i int, block obj) string {
	return ev("content_block_start", obj{"type": "content_block_start", "index": i, "content_block": block})
}

// blockDelta spells a delta as the provider does, its members in the provider's order and padded.
func blockDelta(i int, delta obj) string {
	members := ""
	for name, value := range delta {
		if name != "type" {
			members += "," + spell(name) + ":" + spell(value)
		}
	}
	return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":%s%s}   }\n\n",
		i, spell(delta["type"]), members)
}

func spell(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func blockStop(i int) string {
	return ev("content_block_stop", obj{"type": "content_block_stop", "index": i})
}

func messageEnd(stop string) string {
	return ev("message_delta", obj{
		"type": "message_delta", "delta": obj{"stop_reason": stop, "stop_sequence": nil}, "usage": obj{"output_tokens": 15},
	}) + ev("message_stop", obj{"type": "message_stop"})
}

// textBlock is a whole block of text, in pieces.
func textBlock(i int, pieces ...string) string {
	var s strings.Builder
	s.WriteString(blockStart(i, obj{"type": "text", "text": ""}))
	for _, p := range pieces {
		s.WriteString(blockDelta(i, obj{"type": "text_delta", "text": p}))
	}
	s.WriteString(blockStop(i))
	return s.String()
}

// callBlock is a whole call whose arguments come in pieces.
func callBlock(i int, id, name string, pieces ...string) string {
	s := blockStart(i, obj{"type": "tool_use", "id": id, "name": name, "input": obj{}})
	for _, p := range pieces {
		s += blockDelta(i, obj{"type": "input_json_delta", "partial_json": p})
	}
	return s + blockStop(i)
}

const ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"

// everything is an answer with a block of each kind, as the documentation shows them.
// scripts/judges reads it too.
func everything() string {
	stream, err := os.ReadFile("testdata/messages.sse")
	if err != nil {
		panic(err)
	}
	return string(stream)
}

func describe(blocks []journal.Block) string {
	var b strings.Builder
	for _, x := range blocks {
		fmt.Fprintf(&b, "%s %q", x.Kind, x.Text)
		if x.Call != nil {
			fmt.Fprintf(&b, " id=%q %s %s %s", x.Call.ID, x.Call.Provider, x.Call.Tool, x.Call.Args)
		}
		b.WriteString("\n")
	}
	return b.String()
}
