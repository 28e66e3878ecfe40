package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
)

// stream is the answer to one POST: every message is an event.
type stream struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

// Write sends lines as events.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintf(s.w, "event: message\ndata: %s\n\n", bytes.TrimSpace(p)); err != nil {
		return 0, err
	}
	s.w.(http.Flusher).Flush()
	return len(p), nil
}

// serveHTTP serves until it is killed. A path /redirect leads to another host.
func serveHTTP(s *server, file string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(file+".part", fmt.Appendf(nil, "http://%s/mcp", l.Addr()), 0o600)
	}
	if err == nil {
		err = os.Rename(file+".part", file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/redirect"):
			http.Redirect(w, r, "http://localhost:1/mcp", http.StatusTemporaryRedirect)
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case s.mode == "auth" && r.Header.Get("Authorization") != "Bearer right":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			s.post(w, r)
		}
	}))
	fmt.Fprintln(os.Stderr, err)
}

func (s *server) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.Method == "" || m.ID == nil {
		s.receive(m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if strings.Contains(string(body), `"name":"long"`) { // one message instead of events
		result, fault := s.handle(m)
		w.Header().Set("Content-Type", "application/json")
		// A client that is gone sees no answer.
		_ = json.NewEncoder(w).Encode(message{JSONRPC: "2.0", ID: m.ID, Result: result, Error: fault})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	own := &server{log: s.log, mode: s.mode, gate: s.gate, out: &stream{w: w}, waiting: s.waiting, cancelled: s.cancelled, changed: s.changed}
	own.answer(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.changed != "" {
		s.changed = own.changed
	}
}
