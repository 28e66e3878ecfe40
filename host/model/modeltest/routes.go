package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
)

func (s *Server) names() []string {
	if m := s.current().Models; len(m) > 0 {
		return m
	}
	return []string{"test-model"}
}

func (s *Server) reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone is no trouble of the server.
	_, _ = w.Write([]byte(marshal(v) + "\n"))
}

// entry is a model as one of the two providers lists it.
func listed(r *http.Request, name string) obj {
	if r.Header.Get("anthropic-version") != "" {
		return obj{"type": "model", "id": name, "display_name": name, "created_at": "2026-02-04T00:00:00Z"}
	}
	return obj{"id": name, "object": "model", "created": 1770163200, "owned_by": "modeltest"}
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if s.locked(w, r) {
		return
	}
	names := s.names()
	list := []obj{}
	for _, n := range names {
		list = append(list, listed(r, n))
	}
	if r.Header.Get("anthropic-version") != "" {
		s.reply(w, 200, obj{"data": list, "has_more": false, "first_id": names[0], "last_id": names[len(names)-1]})
		return
	}
	s.reply(w, 200, obj{"object": "list", "data": list})
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	if s.locked(w, r) {
		return
	}
	for _, n := range s.names() {
		if n == r.PathValue("id") {
			s.reply(w, 200, listed(r, n))
			return
		}
	}
	s.reply(w, 404, obj{"error": obj{"message": "The model '" + r.PathValue("id") + "' does not exist", "type": "invalid_request_error", "param": "model", "code": "model_not_found"}})
}

// locked refuses a request without the key.
func (s *Server) locked(w http.ResponseWriter, r *http.Request) bool {
	key, ok := s.keyed(r)
	if !ok {
		body, _ := openAIRefusal(unauthorized(key), "")
		s.reply(w, 401, body)
	}
	return !ok
}

// tags is what a local Ollama answers, which asks for no key.
func (s *Server) tags(w http.ResponseWriter, _ *http.Request) {
	list := []obj{}
	for _, n := range s.names() {
		list = append(list, obj{
			"name": n, "model": n, "modified_at": "2026-10-03T23:34:03.409490317Z", "size": 2019393189, "digest": identity("digest", 0, 0, 64),
			"details": obj{"parent_model": "", "format": "gguf", "family": "llama", "families": []string{"llama"}, "parameter_size": "3.2B", "quantization_level": "Q4_K_M"},
		})
	}
	s.reply(w, 200, obj{"models": list})
}

func (s *Server) show(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, 200, obj{
		"capabilities": []string{"completion", "tools"}, "details": obj{"family": "llama", "parameter_size": "3.2B"},
		"model_info": obj{"general.architecture": "llama", "llama.context_length": 131072},
	})
}

// controlWait answers when there have been n exchanges, or, with held=1, when one is held: for who
// drives the server from another process.
func (s *Server) controlWait(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil {
		n = 1
	}
	held := r.URL.Query().Get("held") != ""
	e, err := s.Wait(r.Context(), n-1, func(e Exchange) bool { return !held || e.Held })
	if err != nil {
		s.reply(w, 503, obj{"error": err.Error()})
		return
	}
	s.reply(w, 200, e)
}

func (s *Server) controlRelease(w http.ResponseWriter, _ *http.Request) {
	s.reply(w, 200, obj{"released": s.Release()})
}

func (s *Server) controlScript(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err == nil {
		var script Script
		if script, err = ParseScript(text); err == nil {
			s.SetScript(script)
			s.reply(w, 200, obj{})
			return
		}
	}
	s.reply(w, 400, obj{"error": err.Error()})
}

func (s *Server) controlExchanges(w http.ResponseWriter, _ *http.Request) {
	text, err := json.Marshal(s.Exchanges())
	if err != nil {
		s.reply(w, 500, obj{"error": err.Error()})
		return
	}
	s.reply(w, 200, string(text))
}
