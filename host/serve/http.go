package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"agent/host"
	"agent/host/serve/body"
)

const (
	mostBody    = 1 << 20
	mostStart   = 17 << 20 // of a body that starts a run: a prompt, or pictures
	mostDrained = 4 << 20  // of a body that is too large: who still writes would not see the answer
	bodyWait    = 10 * time.Second
	replyWait   = time.Minute // for a client to take an answer
)

// route is a method of a path. What answers it returns an error instead of writing one.
type route struct {
	method, path string
	answer       func(http.ResponseWriter, *http.Request) error
	stream       bool // it stays open: it has a place among the streams
	open         bool // it wants no credential
	tokenOnly    bool // the session of a page does not do
}

func (s *Server) routes() []route {
	return []route{
		{method: "GET", path: "/v1/runs", answer: s.runs},
		{method: "POST", path: "/v1/runs", answer: launches{s}.start},
		{method: "GET", path: "/v1/runs/{id}", answer: s.run},
		{method: "GET", path: "/v1/runs/{id}/facts", answer: s.facts},
		{method: "GET", path: "/v1/runs/{id}/events", answer: feeds{s}.events, stream: true},
		{method: "GET", path: "/v1/runs/{id}/plan", answer: launches{s}.plan},
		{method: "GET", path: "/v1/runs/{id}/diff", answer: lists{s}.diff},
		{method: "GET", path: "/v1/runs/{id}/rewind", answer: launches{s}.rewindPlan},
		{method: "POST", path: "/v1/runs/{id}/rewind", answer: launches{s}.rewind},
		{method: "POST", path: "/v1/runs/{id}/resume", answer: launches{s}.resume},
		{method: "POST", path: "/v1/runs/{id}/cancel", answer: acts{s}.cancel},
		{method: "POST", path: "/v1/runs/{id}/tell", answer: acts{s}.tell},
		{method: "GET", path: "/v1/threads/{id}", answer: s.thread},
		{method: "GET", path: "/v1/pending", answer: s.pending},
		{method: "GET", path: "/v1/pending/{id}", answer: s.question},
		{method: "POST", path: "/v1/pending/{id}/answer", answer: acts{s}.answer},
		{method: "POST", path: "/v1/pending/{id}/withdraw", answer: acts{s}.withdraw},
		{method: "GET", path: "/v1/calls/{id}", answer: s.call},
		{method: "GET", path: "/v1/calls/{id}/output", answer: s.output},
		{method: "POST", path: "/v1/calls/{id}/resolution", answer: acts{s}.resolve},
		{method: "GET", path: "/v1/events", answer: lists{s}.events, stream: true},
		{method: "GET", path: "/v1/models", answer: lists{s}.models},
		{method: "GET", path: "/v1/folders", answer: lists{s}.folders},
		{method: "GET", path: "/v1/server", answer: s.server},
		{method: "GET", path: "/v1/openapi.json", answer: s.openAPI},
		{method: "POST", path: "/v1/logins", answer: logins{s}.create, tokenOnly: true},
		{method: "POST", path: "/v1/login", answer: logins{s}.redeem, open: true},
		{method: "POST", path: "/v1/logout", answer: logins{s}.end},
	}
}

// handlers puts the routes into a mux, one entry for each path.
func (s *Server) handlers() *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string]map[string]route{}
	s.access = map[string]route{}
	for _, r := range append(s.routes(), s.shell()...) {
		s.access[r.path] = r // the methods of a path do not differ in it
		if methods[r.path] == nil {
			methods[r.path] = map[string]route{}
			mux.Handle(r.path, s.dispatch(methods[r.path]))
		}
		methods[r.path][r.method] = r
	}
	return mux
}

