package judges

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host/model"
	"agent/host/model/anthropic"
	"agent/host/model/modeltest"
	"agent/host/model/openai"
	"agent/host/model/transport"
	"agent/recovery/journal"
)

// kept is a stream of the product's own tests.
func kept(t testing.TB, file string) string {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join("..", "..", "host", "model", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(stream)
}

// server answers every request with one stream, and keeps what it was asked.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func serve(t testing.TB, stream string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client left
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		// A client that leaves early sees it on its own side.
		_, _ = io.WriteString(w, stream)
	}))
	t.Cleanup(s.Close)
	return s
}

// openai is our model over one of OpenAI's protocols.
func (s *server) openai(p openai.Protocol) model.Model {
	return openai.New(openai.Options{Model: "gpt-5.2", Protocol: p, BaseURL: s.URL + "/v1", HTTP: transport.Client(transport.Options{})})
}

// anthropic is our model over the Messages API.
func (s *server) anthropic() model.Model {
	key := func(context.Context) (string, error) { return "sk-test", nil }
	return anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", BaseURL: s.URL, HTTP: transport.Client(transport.Options{}), Key: key})
}

func ask(t testing.TB, m model.Model, req model.Request) *model.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Answer != nil {
			return d.Answer
		}
	}
	t.Fatal("the stream ended without an answer")
	return nil
}

// question is a request with a part of each kind that a first turn has.
func question() model.Request {
	user := said(journal.RoleUser, text("What is in a.txt?"),
		journal.Block{Kind: journal.BlockImage, Image: &journal.Image{Media: "image/png", Data: []byte("PNG")}})
	tool := model.ToolSpec{Name: "read_file", Description: "Reads a file.",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"a":{"type":"integer"}},"required":["path"]}`)}
	return model.Request{
		System: "Be brief.", Messages: []journal.Message{user}, Tools: []model.ToolSpec{tool},
		Thread: "t-12345678", Turn: 1, MaxOutput: 5000, Effort: journal.EffortHigh,
	}
}

// follow is the request behind an answer: its blocks, its calls under ids of our own, their
// results, and a few words more.
func follow(req model.Request, a *model.Answer) model.Request {
	var blocks, results []journal.Block
	for i, b := range a.Blocks {
		if b.Kind == journal.BlockCall {
			call := *b.Call
			call.ID = fmt.Sprintf("c-%d", i)
			b.Call = &call
			results = append(results, journal.Block{Kind: journal.BlockResult,
				Result: &journal.ResultBlock{ID: call.ID, Tool: call.Tool, Outcome: journal.OutcomeOK, Text: fmt.Sprintf("result <%d>", i)}})
		}
		blocks = append(blocks, b)
	}
	req.Turn++
	req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], said(journal.RoleAssistant, blocks...), said(journal.RoleTool, results...),
		said(journal.RoleAssistant, text("Done.")), said(journal.RoleUser, text("And now?")))
	return req
}

func said(r journal.Role, b ...journal.Block) journal.Message {
	return journal.Message{Role: r, Blocks: b}
}

func text(s string) journal.Block { return journal.Block{Kind: journal.BlockText, Text: s} }

// texts joins an answer's blocks of a kind.
func texts(a *model.Answer, kind journal.BlockKind) string {
	var all strings.Builder
	for _, b := range a.Blocks {
		if b.Kind == kind {
			all.WriteString(b.Text)
		}
	}
	return all.String()
}

// calls lists an answer's calls as tool and arguments.
func calls(a *model.Answer) (list []string) {
	for _, b := range a.Blocks {
		if b.Kind == journal.BlockCall {
			list = append(list, b.Call.Tool+" "+string(b.Call.Args))
		}
	}
	return list
}

// object reads JSON as a test compares it.
func object(t testing.TB, v any) (o map[string]any) {
	t.Helper()
	raw, ok := v.([]byte)
	var err error
	if !ok {
		raw, err = json.Marshal(v)
	}
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func start(t *testing.T, script modeltest.Script) *modeltest.Server {
	t.Helper()
	s, err := modeltest.Start(modeltest.Options{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
