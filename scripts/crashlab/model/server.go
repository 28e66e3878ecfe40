//go:build linux

// Package model is the model that the stories' runs ask: an HTTP server in the words of three
// providers (modeltest), which decides its next calls from the conversation that it is shown.
package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"agent/host/model/modeltest"
)

// Server is a model that decides its next calls from the conversation it is shown: what became
// unknown, or was not done, it asks for once more. The words on the wire are modeltest's, which is
// strict about what it receives.
type Server struct {
	wire   *modeltest.Server
	listen net.Listener
	http   *http.Server
	proxy  *httputil.ReverseProxy

	mu      sync.Mutex
	stories []*script
	faults  []string // requests that could not be read
	passed  int      // exchanges of what is over
}

// script is what the model has asked for in one story, and what is left of it.
type script struct {
	prompt string
	turns  []modeltest.Turn
	again  []bool // the turn asks once more for something
	seen   map[int]bool
	sent   int // turns that were sent, or are about to be

	mark      string            // of the call that is asked for again in the spellings, one after the other; "" for none
	spellings []json.RawMessage // of its arguments that are left
	anyway    bool              // also where it was done
}

func Start(protocols []modeltest.Protocol) (*Server, error) {
	speaks, err := modeltest.Start(modeltest.Options{Key: key, Only: protocols})
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(speaks.URL())
	if err != nil {
		return nil, errors.Join(err, speaks.Close())
	}
	s := &Server{wire: speaks, proxy: httputil.NewSingleHostReverseProxy(to)}
	s.proxy.FlushInterval = -1
	// Killed clients are what this is about: that they are gone is no news.
	s.proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	s.proxy.ErrorLog = quiet()
	if s.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, errors.Join(fmt.Errorf("start a model: %v", err), speaks.Close())
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, ErrorLog: quiet()}
	go func() {
		// It ends when the listener is closed, which is no error.
		_ = s.http.Serve(s.listen)
	}()
	return s, nil
}

func (s *Server) Close() error { return errors.Join(s.http.Close(), s.wire.Close()) }

func (s *Server) URL() string { return "http://" + s.listen.Addr().String() }

// Add adds a story, which is begun by prompts that hold this text.
func (s *Server) Add(prompt string, turns []modeltest.Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stories = append(s.stories, &script{prompt: prompt, turns: turns, again: make([]bool, len(turns)), seen: map[int]bool{}})
	s.publish()
}

// Respell has the model ask for a call of the newest story again in these spellings, as long as it
// was not done or, with anyway, until they are used up.
func (s *Server) Respell(mark string, spellings []json.RawMessage, anyway bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stories[len(s.stories)-1]
	st.mark, st.spellings, st.anyway = mark, spellings, anyway
}

// Reset forgets what was sent and asked so far, and begins with one story: a run that goes on in
// another world asks at the address that it has always asked at.
func (s *Server) Reset(prompt string, turns []modeltest.Turn) {
	s.mu.Lock()
	s.stories, s.faults, s.passed = nil, nil, len(s.wire.Exchanges())
	s.mu.Unlock()
	s.Add(prompt, turns)
}

func (s *Server) publish() {
	script := modeltest.Script{Quirks: modeltest.Quirks{Reasoning: "reasoning_content"}}
	for _, st := range s.stories {
		script.Stories = append(script.Stories, modeltest.Story{Prompt: st.prompt, Turns: append([]modeltest.Turn(nil), st.turns...)})
	}
	s.wire.SetScript(script)
}

// ServeHTTP decides what comes next, and lets modeltest say it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	if r.Method == http.MethodPost && len(body) > 0 {
		t, err := readConversation(r.URL.Path, body)
		s.mu.Lock()
		if err != nil {
			s.faults = append(s.faults, err.Error())
		} else if s.decide(t) {
			s.publish()
		}
		s.mu.Unlock()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.proxy.ServeHTTP(w, r)
}

