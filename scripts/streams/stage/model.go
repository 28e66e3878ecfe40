//go:build linux

package stage

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Model is a provider on loopback (Chat Completions) whose answers come at a given pace. It
// reads from the conversation which turn it is asked for.
type Model struct {
	URL    string
	server *http.Server

	mu   sync.Mutex
	turn func(n int) Answer // from 1

	Tokens atomic.Int64 // sent so far
}

// Answer is one answer: its tokens, and how long it is waited after each.
type Answer struct {
	Tokens []string
	Pace   time.Duration
	Last   bool                 // no call follows
	Stamp  bool                 // each token is the time when it is sent, in nanoseconds, and a blank
	Before func(token int) bool // may hold the answer up; false ends it
}

// Text is all of it.
func (a Answer) Text() string { return strings.Join(a.Tokens, "") }

// StartModel starts one that says nothing yet.
func StartModel() (*Model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &Model{URL: "http://" + l.Addr().String() + "/v1"}
	m.server = &http.Server{Handler: http.HandlerFunc(m.answer)}
	go func() { _ = m.server.Serve(l) }() // until it is closed
	return m, nil
}

// Close ends it.
func (m *Model) Close() { _ = m.server.Close() }

// Says is what it answers from now on.
func (m *Model) Says(turn func(n int) Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn = turn
}

func (m *Model) answer(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Messages []struct{ Role string }
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := 1
	for _, said := range ask.Messages {
		if said.Role == "assistant" {
			n++
		}
	}
	m.mu.Lock()
	a := m.turn(n)
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(delta map[string]any, finish any) {
		text, _ := json.Marshal(map[string]any{ // maps of strings encode
			"id": fmt.Sprintf("chat-%d", n), "object": "chat.completion.chunk", "created": 1, "model": "test",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
	for i, token := range a.Tokens {
		if a.Before != nil && !a.Before(i) {
			return
		}
		if a.Stamp {
			token = fmt.Sprintf("%d ", time.Now().UnixNano())
		}
		send(map[string]any{"role": "assistant", "content": token}, nil)
		m.Tokens.Add(1)
		if a.Pace > 0 || i == 0 {
			_ = control.Flush() // a client that is gone is seen by the next write
			select {
			case <-time.After(a.Pace):
			case <-r.Context().Done():
				return
			}
		}
	}
	if a.Last {
		send(map[string]any{}, "stop")
	} else {
		send(map[string]any{"tool_calls": []any{map[string]any{
			"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function",
			"function": map[string]any{"name": "read_file", "arguments": `{"path":"in.txt"}`},
		}}}, nil)
		send(map[string]any{}, "tool_calls")
	}
	fmt.Fprint(w, "data: {\"id\":\"u\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"test\",\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\ndata: [DONE]\n\n")
}