func (s *Server) dispatch(methods map[string]route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok := methods[r.Method]
		if !ok {
			w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(methods)), ", "))
			s.refuse(w, &problem{Code: "method", Detail: fmt.Sprintf("%s is no method of this route", r.Method)})
			return
		}
		places, code := s.requests, "too_many_requests"
		switch {
		case found.stream:
			places, code = s.streams, "too_many_streams"
		case found.open: // by them nobody without a credential keeps others from theirs
			places = s.strangers
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			s.refuse(w, &problem{Code: code, Detail: fmt.Sprintf("%d are under way already; try again", cap(places))})
			return
		}
		if !found.stream {
			// Where a connection has no deadlines, there is none to miss.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyWait))
		}
		if err := found.answer(w, r); err != nil {
			s.refuse(w, s.problemOf(err))
		}
	})
}

// ServeHTTP answers one request and logs it: its route, status, id and time, and nothing that it
// said or was answered.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, seen := time.Now(), &seen{ResponseWriter: w}
	_, pattern := s.mux.Handler(r)
	defer func() {
		p := recover()
		if p != nil {
			_ = s.o.App.LogPanic(p, debug.Stack()) // the status says that something is wrong
			if seen.status == 0 {
				s.refuse(seen, &problem{Code: "panic", Detail: "this program is at fault; its log has the trace"})
			}
		}
		s.log.Info("request", "method", knownMethod(r.Method), "route", pattern, "id", idIn(r.URL.Path), "status", seen.status, "ms", time.Since(began).Milliseconds())
	}()
	protect(seen.Header())
	if !plainPath(r) {
		pattern = "" // the mux would answer with a redirection
	}
	by, p := s.admit(r, s.access[pattern])
	if p != nil {
		if p.Code == "credential" {
			seen.Header().Set("WWW-Authenticate", "Bearer")
		}
		s.refuse(seen, p)
		return
	}
	if pattern == "" {
		s.refuse(seen, &problem{Code: "no_route", Detail: "there is no such route; GET /v1/openapi.json lists them"})
		return
	}
	s.mux.ServeHTTP(seen, r.WithContext(host.ActedBy(r.Context(), s.o.Folder.Who+by)))
}

// plainPath says whether a path is written as routes are: the mux redirects others to what it takes
// them for.
func plainPath(r *http.Request) bool {
	p := r.URL.Path
	return p == path.Clean(p) && r.RequestURI != "*"
}

func knownMethod(m string) string {
	if slices.Contains([]string{"GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"}, m) {
		return m
	}
	return "another"
}

// idLetters are what an id has after its type (host.NewID).
const idLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// idIn is the id in a path; empty where what stands in its place has another form: anything may
// have been written there.
func idIn(path string) string {
	for part := range strings.SplitSeq(path, "/") {
		if len(part) > 2 && len(part) <= 16 && strings.IndexByte("rtpc", part[0]) >= 0 && part[1] == '-' && strings.Trim(part[2:], idLetters) == "" {
			return part
		}
	}
	return ""
}

// admit looks at what must hold before anything of a request is read. The process at the other end
// was looked at when it connected. It returns by which credential somebody asks.
func (s *Server) admit(r *http.Request, to route) (by string, p *problem) {
	// A page that a browser was brought to load from here by another name has another Host.
	if port := portOf(r); !slices.Contains(hosts(port), r.Host) {
		return "", wrongHost(port)
	}
	foreign := &problem{Code: "origin", Detail: "a page of another origin may ask nothing here"}
	if origin, there := r.Header["Origin"]; there && !slices.Equal(origin, []string{"http://" + r.Host}) {
		return "", foreign
	}
	if site, there := r.Header["Sec-Fetch-Site"]; there && !slices.Equal(site, []string{"same-origin"}) && !slices.Equal(site, []string{"none"}) {
		return "", foreign
	}
	if to.open {
		return "", nil
	}
	switch by = s.credential(r.Header["Authorization"]); {
	case by == "":
		return "", &problem{
			Code: "credential", Next: []string{"agent web"},
			Detail: "send the header Authorization: Bearer TOKEN; the token is in the file token of the state folder, and agent web gives a browser a session",
		}
	case by == byPage && to.tokenOnly:
		return "", &problem{Code: "token_only", Detail: "this wants the token of the state folder, not the session of a page", Next: []string{"agent web"}}
	}
	return by, nil
}

