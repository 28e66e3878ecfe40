package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host/model"
	"agent/host/model/openai"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// server is a protocol server of the test: it keeps what it was asked and answers what the test
// wrote.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  [][]byte
	headers []http.Header
	paths   []string
}

func serve(t testing.TB, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client left; there is nobody to tell
		}
		s.mu.Lock()
		s.bodies, s.headers, s.paths = append(s.bodies, body), append(s.headers, r.Header.Clone()), append(s.paths, r.URL.Path)
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// events answers with a stream.
func events(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("X-Request-Id", "req_test")
		io.WriteString(w, text)
	}
}

func (s *server) model(p openai.Protocol, name string) model.Model {
	return openai.New(openai.Options{Model: name, Protocol: p, BaseURL: s.URL + "/v1", HTTP: transport.Client(transport.Options{})})
}

// heard is what came of one request.
type heard struct {
	answer          *model.Answer
	text, reasoning string
	deltas          int
}

func ask(t testing.TB, m model.Model, req model.Request) (heard, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return listen(ctx, m, req)
}

func listen(ctx context.Context, m model.Model, req model.Request) (heard, error) {
	var h heard
	var text, reasoning strings.Builder
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			h.text, h.reasoning = text.String(), reasoning.String()
			return h, err
		}
		if d.Answer != nil {
			if h.answer != nil || d.Text != "" || d.Reasoning != "" {
				return h, fmt.Errorf("the answer is not the last delta, or not alone")
			}
			h.answer = d.Answer
			continue
		}
		h.deltas++
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
	}
	h.text, h.reasoning = text.String(), reasoning.String()
	return h, nil
}

// hears asks a server that answers with the stream.
func hears(t testing.TB, p openai.Protocol, stream string) (heard, error) {
	t.Helper()
	return ask(t, serve(t, events(stream)).model(p, "test-model"), question())
}

func must(t testing.TB, p openai.Protocol, stream string) heard {
	t.Helper()
	h, err := hears(t, p, stream)
	if err != nil {
		t.Fatalf("%v\nthe stream was:\n%.2000s", err, stream)
	}
	if h.answer == nil {
		t.Fatal("the stream ended without an answer")
	}
	return h
}

func fault(t testing.TB, err error, want journal.Fault) *model.Error {
	t.Helper()
	e, ok := err.(*model.Error)
	if !ok {
		t.Fatalf("got %T %v, want a *model.Error with fault %s", err, err, want)
	}
	if e.Fault != want {
		t.Fatalf("got fault %s (%s), want %s", e.Fault, e.Message, want)
	}
	if e.Message == "" || strings.ContainsAny(e.Message, "\r\n") {
		t.Errorf("the message is not one line: %q", e.Message)
	}
	return e
}

func question() model.Request {
	return model.Request{
		System:   "Be brief.",
		Messages: []journal.Message{said(journal.RoleUser, text("What is in a.txt?"))},
		Tools:    []model.ToolSpec{{Name: "read_file", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"a":{"type":"integer"}},"required":["path"]}`)}},
		Thread:   "t-12345678",
		Turn:     1,
	}
}

func said(r journal.Role, b ...journal.Block) journal.Message {
	return journal.Message{Role: r, Blocks: b}
}

func text(s string) journal.Block { return journal.Block{Kind: journal.BlockText, Text: s} }

func call(id, args string) journal.Block {
	return journal.Block{Kind: journal.BlockCall, Call: &journal.CallBlock{ID: id, Provider: "call_1", Tool: "read_file", Args: json.RawMessage(args)}}
}

func result(id, s string) journal.Block {
	return journal.Block{Kind: journal.BlockResult, Result: &journal.ResultBlock{ID: id, Tool: "read_file", Outcome: journal.OutcomeOK, Text: s}}
}

// calls lists an answer's calls as tool and arguments.
func calls(a *model.Answer) []string {
	var out []string
	for _, b := range a.Blocks {
		if b.Kind == journal.BlockCall {
			out = append(out, b.Call.Tool+" "+string(b.Call.Args))
		}
	}
	return out
}

// follow is the next request as the host builds it: blocks, then calls under ids of our own, then
// the results.
func follow(req model.Request, a *model.Answer, n int) model.Request {
	var blocks, asked, results []journal.Block
	for _, b := range a.Blocks {
		if b.Kind != journal.BlockCall {
			blocks = append(blocks, b)
			continue
		}
		c := *b.Call
		c.ID = fmt.Sprintf("c-%d-%d", n, len(asked))
		if !json.Valid(c.Args) {
			quoted, err := json.Marshal(string(c.Args))
			if err != nil {
				panic(err)
			}
			c.Args = quoted
		}
		asked = append(asked, journal.Block{Kind: journal.BlockCall, Call: &c})
		results = append(results, result(c.ID, fmt.Sprintf("result %d <of> %d", len(asked), n)))
	}
	next := req
	next.Turn++
	next.Messages = append(append([]journal.Message(nil), req.Messages...), said(journal.RoleAssistant, append(blocks, asked...)...))
	if len(results) > 0 {
		next.Messages = append(next.Messages, said(journal.RoleTool, results...))
	}
	return next
}

// journaled is the request as it is after a crash: everything in it has been JSON meanwhile.
func journaled(t testing.TB, req model.Request) model.Request {
	t.Helper()
	raw, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	var back model.Request
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	return back
}
