package modeltest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxRequest is how long a request may be: 32 MiB, as Anthropic has it.
const maxRequest = 32 << 20

func (s *Server) answer(w http.ResponseWriter, r *http.Request, d dialect) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil && !errors.As(err, new(*http.MaxBytesError)) {
		return // the client ended in the middle of its request: nothing was asked
	}
	number := s.received(r, body)
	defer s.note(number, func(e *Exchange) { e.Done, e.Held, e.Finished = true, false, time.Now() })
	if err != nil {
		s.refuse(w, d, number, &refusal{status: 413, message: "Request exceeds the maximum size"})
		return
	}
	if key, ok := s.keyed(r); !ok {
		s.refuse(w, d, number, unauthorized(key))
		return
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		s.refuse(w, d, number, invalid("Unsupported content type %q: expected application/json", r.Header.Get("Content-Type")))
		return
	}
	a, bad := d.parse(r.Header, body)
	if bad != nil {
		s.refuse(w, d, number, bad)
		return
	}
	script := s.current()
	p := locate(a.entries, &script)
	turn := p.answer(&script)
	attempt := s.try(p, &script)
	fault, faulty := turn.fault(attempt)
	s.note(number, func(e *Exchange) {
		e.Prompt, e.Summary, e.Attempt, e.Effort, e.Differs = p.prompt, p.summary, attempt, a.effort, p.differs(&script)
		if !p.summary {
			e.Turn = p.turn + 1
		}
		if faulty {
			e.Fault = fault.Kind
		}
	})
	say := &answer{
		turn: turn, model: a.model, exchange: s.base + number, number: p.turn, chunk: script.chunk(), quirks: script.Quirks, ask: a, at: time.Now().Unix(),
	}
	say.read, say.written, say.fresh = s.cached(a)
	s.note(number, func(e *Exchange) { e.Cached = say.read })
	if bad := standing(d, say, &script, len(body)); bad != nil {
		s.refuse(w, d, number, bad)
		return
	}
	out := &sending{server: s, w: w, r: r, d: d, say: say, number: number}
	if faulty && out.instead(fault) {
		return
	}
	if !a.stream {
		out.json(200, d.whole(say), nil)
		return
	}
	out.stream(fault)
}

// standing refuses what the server never answers: a model that it does not have, a conversation
// beyond its window.
func standing(d dialect, say *answer, script *Script, size int) *refusal {
	known := len(script.Models) == 0
	for _, m := range script.Models {
		known = known || m == say.model
	}
	if !known {
		return d.trouble(NoModel, say)
	}
	if script.Window > 0 && size > script.Window {
		return d.trouble(TooLong, say)
	}
	return nil
}

func (s *Server) received(r *http.Request, body []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.exchanges) + 1
	s.exchanges = append(s.exchanges, Exchange{Number: n, Path: r.URL.Path, Header: r.Header.Clone(), Body: string(body), Received: time.Now()})
	close(s.changed)
	s.changed = make(chan struct{})
	return n
}

// try counts the requests for one answer.
func (s *Server) try(p place, script *Script) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	story, _ := script.story(p.prompt)
	key := fmt.Sprint(story, " ", p.turn, " ", p.summary)
	s.tries[key]++
	return s.tries[key]
}

func unauthorized(key string) *refusal {
	if key == "" {
		return &refusal{status: 401, code: "", message: "You didn't provide an API key: set the x-api-key or Authorization header."}
	}
	return &refusal{status: 401, code: "invalid_api_key", message: "Incorrect API key provided: " + key + "."}
}

func (s *Server) refuse(w http.ResponseWriter, d dialect, number int, bad *refusal) {
	s.note(number, func(e *Exchange) { e.Refusal = bad.message })
	o := &sending{server: s, w: w, d: d, number: number}
	o.refuse(bad, nil)
}

// cached says how much of a request a provider's cache has, puts into it what the provider would
// keep, and counts the rest. Anthropic keeps what the client marks and looks back twenty blocks
// from a mark; OpenAI keeps everything, in steps of 128 tokens from 1024 on.
func (s *Server) cached(a *ask) (read, written, fresh int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sizes, sums := make([]int, len(a.prefix)+1), make([]string, len(a.prefix)+1)
	for i, p := range a.prefix {
		sizes[i+1] = sizes[i] + tokens(len(p))
		sums[i+1] = string(mac(a.model, sums[i]+p))
	}
	total := sizes[len(a.prefix)]
	if a.marks == nil {
		for i := len(sums) - 1; i > 0 && read == 0; i-- {
			if s.cache[sums[i]] && sizes[i] >= 1024 {
				read = sizes[i] / 128 * 128
			}
		}
		for i := 1; i < len(sums); i++ {
			s.cache[sums[i]] = true
		}
		return read, 0, total - read
	}
	last := 0
	for _, m := range a.marks {
		last = max(last, m)
		for i := m; i > max(0, m-20); i-- {
			if s.cache[sums[i]] && sizes[i] > read {
				read = sizes[i]
			}
		}
	}
	for _, m := range a.marks {
		s.cache[sums[m]] = true
	}
	written = max(0, sizes[last]-read)
	return read, written, total - read - written
}
