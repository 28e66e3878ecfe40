package openai_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/host/model"
	"agent/host/model/openai"
	"agent/host/model/transport"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// elsewhere sends every request to the test's server, whatever its address says.
type elsewhere struct{ to *url.URL }

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = e.to.Scheme, e.to.Host
	return http.DefaultTransport.RoundTrip(r)
}

func redirected(t testing.TB, s *server) *http.Client {
	t.Helper()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return transport.Client(transport.Options{Base: elsewhere{to}})
}

func TestKey(t *testing.T) {
	s := serve(t, events(talk()))
	keys := []string{"sk-first", "sk-second", ""}
	asked := 0
	m := openai.New(openai.Options{Model: "x", Protocol: openai.Chat, BaseURL: s.URL, Key: func(context.Context) (string, error) {
		asked++
		return keys[asked-1], nil
	}})
	for range keys {
		if _, err := ask(t, m, question()); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"Bearer sk-first", "Bearer sk-second", ""} {
		if got := s.headers[i].Get("Authorization"); got != want {
			t.Errorf("request %d: Authorization %q, want %q", i, got, want)
		}
	}
	broken := openai.New(openai.Options{Model: "x", Protocol: openai.Chat, BaseURL: s.URL, Key: func(context.Context) (string, error) {
		return "", errors.New("api_key_cmd: exit status 1")
	}})
	_, err := ask(t, broken, question())
	fault(t, err, journal.FaultKey)
	if len(s.bodies) != len(keys) {
		t.Error("a request was sent without its key")
	}
}

// The environment says nothing that Options do not: not where to ask, not as whom, and no header.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-env")
	t.Setenv("OPENAI_ADMIN_KEY", "sk-admin")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("OPENAI_ORG_ID", "org-env")
	t.Setenv("OPENAI_PROJECT_ID", "proj-env")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Env: 1")
	s := serve(t, events(talk()))
	for _, base := range []string{"", s.URL} {
		m := openai.New(openai.Options{Model: "x", Protocol: openai.Chat, BaseURL: base, HTTP: redirected(t, s)})
		if _, err := ask(t, m, question()); err != nil {
			t.Fatal(err)
		}
		h := s.headers[len(s.headers)-1]
		for _, name := range []string{"Authorization", "Openai-Organization", "Openai-Project", "X-Env"} {
			if h.Get(name) != "" {
				t.Errorf("%s: %q", name, h.Get(name))
			}
		}
		if h.Get("Accept") != "text/event-stream" || h.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", h)
		}
	}
}

// Attempts are the host's to record: one request is one request.
func TestAsksOnce(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, err := ask(t, s.model(openai.Chat, "x"), question())
	fault(t, err, journal.FaultOverloaded)
	if len(s.bodies) != 1 {
		t.Errorf("%d requests", len(s.bodies))
	}
}

func TestUnknownProtocol(t *testing.T) {
	_, err := ask(t, openai.New(openai.Options{Model: "x", Protocol: "smoke"}), question())
	if e := fault(t, err, journal.FaultRequest); !strings.Contains(e.Message, "smoke") {
		t.Errorf("message %q", e.Message)
	}
}

// Issue 3, behaviour 1: the request after a crash has the bytes of the one before it, up to what is
// new; and a longer conversation begins with the bytes of the shorter one.
func TestRequestBytesProperty(t *testing.T) {
	for _, p := range []openai.Protocol{openai.Responses, openai.Chat} {
		t.Run(string(p), func(t *testing.T) {
			stream := talk()
			if p == openai.Responses {
				stream = story()
			}
			s := serve(t, events(stream))
			m := s.model(p, "x")
			body := func(t rapidOrTest, req model.Request) []byte {
				if _, err := listen(context.Background(), m, req); err != nil {
					t.Fatalf("%v", err)
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				last := s.bodies[len(s.bodies)-1]
				s.bodies, s.headers, s.paths = nil, nil, nil
				return last
			}
			h, err := ask(t, m, question())
			if err != nil {
				t.Fatal(err)
			}
			seed.Rapid(t)
			rapid.Check(t, func(r *rapid.T) {
				req := conversation(r, h.answer)
				before := body(r, req)
				if again := body(r, req); !bytes.Equal(before, again) {
					r.Fatalf("the same request has other bytes:\n%s\n%s", before, again)
				}
				if back := body(r, journaled(t, req)); !bytes.Equal(before, back) {
					r.Fatalf("the request has other bytes after the journal:\n%s\n%s", before, back)
				}
				longer := follow(req, h.answer, len(req.Messages))
				longer.Messages = append(longer.Messages, userMessage(r))
				after := body(r, longer)
				if head := before[:len(before)-len("]}")]; !bytes.HasPrefix(after, head) {
					r.Fatalf("the longer conversation does not begin with the shorter one:\n%s\n%s", before, after)
				}
			})
		})
	}
}

type rapidOrTest interface{ Fatalf(string, ...any) }

// odd is text with everything that encoders treat in their own way, bytes that are no UTF-8
// included.
func odd(r *rapid.T, label string) string {
	piece := rapid.SampledFrom([]string{"a", "<", ">", "&", "\u2028", "\u2029", `\`, `"`, `\u003c`, `\\u003c`, "\xff", "\xc3", "\x00", "\n", "é", "🙂", "{", "}", "\ufffd"})
	return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(r, label), "")
}

func userMessage(r *rapid.T) journal.Message {
	m := said(journal.RoleUser, text(odd(r, "prompt")))
	if rapid.Bool().Draw(r, "picture") {
		m.Blocks = append(m.Blocks, journal.Block{Kind: journal.BlockImage, Image: &journal.Image{Media: "image/png", Data: []byte(odd(r, "data"))}})
	}
	return m
}

// conversation is one as the host holds it: answers that this protocol gave, answers of other
// models, odd arguments.
func conversation(r *rapid.T, a *model.Answer) model.Request {
	req := question()
	req.System = odd(r, "system")
	req.Effort = rapid.SampledFrom(append(journal.Efforts(), "")).Draw(r, "effort")
	req.Messages = []journal.Message{userMessage(r)}
	for i := range rapid.IntRange(0, 4).Draw(r, "turns") {
		if rapid.Bool().Draw(r, "ours") {
			req = follow(req, a, i)
			continue
		}
		other := &model.Answer{Blocks: []journal.Block{
			{Kind: journal.BlockReasoning, Text: odd(r, "reasoning"), Opaque: []byte(`{"anthropic":{"signature":"<x>"}}`)},
			text(odd(r, "text")),
			{Kind: journal.BlockCall, Call: &journal.CallBlock{Tool: "read_file", Args: []byte(js(map[string]string{"path": odd(r, "path")}))}},
			{Kind: journal.BlockCall, Call: &journal.CallBlock{Tool: "read_file", Args: []byte(rapid.SampledFrom([]string{`{"a": [1, 2]}`, `{}`, `{bad <`, `"text"`, `[1]`, `null`, ``}).Draw(r, "args"))}},
		}}
		req = follow(req, other, i)
	}
	return req
}