// By which credential somebody asks, as it is recorded after the name of the person.
const (
	byToken = " (api)"
	byPage  = " (page)"
)

// credential says which credential is there, in a time that does not depend on it; "" for none.
func (s *Server) credential(given []string) string {
	if len(given) != 1 {
		return ""
	}
	scheme, secret, _ := strings.Cut(given[0], " ")
	sum := sha256.Sum256([]byte(secret))
	token, session := subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1, s.desk.Known(secret)
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return ""
	case token:
		return byToken
	case session:
		return byPage
	}
	return ""
}

// reply writes an answer.
func (s *Server) reply(w http.ResponseWriter, status int, v any) error {
	text, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that went away misses it
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// body reads what a request says, strictly.
func (s *Server) body(w http.ResponseWriter, r *http.Request, v any) error {
	return readBody(w, r, v, mostBody, s.o.App.Redacted)
}

// readBody reads what a request says, unless it is larger than most.
func readBody(w http.ResponseWriter, r *http.Request, v any, most int64, redacted func(string) string) error {
	kind, more, err := mime.ParseMediaType(strings.Join(r.Header["Content-Type"], ","))
	if charset := more["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") || r.Header["Content-Encoding"] != nil {
		return &problem{Code: "media_type", Detail: "send JSON in UTF-8, not packed, with Content-Type: application/json"}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWait)) // where a connection has no deadlines, there is none to miss
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	large := &problem{Code: "too_large", Detail: fmt.Sprintf("the body is larger than %d MiB, which is the limit of this route", most>>20)}
	if r.ContentLength > most {
		if r.Header.Get("Expect") == "" { // else nothing was sent yet
			_, _ = io.CopyN(io.Discard, r.Body, most+mostDrained)
		}
		return large
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		_, _ = io.CopyN(io.Discard, r.Body, mostDrained)
		return large
	case err != nil:
		return &problem{Code: "body", Detail: "the body did not come whole"}
	}
	if err := body.Read(text, v); err != nil {
		return &problem{Code: "json", Detail: "read the body: " + redacted(err.Error())}
	}
	return nil
}

// query reads the parameters of a request, each at most once, and refuses those that are not known.
// One that cannot be read is not left out: without a cursor a stream begins somewhere else.
func query(r *http.Request, known ...string) (func(string) string, error) {
	values, err := parameters(r, "", known...)
	return values.Get, err
}

// parameters is query with one that may be given many times.
func parameters(r *http.Request, many string, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &problem{Code: "parameter", Detail: "read the parameters: write ; as %3B, and % as %25"}
	}
	for name, list := range values {
		if name != many && (!slices.Contains(known, name) || len(list) != 1) || name == "" {
			return nil, badParameter(name, "it is not known here, or given twice")
		}
		if slices.ContainsFunc(list, func(text string) bool { return !utf8.ValidString(text) }) {
			return nil, badParameter(name, "it is not valid UTF-8")
		}
	}
	return values, nil
}

func badParameter(name, why string) *problem {
	return &problem{Code: "parameter", Detail: fmt.Sprintf("parameter %q: %s", name, why)}
}

// number reads a parameter that is a whole number of at least one; zero where it is not given.
func number(name, text string, most int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, badParameter(name, fmt.Sprintf("it is a whole number from 1 to %d", most))
	}
	return n, nil
}

// yes reads a parameter that is true or false; false where it is not given.
func yes(name, text string) (bool, error) {
	if text != "" && text != "true" && text != "false" {
		return false, badParameter(name, "it is true or false")
	}
	return text == "true", nil
}

// seen notes the status of an answer.
type seen struct {
	http.ResponseWriter
	status int
}

func (w *seen) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *seen) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets a response controller reach the connection.
func (w *seen) Unwrap() http.ResponseWriter { return w.ResponseWriter }
