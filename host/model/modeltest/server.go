package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Protocol is a wire protocol.
type Protocol string

// The protocols, by the names that the product has for them.
const (
	Anthropic Protocol = "anthropic" // POST /v1/messages
	Responses Protocol = "responses" // POST /v1/responses
	Chat      Protocol = "chat"      // POST /v1/chat/completions
)

// Protocols lists them.
func Protocols() []Protocol { return []Protocol{Anthropic, Responses, Chat} }

// DefaultKey is what a server takes for a key when nothing else is said.
const DefaultKey = "sk-test-0123456789abcdefghij"

// Options say how a server starts.
type Options struct {
	Script Script
	Key    string     // that requests must show; "" means DefaultKey
	Only   []Protocol // the others are not found; none means all
	Addr   string     // on loopback; "" means 127.0.0.1:0
	Log    io.Writer  // gets every exchange as a line of JSON, when it begins and when it ends; may be nil
}

// Server is a model on loopback. It may be used from several goroutines.
type Server struct {
	opts   Options
	listen net.Listener
	http   *http.Server
	closed chan struct{}
	base   int // of the numbers that ids are made from: no two servers give the same

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when something happens
	script    Script
	exchanges []Exchange
	tries     map[string]int // requests for an answer so far, by its place in the script
	cache     map[string]bool
	gates     map[int]chan struct{}
}

// Exchange is one request and what became of it.
type Exchange struct {
	Number   int         `json:"number"` // from 1, in the order of arrival
	Path     string      `json:"path"`
	Header   http.Header `json:"header"`
	Body     string      `json:"body"`
	Prompt   string      `json:"prompt,omitempty"` // that is answered
	Turn     int         `json:"turn,omitempty"`   // from 1; 0 for a summary and for what is refused before
	Summary  bool        `json:"summary,omitempty"`
	Attempt  int         `json:"attempt,omitempty"`
	Fault    Kind        `json:"fault,omitempty"`
	Status   int         `json:"status,omitempty"`
	Refusal  string      `json:"refusal,omitempty"` // what the request is refused for
	Differs  string      `json:"differs,omitempty"` // what the request says of earlier answers that was not so
	Effort   string      `json:"effort,omitempty"`  // asked for
	Cached   int         `json:"cached,omitempty"`  // tokens from the cache
	Ends     []int       `json:"ends,omitempty"`    // where each event of the whole answer ends
	Sent     int64       `json:"sent"`              // bytes of the body
	Held     bool        `json:"held,omitempty"`    // it waits for Release
	Done     bool        `json:"done,omitempty"`
	Received time.Time   `json:"received"`
	Finished time.Time   `json:"finished,omitzero"`
}

// dialect is a protocol's own part.
type dialect interface {
	parse(h http.Header, body []byte) (*ask, *refusal)
	render(a *answer) *stream
	whole(a *answer) any
	refuse(r *refusal, id string) (any, http.Header)
	trouble(k Kind, a *answer) *refusal
	errorEvent(s *stream)
	ping(s *stream)
	more(s *stream, a *answer, text string)
}

// Start listens.
func Start(o Options) (*Server, error) {
	if o.Key == "" {
		o.Key = DefaultKey
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("start a model server: %w", err)
	}
	s := &Server{
		opts: o, listen: l, closed: make(chan struct{}), base: rand.IntN(1 << 40), changed: make(chan struct{}), script: o.Script,
		tries: map[string]int{}, cache: map[string]bool{}, gates: map[int]chan struct{}{},
	}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: time.Minute}
	go func() {
		// It ends when Close closes the listener, which is no error.
		_ = s.http.Serve(l)
	}()
	return s, nil
}

// Close ends all streams.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return nil
	default:
	}
	close(s.closed)
	if err := s.http.Close(); err != nil {
		return fmt.Errorf("close a model server: %w", err)
	}
	return nil
}

// URL is the server's address without a path: the base URL for Anthropic.
func (s *Server) URL() string { return "http://" + s.listen.Addr().String() }

// V1 is the base URL for the protocols of OpenAI.
func (s *Server) V1() string { return s.URL() + "/v1" }

// SetScript changes what is said from now on, and counts attempts anew.
func (s *Server) SetScript(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.tries = script, map[string]int{}
}

// Exchanges lists what happened so far.
func (s *Server) Exchanges() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Exchange(nil), s.exchanges...)
}

func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	for p, d := range map[Protocol]struct {
		path string
		of   func(Quirks) dialect
	}{
		Anthropic: {"/v1/messages", func(q Quirks) dialect { return messages{q} }},
		Responses: {"/v1/responses", func(Quirks) dialect { return responses{} }},
		Chat:      {"/v1/chat/completions", func(q Quirks) dialect { return chat{q} }},
	} {
		if s.speaks(p) {
			m.HandleFunc("POST "+d.path, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, d.of(s.current().Quirks)) })
		}
	}
	m.HandleFunc("GET /v1/models", s.models)
	m.HandleFunc("GET /v1/models/{id}", s.model)
	m.HandleFunc("GET /api/tags", s.tags)
	m.HandleFunc("POST /api/show", s.show)
	m.HandleFunc("GET /control/wait", s.controlWait)
	m.HandleFunc("POST /control/release", s.controlRelease)
	m.HandleFunc("POST /control/script", s.controlScript)
	m.HandleFunc("GET /control/exchanges", s.controlExchanges)
	return m
}

func (s *Server) speaks(p Protocol) bool {
	for _, o := range s.opts.Only {
		if o == p {
			return true
		}
	}
	return len(s.opts.Only) == 0
}

func (s *Server) current() Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.script
}

// note changes what is known of an exchange, tells those who wait, and writes the log at its begin
// and end.
func (s *Server) note(number int, change func(*Exchange)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &s.exchanges[number-1]
	before := *e
	change(e)
	close(s.changed)
	s.changed = make(chan struct{})
	if s.opts.Log != nil && (e.Turn != before.Turn || e.Summary != before.Summary || e.Held != before.Held || e.Done) {
		line, err := json.Marshal(e)
		if err == nil {
			// A log that cannot be written is seen by who reads it.
			_, _ = s.opts.Log.Write(append(line, '\n'))
		}
	}
}

// keyed says whether the request shows the key, and which one it shows.
func (s *Server) keyed(r *http.Request) (string, bool) {
	shown := r.Header.Get("X-Api-Key")
	if shown == "" {
		shown = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	return shown, shown == s.opts.Key || s.current().Quirks.NoKey
}