// decide changes what is still to be asked for, by what the last turn's results say. It says
// whether something changed.
func (s *Server) decide(t *conversation) bool {
	var st *script
	for _, x := range s.stories {
		if strings.Contains(t.prompt, x.prompt) {
			st = x
		}
	}
	if st == nil || len(t.turns) == 0 {
		return false
	}
	k := t.before + len(t.turns) - 1
	if k >= len(st.turns) || st.seen[k] || k+1 < st.sent {
		return false
	}
	st.seen[k] = true
	if !t.summary {
		st.sent = k + 2
	}
	last := t.turns[len(t.turns)-1]
	st.fillIn(k+1, last)
	st.askAgain(k, last)
	return true
}

// patience is how often the model asks for one thing: once more than anybody is killed in a row.
const patience = 5

// fillIn puts the id of a call whose output was cut into the arguments of calls that are to read
// it.
func (st *script) fillIn(next int, last []*call) {
	form := regexp.MustCompile(`\bc-[0-9a-z]{8}\b`)
	for _, l := range last {
		id := form.FindString(l.result)
		for n := next; n < len(st.turns) && id != "" && l.tool == "shell"; n++ {
			for i, c := range st.turns[n].Calls {
				st.turns[n].Calls[i].Args = bytes.ReplaceAll(c.Args, []byte("{{call}}"), []byte(id))
			}
		}
	}
}

// askAgain inserts a turn that asks once more for what was not done, as far as its results say.
// What it asked for again is only asked for anew when that, too, came to an unknown end or was not
// started: a person may have left it.
func (st *script) askAgain(k int, last []*call) {
	times := 0
	for times <= k && st.again[k-times] {
		times++
	}
	var calls []modeltest.Call
	for i, l := range last {
		if i >= len(st.turns[k].Calls) {
			break
		}
		c := st.turns[k].Calls[i]
		if st.mark != "" && bytes.Contains(c.Args, []byte(st.mark)) {
			calls = append(calls, st.respell(c, l.result)...)
			continue
		}
		if times == 0 && undone(l.result) || times < patience && (strings.HasPrefix(l.result, "outcome unknown") || unstarted(l.result) || waited(l.result)) {
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 {
		return
	}
	turn := modeltest.Turn{Text: "I ask for that once more.", Calls: calls}
	st.turns = append(st.turns[:k+1], append([]modeltest.Turn{turn}, st.turns[k+1:]...)...)
	st.again = append(st.again[:k+1], append([]bool{true}, st.again[k+1:]...)...)
}

// respell is the call in the next spelling, if it is to be asked for again.
func (st *script) respell(c modeltest.Call, result string) []modeltest.Call {
	if len(st.spellings) == 0 || !undone(result) && !st.anyway {
		return nil
	}
	c.Args, st.spellings = st.spellings[0], st.spellings[1:]
	return []modeltest.Call{c}
}

// waited says whether the call was left out because the outcome of one before it is unknown.
func waited(result string) bool {
	return strings.Contains(result, "it was asked for in one answer with ")
}

// unstarted says whether the call was kept from beginning.
func unstarted(result string) bool {
	return strings.Contains(result, "was not started") || strings.Contains(result, "nothing was sent")
}

func undone(result string) bool {
	for _, words := range []string{"outcome unknown", "not executed"} {
		if strings.Contains(result, words) {
			return true
		}
	}
	return unstarted(result)
}

// Exchanges are all requests so far with what was answered, for who looks at a failure.
func (s *Server) Exchanges() []modeltest.Exchange { return s.wire.Exchanges() }

// Complaints are requests that a provider would have refused, or that showed an answer other than
// it was.
func (s *Server) Complaints() []string {
	s.mu.Lock()
	out, passed := append([]string(nil), s.faults...), s.passed
	s.mu.Unlock()
	for _, e := range s.wire.Exchanges()[passed:] {
		if e.Refusal != "" || e.Differs != "" {
			out = append(out, fmt.Sprintf("request %d (turn %d): %s%s", e.Number, e.Turn, e.Refusal, e.Differs))
		}
	}
	return out
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
