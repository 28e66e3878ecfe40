package anthropic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"agent/host/model"
	"agent/recovery/journal"
)

const benchTokens = 20_000

// benchEvents is an answer of so many tokens, an event each, as the provider sends them.
func benchEvents() string {
	words := []string{" the", " quick", " brown", "\n", " <fox>", " jumps", " over", " é"}
	pieces := make([]string, benchTokens)
	for i := range pieces {
		pieces[i] = words[i%len(words)]
	}
	return messageStart() + textBlock(0, pieces...) + messageEnd("end_turn")
}

// BenchmarkStream is an answer through Stream. Its limits: raw is the same bytes over the same
// connection, read and not looked at; parsed is the least that shows text, which is lines cut at
// their colon and one JSON value an event.
func BenchmarkStream(b *testing.B) {
	events := benchEvents()
	s := serve(b, stream(events))
	rate := func(b *testing.B) {
		b.ReportMetric(float64(benchTokens)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
	}
	b.Run("stream", func(b *testing.B) {
		m := New(s.options())
		for b.Loop() {
			if g := collect(b.Context(), m, prompt("Hello")); g.err != nil || g.deltas != benchTokens+1 {
				b.Fatal(g.err, g.deltas)
			}
		}
		rate(b)
	})
	b.Run("parsed", func(b *testing.B) {
		for b.Loop() {
			if n := parsePlainly(b, s); n == 0 {
				b.Fatal("no text")
			}
		}
		rate(b)
	})
	b.Run("raw", func(b *testing.B) {
		for b.Loop() {
			res := post(b, s)
			if n, err := io.Copy(io.Discard, res.Body); err != nil || n != int64(len(events)) {
				b.Fatal(n, err)
			}
			if err := res.Body.Close(); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
}

func post(b *testing.B, s *server) *http.Response {
	res, err := s.client.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		b.Fatal(err)
	}
	return res
}

func parsePlainly(b *testing.B, s *server) (text int) {
	res := post(b, s)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Delta struct{ Text string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			b.Fatal(err)
		}
		text += len(e.Delta.Text)
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
	return text
}

// BenchmarkEncode is the body of a request late in a long run. Its limit is the copy of the same
// bytes.
func BenchmarkEncode(b *testing.B) {
	req := model.Request{System: strings.Repeat("s", 4000), Messages: []journal.Message{user("Q")}}
	for i := range 1000 {
		id := fmt.Sprintf("c-%d", i)
		req.Messages = append(req.Messages, said(thinking(strings.Repeat("hm ", 100), "c2ln", ""), call(id, `{"command":"`+strings.Repeat("x", 200)+`"}`)),
			results(result(id, "ok", strings.Repeat("line\n", 400))))
	}
	body := mustEncode(b, "claude-opus-4-6", req).body
	b.SetBytes(int64(len(body)))
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			mustEncodeOnly(b, req)
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		to := make([]byte, len(body))
		for b.Loop() {
			copy(to, body)
		}
	})
}

func mustEncodeOnly(b *testing.B, req model.Request) {
	if _, err := encode("claude-opus-4-6", req); err != nil {
		b.Fatal(err)
	}
}
