package openai_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"agent/host/model/openai"
	"agent/host/model/transport"
)

const benchTokens = 20_000

func benchStream(p openai.Protocol) string {
	var b strings.Builder
	if p == openai.Chat {
		one := chunks(delta(`"content":" token"`))
		b.WriteString(strings.Repeat(one, benchTokens))
		return b.String() + chunks(finish("stop")) + chunk(chatUsage) + chatDone
	}
	one := ev("response.output_text.delta", `"item_id":"msg_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b","output_index":0,"content_index":0,"delta":" token","sequence_number":5,"logprobs":[],"obfuscation":"abcdef"`)
	b.WriteString(strings.Repeat(one, benchTokens))
	message := `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":` + js(strings.Repeat(" token", benchTokens)) + `}]}`
	return b.String() + ev("response.output_item.done", `"output_index":0,"item":`+message) + completed("completed", "", message)
}

// BenchmarkStream is what an answer of 20,000 tokens costs, in tokens a second. Its limit: "read"
// only takes the same bytes from the same client. scripts/judges measures the official libraries.
func BenchmarkStream(b *testing.B) {
	for _, p := range []openai.Protocol{openai.Responses, openai.Chat} {
		stream := benchStream(p)
		client := transport.Client(transport.Options{Base: &canned{stream: stream, end: io.EOF}})
		measure := func(name string, one func(b *testing.B)) {
			b.Run(string(p)+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(stream)))
				b.ReportAllocs()
				for b.Loop() {
					one(b)
				}
				b.ReportMetric(float64(benchTokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
		body := func(b *testing.B) *http.Response {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://127.0.0.1/v1", strings.NewReader(`{"stream":true}`))
			if err != nil {
				b.Fatal(err)
			}
			res, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			return res
		}
		measure("read", func(b *testing.B) {
			res := body(b)
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				b.Fatal(err)
			}
			res.Body.Close()
		})
		m := openai.New(openai.Options{Model: "x", Protocol: p, HTTP: client})
		measure("answer", func(b *testing.B) {
			h, err := listen(context.Background(), m, question())
			if err != nil || len(h.text) != benchTokens*len(" token") {
				b.Fatal(err, len(h.text))
			}
		})
	}
}

// BenchmarkRequest is what it costs to write the request of a conversation of 1,000 turns, and to
// send it nowhere.
func BenchmarkRequest(b *testing.B) {
	for _, p := range []openai.Protocol{openai.Responses, openai.Chat} {
		stream := talk()
		if p == openai.Responses {
			stream = story()
		}
		m := openai.New(openai.Options{Model: "x", Protocol: p, HTTP: transport.Client(transport.Options{Base: &canned{stream: stream, end: io.EOF}})})
		h, err := listen(context.Background(), m, question())
		if err != nil {
			b.Fatal(err)
		}
		req := question()
		for i := range 1000 {
			req = follow(req, h.answer, i)
		}
		b.Run(string(p), func(b *testing.B) {
			for b.Loop() {
				if _, err := listen(context.Background(), m, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
